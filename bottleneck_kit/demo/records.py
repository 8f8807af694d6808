"""TFRecord files of raw uint8 images and labels, written once and found again."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import tensorflow as tf

from bottleneck_kit.demo.labelled_images import LabelledImages
from bottleneck_kit.demo.progress import Progress, no_progress
from bottleneck_kit.errors import InvalidArgumentError

SHARDS = 8
"""Files the records are spread over, so that reading can go in parallel."""

FORMAT = 1
"""Raised whenever the files' content changes, so that older ones are not found again."""


@dataclass(frozen=True)
class RecordFiles:
    """A finished folder of TFRecord files.

    Attributes:
        pattern: Matches the files, for ``list_files``.
        classes: How many labels there are.
        count: How many images.
        reused: Whether an earlier run had written them.
    """

    pattern: str
    classes: int
    count: int
    reused: bool


def default_work_dir() -> Path:
    """Gives the folder below the user's cache folder that the demo keeps its files in."""
    cache = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(cache).expanduser() / "bottleneck-kit" / "demo"


def write_records(
    source: LabelledImages, work_dir: Path, *, progress: Progress = no_progress
) -> RecordFiles:
    """Writes the images as TFRecords, or finds the files of an earlier run with the same images.

    Each record holds ``image``, the raw uint8 bytes of ``32 * 32 * 3``, and ``label``, int64. The
    folder appears whole or not at all.

    Args:
        source: The images.
        work_dir: Where the folder is made.
        progress: Shows how far the writing is.

    Raises:
        InvalidArgumentError: ``work_dir`` cannot be written to.
    """
    folder = work_dir / f"records-{_fingerprint(source)}"
    reused = folder.is_dir()
    if not reused:
        try:
            work_dir.mkdir(parents=True, exist_ok=True)
            _write_folder(source, folder, progress)
        except OSError as error:
            raise InvalidArgumentError(
                expected="a folder to write the demo's records to",
                received=f"{work_dir} ({error})",
                do="Pass another folder with --work-dir.",
            ) from error
    return RecordFiles(
        pattern=str(folder / "*.tfrecord"),
        classes=len(source.class_names),
        count=len(source.images),
        reused=reused,
    )


def _fingerprint(source: LabelledImages) -> str:
    """Names the content: other images, labels, shards or format give another name."""
    digest = hashlib.sha256(json.dumps([FORMAT, SHARDS, len(source.images)]).encode())
    digest.update(np.ascontiguousarray(source.images))
    digest.update(np.ascontiguousarray(source.labels))
    return digest.hexdigest()[:16]


def _write_folder(source: LabelledImages, folder: Path, progress: Progress) -> None:
    part = Path(tempfile.mkdtemp(dir=folder.parent, prefix=folder.name, suffix=".part"))
    try:
        for shard in progress(range(SHARDS), "Writing records"):
            name = part / f"images-{shard:02d}-of-{SHARDS:02d}.tfrecord"
            with tf.io.TFRecordWriter(str(name)) as writer:
                for image, label in zip(
                    source.images[shard::SHARDS], source.labels[shard::SHARDS], strict=True
                ):
                    writer.write(_serialize(image, int(label)))
        try:
            part.rename(folder)
        except OSError:
            if not folder.is_dir():  # else another run was faster with the same content
                raise
    finally:
        shutil.rmtree(part, ignore_errors=True)


def _serialize(image: np.ndarray, label: int) -> bytes:
    feature = {
        "image": tf.train.Feature(bytes_list=tf.train.BytesList(value=[image.tobytes()])),
        "label": tf.train.Feature(int64_list=tf.train.Int64List(value=[label])),
    }
    return tf.train.Example(features=tf.train.Features(feature=feature)).SerializeToString()
