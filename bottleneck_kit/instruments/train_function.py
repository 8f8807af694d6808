"""Reads Keras' train function: the tf.functions in it, and whether repeating it can be undone."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import keras

from bottleneck_kit.pipeline import traced_functions
from bottleneck_kit.pipeline.python_functions import python_functions
from bottleneck_kit.records.measurement import Missing

STATELESS_MARK = "bottleneck_kit_stateless"
"""Attribute by which a user says that a Python function may be called again and again."""

_DEPTH = 4  # wrapper around wrapper; Keras has two at most


@dataclass(frozen=True)
class TrainGraph:
    """What the traced graphs of a train function touch.

    Attributes:
        variables: Every variable they touch, components where it is distributed.
        random_in: Names of the traced functions that hold ops with random state in their
            kernels; "" stands for the graph of a tf.function itself.
        names: Names of the concrete functions read.
    """

    variables: tuple[Any, ...]
    random_in: frozenset[str]
    names: frozenset[str]


NOTHING_TRACED = TrainGraph(variables=(), random_in=frozenset(), names=frozenset())


def tf_functions(function: Any) -> list[Any]:
    """Gives the tf.functions inside a train function, outermost first; none in eager mode.

    Older Keras (3.5, say) has a tf.function itself, newer a Python function closing over two.
    """
    return list(_find_traceable(function, depth=_DEPTH))


def takes_list(function: Any) -> bool:
    """Says whether a train function takes a list of batches as well as an iterator.

    Keras' does where it is a Python function that chooses between an iterator and a list
    (3.15, say); where it is a tf.function, a list would be traced as another input.
    """
    names = getattr(getattr(function, "__code__", None), "co_freevars", ())
    return "multi_step_on_iterator" in names and "one_step_on_data" in names


def is_keras_own(function: Any) -> bool:
    """Says whether Keras made this train function.

    One of the user's own (an overridden ``make_train_function``) may take any number of batches
    a call, and may do in Python what cannot be undone.
    """
    inner = getattr(function, "python_function", function)
    return str(getattr(inner, "__module__", "")).startswith("keras.")


def trace_counts(functions: list[Any]) -> list[int]:
    """Gives how often each of ``functions`` has been traced."""
    return [traced_functions.tracing_count(function) for function in functions]


def read_graph(functions: list[Any]) -> TrainGraph | Missing:
    """Reads what the traced functions touch.

    Returns:
        Missing, with the op's name, where the graph holds state that putting variables back does
        not undo. Random state in kernels is told by ``random_in`` instead.
    """
    concretes = [c for f in functions for c in traced_functions.concrete_functions(f)]
    if not concretes:
        return Missing("the train function has no graph that can be read")
    variables: dict[int, Any] = {}
    random_in: set[str] = set()
    for concrete in concretes:
        for variable in traced_functions.graph_variables(concrete):
            variables[id(variable)] = variable
        graph_def = concrete.graph.as_graph_def()
        for function_name, node in traced_functions.nodes(graph_def):
            if traced_functions.keeps_random_state(node.op):
                random_in.add(function_name)
            elif node.op in traced_functions.PYTHON_OPS:
                continue  # judged below, by the function behind it
            elif not traced_functions.state_is_in_variables(node.op):
                return Missing(
                    f"the train step holds the op {node.op}, whose state cannot be put back "
                    "after a probe"
                )
        for function in python_functions(graph_def):
            if not getattr(function, STATELESS_MARK, False):
                return Missing(_python_reason(function))
    return TrainGraph(
        variables=tuple(variables.values()),
        random_in=frozenset(random_in),
        names=frozenset(concrete.name for concrete in concretes),
    )


def _python_reason(function: Callable[..., Any] | None) -> str:
    name = "a function" if function is None else getattr(function, "__name__", repr(function))
    return (
        f"the train step calls Python ({name}), and calling it more often than the training does "
        f"could change the training; set {STATELESS_MARK} = True on that function if it is free "
        "of side effects"
    )


def _find_traceable(function: Any, *, depth: int) -> Iterator[Any]:
    if traced_functions.is_traceable(function):
        yield function
        return
    if depth == 0 or not callable(function):
        return
    inside = [getattr(function, "__wrapped__", None)]
    for cell in getattr(function, "__closure__", None) or ():
        try:
            inside.append(cell.cell_contents)
        except ValueError:  # an empty cell
            continue
    seen: set[int] = set()
    for candidate in inside:
        # Functions only: a closure also holds the model, which has tf.functions of its own.
        if traced_functions.is_traceable(candidate) or hasattr(candidate, "__code__"):
            for found in _find_traceable(candidate, depth=depth - 1):
                if id(found) not in seen:
                    seen.add(id(found))
                    yield found


def reason_against_eager(model: Any, parts: list[Any]) -> str:
    """Says why an eager train step may not be repeated; "" where it may.

    Without a graph nothing tells what the step touches, so that every part of it has to be
    Keras' own.

    Args:
        model: The model.
        parts: Every part of it whose Python the step may run, the model itself included.
    """
    if "train_step" in vars(model):
        return "run_eagerly=True with a train_step of the user's own could not be undone"
    for part in parts:
        kind = _kind_of(part)
        if kind is not None and (not _is_kerass(kind) or kind is keras.layers.Lambda):
            return _eager_reason(kind)
        for attached in _attached_to(part):
            if not _is_kerass(attached):
                return _eager_reason(attached)
    return ""


_HARMLESS = {"keras", "tensorflow", "numpy", "ml_dtypes", "bottleneck_kit"}
"""Packages whose objects a part of Keras may hold without running the user's Python."""


def _kind_of(part: Any) -> Any:
    """Gives the function itself, or the class of an object; None for a name or nothing."""
    if part is None or isinstance(part, str):
        return None
    return part if hasattr(part, "__qualname__") else type(part)


def _is_kerass(kind: Any) -> bool:
    return str(kind.__module__).startswith("keras.")


def _attached_to(part: Any) -> Iterator[Any]:
    """Gives what hangs on a part and may run Python of the user's: activations, schedules, ..."""
    for value in getattr(part, "__dict__", {}).values():
        for item in value if isinstance(value, (list, tuple)) else (value,):
            kind = _kind_of(item)
            if kind is None:
                continue
            package = str(kind.__module__).split(".")[0]
            plain = package in sys.stdlib_module_names and not callable(item)
            if package not in _HARMLESS and not plain:
                yield kind


def _eager_reason(kind: Any) -> str:
    return (
        f"run_eagerly=True, and what {kind.__name__} does in Python could not be undone after a "
        "probe"
    )
