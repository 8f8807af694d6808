"""Walks the ops of a traced function without serialising it, for ``traits`` and ``inner_graph``.

Serialising (``as_graph_def``) copies every constant, which a 50 ms budget cannot pay for.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from tensorflow.python.framework import op_def_registry

_MAX_DEPTH = 64


def operations(graph: Any) -> Iterator[Any]:
    """Gives every op of a FuncGraph and of the functions it calls, each function once."""
    seen: set[str] = set()
    waiting = [(graph, 0)]
    while waiting:
        current, depth = waiting.pop()
        for operation in current.get_operations():
            yield operation
            for name in called_functions(operation):
                if name in seen or depth >= _MAX_DEPTH:
                    continue
                seen.add(name)
                body = body_of(current, name)
                if body is not None:
                    waiting.append((body, depth + 1))


def called_functions(operation: Any) -> Iterator[str]:
    """Gives the names of the functions an op calls (map, while, cond, partitioned call, ...)."""
    for name in _function_attributes(operation.type):
        value = operation.get_attr(name)
        for item in value if isinstance(value, list) else [value]:
            if item.name:
                yield item.name


def body_of(graph: Any, name: str) -> Any | None:
    """Gives the FuncGraph of a function that a graph calls by name; None where it has none."""
    while graph is not None:
        function = graph._get_function(name)
        if function is not None:
            return getattr(function, "graph", None)
        graph = getattr(graph, "outer_graph", None)
    return None


@lru_cache(maxsize=1024)
def _function_attributes(op_type: str) -> tuple[str, ...]:
    definition = op_def_registry.get(op_type)
    if definition is None:
        return ()
    return tuple(item.name for item in definition.attr if item.type in ("func", "list(func)"))
