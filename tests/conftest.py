"""What every test shares: a quiet TensorFlow, one tiny model and one tiny dataset."""

from __future__ import annotations

import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("KERAS_BACKEND", "tensorflow")

import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest


@pytest.fixture(autouse=True)
def _no_seed_left_behind() -> Iterator[None]:
    """Takes the global seed back: under it, an unseeded shuffle is built as a seeded one."""
    yield
    if "tensorflow" in sys.modules:
        import tensorflow as tf

        tf.random.set_seed(None)


@pytest.fixture
def tiny_model() -> Callable[..., Any]:
    """Makes a compiled model of one Dense(4) and one Dense(1) on four features.

    Keyword arguments go to ``compile``; ``layers`` are put between the two.
    """

    def make(*, layers: tuple[Any, ...] = (), features: int = 4, **compile_options: Any) -> Any:
        import keras

        model = keras.Sequential(
            [keras.Input((features,)), keras.layers.Dense(4), *layers, keras.layers.Dense(1)]
        )
        model.compile("adam", "mse", **{"jit_compile": False, **compile_options})
        return model

    return make


@pytest.fixture
def tiny_arrays() -> Callable[..., Any]:
    """Makes ``(x, y)`` with x of shape (count, features), the same on every call."""

    def make(count: int = 40, features: int = 4) -> Any:
        import numpy as np

        x = np.random.default_rng(0).random((count, features), dtype="float32")
        return x, x[:, 0].copy()

    return make


@pytest.fixture
def tiny_dataset(tiny_arrays: Callable[..., Any]) -> Callable[..., Any]:
    """Makes a batched ``tf.data.Dataset`` of the tiny arrays."""

    def make(count: int = 40, batch_size: int = 8, features: int = 4) -> Any:
        import tensorflow as tf

        arrays = tiny_arrays(count, features)
        return tf.data.Dataset.from_tensor_slices(arrays).batch(batch_size)

    return make
