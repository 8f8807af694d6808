"""The models of the demo: a small network by default, the article's ResNet50 on request."""

from __future__ import annotations

from collections.abc import Callable

import keras

from bottleneck_kit.demo.accelerator import EmulatedAccelerator
from bottleneck_kit.demo.labelled_images import SIDE

SHAPE = (SIDE, SIDE, 3)


def build_model(name: str, *, classes: int, accelerator_ms: float = 0.0) -> keras.Model:
    """Builds and compiles a model of the demo.

    Args:
        name: A key of ``MODELS``.
        classes: How many labels there are.
        accelerator_ms: Time of an emulated accelerator, in milliseconds a step; 0 for none.
    """
    images = keras.Input(SHAPE, name="images")
    emulated = EmulatedAccelerator(accelerator_ms)(images) if accelerator_ms > 0 else images
    model = keras.Model(images, MODELS[name](emulated, classes), name=name)
    return compile_model(model, emulated=accelerator_ms > 0)


def copy_model(model: keras.Model) -> keras.Model:
    """Gives a compiled copy with weights of its own, equal to those of ``model`` now."""
    copy = keras.models.clone_model(model)
    copy.set_weights(model.get_weights())
    return compile_model(
        copy, emulated=any(isinstance(layer, EmulatedAccelerator) for layer in model.layers)
    )


def compile_model(model: keras.Model, *, emulated: bool) -> keras.Model:
    """Compiles as the article does: Adam and sparse categorical cross-entropy."""
    model.compile(
        optimizer="adam",
        loss="sparse_categorical_crossentropy",
        metrics=["accuracy"],
        # The emulated accelerator runs Python, which XLA cannot compile.
        jit_compile=False if emulated else "auto",
    )
    return model


def small_network(images: keras.KerasTensor, classes: int) -> keras.KerasTensor:
    """Builds two convolutions and a classifier: a step of few milliseconds on two cores."""
    features = images
    for filters in (16, 32):
        features = keras.layers.Conv2D(filters, 3, strides=2, padding="same", activation="relu")(
            features
        )
    pooled = keras.layers.GlobalAveragePooling2D()(features)
    return keras.layers.Dense(classes, activation="softmax")(pooled)


def resnet50(images: keras.KerasTensor, classes: int) -> keras.KerasTensor:
    """Builds the article's network, ResNet50 without weights."""
    network = keras.applications.ResNet50(weights=None, input_shape=SHAPE, classes=classes)
    return network(images)


MODELS: dict[str, Callable[[keras.KerasTensor, int], keras.KerasTensor]] = {
    "resnet50": resnet50,
    "small": small_network,
}
