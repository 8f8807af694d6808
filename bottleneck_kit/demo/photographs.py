"""The photographs that come inside scikit-image's wheel, cut to small crops."""

from __future__ import annotations

import numpy as np

from bottleneck_kit.demo.labelled_images import LabelledImages, cut_crops
from bottleneck_kit.errors import MissingDependencyError

NAMES = (
    "astronaut",
    "camera",
    "cat",
    "coffee",
    "coins",
    "gravel",
    "hubble_deep_field",
    "immunohistochemistry",
    "retina",
    "rocket",
)
"""Functions of ``skimage.data`` whose photograph needs no download; each is one class."""


def load(*, count: int, generator: np.random.Generator) -> LabelledImages:
    """Cuts ``count`` crops, as many from each photograph as can be.

    Raises:
        MissingDependencyError: scikit-image is not installed.
    """
    try:
        from skimage import data
    except ImportError as error:
        raise MissingDependencyError(
            expected="scikit-image, whose photographs the demo trains on",
            received="an environment without it",
            do="Install it with 'pip install \"bottleneck-kit[demo]\"', or pass a folder of "
            "images with --data.",
        ) from error
    shares = np.array_split(np.arange(count), len(NAMES))
    crops = [
        cut_crops(_with_colours(getattr(data, name)()), len(share), generator)
        for name, share in zip(NAMES, shares, strict=True)
        if len(share)
    ]
    labels = np.repeat(np.arange(len(NAMES)), [len(share) for share in shares])
    return LabelledImages(
        images=np.concatenate(crops),
        labels=labels.astype(np.int64),
        class_names=NAMES,
        origin=f"{count} crops of {len(crops)} photographs that come with scikit-image",
    )


def _with_colours(image: np.ndarray) -> np.ndarray:
    """Gives a grey photograph three equal channels."""
    return np.repeat(image[..., np.newaxis], 3, axis=2) if image.ndim == 2 else image
