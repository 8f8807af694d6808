"""The record files of the demo: whole or not at all, and found again."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from bottleneck_kit.demo import records
from bottleneck_kit.demo.labelled_images import LabelledImages
from bottleneck_kit.demo.pipeline import parse
from bottleneck_kit.errors import InvalidArgumentError


def some_images(count: int = 20, first: int = 0) -> LabelledImages:
    numbers = np.arange(first, first + count, dtype=np.uint8)
    images = np.broadcast_to(numbers[:, None, None, None], (count, 32, 32, 3))
    return LabelledImages(images, (numbers % 3).astype(np.int64), ("a", "b", "c"), "a test")


def test_what_was_written_is_read_back(tmp_path: Path) -> None:
    import tensorflow as tf

    source = some_images()
    files = records.write_records(source, tmp_path)
    names = sorted(tf.io.gfile.glob(files.pattern))
    assert len(names) == records.SHARDS
    read = {
        (int(label), image.tobytes())
        for image, label in tf.data.TFRecordDataset(names).map(parse).as_numpy_iterator()
    }
    assert read == {
        (int(label), image.tobytes())
        for image, label in zip(source.images, source.labels, strict=True)
    }
    assert (files.classes, files.count, files.reused) == (3, 20, False)


def test_the_files_of_an_earlier_run_are_found_again(tmp_path: Path) -> None:
    first = records.write_records(some_images(), tmp_path)
    again = records.write_records(some_images(), tmp_path)
    other = records.write_records(some_images(first=1), tmp_path)
    assert again.reused
    assert again.pattern == first.pattern
    assert not other.reused
    assert other.pattern != first.pattern


def test_an_interrupted_run_leaves_nothing_behind(tmp_path: Path) -> None:
    def interrupt(numbers, description):
        yield numbers[0]
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        records.write_records(some_images(), tmp_path, progress=interrupt)
    assert list(tmp_path.iterdir()) == []
    assert not records.write_records(some_images(), tmp_path).reused


def test_another_run_that_was_faster_is_no_failure(tmp_path: Path) -> None:
    def meanwhile(numbers, description):
        yield from numbers
        records.write_records(some_images(), tmp_path)

    files = records.write_records(some_images(), tmp_path, progress=meanwhile)
    assert len(list(tmp_path.iterdir())) == 1
    assert len(list(Path(files.pattern).parent.glob("*.tfrecord"))) == records.SHARDS


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(InvalidArgumentError, match="--work-dir"):
        records.write_records(some_images(), tmp_path / "file")


def test_the_default_folder_follows_the_user_s_cache_folder(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert records.default_work_dir() == tmp_path / "bottleneck-kit" / "demo"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert records.default_work_dir() == tmp_path / ".cache" / "bottleneck-kit" / "demo"
