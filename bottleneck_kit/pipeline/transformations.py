"""The one table of tf.data's transformations: class name to public kind, options and function.

It is what ``stages`` reads a dataset by. The names are private to TensorFlow; a test builds every
public transformation and fails when a class or an attribute is no longer there.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

AUTOTUNE = "AUTOTUNE"
"""How an option reads that is left to AUTOTUNE."""

Option = bool | int | float | str | None


@dataclass(frozen=True)
class Transformation:
    """How one dataset class of tf.data is read.

    Attributes:
        kind: Its public name, such as ``map``.
        options: Public option name -> private attribute of the dataset object.
        function: Attribute that holds the user's function; "" where there is none.
        changes_count: Whether it gives more or fewer elements than it takes.
        reads_files: Whether it reads files by itself.
    """

    kind: str
    options: dict[str, str] = field(default_factory=dict)
    function: str = ""
    changes_count: bool = False
    reads_files: bool = False


_PARALLEL = {"num_parallel_calls": "_num_parallel_calls"}
_BATCH = {"batch_size": "_batch_size", "drop_remainder": "_drop_remainder"}
_CYCLE = {"cycle_length": "_cycle_length", "block_length": "_block_length"}
_SHUFFLE = {"buffer_size": "_buffer_size", "reshuffle": "_reshuffle_each_iteration"}
_READER = {"compression_type": "_compression_type", "buffer_size": "_buffer_size"}
_BUFFERS = {
    "buffer_output_elements": "_buffer_output_elements",
    "prefetch_input_elements": "_prefetch_input_elements",
}


def _reader(kind: str, options: dict[str, str] | None = None) -> Transformation:
    return Transformation(kind, options or _READER, changes_count=True, reads_files=True)


TRANSFORMATIONS: dict[str, Transformation] = {
    "CacheDataset": Transformation("cache", {"filename": "_filename"}),
    "CsvDatasetV2": _reader("csv", {"buffer_size": "_buffer_size"}),
    "FixedLengthRecordDatasetV2": _reader("fixed_length_record"),
    "ParallelInterleaveDataset": Transformation(
        "interleave",
        {**_CYCLE, **_BUFFERS, "deterministic": "_deterministic"},
        "_map_func",
        changes_count=True,
    ),
    "SqlDatasetV2": _reader("sql", {"driver_name": "_driver_name"}),
    "TFRecordDatasetV2": _reader(
        "tfrecord", {**_READER, "num_parallel_reads": "_num_parallel_reads"}
    ),
    "TextLineDatasetV2": _reader("text_line"),
    "_AssertCardinalityDataset": Transformation(
        "assert_cardinality", {"cardinality": "_expected_cardinality"}
    ),
    "_BatchDataset": Transformation("batch", _BATCH, changes_count=True),
    "_ConcatenateDataset": Transformation("concatenate", changes_count=True),
    "_CopyToDeviceDataset": Transformation(
        "copy_to_device", {"target_device": "_target_device", "source_device": "_source_device"}
    ),
    "_DataServiceDatasetV2": Transformation("data_service"),
    "_DenseToSparseBatchDataset": Transformation(
        "sparse_batch", {"batch_size": "_batch_size"}, changes_count=True
    ),
    "_DirectedInterleaveDataset": Transformation(
        "choose_from_datasets",
        {"stop_on_empty_dataset": "_stop_on_empty_dataset"},
        changes_count=True,
    ),
    "_FilterDataset": Transformation("filter", {}, "_predicate", changes_count=True),
    "_FlatMapDataset": Transformation("flat_map", {}, "_map_func", changes_count=True),
    "_GlobalShuffleDataset": Transformation("global_shuffle"),
    "_GroupByReducerDataset": Transformation(
        "group_by_reducer", {}, "_reduce_func", changes_count=True
    ),
    "_GroupByWindowDataset": Transformation(
        "group_by_window", {}, "_reduce_func", changes_count=True
    ),
    "_IgnoreErrorsDataset": Transformation("ignore_errors", changes_count=True),
    "_InterleaveDataset": Transformation("interleave", _CYCLE, "_map_func", changes_count=True),
    "_ListDataset": Transformation("from_list"),
    "_LoadDataset": _reader("load", {"path": "_path", "compression": "_compression"}),
    "_MapAndBatchDataset": Transformation(
        "map_and_batch",
        {
            "batch_size": "_batch_size_t",
            "drop_remainder": "_drop_remainder_t",
            "num_parallel_calls": "_num_parallel_calls_t",
        },
        "_map_func",
        changes_count=True,
    ),
    "_MapDataset": Transformation("map", {}, "_map_func"),
    "_PaddedBatchDataset": Transformation("padded_batch", _BATCH, changes_count=True),
    "_ParallelBatchDataset": Transformation(
        "batch", {**_BATCH, **_PARALLEL, "deterministic": "_deterministic"}, changes_count=True
    ),
    "_ParallelInterleaveDataset": Transformation(
        "interleave", {**_CYCLE, **_PARALLEL, **_BUFFERS}, "_map_func", changes_count=True
    ),
    "_ParallelMapDataset": Transformation(
        "map",
        {
            **_PARALLEL,
            "deterministic": "_deterministic",
            "use_unbounded_threadpool": "_use_unbounded_threadpool",
        },
        "_map_func",
    ),
    "_PrefetchDataset": Transformation("prefetch", {"buffer_size": "_buffer_size"}),
    "_RandomDataset": Transformation("random"),
    "_RangeDataset": Transformation("range", {"start": "_start", "stop": "_stop", "step": "_step"}),
    "_RebatchDataset": Transformation(
        "rebatch",
        {"batch_size": "_batch_sizes", "drop_remainder": "_drop_remainder"},
        changes_count=True,
    ),
    "_RepeatDataset": Transformation("repeat", {"count": "_count"}, changes_count=True),
    "_SaveDataset": Transformation("save", {}, "_shard_func"),
    "_ScanDataset": Transformation("scan", {}, "_scan_func"),
    "_ShardDataset": Transformation(
        "shard", {"num_shards": "_num_shards", "index": "_index"}, changes_count=True
    ),
    "_ShuffleAndRepeatDataset": Transformation(
        "shuffle_and_repeat", {"buffer_size": "_buffer_size", "count": "_count"}, changes_count=True
    ),
    "_ShuffleDataset": Transformation("shuffle", _SHUFFLE),
    "_SkipDataset": Transformation("skip", {"count": "_count"}, changes_count=True),
    "_SnapshotDataset": Transformation(
        "snapshot", {"path": "_path", "compression": "_compression"}, reads_files=True
    ),
    "_SparseTensorSliceDataset": Transformation("from_sparse_tensor_slices"),
    "_TakeDataset": Transformation("take", {"count": "_count"}, changes_count=True),
    "_TakeWhileDataset": Transformation("take_while", {}, "_predicate", changes_count=True),
    "_TensorDataset": Transformation("from_tensors"),
    "_TensorSliceDataset": Transformation("from_tensor_slices"),
    "_UnbatchDataset": Transformation("unbatch", changes_count=True),
    "_UniqueDataset": Transformation("unique", changes_count=True),
    "_WindowDataset": Transformation(
        "window",
        {
            "size": "_size",
            "shift": "_shift",
            "stride": "_stride",
            "drop_remainder": "_drop_remainder",
        },
        changes_count=True,
    ),
    "_ZipDataset": Transformation("zip"),
}

SILENT = {
    "DatasetV1Adapter",
    "_ModelDataset",
    "_OptionsDataset",
    "_RestructuredDataset",
}
"""Classes that hand elements on as they are and that nobody wrote as a transformation."""

BRANCHING = {"concatenate", "zip"}
"""Kinds that have no main line before them: each of their inputs is a branch."""

CHANGES_COUNT_KINDS = {entry.kind for entry in TRANSFORMATIONS.values() if entry.changes_count} | {
    "bucket_by_sequence_length",
    "from_generator",
    "keras_arrays",
    "keras_generator",
    "keras_py_dataset",
    "pad_to_cardinality",
    "ragged_batch",
    "rejection_resample",
    "sample_from_datasets",
}
"""Kinds that give more or fewer elements than they take."""


def transformation_of(dataset: Any) -> Transformation | None:
    """Gives the table's entry for a dataset object, or None for a class it does not know."""
    for base in type(dataset).__mro__:
        if base.__name__ in TRANSFORMATIONS:
            return TRANSFORMATIONS[base.__name__]
    return None


