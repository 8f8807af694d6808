"""Adds up what the kit's own code costs a step, in bounded memory."""

from __future__ import annotations

from collections import deque
from statistics import median


class OwnTime:
    """Seconds the kit spent in its own code, one entry an execution.

    Attributes:
        total_s: Their sum.
        count: How many there were.
    """

    def __init__(self) -> None:
        self.total_s = 0.0
        self.count = 0
        self._recent: deque[float] = deque(maxlen=4096)

    def add(self, seconds: float) -> None:
        """Adds an execution's."""
        self.total_s += seconds
        self.count += 1
        self._recent.append(seconds)

    @property
    def median_s(self) -> float:
        """Median of the last 4096; 0 where there is none."""
        return median(self._recent) if self._recent else 0.0
