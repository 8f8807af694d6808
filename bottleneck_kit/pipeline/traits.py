"""Judges a stage from the graph that tf.data traced and from the code of its function.

Which ops show randomness was measured over Keras' layers, ``tf.image``, generators, stateless
ops, NumPy and hyper-parameters in variables: two equal passes prove nothing, ops do.
"""

from __future__ import annotations

import random
import sys
import types
from collections.abc import Callable, Iterable
from typing import Any

from bottleneck_kit.pipeline.code_references import references
from bottleneck_kit.pipeline.function_graph import operations
from bottleneck_kit.pipeline.python_functions import function_of_token
from bottleneck_kit.pipeline.traced_functions import (
    PYTHON_OPS,
    is_stateful,
    keeps_random_state,
)
from bottleneck_kit.pipeline.user_function import is_keras_layer, is_library, locate
from bottleneck_kit.records.stage import Traits

_READS_FILES = (
    "CSVDataset",
    "FixedLengthRecordDataset",
    "MatchingFiles",
    "ReadFile",
    "ReaderRead",
    "TFRecordDataset",
    "TextLineDataset",
)
"""Beginnings of op types that read files."""

_WRITES_VARIABLE = ("Assign", "ResourceScatter", "RngReadAndSkip", "RngSkip")

_HARMLESS = {
    "Assert",
    "Case",
    "DummySeedGenerator",
    "If",
    "LookupTableFindV2",
    "LookupTableSizeV2",
    "MatchingFiles",
    "PrintV2",
    "ReadFile",
    "ReadVariableOp",
    "ResourceGather",
    "ResourceGatherNd",
    "StatefulPartitionedCall",
    "VarHandleOp",
    "VarIsInitializedOp",
    "VariableShape",
    "While",
}
"""Ops that TensorFlow declares stateful though a pass leaves nothing behind in them."""


def traits_of_function(
    concretes: Iterable[Any], function: Any | None, *, changes_count: bool, reads_files: bool
) -> Traits:
    """Judges a stage that runs a user's function.

    Args:
        concretes: The ConcreteFunctions that tf.data traced for it.
        function: The user's Python function, whose code is read, not run; or None.
        changes_count: From the table of transformations.
        reads_files: Whether the transformation reads files by itself.
    """
    concretes = list(concretes)
    found = [operation for item in concretes for operation in operations(item.graph)]
    types_found = {operation.type for operation in found}
    writes = any(name.startswith(_WRITES_VARIABLE) for name in types_found)
    is_random = draws_at_random(types_found, writes=writes)
    python = bool(types_found & PYTHON_OPS)
    stateful = writes or any(
        is_stateful(name) and name not in _HARMLESS and not _makes_dataset(name)
        for name in types_found
    )
    captures, variables = _captures(concretes)
    called_back = python_calls(found)
    return Traits(
        random=is_random or (None if python else False),
        stateful=stateful or is_random,
        python=python,
        deterministic=not (is_random or stateful or python or variables),
        changes_count=changes_count,
        reads_files=reads_files or any(name.startswith(_READS_FILES) for name in types_found),
        keras_layers=keras_layers_of(function),
        captures=captures,
        ops=len(found),
        op_types=tuple(sorted(types_found)),
        frozen_randomness=frozen_randomness(function, called_back=called_back),
    )


def draws_at_random(op_types: Iterable[str], *, writes: bool = False) -> bool:
    """Says whether ops draw numbers that differ from pass to pass.

    A stateless op is random only where its seed comes from a variable that is counted on (Keras'
    seed generators); with a constant seed, or one made from the element, it repeats.
    """
    for name in op_types:
        if name.startswith("Rng") or name == "RandomDataset":
            return True
        if name.startswith("ShuffleDataset") or name.startswith("ShuffleAndRepeat"):
            return True
        if keeps_random_state(name) and not _makes_dataset(name):
            return True
        if name.startswith("StatelessRandom") and writes:
            return True
        if name.startswith(("StatefulUniform", "StatefulStandardNormal", "StatefulTruncated")):
            return True
    return False


