"""Every public transformation of tf.data is built and read back."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from bottleneck_kit.pipeline.node_kinds import NODES_OF_KIND
from bottleneck_kit.pipeline.stages import read_stages
from bottleneck_kit.pipeline.transformations import (
    CHANGES_COUNT_KINDS,
    TRANSFORMATIONS,
    transformation_of,
)

Dataset = tf.data.Dataset
experimental = tf.data.experimental
AUTOTUNE = tf.data.AUTOTUNE


def base() -> Any:
    return Dataset.range(10)


def add_one(x: Any) -> Any:
    return x + 1


def is_small(x: Any) -> Any:
    return x < 5


def make_range(x: Any) -> Any:
    return Dataset.range(x)


def vector(x: Any) -> Any:
    return tf.fill([x], x)


def numbers() -> Any:
    yield from (1, 2)


def reducer() -> Any:
    return experimental.Reducer(
        lambda key: np.int64(0), lambda state, x: state + x, lambda state: state
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("files")
    (path / "a.txt").write_text("1,2\n3,4\n")
    (path / "b.csv").write_text("a,b\n1,2\n3,4\n")
    with tf.io.TFRecordWriter(str(path / "a.tfrecord")) as writer:
        writer.write(b"x")
    base().save(str(path / "saved"))
    sqlite3.connect(path / "x.db").close()
    return path


# name -> (how it is built, kind and options of its last stage)
CASES: dict[str, tuple[Callable[[str], Any], str, dict[str, Any]]] = {
    "assert_cardinality": (
        lambda d: base().apply(experimental.assert_cardinality(10)),
        "assert_cardinality",
        {"cardinality": 10},
    ),
    "batch": (
        lambda d: base().batch(2, True),
        "batch",
        {"batch_size": 2, "drop_remainder": True},
    ),
    "batch in parallel": (
        lambda d: base().batch(2, num_parallel_calls=AUTOTUNE, deterministic=False),
        "batch",
        {
            "batch_size": 2,
            "drop_remainder": False,
            "num_parallel_calls": "AUTOTUNE",
            "deterministic": False,
        },
    ),
    "bucket_by_sequence_length": (
        lambda d: base().map(vector).bucket_by_sequence_length(tf.size, [3], [2, 4]),
        "bucket_by_sequence_length",
        {"batch_sizes": "2,4"},
    ),
    "cache": (lambda d: base().cache(), "cache", {}),
    "cache in a file": (lambda d: base().cache(d + "/c"), "cache", {"filename": "*/c"}),
    "choose_from_datasets": (
        lambda d: Dataset.choose_from_datasets([base(), base()], Dataset.range(2).repeat(5)),
        "choose_from_datasets",
        {"stop_on_empty_dataset": True},
    ),
    "concatenate": (lambda d: base().concatenate(base()), "concatenate", {}),
    "copy_to_device": (
        lambda d: base().apply(experimental.copy_to_device("/cpu:0")),
        "copy_to_device",
        {"target_device": "/cpu:0", "source_device": "/cpu:0"},
    ),
    "counter": (lambda d: Dataset.counter(3, 2), "counter", {"start": 3, "step": 2}),
    "csv": (
        lambda d: experimental.CsvDataset(d + "/a.txt", [tf.int32, tf.int32]),
        "csv",
        {"buffer_size": 4194304},
    ),
    "enumerate": (lambda d: base().enumerate(), "enumerate", {}),
    "filter": (lambda d: base().filter(is_small), "filter", {}),
    "fixed_length_record": (
        lambda d: tf.data.FixedLengthRecordDataset(d + "/a.txt", 2),
        "fixed_length_record",
        {"files": 1},
    ),
    "flat_map": (lambda d: base().flat_map(make_range), "flat_map", {}),
    "from_generator": (
        lambda d: Dataset.from_generator(numbers, output_signature=tf.TensorSpec((), tf.int32)),
        "from_generator",
        {},
    ),
    "from_list": (lambda d: experimental.from_list([1, 2]), "from_list", {}),
    "from_tensor_slices": (lambda d: Dataset.from_tensor_slices([1, 2]), "from_tensor_slices", {}),
    "from_tensors": (lambda d: Dataset.from_tensors(1), "from_tensors", {}),
    "group_by_reducer": (
        lambda d: base().apply(experimental.group_by_reducer(lambda x: x % 2, reducer())),
        "group_by_reducer",
        {},
    ),
    "group_by_window": (
        lambda d: base().group_by_window(lambda x: x % 2, lambda k, w: w.batch(2), 2),
        "group_by_window",
        {},
    ),
    "ignore_errors": (lambda d: base().ignore_errors(), "ignore_errors", {}),
    "interleave": (
        lambda d: base().interleave(make_range, cycle_length=2, block_length=3),
        "interleave",
        {"cycle_length": 2, "block_length": 3},
    ),
    "interleave in parallel": (
        lambda d: base().interleave(make_range, cycle_length=2, num_parallel_calls=2),
        "interleave",
        {
            "cycle_length": 2,
            "block_length": 1,
            "num_parallel_calls": 2,
            "buffer_output_elements": "AUTOTUNE",
            "prefetch_input_elements": "AUTOTUNE",
        },
    ),
    "list_files": (
        lambda d: Dataset.list_files(d + "/*.txt", shuffle=True),
        "list_files",
        {"shuffle": True, "files": 1, "reshuffle": True, "seeded": False},
    ),
    "list_files in order": (
        lambda d: Dataset.list_files(d + "/*.txt", shuffle=False),
        "list_files",
        {"shuffle": False, "files": 1},
    ),
    "load": (lambda d: Dataset.load(d + "/saved"), "load", {"path": "*/saved"}),
    "make_csv_dataset": (
        lambda d: experimental.make_csv_dataset(d + "/b.csv", 2, num_epochs=1),
        "prefetch",
        {"buffer_size": "AUTOTUNE"},
    ),
    "map": (lambda d: base().map(add_one), "map", {}),
    "map in parallel": (
        lambda d: base().map(add_one, 2, deterministic=False, name="n"),
        "map",
        {"num_parallel_calls": 2, "deterministic": False},
    ),
    "map_and_batch": (
        lambda d: base().apply(experimental.map_and_batch(add_one, 2)),
        "map_and_batch",
        {"batch_size": 2, "drop_remainder": False, "num_parallel_calls": 2},
    ),
    "padded_batch": (
        lambda d: base().map(vector).padded_batch(2),
        "padded_batch",
        {"batch_size": 2, "drop_remainder": False},
    ),
    "pad_to_cardinality": (
        lambda d: Dataset.from_tensor_slices({"a": [1]}).apply(experimental.pad_to_cardinality(12)),
        "pad_to_cardinality",
        {},
    ),
    "parallel_interleave": (
        lambda d: base().apply(experimental.parallel_interleave(make_range, 2, sloppy=True)),
        "interleave",
        {
            "cycle_length": 2,
            "block_length": 1,
            "buffer_output_elements": 2,
            "prefetch_input_elements": 4,
            "deterministic": False,
        },
    ),
    "prefetch": (lambda d: base().prefetch(2), "prefetch", {"buffer_size": 2}),
    "prefetch_to_device": (
        lambda d: base().apply(experimental.prefetch_to_device("/cpu:0")),
        "prefetch",
        {"buffer_size": "AUTOTUNE"},
    ),
    "ragged_batch": (
        lambda d: base().map(vector).ragged_batch(2),
        "ragged_batch",
        {"batch_size": 2, "drop_remainder": False},
    ),
    "random": (lambda d: Dataset.random(1), "random", {"seeded": True}),
    "range": (lambda d: base(), "range", {"start": 0, "stop": 10, "step": 1}),
    "rebatch": (
        lambda d: base().batch(2).rebatch(3),
        "rebatch",
        {"batch_size": 3, "drop_remainder": False},
    ),
    "rejection_resample": (
        lambda d: base().rejection_resample(lambda x: tf.cast(x % 2, tf.int32), [0.5, 0.5]),
        "rejection_resample",
        {"stop_on_empty_dataset": True},
    ),
    "repeat": (lambda d: base().repeat(2), "repeat", {"count": 2}),
    "sample_from_datasets": (
        lambda d: Dataset.sample_from_datasets([base(), base()], [0.5, 0.5], seed=1),
        "sample_from_datasets",
        {"stop_on_empty_dataset": False, "seeded": True},
    ),
    "save in a pipeline": (lambda d: base().snapshot(d + "/s"), "snapshot", {"path": "*/s"}),
    "scan": (lambda d: base().scan(np.int64(0), lambda s, x: (s + x, s)), "scan", {}),
    "shard": (lambda d: base().shard(2, 1), "shard", {"num_shards": 2, "index": 1}),
    "shuffle": (
        lambda d: base().shuffle(5, seed=3, reshuffle_each_iteration=False),
        "shuffle",
        {"buffer_size": 5, "reshuffle": False, "seeded": True},
    ),
    "shuffle_and_repeat": (
        lambda d: base().apply(experimental.shuffle_and_repeat(5, 3)),
        "shuffle_and_repeat",
        {"buffer_size": 5, "count": 3, "seeded": False},
    ),
    "skip": (lambda d: base().skip(3), "skip", {"count": 3}),
    "sparse slices": (
        lambda d: Dataset.from_tensor_slices(tf.sparse.eye(3)),
        "from_tensor_slices",
        {},
    ),
    "sparse_batch": (
        lambda d: base().map(vector).sparse_batch(2, [10]),
        "sparse_batch",
        {"batch_size": 2},
    ),
    "sql": (
        lambda d: experimental.SqlDataset("sqlite", d + "/x.db", "select 1", (tf.int32,)),
        "sql",
        {"driver_name": "sqlite"},
    ),
    "take": (lambda d: base().take(3), "take", {"count": 3}),
    "take_while": (lambda d: base().take_while(is_small), "take_while", {}),
    "text_line": (lambda d: tf.data.TextLineDataset(d + "/a.txt"), "text_line", {"files": 1}),
    "tfrecord": (
        lambda d: tf.data.TFRecordDataset([d + "/a.tfrecord"], num_parallel_reads=AUTOTUNE),
        "tfrecord",
        {"num_parallel_reads": "AUTOTUNE", "files": 1},
    ),
    "unbatch": (lambda d: base().batch(2).unbatch(), "unbatch", {}),
    "unique": (lambda d: base().unique(), "unique", {}),
    "window": (
        lambda d: base().window(2, 1, 1, True),
        "window",
        {"size": 2, "shift": 1, "stride": 1, "drop_remainder": True},
    ),
    "with_options": (
        lambda d: base().with_options(tf.data.Options()),
        "range",
        {"start": 0, "stop": 10, "step": 1},
    ),
    "zip": (lambda d: Dataset.zip(base(), base()), "zip", {}),
}

NOT_BUILT_HERE = {
    "_DataServiceDatasetV2": "needs a dispatcher that answers",
    "_GlobalShuffleDataset": "private to TensorFlow: tf.data exports no way to it",
    "_SaveDataset": "save() runs its dataset by itself and gives none back",
    "_SparseTensorSliceDataset": "only made by an export of version 1",
}


NEWER_THAN_2_17 = {"_use_unbounded_threadpool"}


@pytest.mark.parametrize("name", CASES)
def test_a_transformation_is_read_with_its_kind_and_its_options(name: str, folder: Path) -> None:
    if name == "pad_to_cardinality" and not hasattr(experimental, "pad_to_cardinality"):
        pytest.skip("this TensorFlow has no pad_to_cardinality")
    build, kind, options = CASES[name]
    stage = read_stages(build(str(folder)))[-1]
    found = {
        key: "*/" + value.rsplit("/", 1)[-1]
        if isinstance(value, str) and value.startswith(str(folder))
        else value
        for key, value in stage.options.items()
    }
    found.pop("compression", None)  # snapshot's default
    assert (stage.kind, found) == (kind, options), stage.note
    assert stage.element_spec


@pytest.mark.parametrize("name", CASES)
def test_nothing_in_a_public_transformation_is_opaque(name: str, folder: Path) -> None:
    if name == "pad_to_cardinality" and not hasattr(experimental, "pad_to_cardinality"):
        pytest.skip("this TensorFlow has no pad_to_cardinality")
    waiting = list(read_stages(CASES[name][0](str(folder))))
    while waiting:
        stage = waiting.pop()
        assert stage.kind != "opaque", stage.note
        assert "could not be read" not in stage.note
        waiting += [item for branch in stage.branches for item in branch]


def test_every_class_and_attribute_of_the_table_is_there_in_tensorflow(folder: Path) -> None:
    seen: dict[str, Any] = {}
    for build, _, _ in CASES.values():
        try:
            waiting = [build(str(folder))]
        except AttributeError:
            continue
        while waiting:
            dataset = waiting.pop()
            seen[type(dataset).__name__] = dataset
            waiting += dataset._inputs()
    missing = set(TRANSFORMATIONS) - set(seen) - set(NOT_BUILT_HERE)
    assert not missing, f"TensorFlow {tf.__version__} has renamed or removed {sorted(missing)}"
    for name, dataset in seen.items():
        entry = transformation_of(dataset)
        if entry is None:
            continue
        for attribute in (*entry.options.values(), *filter(None, [entry.function])):
            if attribute in NEWER_THAN_2_17 and tf.__version__.startswith("2.17."):
                continue
            assert hasattr(dataset, attribute), f"{name}.{attribute} is gone in {tf.__version__}"


def test_every_kind_says_which_nodes_can_stand_for_it() -> None:
    kinds = {entry.kind for entry in TRANSFORMATIONS.values()} | CHANGES_COUNT_KINDS
    assert kinds <= set(NODES_OF_KIND)


def test_a_class_nobody_knows_becomes_one_opaque_stage_and_loses_no_other() -> None:
    from tensorflow.python.data.ops import dataset_ops

    class Strange(dataset_ops.UnaryUnchangedStructureDataset):
        def __init__(self, source: Any) -> None:
            self._input_dataset = source
            super().__init__(source, source._variant_tensor)

    stages = read_stages(Strange(base().map(add_one)).batch(2))
    assert [stage.kind for stage in stages] == ["range", "map", "opaque", "batch"]
    assert "Strange" in stages[2].note


def test_a_stage_that_raises_while_it_is_read_becomes_opaque_and_loses_no_other() -> None:
    mapped = base().map(add_one)
    dataset = mapped.batch(2)
    mapped._map_func = 3  # as though TensorFlow kept something else there
    stages = read_stages(dataset)
    assert [stage.kind for stage in stages] == ["range", "opaque", "batch"]
    assert "map could not be read" in stages[1].note
