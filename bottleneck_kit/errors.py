"""The whole error tree: what the kit raises at its public functions.

Nothing here is ever raised into ``model.fit``: what goes wrong beside a training becomes an
entry of ``unavailable`` in the report.
"""

from __future__ import annotations

from typing import Any


class BottleneckKitError(Exception):
    """Base of every error the kit raises.

    The message is one sentence or two: what was expected, what was received, what to do.
    """

    def __init__(self, *, expected: str, received: str, do: str) -> None:
        super().__init__(f"Expected {expected}, received {received}. {do}")
        self.expected = expected
        self.received = received
        self.do = do

    def __reduce__(self) -> tuple[Any, ...]:
        """Lets an error cross from a worker process, which keyword-only arguments prevent."""
        return _rebuild, (type(self), self.expected, self.received, self.do)


def _rebuild(
    kind: type[BottleneckKitError], expected: str, received: str, do: str
) -> BottleneckKitError:
    return kind(expected=expected, received=received, do=do)


class InvalidArgumentError(BottleneckKitError, ValueError):
    """An argument of a public function or of the command line is off."""


class ModelNotReadyError(BottleneckKitError, ValueError):
    """The model is not compiled, or not built where it has to be."""


class EmptyDatasetError(BottleneckKitError, ValueError):
    """The dataset gives no element, or too few to judge by."""


class RecordError(BottleneckKitError, ValueError):
    """A record file is damaged, is not a record, or is of a later schema."""


class UnknownRuleError(BottleneckKitError, KeyError):
    """No rule has that code."""

    def __str__(self) -> str:  # KeyError shows the repr of its message
        return str(self.args[0])


class MissingDependencyError(BottleneckKitError, ImportError):
    """An optional part is not installed; the message holds the command that installs it."""


class NothingRecordedError(BottleneckKitError, RuntimeError):
    """A report was asked for before any training was seen."""
