"""The article's input pipeline, stage by stage; it is slow on purpose."""

from __future__ import annotations

import keras
import numpy as np
import tensorflow as tf

from bottleneck_kit.demo.labelled_images import SIDE

AUTOTUNE = tf.data.AUTOTUNE

KERNEL_SIDE = 11
SIGMA = 0.8
"""The article's Gaussian: 11x11 pixels with a standard deviation of 0.8 pixels."""


def parse(record: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """Reads one record: an image, uint8 ``(32, 32, 3)``, and its label, int32 ``()``."""
    features = {
        "image": tf.io.FixedLenFeature([], tf.string),
        "label": tf.io.FixedLenFeature([], tf.int64),
    }
    example = tf.io.parse_single_example(record, features)
    image = tf.io.decode_raw(example["image"], tf.uint8)
    return tf.reshape(image, (SIDE, SIDE, 3)), tf.cast(example["label"], tf.int32)


def dilate(image: tf.Tensor, label: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """Gives each pixel the largest value of the 3x3 pixels around it."""
    dilated = tf.nn.dilation2d(
        image[tf.newaxis],
        filters=tf.zeros((3, 3, 3), tf.uint8),
        strides=(1, 1, 1, 1),
        padding="SAME",
        data_format="NHWC",
        dilations=(1, 1, 1, 1),
    )
    return dilated[0], label


def gaussian_kernel(side: int, sigma: float) -> np.ndarray:
    """Gives a square Gaussian kernel that sums to one, float32 ``(side, side)``."""
    distance = np.arange(side) - (side - 1) / 2
    weights = np.exp(-0.5 * np.square(distance / sigma))
    kernel = np.outer(weights, weights)
    return (kernel / kernel.sum()).astype(np.float32)


def blur(image: tf.Tensor, label: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """Blurs one image, its borders mirrored, as ``tfa.image.gaussian_filter2d`` did.

    TensorFlow Addons ended in May 2024; this gives what it gave: float32 within, cut off (not
    rounded) to uint8 at the end.
    """
    margin = KERNEL_SIDE // 2
    kernel = gaussian_kernel(KERNEL_SIDE, SIGMA)[:, :, np.newaxis, np.newaxis]
    around = [[margin, margin], [margin, margin], [0, 0]]
    padded = tf.pad(tf.cast(image, tf.float32), around, mode="REFLECT")
    blurred = tf.nn.depthwise_conv2d(
        padded[tf.newaxis], np.tile(kernel, (1, 1, 3, 1)), strides=(1, 1, 1, 1), padding="VALID"
    )
    return tf.cast(blurred[0], tf.uint8), label


def build_pipeline(pattern: str, *, batch_size: int, seed: int) -> tf.data.Dataset:
    """Builds the article's pipeline over TFRecord files; it repeats without end.

    Args:
        pattern: Matches the record files.
        batch_size: Images a batch.
        seed: Decides the order of the files and the draws of the random layers.

    Returns:
        Batches of images, float32 ``(batch, 32, 32, 3)`` from 0 to 1, and labels, int32
        ``(batch,)``.
    """
    # Layers hold variables and must exist before a map is traced: Keras 3 refuses to make them
    # inside the mapped function, where the article had them.
    rescaling = keras.layers.Rescaling(1 / 255)
    augmentations = [
        keras.layers.RandomFlip("horizontal", seed=seed),
        keras.layers.RandomRotation(0.1, seed=seed + 1),
        keras.layers.RandomZoom(0.1, seed=seed + 2),
    ]

    def rescale(images: tf.Tensor, labels: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        return rescaling(images), labels

    def augment(images: tf.Tensor, labels: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        for layer in augmentations:
            images = layer(images, training=True)
        return images, labels

    options = tf.data.Options()
    options.deterministic = False
    files = tf.data.Dataset.list_files(pattern, shuffle=True, seed=seed)
    return (
        tf.data.TFRecordDataset(files, num_parallel_reads=AUTOTUNE)
        .repeat()
        .map(parse, num_parallel_calls=AUTOTUNE)
        .map(dilate, num_parallel_calls=AUTOTUNE)
        .map(blur, num_parallel_calls=AUTOTUNE)
        .batch(batch_size)
        .map(rescale, num_parallel_calls=AUTOTUNE)
        .map(augment, num_parallel_calls=AUTOTUNE)
        .prefetch(AUTOTUNE)
        .with_options(options)
    )
