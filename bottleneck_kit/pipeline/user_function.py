"""Finds the function a person wrote behind what tf.data was given, for ``stages``.

Nothing here calls the function, and nothing imports Keras: a layer is known by its class.
"""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

_LIBRARIES = ("tensorflow", "keras", "tf_keras", "numpy", "wrapt", "functools", "builtins")


@dataclass(frozen=True)
class UserFunction:
    """A function as a report names it.

    Attributes:
        name: ``dilate``, ``Augmenter.flip``, ``lambda``, or ``RandomFlip random_flip`` (class
            and name) for a Keras layer.
        file: Its source file; None for one that belongs to TensorFlow, Keras or NumPy.
        line: First line of the function or class; None where ``file`` is.
        function: The innermost Python object found, for what else is to be read from it.
        note: How it was wrapped, in a clause; "" where it was not.
    """

    name: str
    file: str | None
    line: int | None
    function: Any
    note: str = ""

    @property
    def place(self) -> str:
        """``file:line``, or ""."""
        return "" if self.file is None else f"{self.file}:{self.line}"


def locate(function: Any) -> UserFunction:
    """Finds name, file and line of a user's function.

    It looks through functools.partial, tf.function, autograph's wrappers and decorators that
    keep ``__wrapped__``. Never raises: what cannot be found is None.
    """
    inner, notes = _unwrap(function)
    if is_keras_layer(inner):
        file, line = _place_of_class(type(inner))
        layer_name = str(getattr(inner, "name", ""))
        return UserFunction(f"{type(inner).__name__} {layer_name}".strip(), file, line, inner)
    note = ", ".join(notes)
    if inspect.ismethod(inner):
        owner = inner.__self__
        if is_keras_layer(owner) and inner.__name__ in ("__call__", "call"):
            return locate(owner)
        owner_class = owner if isinstance(owner, type) else type(owner)
        code, _ = _unwrap(inner.__func__)
        file, line = _place_of_code(code)
        return UserFunction(f"{owner_class.__name__}.{inner.__name__}", file, line, inner, note)
    if inspect.isfunction(inner):
        name = "lambda" if inner.__name__ == "<lambda>" else _short(inner.__qualname__)
        file, line = _place_of_code(inner)
        return UserFunction(name, file, line, inner, note)
    if isinstance(inner, type):
        file, line = _place_of_class(inner)
        return UserFunction(inner.__name__, file, line, inner, note)
    if callable(inner) and not inspect.isbuiltin(inner):
        file, line = _place_of_class(type(inner))
        return UserFunction(type(inner).__name__, file, line, inner, note)
    return UserFunction(str(getattr(inner, "__name__", type(inner).__name__)), None, None, inner)


def locate_generator(generator: Any) -> UserFunction:
    """Finds the function behind a generator object, a class with ``__iter__`` or a callable."""
    code = getattr(generator, "gi_code", None)
    if code is not None:
        return UserFunction(generator.__name__, code.co_filename, code.co_firstlineno, generator)
    return locate(generator)


def is_keras_layer(value: Any) -> bool:
    """Says whether a value is a Keras layer or model, whichever Keras it comes from."""
    return any(
        base.__name__ in ("Layer", "BaseLayer") and "keras" in base.__module__.split(".")[0]
        for base in type(value).__mro__
    )


def is_library(function: Any) -> bool:
    """Says whether a function belongs to TensorFlow, Keras or NumPy rather than to the user."""
    module = getattr(function, "__module__", None) or ""
    return module.split(".")[0] in _LIBRARIES


def closure_of(function: Any) -> dict[str, Any]:
    """Gives the variables a function closes over, by name; empty cells are left out."""
    inner = inspect.unwrap(function) if callable(function) else function
    inner = getattr(inner, "__func__", inner)
    code, cells = getattr(inner, "__code__", None), getattr(inner, "__closure__", None)
    found: dict[str, Any] = {}
    for name, cell in zip(getattr(code, "co_freevars", ()), cells or (), strict=False):
        try:
            found[name] = cell.cell_contents
        except ValueError:  # the cell was never filled
            continue
    return found


def _unwrap(function: Any) -> tuple[Any, list[str]]:
    """Peels wrappers off, at most 32 of them, noting those a reader should know of."""
    notes: list[str] = []
    for _ in range(32):
        if isinstance(function, functools.partial):
            notes.append("a functools.partial")
            function = function.func
        elif is_keras_layer(function):
            break
        elif callable(getattr(function, "python_function", None)):
            notes.append("a tf.function")
            function = function.python_function
        elif callable(vars(function).get("__wrapped__") if hasattr(function, "__dict__") else None):
            function = function.__wrapped__
        else:
            break
    return function, notes


def _place_of_code(function: Callable[..., Any]) -> tuple[str | None, int | None]:
    code = getattr(function, "__code__", None)
    if code is None or is_library(function):
        return None, None
    return code.co_filename, code.co_firstlineno


@functools.lru_cache(maxsize=256)
def _place_of_class(kind: type) -> tuple[str | None, int | None]:
    if is_library(kind):
        return None, None
    try:
        return inspect.getsourcefile(kind), inspect.getsourcelines(kind)[1]
    except (OSError, TypeError):
        return None, None


def _short(qualname: str) -> str:
    """``make.<locals>.parse`` reads ``parse``; ``Loader.parse`` keeps its class."""
    tail = qualname.rsplit("<locals>.", 1)[-1]
    return re.sub(r"<lambda>", "lambda", tail)