def options_of(dataset: Any, transformation: Transformation) -> dict[str, Option]:
    """Reads the options that were set, as plain values; an unset one is left out."""
    found: dict[str, Option] = {}
    for name, attribute in transformation.options.items():
        if not hasattr(dataset, attribute):
            continue
        value = plain_value(getattr(dataset, attribute))
        if value is None or (name, value) in _UNSET:
            continue
        found[name] = _named(name, value)
    return found


_UNSET = {
    ("compression_type", ""),
    ("deterministic", "default"),
    ("filename", ""),
    ("use_unbounded_threadpool", False),
}
"""Values that stand for an option that was not set."""

_LEFT_TO_AUTOTUNE = {
    "buffer_size",
    "num_parallel_calls",
    "num_parallel_reads",
    "cycle_length",
    "buffer_output_elements",
    "prefetch_input_elements",
}


def _named(name: str, value: Option) -> Option:
    if name in _LEFT_TO_AUTOTUNE and value == -1:
        return AUTOTUNE
    if name == "deterministic" and value in ("true", "false"):
        return value == "true"
    return value


def plain_value(value: Any) -> Option:
    """Turns a tensor, NumPy scalar or Python value into a plain value; None where it cannot.

    Reading an eager scalar costs microseconds; a symbolic one is read if it is a constant.
    """
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, bytes):
        return value.decode(errors="replace")
    if hasattr(value, "shape") and hasattr(value, "dtype"):
        shape = getattr(value, "shape", ())
        if any(size is None or size > 1 for size in tuple(shape)):
            return None
        try:
            item = value if hasattr(value, "reshape") else value.numpy()
        except (AttributeError, NotImplementedError, TypeError):
            return _constant_of(value)
        item = item.reshape(-1)[0] if getattr(item, "shape", ()) else item
        item = item.item() if hasattr(item, "item") else item
        return item.decode(errors="replace") if isinstance(item, bytes) else item
    return None


def plain_list(value: Any) -> list[Any]:
    """Turns an eager vector into a list; [] where it is something else."""
    item = value.numpy() if hasattr(value, "numpy") else value
    return item.tolist() if hasattr(item, "tolist") and getattr(item, "ndim", 0) == 1 else []


def _constant_of(value: Any) -> Option:
    import tensorflow as tf

    constant = tf.get_static_value(value)
    return None if constant is None else plain_value(constant)
