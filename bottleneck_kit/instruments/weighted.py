"""Time-weighted mean and percentiles of a sampled quantity, within bounded memory."""

from __future__ import annotations

from bottleneck_kit.records.utilization import Series

LIMIT = 2048
"""Samples kept for the percentiles; the mean and the extremes use all of them."""


class WeightedSeries:
    """Takes values with the time each stands for."""

    def __init__(self) -> None:
        self.weight = 0.0
        self._sum = 0.0
        self._kept: list[tuple[float, float]] = []
        self._stride = 1
        self._count = 0

    def add(self, value: float, duration_s: float) -> None:
        """Takes a value that held for ``duration_s`` seconds."""
        if duration_s <= 0:
            return
        self.weight += duration_s
        self._sum += value * duration_s
        if self._count % self._stride == 0:
            self._kept.append((value, duration_s))
            if len(self._kept) >= LIMIT:
                self._kept = self._kept[::2]
                self._stride *= 2
        self._count += 1

    def freeze(self) -> Series | None:
        """Gives mean, p5 and p95; None where nothing was taken."""
        if not self.weight:
            return None
        return Series(
            mean=self._sum / self.weight, p5=self._percentile(0.05), p95=self._percentile(0.95)
        )

    def _percentile(self, share: float) -> float:
        """Gives the smallest value at or under which ``share`` of the time was spent."""
        ordered = sorted(self._kept)
        total = sum(duration for _, duration in ordered)
        reached = 0.0
        for value, duration in ordered:
            reached += duration
            if reached >= share * total:
                return value
        return ordered[-1][0]
