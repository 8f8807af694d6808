"""Patterns of several tf.data classes that a person wrote as one transformation."""

from __future__ import annotations

import os
from typing import Any

from bottleneck_kit.pipeline.links import (
    Link,
    Recogniser,
    function_of,
    inputs_of,
    is_seeded,
    read_links,
    where_defined,
)
from bottleneck_kit.pipeline.transformations import (
    Option,
    options_of,
    plain_list,
    plain_value,
)
from bottleneck_kit.pipeline.transformations import transformation_of as entry_of
from bottleneck_kit.pipeline.user_function import closure_of

_TENSORFLOW = "tensorflow.python.data."


def from_generator(dataset: Any) -> Link | None:
    """``from_generator`` is a flat_map over a dummy element."""
    generator = generator_of(dataset)
    if generator is None:
        return None
    return Link("from_generator", dataset, function=generator, wrapper=dataset._map_func)


def generator_of(dataset: Any) -> Any | None:
    """Gives the Python callable behind a from_generator dataset, or None for any other."""
    wrapper = getattr(dataset, "_map_func", None)
    if "_from_generator.<locals>" not in where_defined(wrapper):
        return None
    for value in closure_of(function_of(wrapper)).values():
        state = closure_of(value).get("generator_state") if callable(value) else None
        if state is not None:
            return state._generator
    return None


def pad_to_cardinality(dataset: Any) -> Link | None:
    """``pad_to_cardinality`` marks its input by a map and appends a filler to it."""
    if type(dataset).__name__ != "_ConcatenateDataset":
        return None
    marked = inputs_of(dataset)[0]
    if ".pad_to_cardinality:" not in where_defined(getattr(marked, "_map_func", None)):
        return None
    return Link("pad_to_cardinality", dataset, inputs_of(marked)[0])


def ragged_batch(dataset: Any) -> Link | None:
    """``ragged_batch`` is a batch over a map that makes tensors ragged."""
    if not type(dataset).__name__.endswith("BatchDataset"):
        return None
    below = inputs_of(dataset)[0]
    if type(below).__name__ != "_DenseToRaggedDataset":
        return None
    return Link("ragged_batch", dataset, inputs_of(below)[0], _options(dataset))


def enumerate_(dataset: Any) -> Link | None:
    """``enumerate`` zips a range, of which only a bare variant is kept, with its input."""
    if type(dataset).__name__ != "_ZipDataset":
        return None
    inputs = inputs_of(dataset)
    spec = dataset.element_spec
    if len(inputs) != 2 or type(inputs[0]).__name__ != "_VariantDataset":
        return None
    if not (isinstance(spec, tuple) and spec[0].dtype == "int64" and spec[0].shape.rank == 0):
        return None
    return Link("enumerate", dataset, inputs[1], note="its start is not kept by tf.data")


def counter(dataset: Any) -> Link | None:
    """``counter`` is a scan over a repeated dummy element."""
    wrapper = getattr(dataset, "_scan_func", None)
    if not where_defined(wrapper).startswith(f"{_TENSORFLOW}ops.counter_op:"):
        return None
    options: dict[str, Option] = {"start": plain_value(dataset._initial_state)}
    options["step"] = plain_value(closure_of(function_of(wrapper)).get("step"))
    return Link("counter", dataset, options=options)


def unbatch(dataset: Any) -> Link | None:
    """``unbatch`` and ``rebatch`` put a map before them that makes elements dense."""
    if type(dataset).__name__ not in ("_UnbatchDataset", "_RebatchDataset"):
        return None
    entry, below = entry_of(dataset), inputs_of(dataset)[0]
    if entry is None or type(below).__name__ != "_RestructuredDataset":
        return None
    mapped = inputs_of(below)[0]
    if "normalize_to_dense" not in where_defined(getattr(mapped, "_map_func", None)):
        return None
    return Link(entry.kind, dataset, inputs_of(mapped)[0], options_of(dataset, entry))


def snapshot(dataset: Any) -> Link | None:
    """``snapshot`` numbers its input and takes the number away again behind it."""
    wrapper = getattr(dataset, "_map_func", None)
    if not where_defined(wrapper).startswith(f"{_TENSORFLOW}ops.snapshot_op:"):
        return None
    stored = inputs_of(dataset)[0]
    numbered = enumerate_(inputs_of(stored)[0])
    if numbered is None:
        return None
    return Link("snapshot", dataset, numbered.upstream, _options(stored))


