"""Reads the dataset that an interleave's or flat_map's function makes, from its traced graph.

The function is not called again: what it returned is there as dataset ops, whose kinds, options
and inner functions are read. Names come from TensorFlow's function names, places from the code.
"""

from __future__ import annotations

import re
import types
from dataclasses import dataclass, field
from typing import Any

import tensorflow as tf

from bottleneck_kit.pipeline.code_references import nested_codes, references
from bottleneck_kit.pipeline.function_graph import body_of
from bottleneck_kit.pipeline.transformations import (
    AUTOTUNE,
    TRANSFORMATIONS,
    Option,
    plain_value,
)
from bottleneck_kit.pipeline.user_function import UserFunction, locate

_BY_OP = {
    "concatenate": "concatenate",
    "fixedlengthrecord": "fixed_length_record",
    "flatmap": "flat_map",
    "sparsetensorslice": "from_sparse_tensor_slices",
    "tensor": "from_tensors",
    "tensorslice": "from_tensor_slices",
    "tfrecord": "tfrecord",
    **{entry.kind.replace("_", ""): entry.kind for entry in TRANSFORMATIONS.values()},
}
"""Name of a dataset op, without Dataset, Parallel, Legacy and version, in lower case -> kind."""

_SILENT_OPS = {"Identity", "OptionsDataset", "ModelDataset", "RewriteDataset"}

_MAKES_ITS_SOURCE = ("fixed_length_record", "from_generator", "text_line", "tfrecord")
"""Kinds that tf.data builds over a small dataset of its own (file names, a dummy element)."""

_CALLS = {"PartitionedCall", "StatefulPartitionedCall"}

_OPTION_INPUTS = {
    "batch_size",
    "block_length",
    "buffer_size",
    "compression_type",
    "count",
    "cycle_length",
    "drop_remainder",
    "num_parallel_calls",
    "num_shards",
    "size",
    "start",
    "stop",
}


@dataclass
class InnerStage:
    """One dataset op inside a function's graph.

    Attributes:
        kind: Public name of the transformation.
        options: Those that are constants in the graph.
        user: The function it runs, as far as it can be told; None where it runs none.
        body: FuncGraph of that function; None where there is none.
        spec: Element spec as a tuple of TensorSpecs; None where the op does not say.
        captured: The variant tensor of a dataset made outside the function; else None.
        note: What could not be read.
    """

    kind: str
    options: dict[str, Option] = field(default_factory=dict)
    user: UserFunction | None = None
    body: Any | None = None
    spec: Any | None = None
    captured: Any | None = None
    note: str = ""


def read_inner(graph: Any, function: Any | None) -> list[InnerStage]:
    """Gives the chain of stages that a function's dataset consists of, source first.

    Args:
        graph: The FuncGraph of the traced function.
        function: The user's Python function, whose code is searched for the inner ones.
    """
    chain: list[InnerStage] = []
    tensor = graph.outputs[0] if graph.outputs else None
    while tensor is not None:
        operation = tensor.op
        if operation.type in _SILENT_OPS:
            tensor = operation.inputs[0] if len(operation.inputs) else None
            continue
        if operation.type in _CALLS:
            body = body_of(graph, operation.get_attr("f").name)
            if body is not None:
                tensor, graph = body.outputs[tensor.value_index], body
                continue
        if operation.type == "Placeholder":
            chain.append(_outside(graph, tensor))
            break
        inner = _read_operation(graph, operation, function)
        inputs = [item for item in operation.inputs if item.dtype == tf.variant]
        chain.append(inner)
        if inner.kind == "opaque" or not inputs:
            break
        tensor = inputs[0]
        made_by_it = tensor.op.type in ("TensorDataset", "TensorSliceDataset")
        if made_by_it and inner.kind in _MAKES_ITS_SOURCE:
            break
        if len(inputs) > 1 and inner.kind in ("zip", "concatenate"):
            inner.note = "its inputs are not shown one by one"
            break
    chain.reverse()
    return chain


def _outside(graph: Any, tensor: Any) -> InnerStage:
    """Makes the stage for a dataset that the function was given or captured."""
    for external, inside in graph.captures:
        if inside is tensor:
            note = "a dataset made outside the function"
            return InnerStage("opaque", captured=external, note=note)
    return InnerStage("opaque", note="the dataset that the function is given")


