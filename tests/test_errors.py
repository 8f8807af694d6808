"""Errors say what was expected, what came and what to do, and can be caught by their kind."""

from __future__ import annotations

import inspect
import pickle

import pytest

from bottleneck_kit import errors
from bottleneck_kit.errors import BottleneckKitError

KINDS = [
    kind
    for _, kind in inspect.getmembers(errors, inspect.isclass)
    if issubclass(kind, BottleneckKitError)
]


@pytest.mark.parametrize("kind", KINDS)
def test_a_message_says_expected_received_and_what_to_do(kind: type[BottleneckKitError]) -> None:
    error = kind(expected="a map", received="a list", do="Pass a map.")

    assert str(error) == "Expected a map, received a list. Pass a map."
    assert (error.expected, error.received, error.do) == ("a map", "a list", "Pass a map.")


@pytest.mark.parametrize("kind", KINDS)
def test_an_error_survives_pickling(kind: type[BottleneckKitError]) -> None:
    error = kind(expected="a map", received="a list", do="Pass a map.")

    copy = pickle.loads(pickle.dumps(error))

    assert type(copy) is kind
    assert str(copy) == str(error)
    assert copy.do == error.do


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind is not BottleneckKitError])
def test_an_error_is_one_of_pythons_own_kinds_too(kind: type[BottleneckKitError]) -> None:
    built_in = [base for base in kind.__mro__[1:] if base.__module__ == "builtins"]

    assert built_in[0] is not Exception
