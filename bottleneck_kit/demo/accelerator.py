"""An emulated accelerator: a layer that keeps the step busy for a time and no core at all."""

from __future__ import annotations

import time
from typing import Any

import keras
import numpy as np
import tensorflow as tf


@keras.saving.register_keras_serializable(package="bottleneck_kit")
class EmulatedAccelerator(keras.layers.Layer):
    """Passes its input on after a fixed time in which no core is used, as a GPU's step would be.

    The sleep releases Python's lock, so the input pipeline runs on beside it. What the other
    layers cost still burns the host's cores. The layer runs Python and does not compile under
    XLA: compile the model with ``jit_compile=False``. Every figure that comes from a model with
    this layer is to be called "emulated".

    Args:
        emulated_ms: How long a step on the accelerator takes, in milliseconds.
        **options: Those of every Keras layer.
    """

    def __init__(self, emulated_ms: float, **options: Any) -> None:
        super().__init__(**options)
        self.emulated_ms = float(emulated_ms)
        seconds = self.emulated_ms / 1000

        def emulate_accelerator(value: np.ndarray) -> np.ndarray:
            time.sleep(seconds)
            return value

        # For the kit's probe: nothing of this function's outlives a call, so running it again
        # and again changes no training.
        emulate_accelerator.bottleneck_kit_stateless = True
        self._emulate = emulate_accelerator

    def call(self, inputs: tf.Tensor) -> tf.Tensor:
        """Gives ``inputs`` back once the time has passed."""
        # One element is enough to make the sleep start once the batch is there; the control
        # dependency leaves the gradient as it is, which numpy_function has none of.
        first = tf.reshape(inputs, (-1,))[:1]
        done = tf.numpy_function(self._emulate, [first], inputs.dtype)
        with tf.control_dependencies([done]):
            return tf.identity(inputs)

    def compute_output_shape(self, input_shape: tuple[int | None, ...]) -> tuple[int | None, ...]:
        """Gives ``input_shape``."""
        return input_shape

    def get_config(self) -> dict[str, Any]:
        """Gives what makes the same layer again."""
        return {**super().get_config(), "emulated_ms": self.emulated_ms}
