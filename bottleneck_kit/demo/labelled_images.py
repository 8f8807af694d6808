"""Real images with labels, from wherever they come: the first step of the demo."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from bottleneck_kit.demo.progress import Progress, no_progress
from bottleneck_kit.errors import InvalidArgumentError

SIDE = 32
"""Height and width of every image in pixels, as in CIFAR-10."""


@dataclass(frozen=True)
class LabelledImages:
    """Images with their labels, in an order that is the same on every run.

    Attributes:
        images: uint8, shape ``(n, 32, 32, 3)``.
        labels: int64, shape ``(n,)``, from 0 to ``len(class_names) - 1``.
        class_names: What each label stands for.
        origin: Where the images come from, a clause for a person.
    """

    images: np.ndarray
    labels: np.ndarray
    class_names: tuple[str, ...]
    origin: str

    def shuffled(self, generator: np.random.Generator) -> LabelledImages:
        """Gives the same images in a random order, so that record files are well mixed."""
        order = generator.permutation(len(self.images))
        return LabelledImages(self.images[order], self.labels[order], self.class_names, self.origin)


def cut_crops(image: np.ndarray, count: int, generator: np.random.Generator) -> np.ndarray:
    """Cuts square crops from random places of one photograph.

    Args:
        image: uint8, shape ``(height, width, 3)``, at least 32 pixels high and wide.
        count: How many crops.
        generator: Decides the places.

    Returns:
        uint8, shape ``(count, 32, 32, 3)``.
    """
    height, width, _ = image.shape
    tops = generator.integers(0, height - SIDE + 1, size=count)
    lefts = generator.integers(0, width - SIDE + 1, size=count)
    return np.stack(
        [image[top : top + SIDE, left : left + SIDE] for top, left in zip(tops, lefts, strict=True)]
    )


def load_images(
    data: str | Path | None, *, count: int, seed: int, progress: Progress = no_progress
) -> LabelledImages:
    """Loads the images of the demo.

    Args:
        data: A folder of images, of CIFAR-10 in its Python or its binary form; None for the
            photographs that come with scikit-image.
        count: How many crops to cut; CIFAR-10 is taken whole.
        seed: Decides the places of the crops and the order.
        progress: Shows how far the reading of a folder is.

    Raises:
        InvalidArgumentError: The folder is not there or holds neither images nor CIFAR-10.
        MissingDependencyError: No folder was named and scikit-image is not installed.
    """
    # Each reader imports what it needs, so a folder of images does not ask for scikit-image.
    from bottleneck_kit.demo import cifar10, image_folder, photographs

    generator = np.random.default_rng(seed)
    if data is None:
        return photographs.load(count=count, generator=generator).shuffled(generator)
    folder = Path(data).expanduser()
    if not folder.is_dir():
        raise InvalidArgumentError(
            expected="a folder of images or of CIFAR-10",
            received=f"{folder}, which is {'a file' if folder.exists() else 'not there'}",
            do="Unpack archives first, and pass the folder with --data; without --data the "
            "demo uses photographs that come with scikit-image.",
        )
    batches = cifar10.find_batches(folder)
    if batches:
        return cifar10.load(batches).shuffled(generator)
    loaded = image_folder.load(folder, count=count, generator=generator, progress=progress)
    return loaded.shuffled(generator)
