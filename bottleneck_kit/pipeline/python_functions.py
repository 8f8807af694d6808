"""Finds the Python functions that a traced graph calls back into."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from bottleneck_kit.pipeline.traced_functions import PYTHON_OPS, nodes


def python_functions(traced: Any) -> list[Callable[..., Any] | None]:
    """Gives the user's Python functions behind ``tf.py_function`` and ``tf.numpy_function``.

    Args:
        traced: A ConcreteFunction or a GraphDef; the functions it calls are walked, too.

    Returns:
        One entry a Python op; None where the function cannot be had, for instance in a graph
        that was traced in another process.
    """
    graph_def = traced.graph.as_graph_def() if hasattr(traced, "graph") else traced
    return [
        function_of_token(node.attr["token"].s.decode())
        for _, node in nodes(graph_def)
        if node.op in PYTHON_OPS
    ]


def function_of_token(token: str) -> Callable[..., Any] | None:
    """Gives the user's function that TensorFlow registered under ``token``, or None."""
    from tensorflow.python.ops import script_ops  # private: import late, fail late

    function = script_ops._py_funcs.get(token, None)
    # tf.py_function puts an EagerFunc around the function, tf.numpy_function does not.
    function = getattr(function, "_func", function)
    return _without_autograph(function) if callable(function) else None


def _without_autograph(function: Callable[..., Any]) -> Callable[..., Any]:
    """Takes off the wrapper that keeps AutoGraph away from Python functions."""
    unwrapped = inspect.unwrap(function)
    if unwrapped is function and hasattr(function, "autograph_info__"):
        # Around a partial or a callable object the wrapper names nothing; it closes over it.
        inner = inspect.getclosurevars(function).nonlocals.get("func")
        return inner if callable(inner) else function
    return unwrapped
