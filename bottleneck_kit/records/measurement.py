"""A measured number with its spread, and the honest absence of one; used by every record."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeGuard, TypeVar

T = TypeVar("T")


@dataclass(frozen=True)
class Measurement:
    """A number that was measured or computed from measured ones.

    Attributes:
        value: The estimate (a median unless the field's documentation says otherwise), in the
            unit that the field's name ends in (``_s``, ``_bytes``, ``_share``).
        low: Lower end of the 95 % interval, in the same unit; equal to ``value`` where the
            spread is not known.
        high: Upper end of the 95 % interval.
        n: How many observations it rests on; 0 where it was computed, not observed.
    """

    value: float
    low: float
    high: float
    n: int = 0

    @classmethod
    def exact(cls, value: float, n: int = 0) -> Measurement:
        """Makes a number without a spread."""
        return cls(value, value, value, n)


@dataclass(frozen=True)
class Missing:
    """What stands in the place of a value that could not be had. Never 0, never None.

    Attributes:
        reason: One clause a user understands, such as "autotune is off for this dataset".
    """

    reason: str


def present(value: T | Missing) -> TypeGuard[T]:
    """Says whether a value is there."""
    return not isinstance(value, Missing)