def python_calls(found: Iterable[Any]) -> list[Callable[..., Any] | None]:
    """Gives the Python function behind each py_function and numpy_function among ops."""
    calls = []
    for operation in found:
        if operation.type in PYTHON_OPS:
            token = operation.get_attr("token")
            calls.append(function_of_token(token.decode() if isinstance(token, bytes) else token))
    return calls


def keras_layers_of(function: Any | None) -> tuple[str, ...]:
    """Gives the class names of the Keras layers a function calls, those inside models too."""
    if function is None:
        return ()
    inner = locate(function).function
    values = [inner] if is_keras_layer(inner) else [item.value for item in references(inner)]
    names: list[str] = []
    seen: set[int] = set()
    while values:
        value = values.pop(0)
        if isinstance(value, types.MethodType):
            value = value.__self__
        if isinstance(value, (list, tuple)):
            values += [item for item in value if is_keras_layer(item)]
        if not is_keras_layer(value) or id(value) in seen:
            continue
        seen.add(id(value))
        inside = [item for item in getattr(value, "layers", ()) if is_keras_layer(item)]
        values += inside
        if not inside and type(value).__name__ != "InputLayer":
            names.append(type(value).__name__)
    return tuple(dict.fromkeys(names))


def frozen_randomness(
    function: Any | None, *, called_back: Iterable[Callable[..., Any] | None] = ()
) -> tuple[str, ...]:
    """Gives the NumPy and Python random functions that a traced function's code calls.

    They were drawn once, when tf.data traced the function. Code, closures and one level of the
    global functions it names are read. What runs in Python while training is not frozen: where
    there is a ``numpy_function``, functions defined inside are left out.

    Args:
        function: The user's Python function.
        called_back: The Python functions that its graph calls while training.
    """
    if function is None:
        return ()
    inner = locate(function).function
    called = list(called_back)
    excluded = [locate(item).function for item in called if item is not None]
    if any(item is inner for item in excluded):
        return ()
    names: list[str] = []
    level = [inner]
    for _ in range(2):
        following = []
        for item in level:
            for reference in references(item, nested=not called):
                if _is_random_function(reference.value):
                    names.append(reference.name)
                elif _is_users_function(reference.value) and not any(
                    reference.value is item for item in excluded
                ):
                    following.append(reference.value)
        level = following
    return tuple(dict.fromkeys(names))


def _is_random_function(value: Any) -> bool:
    """Says whether a value is a drawing function of NumPy or of the ``random`` module."""
    owner = getattr(value, "__self__", None)
    numpy_random = getattr(sys.modules.get("numpy"), "random", None)
    owners = [random.Random]
    if numpy_random is not None:
        owners += [numpy_random.RandomState, numpy_random.Generator]
    if isinstance(owner, tuple(owners)):
        return getattr(value, "__name__", "") not in ("seed", "getstate", "get_state")
    return value is getattr(numpy_random, "default_rng", owners)


def _is_users_function(value: Any) -> bool:
    return isinstance(value, (types.FunctionType, types.MethodType)) and not is_library(value)


def _makes_dataset(op_type: str) -> bool:
    return "Dataset" in op_type


def _captures(concretes: Iterable[Any]) -> tuple[tuple[str, ...], bool]:
    """Describes what functions capture; says whether a variable is among it."""
    described: list[str] = []
    has_variables = False
    for concrete in concretes:
        graph = concrete.graph
        handles = {id(variable.handle): variable for variable in graph.variables}
        for external, inside in graph.captures:
            variable = handles.get(id(external))
            has_variables |= variable is not None
            source = inside if variable is None else variable
            shape = source.shape
            size = "..." if shape.rank is None else ",".join(str(n) for n in shape.as_list())
            name = inside.op.name if variable is None else variable.name.split(":")[0]
            mark = "" if variable is None else " (variable)"
            described.append(f"{name}: {source.dtype.name}[{size}]{mark}")
    return tuple(dict.fromkeys(described)), has_variables
