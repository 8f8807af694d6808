"""A user's own folder of images, cut to small crops; each sub-folder is one class."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from bottleneck_kit.demo.labelled_images import SIDE, LabelledImages, cut_crops
from bottleneck_kit.demo.progress import Progress, no_progress
from bottleneck_kit.errors import InvalidArgumentError

SUFFIXES = frozenset({".bmp", ".gif", ".jpeg", ".jpg", ".png"})
"""What ``tf.io.decode_image`` reads."""

FLAT_CLASSES = 10
"""Classes that a folder without sub-folders is dealt to, so that there is something to learn."""


def load(
    folder: Path,
    *,
    count: int,
    generator: np.random.Generator,
    progress: Progress = no_progress,
) -> LabelledImages:
    """Cuts ``count`` crops, as many from each image as can be; images beyond that are not read.

    Sub-folders that hold images are the classes. In a flat folder the images, sorted by name, are
    dealt to at most ten classes in that order: a label to train on, not one with a meaning.

    Raises:
        InvalidArgumentError: There is no image below the folder, or none that can be read.
    """
    files = sorted(
        path
        for path in folder.rglob("*")
        if path.suffix.lower() in SUFFIXES and path.is_file() and not path.name.startswith(".")
    )
    if not files:
        raise InvalidArgumentError(
            expected="a folder of images (JPEG, PNG, BMP, GIF) or of CIFAR-10 in its Python or "
            "binary form",
            received=f"{folder}, which holds none",
            do="Pass the folder above the images with --data.",
        )
    class_names, file_labels = _labels(folder, files)
    if len(files) > count:
        chosen = np.sort(generator.choice(len(files), size=count, replace=False))
        files = [files[place] for place in chosen]
        file_labels = file_labels[chosen]
    crops, labels, failure = [], [], ""
    shares = np.array_split(np.arange(count), len(files))
    for place in progress(range(len(files)), "Reading images"):
        path, label, share = files[place], file_labels[place], shares[place]
        image = _read(path)
        if isinstance(image, str):
            failure = failure or f"{path.name}: {image}"
            continue
        crops.append(cut_crops(image, len(share), generator))
        labels += [label] * len(share)
    if not crops:
        raise InvalidArgumentError(
            expected="images that can be read",
            received=f"{len(files)} files in {folder} of which none could be ({failure})",
            do="Pass a folder of whole JPEG, PNG, BMP or GIF files with --data.",
        )
    skipped = f", {len(files) - len(crops)} unreadable ones skipped" if failure else ""
    return LabelledImages(
        images=np.concatenate(crops),
        labels=np.array(labels, dtype=np.int64),
        class_names=class_names,
        origin=f"{len(labels)} crops of {len(crops)} images in {folder}{skipped}",
    )


def _labels(folder: Path, files: list[Path]) -> tuple[tuple[str, ...], np.ndarray]:
    """Gives the names of the classes and each file's label."""
    tops = [path.relative_to(folder).parts[0] for path in files]
    if all(path.parent != folder for path in files):
        names = tuple(sorted(set(tops)))
        return names, np.array([names.index(top) for top in tops])
    classes = min(FLAT_CLASSES, len(files))
    names = tuple(f"group {number}" for number in range(classes))
    return names, np.arange(len(files)) * classes // len(files)


def _read(path: Path) -> np.ndarray | str:
    """Gives an image of at least 32x32 pixels, or why it cannot be read."""
    import tensorflow as tf

    try:
        image = tf.io.decode_image(path.read_bytes(), channels=3, expand_animations=False)
    except (OSError, tf.errors.InvalidArgumentError) as error:
        return str(error).splitlines()[0]
    height, width = image.shape[:2]
    if min(height, width) < SIDE:
        size = (max(height, SIDE), max(width, SIDE))
        image = tf.cast(tf.round(tf.image.resize(image, size)), tf.uint8)
    return image.numpy()
