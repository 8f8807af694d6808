"""Which nodes of tf.data's optimised graph can stand for which kind of stage, for ``alignment``.

Node names are those of TensorFlow's iterators; versions and ``Parallel`` are left out here.
"""

from __future__ import annotations

import re

NODES_OF_KIND: dict[str, frozenset[str]] = {
    kind: frozenset(nodes.split())
    for kind, nodes in {
        "assert_cardinality": "AssertCardinality",
        "batch": "Batch",
        "bucket_by_sequence_length": "GroupByWindow",
        "cache": "MemoryCache FileCache Cache",
        "choose_from_datasets": "DirectedInterleave",
        "concatenate": "Concatenate",
        "copy_to_device": "CopyToDevice Generator",
        "counter": "Scan Counter Range",
        "csv": "CSV",
        "data_service": "DataService",
        "enumerate": "Zip",
        "filter": "Filter",
        "fixed_length_record": "FixedLengthRecord FlatMap Interleave",
        "flat_map": "FlatMap",
        "from_generator": "FlatMap Generator",
        "from_list": "List",
        "from_sparse_tensor_slices": "SparseTensorSlice",
        "from_tensor_slices": "TensorSlice SparseTensorSlice",
        "from_tensors": "FromTensor Tensor",
        "global_shuffle": "GlobalShuffle",
        "group_by_reducer": "GroupByReducer",
        "group_by_window": "GroupByWindow",
        "ignore_errors": "IgnoreErrors",
        "interleave": "Interleave",
        "keras_arrays": "Map",
        "keras_generator": "FlatMap Generator",
        "keras_py_dataset": "FlatMap Generator",
        "list_files": "TensorSlice Shuffle",
        "load": "Load",
        "map": "Map",
        "map_and_batch": "MapAndBatch",
        "pad_to_cardinality": "Concatenate",
        "padded_batch": "PaddedBatch",
        "prefetch": "Prefetch",
        "ragged_batch": "Batch MapAndBatch",
        "random": "Random",
        "range": "Range",
        "rebatch": "Rebatch",
        "rejection_resample": "DirectedInterleave",
        "repeat": "Repeat",
        "sample_from_datasets": "DirectedInterleave",
        "save": "Save",
        "scan": "Scan",
        "shard": "Shard",
        "shuffle": "Shuffle",
        "shuffle_and_repeat": "ShuffleAndRepeat",
        "skip": "Skip",
        "snapshot": "Snapshot Map",
        "sparse_batch": "DenseToSparseBatch",
        "sql": "SQL Sql",
        "take": "Take",
        "take_while": "TakeWhile",
        "text_line": "TextLine FlatMap Interleave",
        "tfrecord": "TFRecord FlatMap Interleave",
        "unbatch": "Unbatch",
        "unique": "Unique",
        "window": "Window",
        "zip": "Zip",
    }.items()
}
"""Kind -> the names, as ``plain_name`` gives them, of nodes that can stand for it."""

FUSIONS: dict[tuple[str, str], frozenset[str]] = {
    ("filter", "filter"): frozenset({"Filter"}),
    ("list_files", "repeat"): frozenset({"ShuffleAndRepeat"}),
    ("map", "batch"): frozenset({"MapAndBatch"}),
    ("map", "filter"): frozenset({"Map", "Filter", "MapAndFilter"}),
    ("map", "map"): frozenset({"Map"}),
    ("shuffle", "repeat"): frozenset({"ShuffleAndRepeat"}),
}
"""Two neighbouring kinds, in data order -> the nodes that tf.data fuses them into."""

ABSORBS_INSIDE = frozenset(
    {
        "cache",
        "copy_to_device",
        "counter",
        "data_service",
        "enumerate",
        "fixed_length_record",
        "from_generator",
        "keras_arrays",
        "keras_generator",
        "keras_py_dataset",
        "list_files",
        "snapshot",
        "text_line",
        "tfrecord",
    }
)
"""Kinds that tf.data builds from several nodes, whose inner ones are booked with them."""

ABSORBS_BEFORE = frozenset({"rejection_resample"})
"""Kinds that read what is before them several times over, so that it cannot be told apart."""

INFRASTRUCTURE = frozenset(
    {
        "AssertNext",
        "AutoShard",
        "MaxIntraOpParallelism",
        "Model",
        "Options",
        "PrivateThreadPool",
        "Rewrite",
        "Root",
    }
)
"""Nodes that stand for options, not for a transformation."""

_AFFIXES = re.compile(
    r"^(?:Legacy)?(?:Parallel)?(?:Finite|Forever|Empty)?(\w+?)(?:Impl|Reader|Writer)?(?:V\d+)?$"
)


def plain_name(node_name: str) -> str:
    """Gives a node's name without what is added by version and variant.

    ``ParallelMapV2`` is ``Map``, ``ForeverRepeat`` is ``Repeat``, ``MemoryCacheImpl`` is
    ``MemoryCache``.
    """
    match = _AFFIXES.match(node_name.split("::")[-1])
    return match.group(1) if match else node_name


def can_stand_for(node_name: str, kind: str) -> bool:
    """Says whether a node can be what a stage of this kind became."""
    return plain_name(node_name) in NODES_OF_KIND.get(kind, frozenset())
