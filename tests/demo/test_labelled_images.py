"""Images for the demo: the shipped photographs, a user's folder, CIFAR-10, and wrong folders."""

from __future__ import annotations

import pickle
import sys
from pathlib import Path

import numpy as np
import pytest

from bottleneck_kit.demo import cifar10, photographs
from bottleneck_kit.demo.labelled_images import LabelledImages, cut_crops, load_images
from bottleneck_kit.errors import InvalidArgumentError, MissingDependencyError


def gradient(height: int, width: int) -> np.ndarray:
    """An image whose every pixel says where it stands."""
    rows, columns = np.mgrid[:height, :width]
    return np.stack([rows % 256, columns % 256, (rows + columns) % 256], axis=2).astype(np.uint8)


def write_png(path: Path, image: np.ndarray) -> None:
    import tensorflow as tf

    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(tf.io.encode_png(image).numpy())


def cifar_rows(count: int) -> tuple[np.ndarray, list[int]]:
    pixels = np.random.default_rng(1).integers(0, 256, (count, 3072), dtype=np.uint8)
    return pixels, [number % 10 for number in range(count)]


def as_bag(loaded: LabelledImages) -> set[tuple[int, bytes]]:
    return {
        (int(label), image.tobytes())
        for image, label in zip(loaded.images, loaded.labels, strict=True)
    }


def test_crops_are_windows_of_the_photograph() -> None:
    crops = cut_crops(gradient(40, 50), 20, np.random.default_rng(0))
    assert crops.shape == (20, 32, 32, 3)
    for crop in crops:
        top, left = int(crop[0, 0, 0]), int(crop[0, 0, 1])
        np.testing.assert_array_equal(crop, gradient(40, 50)[top : top + 32, left : left + 32])


def test_a_photograph_as_small_as_a_crop_is_taken_whole() -> None:
    image = gradient(32, 32)
    np.testing.assert_array_equal(cut_crops(image, 1, np.random.default_rng(0))[0], image)


def test_shipped_photographs_give_ten_classes_of_real_pixels() -> None:
    loaded = load_images(None, count=105, seed=0)
    assert loaded.images.shape == (105, 32, 32, 3)
    assert loaded.images.dtype == np.uint8
    assert loaded.labels.dtype == np.int64
    assert len(loaded.class_names) == 10
    counts = np.bincount(loaded.labels, minlength=10)
    assert counts.min() >= 10
    assert counts.max() <= 11
    assert loaded.images.std() > 20


def test_the_same_seed_gives_the_same_images_and_another_seed_others() -> None:
    first, again, other = (load_images(None, count=30, seed=seed) for seed in (3, 3, 4))
    np.testing.assert_array_equal(first.images, again.images)
    np.testing.assert_array_equal(first.labels, again.labels)
    assert as_bag(first) != as_bag(other)


def test_fewer_crops_than_photographs_are_possible() -> None:
    assert len(load_images(None, count=3, seed=0).images) == 3


def test_missing_scikit_image_is_named_with_the_command_that_installs_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "skimage", None)
    with pytest.raises(MissingDependencyError, match=r"pip install \"bottleneck-kit\[demo\]\""):
        photographs.load(count=10, generator=np.random.default_rng(0))


def test_sub_folders_are_the_classes(tmp_path: Path) -> None:
    for name, value in (("dark", 10), ("light", 240)):
        for number in range(2):
            write_png(tmp_path / name / f"{number}.png", np.full((40, 40, 3), value, np.uint8))
    loaded = load_images(tmp_path, count=12, seed=0)
    assert loaded.class_names == ("dark", "light")
    assert len(loaded.images) == 12
    for image, label in zip(loaded.images, loaded.labels, strict=True):
        assert image.mean() == (10, 240)[label]


def test_a_flat_folder_is_dealt_to_at_most_ten_classes(tmp_path: Path) -> None:
    for number in range(23):
        write_png(tmp_path / f"{number:02d}.png", np.full((32, 32, 3), number, np.uint8))
    loaded = load_images(tmp_path, count=46, seed=0)
    assert len(loaded.class_names) == 10
    assert set(loaded.labels.tolist()) == set(range(10))


def test_of_a_large_folder_only_as_many_images_as_crops_are_read(tmp_path: Path) -> None:
    for number in range(8):
        write_png(tmp_path / f"{number}.png", np.full((32, 32, 3), number, np.uint8))
    loaded = load_images(tmp_path, count=3, seed=0)
    assert len({image.tobytes() for image in loaded.images}) == 3


def test_grey_and_small_images_become_colour_crops(tmp_path: Path) -> None:
    write_png(tmp_path / "small_and_grey.png", np.full((8, 50, 1), 77, np.uint8))
    loaded = load_images(tmp_path, count=2, seed=0)
    assert loaded.images.shape == (2, 32, 32, 3)
    assert set(loaded.images.ravel().tolist()) == {77}


