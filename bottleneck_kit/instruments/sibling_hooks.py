"""Finds the other callbacks of a fit, and which code object is which hook of whose class."""

from __future__ import annotations

import inspect
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import keras

HOOKS = (
    "on_epoch_begin",
    "on_epoch_end",
    "on_train_begin",
    "on_train_end",
    "on_train_batch_begin",
    "on_train_batch_end",
    "on_batch_begin",
    "on_batch_end",
    "on_test_begin",
    "on_test_end",
    "on_test_batch_begin",
    "on_test_batch_end",
)

OURS = "bottleneck_kit."

Place = tuple[str, str]
"""Class name (or names) of a callback, and the hook."""


def callback_list_in(frame: FrameType | None) -> Any | None:
    """Gives the CallbackList whose ``on_train_begin`` is on the stack of ``frame``, or None.

    It is the only way to the sibling callbacks. Only that one short-lived frame's locals are
    read: those of fit's frame would keep the user's data alive.
    """
    while frame is not None:
        if frame.f_code.co_name == "on_train_begin":
            candidate = frame.f_locals.get("self")
            if isinstance(candidate, keras.callbacks.CallbackList):
                return candidate
        frame = frame.f_back
    return None


def hook_code(callbacks: list[Any]) -> dict[CodeType, Place]:
    """Maps the code object of each hook of each callback to the callback's name and the hook.

    A hook that two classes share names both. The kit's own callbacks and Keras' empty base hooks
    are left out. The callbacks are only looked at: no attribute of theirs is computed or set.
    """
    names: dict[tuple[CodeType, str], list[str]] = {}
    for callback in callbacks:
        if type(callback).__module__.startswith(OURS):
            continue
        for hook in HOOKS:
            code, place = _code_of(callback, hook)
            if code is None:
                continue
            name = type(callback).__name__ + place
            known = names.setdefault((code, hook), [])
            if name not in known:
                known.append(name)
    found: dict[CodeType, Place] = {}
    for (code, hook), classes in names.items():
        # A function that serves as two hooks is told by the first of them.
        found.setdefault(code, (" or ".join(classes), hook))
    return found


def _code_of(callback: Any, hook: str) -> tuple[CodeType | None, str]:
    """Gives the code of a hook, and its place in the source where it is no method of a class."""
    own = getattr(callback, "__dict__", {}).get(hook)
    if own is not None:  # a LambdaCallback keeps the user's functions in the instance
        code = _code(own)
        return code, "" if code is None else f" ({_place(code)})"
    method = inspect.getattr_static(type(callback), hook, None)
    if method is inspect.getattr_static(keras.callbacks.Callback, hook, None):
        return None, ""
    return _code(method), ""


def _code(function: Any) -> CodeType | None:
    """Gives the code object that runs when ``function`` is called; None where it is not Python."""
    try:
        function = inspect.unwrap(function)
    except ValueError:  # it wraps itself
        return None
    for attribute in ("__func__", "func"):  # a bound method, a partial
        function = getattr(function, attribute, function)
    code = getattr(function, "__code__", None)
    if code is None and callable(function):  # a callable object
        code = getattr(type(function).__call__, "__code__", None)
    return code if isinstance(code, CodeType) else None


def _place(code: CodeType) -> str:
    return f"{Path(code.co_filename).name}:{code.co_firstlineno}"
