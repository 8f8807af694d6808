"""Turns values into JSON's own, and keeps the reason of each that becomes null."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from bottleneck_kit.records.measurement import Measurement, Missing


@dataclass
class Absences:
    """Collects why a value is null, under the value's path, while a dictionary is made.

    Attributes:
        reasons: Path -> reason.
    """

    reasons: dict[str, str] = field(default_factory=dict)

    def value(self, path: str, value: Any) -> Any:
        """Gives the value, or None for a Missing (or a number JSON has no word for)."""
        if isinstance(value, Missing):
            self.reasons[path] = value.reason
            return None
        if isinstance(value, Measurement):
            return self.value(path, value.value)
        if isinstance(value, float) and not math.isfinite(value):
            self.reasons[path] = f"it came out as {value}"
            return None
        return value

    def follower(self, leader: str, path: str, value: Any) -> Any:
        """Gives the value like ``value``, but says no reason that ``leader`` already gave."""
        if isinstance(value, Missing) and self.reasons.get(leader) == value.reason:
            return None
        return self.value(path, value)

    def tree(self, path: str, value: Any) -> Any:
        """Gives a record as dictionaries and lists, each Missing in it as a null of its own."""
        if isinstance(value, (Missing, Measurement)):
            return self.value(path, value)
        if dataclasses.is_dataclass(value):
            names = [one.name for one in dataclasses.fields(value)]
            return {name: self.tree(f"{path}.{name}", getattr(value, name)) for name in names}
        if isinstance(value, Mapping):
            return {str(key): self.tree(f"{path}.{key}", item) for key, item in value.items()}
        if isinstance(value, (list, tuple)):
            return [self.tree(f"{path}.{place}", item) for place, item in enumerate(value)]
        return self.value(path, value)
