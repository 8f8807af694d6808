"""The article's pipeline: each stage against an independent computation of the same thing."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf
from scipy import ndimage

from bottleneck_kit.demo import pipeline, records
from bottleneck_kit.demo.labelled_images import load_images


@pytest.fixture(scope="module")
def photographs() -> np.ndarray:
    return load_images(None, count=20, seed=0).images


def test_dilate_gives_the_largest_neighbour(photographs: np.ndarray) -> None:
    for image in photographs:
        dilated, label = pipeline.dilate(tf.constant(image), tf.constant(4))
        expected = ndimage.grey_dilation(image, size=(3, 3, 1), mode="nearest")
        np.testing.assert_array_equal(dilated, expected)
        assert dilated.dtype == tf.uint8
        assert int(label) == 4


def test_blur_is_the_article_s_gaussian_with_mirrored_borders(photographs: np.ndarray) -> None:
    for image in photographs:
        blurred, _ = pipeline.blur(tf.constant(image), tf.constant(0))
        # SciPy's "mirror" is TensorFlow's REFLECT; a radius of 5 pixels makes 11x11.
        expected = ndimage.gaussian_filter(
            image.astype(np.float64), sigma=(0.8, 0.8, 0), mode="mirror", truncate=5 / 0.8
        )
        assert blurred.dtype == tf.uint8
        # Cut off, not rounded: within float error just below, or less than one below.
        difference = expected - blurred.numpy()
        assert difference.min() > -1e-3
        assert difference.max() < 1 + 1e-3


def test_the_kernel_sums_to_one_and_is_symmetric() -> None:
    kernel = pipeline.gaussian_kernel(11, 0.8)
    assert kernel.shape == (11, 11)
    np.testing.assert_allclose(kernel.sum(), 1, rtol=1e-6)
    np.testing.assert_array_equal(kernel, kernel.T)
    np.testing.assert_array_equal(kernel, kernel[::-1, ::-1])


def test_the_pipeline_gives_endless_batches_ready_for_the_model(tmp_path: Path) -> None:
    files = records.write_records(load_images(None, count=20, seed=0), tmp_path)
    dataset = pipeline.build_pipeline(files.pattern, batch_size=16, seed=0)
    assert dataset.cardinality() == tf.data.INFINITE_CARDINALITY
    for images, labels in dataset.take(4):
        assert images.shape == (16, 32, 32, 3)
        assert images.dtype == tf.float32
        assert labels.dtype == tf.int32
        assert float(tf.reduce_min(images)) >= 0
        assert float(tf.reduce_max(images)) <= 1
        assert set(labels.numpy().tolist()) <= set(range(10))


def test_augmentation_draws_anew_for_each_batch(tmp_path: Path) -> None:
    one_image = load_images(None, count=1, seed=0)
    files = records.write_records(one_image, tmp_path)
    dataset = pipeline.build_pipeline(files.pattern, batch_size=8, seed=0)
    draws = {image.tobytes() for images, _ in dataset.take(3) for image in images.numpy()}
    assert len(draws) == 24
