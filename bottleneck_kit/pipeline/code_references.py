"""What a function's code refers to by name, resolved without calling it, for ``traits``."""

from __future__ import annotations

import builtins
import dis
import inspect
import types
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from bottleneck_kit.pipeline.user_function import (
    UserFunction,
    closure_of,
    is_keras_layer,
    locate,
)

_LOADS = ("LOAD_GLOBAL", "LOAD_NAME", "LOAD_DEREF", "LOAD_CLASSDEREF", "LOAD_FROM_DICT_OR_DEREF")
_GENERATED = "__autograph_generated_file"
_ATTRIBUTES = ("LOAD_ATTR", "LOAD_METHOD")


@dataclass(frozen=True)
class Reference:
    """A dotted name in a function's code and what it stands for.

    Attributes:
        name: Such as ``np.random.rand``.
        value: The object it resolves to now.
    """

    name: str
    value: Any


def references(function: Any, *, nested: bool = True) -> Iterator[Reference]:
    """Gives what a function's code names: globals, closure variables and attributes of modules.

    Attributes are followed on modules, classes and ``self`` only by plain lookup of what is
    already there; properties are not run.

    Args:
        function: A Python function, bound method or object with ``__call__``.
        nested: Whether functions and lambdas defined inside it are read, too.
    """
    inner = getattr(function, "__func__", function)
    if not inspect.isfunction(inner):
        inner = getattr(type(inner), "__call__", inner)  # noqa: B004 - the function, not a test
    if not inspect.isfunction(inner):
        return
    known = {**inner.__globals__, **closure_of(inner)}
    owner = getattr(function, "__self__", None)
    if owner is None and not inspect.isfunction(function):
        owner = function
    if owner is not None and inner.__code__.co_varnames:
        known[inner.__code__.co_varnames[0]] = owner
    yield from _references_of_code(inner.__code__, known, nested)


def nested_codes(function: Any) -> Iterator[types.CodeType]:
    """Gives the code of functions and lambdas that are defined inside a function."""
    code = getattr(getattr(function, "__func__", function), "__code__", None)
    for constant in getattr(code, "co_consts", ()):
        if isinstance(constant, types.CodeType):
            yield constant


def locate_called(function: Any, outer: Any) -> UserFunction:
    """Finds the place of a function that another one, traced with autograph, defines inside.

    Autograph runs a converted copy from a generated file; the original is looked for by its name
    in the code of the outer function.
    """
    found = locate(function)
    if found.file is None or _GENERATED not in found.file:
        return found
    plain_name = found.name.rsplit(".", 1)[-1]
    codes = [code for code in nested_codes(outer) if code.co_name.strip("<>") == plain_name]
    place = (codes[0].co_filename, codes[0].co_firstlineno) if len(codes) == 1 else (None, None)
    return UserFunction(found.name, *place, found.function, found.note)


def _references_of_code(
    code: types.CodeType, known: dict[str, Any], nested: bool
) -> Iterator[Reference]:
    name, value, found = "", None, False
    for instruction in dis.get_instructions(code):
        if found and instruction.opname in _ATTRIBUTES:
            following = _attribute(value, str(instruction.argval))
            if following is not _ABSENT:
                name, value = f"{name}.{instruction.argval}", following
                continue
        if found:
            yield Reference(name, value)
            found = False
        first = str(instruction.argval)
        is_load = instruction.opname in _LOADS or instruction.opname.startswith("LOAD_FAST")
        if is_load and first in known and not hasattr(builtins, first):
            name, value, found = first, known[first], True
    if found:
        yield Reference(name, value)
    if nested:
        for constant in code.co_consts:
            if isinstance(constant, types.CodeType):
                yield from _references_of_code(constant, known, nested)


_ABSENT = object()


def _attribute(value: Any, name: str) -> Any:
    """Looks an attribute up without running a property or a module's lazy loader."""
    if isinstance(value, types.ModuleType):
        return vars(value).get(name, _ABSENT)
    if is_keras_layer(value):  # a call of its methods is a call of the layer
        return _ABSENT
    found = inspect.getattr_static(value, name, _ABSENT)
    if found is _ABSENT or isinstance(found, property):
        return _ABSENT
    if isinstance(found, types.FunctionType) and not isinstance(value, type):
        return types.MethodType(found, value)
    if isinstance(found, (staticmethod, classmethod)):
        return found.__func__
    if hasattr(found, "__get__") and not isinstance(found, type):
        try:
            return getattr(value, name)  # a method of a built-in class, such as Generator.normal
        except Exception:
            return _ABSENT
    return found
