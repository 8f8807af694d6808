"""Reads what TensorFlow traced: the graphs of a tf.function, their ops and variables.

Each private name of TensorFlow is read in one small function here; a test fails when it is gone.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import tensorflow as tf

PYTHON_OPS = frozenset({"EagerPyFunc", "PyFunc", "PyFuncStateless"})
"""Ops that call back into Python."""

_STATE_IN_VARIABLES = frozenset(
    {
        # Reads and writes of variables, which are put back.
        "AssignAddVariableOp",
        "AssignSubVariableOp",
        "AssignVariableOp",
        "AssignVariableXlaConcatND",
        "ReadVariableOp",
        "ReadVariableXlaSplitND",
        "VarHandleOp",
        "VarIsInitializedOp",
        "VariableShape",
        "RngReadAndSkip",
        "RngSkip",
        # Calls and control flow; what they call is walked, too.
        "Case",
        "If",
        "StatefulPartitionedCall",
        "While",
        "XlaLaunch",
        # Iterators: the probe's own.
        "IteratorGetNext",
        "IteratorGetNextAsOptional",
        "IteratorGetNextSync",
        # No state at all, or state that lives for one call.
        "Assert",
        "LookupTableFindV2",
        "LookupTableSizeV2",
        "StatefulUniform",
        "StatefulUniformInt",
        "StatefulUniformFullInt",
        "StatefulStandardNormalV2",
        "StatefulTruncatedNormal",
        "StatefulRandomBinomial",
        "TensorArrayV3",
    }
)

_STATE_IN_VARIABLES_BY_PREFIX = (
    "Collective",
    "NcclAll",
    "ResourceApply",
    "ResourceGather",
    "ResourceScatter",
    "ResourceSparseApply",
    "ResourceStridedSliceAssign",
    "TensorArray",
)


def tracing_count(function: Any) -> int:
    """Says how often a tf.function has been traced."""
    return int(function.experimental_get_tracing_count())


def is_traceable(function: Any) -> bool:
    """Says whether ``function`` is a tf.function, whose traces can be counted and read."""
    return callable(getattr(function, "experimental_get_tracing_count", None))


def concrete_functions(function: Any) -> list[Any]:
    """Gives every ConcreteFunction that a tf.function holds, without tracing."""
    return list(function._list_all_concrete_functions())


def graph_variables(concrete: Any) -> list[tf.Variable]:
    """Gives the variables a traced function touches, those of the functions it calls included.

    Distributed variables appear as their components. A layer's ``tf.random.Generator`` is among
    them, which ``model.variables`` does not have.
    """
    return list(concrete.graph.variables)


def nodes(graph_def: Any) -> Iterator[tuple[str, Any]]:
    """Gives ``(function name, NodeDef)`` of every node that the graph can reach.

    The function's name is "" for the nodes of the graph itself.
    """
    library = {function.signature.name: function for function in graph_def.library.function}
    seen: set[str] = set()
    waiting: list[tuple[str, Any]] = [("", graph_def.node)]
    while waiting:
        name, found = waiting.pop()
        for node in found:
            yield name, node
            for value in node.attr.values():
                called = [value.func.name, *(item.name for item in value.list.func)]
                for target in called:
                    if target in library and target not in seen:
                        seen.add(target)
                        waiting.append((target, library[target].node_def))


def _definition(op: str) -> Any:
    """Gives TensorFlow's declaration of an op; None where it does not know it."""
    from tensorflow.python.framework import op_def_registry  # private: import late, fail late

    return op_def_registry.get(op)


def is_stateful(op: str) -> bool:
    """Says whether TensorFlow declares an op stateful; an op it does not know is."""
    definition = _definition(op)
    return definition is None or bool(definition.is_stateful)


def keeps_random_state(op: str) -> bool:
    """Says whether an op keeps the state of a random generator inside its kernel.

    These are the stateful ops with a ``seed`` (``tf.random.uniform`` and its kind). Their state
    can neither be read nor put back.
    """
    definition = _definition(op)
    return (
        definition is not None
        and bool(definition.is_stateful)
        and any(attribute.name == "seed" for attribute in definition.attr)
    )


def state_is_in_variables(op: str) -> bool:
    """Says whether putting the variables back undoes everything the op did."""
    return (
        not is_stateful(op)
        or op in _STATE_IN_VARIABLES
        or op.startswith(_STATE_IN_VARIABLES_BY_PREFIX)
    )
