"""CIFAR-10 as its authors give it: the Python form (pickled) and the binary form."""

from __future__ import annotations

import codecs
import pickle
from pathlib import Path
from typing import Any

import numpy as np

from bottleneck_kit.demo.labelled_images import SIDE, LabelledImages
from bottleneck_kit.errors import InvalidArgumentError

CLASS_NAMES = (
    "airplane",
    "automobile",
    "bird",
    "cat",
    "deer",
    "dog",
    "frog",
    "horse",
    "ship",
    "truck",
)
PIXELS = 3 * SIDE * SIDE
ROW_BYTES = 1 + PIXELS
"""One image of the binary form: a label, then the red, green and blue planes row by row
(https://www.cs.toronto.edu/~kriz/cifar.html)."""

_FOLDERS = (".", "cifar-10-batches-py", "cifar-10-batches-bin")


def find_batches(folder: Path) -> list[Path]:
    """Gives the training batches in ``folder`` or in the sub-folder the archive unpacks to.

    Where both forms are there, the binary one is taken.
    """
    for pattern in ("data_batch_*.bin", "data_batch_?"):
        for name in _FOLDERS:
            found = sorted(path for path in (folder / name).glob(pattern) if path.is_file())
            if found:
                return found
    return []


def load(batches: list[Path]) -> LabelledImages:
    """Reads the training batches of either form.

    Raises:
        InvalidArgumentError: A batch is cut, damaged or something else.
    """
    parts = [_read_binary(p) if p.suffix == ".bin" else _read_python(p) for p in batches]
    images = np.concatenate([images for images, _ in parts])
    form = "binary" if batches[0].suffix == ".bin" else "Python"
    return LabelledImages(
        images=images,
        labels=np.concatenate([labels for _, labels in parts]),
        class_names=CLASS_NAMES,
        origin=f"{len(images)} images of CIFAR-10 ({form} form) in {batches[0].parent}",
    )


def _read_binary(path: Path) -> tuple[np.ndarray, np.ndarray]:
    content = np.frombuffer(path.read_bytes(), dtype=np.uint8)
    if content.size == 0 or content.size % ROW_BYTES:
        raise _damaged(path, f"{content.size} bytes, not a multiple of {ROW_BYTES}")
    rows = content.reshape(-1, ROW_BYTES)
    return _checked(path, rows[:, 1:], rows[:, 0])


def _read_python(path: Path) -> tuple[np.ndarray, np.ndarray]:
    try:
        with path.open("rb") as file:
            content = _ArraysOnly(file, encoding="bytes").load()
        pixels, labels = content[b"data"], np.asarray(content[b"labels"])
    except Exception as error:  # a damaged pickle may raise anything at all
        raise _damaged(path, f"no pickled CIFAR-10 batch ({error})") from error
    return _checked(path, pixels, labels)


def _checked(path: Path, pixels: Any, labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Gives images and labels as the demo wants them, once they are known to be sound."""
    sound = (
        isinstance(pixels, np.ndarray)
        and pixels.dtype == np.uint8
        and pixels.shape == (len(labels), PIXELS)
        and labels.ndim == 1
        and np.issubdtype(labels.dtype, np.integer)
    )
    if not sound:
        raise _damaged(path, "arrays of another shape or dtype")
    if labels.min() < 0 or labels.max() >= len(CLASS_NAMES):
        raise _damaged(path, f"labels from {labels.min()} to {labels.max()}, not from 0 to 9")
    planes = pixels.reshape(-1, 3, SIDE, SIDE)
    return planes.transpose(0, 2, 3, 1), labels.astype(np.int64)


def _damaged(path: Path, received: str) -> InvalidArgumentError:
    return InvalidArgumentError(
        expected=f"a training batch of CIFAR-10 in {path}",
        received=received,
        do="Unpack the archive again, or pass another folder with --data.",
    )


class _ArraysOnly(pickle.Unpickler):
    """Reads arrays and plain values; a pickle that asks for anything else is refused.

    A pickle can call any function there is, and this file comes from the network.
    """

    # The very functions NumPy's own pickles name, whatever the module was called at the time.
    _reconstruct = staticmethod(np.empty(0).__reduce__()[0])

    def find_class(self, module: str, name: str) -> Any:
        if module in ("numpy.core.multiarray", "numpy._core.multiarray"):
            if name == "_reconstruct":
                return self._reconstruct
        elif module == "numpy" and name in ("ndarray", "dtype"):
            return getattr(np, name)
        elif module == "_codecs" and name == "encode":
            return codecs.encode
        raise pickle.UnpicklingError(f"it asks for {module}.{name}")