def captured_dataset(external: Any, function: Any | None) -> Any | None:
    """Finds the dataset object behind a captured variant among what a function's code names."""
    if function is None:
        return None
    for reference in references(locate(function).function):
        if getattr(reference.value, "_variant_tensor", None) is external:
            return reference.value
    return None


def _read_operation(graph: Any, operation: Any, function: Any | None) -> InnerStage:
    kind = kind_of_op(operation.type)
    if operation.type in ("If", "StatelessIf", "Case", "StatelessCase"):
        return InnerStage("opaque", note="which dataset it is, is chosen while it runs")
    if kind is None:
        return InnerStage("opaque", note=f"{operation.type} is not known to this kit")
    inner = InnerStage(kind, _options(operation), spec=_spec(operation))
    for attribute in ("f", "predicate", "reduce_func"):
        if attribute not in {item.name for item in operation.op_def.attr}:
            continue
        name = operation.get_attr(attribute).name
        inner.body = body_of(graph, name)
        if "read_one_file" in name:
            reader = [kind_of_op(item.type) for item in _ops(inner.body) if "Record" in item.type]
            inner.kind = next((item for item in reader if item), "tfrecord")
        elif "flat_map_flat_map_fn" in name and any(
            item.type == "GeneratorDataset" for item in _ops(inner.body)
        ):
            inner.kind = "from_generator"
            inner.note = "the generator inside the function is not kept by tf.data"
        else:
            inner.user = _find_function(name, function)
    return inner


def _ops(graph: Any | None) -> list[Any]:
    return [] if graph is None else graph.get_operations()


def kind_of_op(op_type: str) -> str | None:
    """Gives the public kind of a dataset op such as ``ParallelMapDatasetV2``; None if unknown."""
    match = re.fullmatch(r"(?:Legacy)?(?:Parallel)?(\w+?)Dataset(?:V\d+)?", op_type)
    return None if match is None else _BY_OP.get(match.group(1).lower())


def _options(operation: Any) -> dict[str, Option]:
    found: dict[str, Option] = {}
    names = [item.name for item in operation.op_def.input_arg]
    variadic = [item.name for item in operation.op_def.input_arg if item.type_list_attr]
    spare = len(operation.inputs) - len(names) + len(variadic)
    inputs = list(operation.inputs)
    position = 0
    for name in names:
        if name in variadic:
            position += spare
            continue
        if position < len(inputs) and name in _OPTION_INPUTS:
            value = plain_value(inputs[position])
            if value is not None:
                parallel = name in ("num_parallel_calls", "cycle_length") and value == -1
                found[name] = AUTOTUNE if parallel else value
        position += 1
    return found


def _spec(operation: Any) -> Any | None:
    try:
        shapes = operation.get_attr("output_shapes")
        dtypes = operation.get_attr("output_types")
    except ValueError:
        return None
    specs = tuple(
        tf.TensorSpec(tf.TensorShape(shape), dtype)
        for shape, dtype in zip(shapes, dtypes, strict=True)
    )
    return specs[0] if len(specs) == 1 else specs


def _find_function(traced_name: str, outer: Any | None) -> UserFunction:
    """Finds the function behind ``__inference_Dataset_map_parse_676`` in the outer one's code."""
    match = re.fullmatch(r"(?:__inference_)?Dataset_(?:[a-z]+_)*?(\w+?)(?:_\d+)?", traced_name)
    name = match.group(1) if match else traced_name
    for kind in ("flat_map", "interleave", "map", "filter", "take_while", "scan"):
        prefix = re.match(rf"(?:__inference_)?Dataset_{kind}_(\w+?)(?:_\d+)?$", traced_name)
        if prefix:
            name = prefix.group(1)
            break
    if outer is not None:
        inner = locate(outer).function
        for reference in references(inner):
            if getattr(reference.value, "__name__", None) == name:
                return locate(reference.value)
        codes = [code for code in nested_codes(inner) if code.co_name.strip("<>") == name]
        if len(codes) == 1 and isinstance(codes[0], types.CodeType):
            return UserFunction(name, codes[0].co_filename, codes[0].co_firstlineno, None)
    return UserFunction(name, None, None, None, "the place of this inner function is not kept")