def test_an_unreadable_image_is_skipped_and_said(tmp_path: Path) -> None:
    write_png(tmp_path / "good.png", gradient(40, 40))
    (tmp_path / "broken.png").write_bytes(b"not an image")
    loaded = load_images(tmp_path, count=10, seed=0)
    assert len(loaded.images) == 5
    assert "1 unreadable ones skipped" in loaded.origin


def write_cifar_python(folder: Path, pixels: np.ndarray, labels: list[int]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    content = {b"batch_label": b"training batch", b"data": pixels, b"labels": labels}
    (folder / "data_batch_1").write_bytes(pickle.dumps(content, protocol=2))


def write_cifar_binary(folder: Path, pixels: np.ndarray, labels: list[int]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    rows = np.concatenate([np.array(labels, np.uint8)[:, np.newaxis], pixels], axis=1)
    (folder / "data_batch_1.bin").write_bytes(rows.tobytes())


@pytest.mark.parametrize(
    ("write", "sub_folder"),
    [
        (write_cifar_python, "."),
        (write_cifar_python, "cifar-10-batches-py"),
        (write_cifar_binary, "."),
        (write_cifar_binary, "cifar-10-batches-bin"),
    ],
)
def test_both_forms_of_cifar_are_found_and_give_the_same_images(
    tmp_path: Path, write, sub_folder: str
) -> None:
    pixels, labels = cifar_rows(12)
    write(tmp_path / sub_folder, pixels, labels)
    loaded = load_images(tmp_path, count=5, seed=0)
    assert loaded.class_names == cifar10.CLASS_NAMES
    assert len(loaded.images) == 12
    # The planes of red, green and blue follow each other, row by row.
    expected = {
        (label, np.stack(np.split(row, 3), axis=-1).reshape(32, 32, 3).tobytes())
        for row, label in zip(pixels, labels, strict=True)
    }
    assert as_bag(loaded) == expected


def test_a_cifar_batch_pickled_by_python_2_is_read(tmp_path: Path) -> None:
    # As the authors' files: protocol 2, byte strings for keys, NumPy's module by its old name.
    pixels, labels = cifar_rows(2)
    write_cifar_python(tmp_path, pixels, labels)
    path = tmp_path / "data_batch_1"
    old = path.read_bytes().replace(b"numpy._core.multiarray", b"numpy.core.multiarray")
    assert b"numpy.core.multiarray" in old
    path.write_bytes(old)
    assert len(load_images(tmp_path, count=5, seed=0).images) == 2


class Intruder:
    def __init__(self, target: Path) -> None:
        self.target = target

    def __reduce__(self):
        return Path.touch, (self.target,)


def test_a_pickle_that_would_run_code_is_refused_and_runs_none(tmp_path: Path) -> None:
    target = tmp_path / "touched"
    (tmp_path / "data_batch_1").write_bytes(pickle.dumps(Intruder(target)))
    with pytest.raises(InvalidArgumentError, match="it asks for pathlib"):
        load_images(tmp_path, count=5, seed=0)
    assert not target.exists()


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("data_batch_1.bin", b"\0" * 3072, "3072 bytes, not a multiple of 3073"),
        ("data_batch_1.bin", b"", "0 bytes"),
        ("data_batch_1.bin", b"\x0b" + b"\0" * 3072, "labels from 11 to 11"),
        ("data_batch_1", b"cut", "no pickled CIFAR-10 batch"),
        ("data_batch_1", pickle.dumps({b"data": [1], b"labels": [1]}), "another shape"),
    ],
)
def test_a_damaged_batch_is_named(tmp_path: Path, name: str, content: bytes, says: str) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InvalidArgumentError, match=says) as caught:
        load_images(tmp_path, count=5, seed=0)
    assert name in str(caught.value)


def test_a_folder_that_is_not_there_a_file_and_an_empty_folder_are_named(tmp_path: Path) -> None:
    (tmp_path / "archive.tar.gz").write_bytes(b"")
    (tmp_path / "empty").mkdir()
    for name, says in (
        ("nowhere", "which is not there"),
        ("archive.tar.gz", "which is a file"),
        ("empty", "which holds none"),
    ):
        with pytest.raises(InvalidArgumentError, match=says):
            load_images(tmp_path / name, count=5, seed=0)


def test_a_folder_of_nothing_but_broken_images_is_refused(tmp_path: Path) -> None:
    (tmp_path / "broken.jpg").write_bytes(b"nothing")
    with pytest.raises(InvalidArgumentError, match=r"of which none could be \(broken\.jpg"):
        load_images(tmp_path, count=5, seed=0)