def sample_from_datasets(dataset: Any) -> Link | None:
    """``sample_from_datasets`` and ``rejection_resample`` are directed by a random selector."""
    if type(dataset).__name__ != "_DirectedInterleaveDataset":
        return None
    inputs = list(dataset._data_inputs)
    options = _options(dataset)
    selector = getattr(dataset._selector_input, "_map_func", None)
    first = getattr(inputs[0], "_map_func", None)
    if "rejection_resample.<locals>.add_class_value" in where_defined(first):
        function = closure_of(function_of(first)).get("class_func")
        upstream = inputs_of(inputs[0])[0]
        note = "TensorFlow builds it from several transformations"
        link = Link("rejection_resample", dataset, upstream, options, first, function, note=note)
        link.seeded = False
        return link
    branches = [read_links(item, COMPOSITES) for item in inputs]
    if "_sample_from_datasets.<locals>" not in where_defined(selector):
        note = "the dataset that chooses is not kept by tf.data"
        return Link("choose_from_datasets", dataset, None, options, branches=branches, note=note)
    link = Link("sample_from_datasets", dataset, None, options, branches=branches)
    source = dataset._selector_input
    while inputs_of(source):
        source = inputs_of(source)[-1]
    rerandomizes = bool(plain_value(getattr(source, "_rerandomize", None)))
    link.seeded = is_seeded(source) and not rerandomizes
    link.options["seeded"] = is_seeded(source)
    return link


def bucket_by_sequence_length(dataset: Any) -> Link | None:
    """``bucket_by_sequence_length`` is a group_by_window with functions of TensorFlow's."""
    reducer = getattr(dataset, "_reduce_func", None)
    if "bucket_by_sequence_length.<locals>" not in where_defined(reducer):
        return None
    key = closure_of(function_of(dataset._key_func)).get("key_func")
    link = Link("bucket_by_sequence_length", dataset, inputs_of(dataset)[0], wrapper=reducer)
    link.function = closure_of(key).get("element_length_func")
    window = closure_of(function_of(dataset._window_size_func)).get("window_size_func")
    sizes = plain_list(closure_of(window).get("batch_sizes"))
    if sizes:
        link.options["batch_sizes"] = ",".join(str(size) for size in sizes)
    return link


def file_reader(dataset: Any) -> Link | None:
    """A TFRecordDataset reads a dataset of names that it made itself from a list, or was given."""
    name = type(dataset).__name__
    if name not in ("TFRecordDatasetV2", "FixedLengthRecordDatasetV2", "TextLineDatasetV2"):
        return None
    entry = entry_of(dataset)
    if entry is None:
        return None
    link = Link(entry.kind, dataset, None, options_of(dataset, entry))
    names = dataset._filenames
    if type(names).__name__ == "_TensorSliceDataset":
        link.options["files"] = _length(names)
    elif hasattr(names, "_inputs"):
        link.upstream = names
    return link


def list_files(dataset: Any) -> Link | None:
    """``list_files`` is a slice of the names that matched, by default shuffled as a whole."""
    shuffled = type(dataset).__name__ == "_ShuffleDataset"
    names = inputs_of(dataset)[0] if shuffled else dataset
    if type(names).__name__ != "_TensorSliceDataset" or len(names._tensors) != 1:
        return None
    tensor = names._tensors[0]
    if tensor.dtype != "string" or tensor.shape.rank != 1 or not tensor.shape[0]:
        return None
    count = _length(names)
    if shuffled and plain_value(dataset._buffer_size) != count:
        return None
    if not os.path.exists(tensor[0].numpy()):
        return None
    options: dict[str, Option] = {"shuffle": shuffled, "files": count}
    note = "" if shuffled else "or from_tensor_slices of file names"
    link = Link("list_files", dataset, None, options, note=note)
    if shuffled:
        link.options["reshuffle"] = plain_value(dataset._reshuffle_each_iteration)
        link.options["seeded"] = link.seeded = is_seeded(dataset)
    return link


def _length(names: Any) -> int | None:
    return names._tensors[0].shape[0]


def _options(dataset: Any) -> dict[str, Option]:
    entry = entry_of(dataset)
    return {} if entry is None else options_of(dataset, entry)


COMPOSITES: tuple[Recogniser, ...] = (
    bucket_by_sequence_length,
    counter,
    enumerate_,
    file_reader,
    from_generator,
    list_files,
    pad_to_cardinality,
    ragged_batch,
    sample_from_datasets,
    snapshot,
    unbatch,
)
"""Each asks for another class or function, so that their order does not matter; sorted."""
