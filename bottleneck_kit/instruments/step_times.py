"""Keeps the times of executions within a bound, however long the run is."""

from __future__ import annotations

from dataclasses import replace

from bottleneck_kit.records.steps import Epoch, Execution, StepTimes

HEAD = 64
"""The first executions are all kept: compilation and buffer fill show there."""

LIMIT = 4096
"""At most so many are kept in all; about 1 MiB."""

EPOCHS_EACH_END = 512


class StepTimesRecorder:
    """Takes executions one by one and thins them evenly.

    The latest ones wait in a short list until the fetch gaps that belong to them are known.
    """

    def __init__(self) -> None:
        self.executions = 0
        self.steps = 0
        self.total_call_s = 0.0
        self._head: list[Execution] = []
        self._body: list[Execution] = []
        self._stride = 1
        self._recent: list[Execution] = []

    def add(self, execution: Execution) -> None:
        """Takes one execution; ``gap_s`` may still be unknown."""
        self.executions += 1
        self.steps += execution.steps
        self.total_call_s += execution.call_s
        self._recent.append(execution)
        if len(self._recent) >= 4 * HEAD:
            # Nobody reads gaps (no live pipeline): do not wait for them.
            self.settle()

    def assign_gaps(self, gaps_s: tuple[float, ...], last_index: int) -> None:
        """Gives the recent executions their gaps.

        Args:
            gaps_s: Gaps of one iterator, oldest first, seconds.
            last_index: Index of the execution that the last gap belongs to.
        """
        first_index = last_index - len(gaps_s) + 1
        for place, execution in enumerate(self._recent):
            position = execution.index - first_index
            if execution.gap_s is None and 0 <= position < len(gaps_s):
                self._recent[place] = replace(execution, gap_s=gaps_s[position])

    def settle(self, keep_last: int = 0) -> None:
        """Moves the recent executions to the thinned ones, all but the last ``keep_last``."""
        settled = self._recent[: len(self._recent) - keep_last]
        self._recent = self._recent[len(settled) :]
        for execution in settled:
            if len(self._head) < HEAD:
                self._head.append(execution)
            elif execution.index % self._stride == 0:
                self._body.append(execution)
                if len(self._head) + len(self._body) >= LIMIT:
                    self._stride *= 2
                    self._body = [e for e in self._body if e.index % self._stride == 0]

    def freeze(self) -> StepTimes:
        """Gives what was taken so far; recording may go on."""
        return StepTimes(
            executions=self.executions,
            steps=self.steps,
            kept=(*self._head, *self._body, *self._recent),
            stride=self._stride,
            total_call_s=self.total_call_s,
        )


class EpochsRecorder:
    """Keeps the first and the last epochs of a run."""

    def __init__(self) -> None:
        self.count = 0
        self._first: list[Epoch] = []
        self._last: list[Epoch] = []

    def add(self, epoch: Epoch) -> None:
        """Takes one finished epoch."""
        self.count += 1
        if len(self._first) < EPOCHS_EACH_END:
            self._first.append(epoch)
            return
        self._last.append(epoch)
        if len(self._last) > EPOCHS_EACH_END:
            del self._last[0]

    def amend_last(self, *, end_s: float) -> None:
        """Tells the last epoch how long its end took, once the next one's first call starts."""
        kept = self._last or self._first
        if kept:
            kept[-1] = replace(kept[-1], end_s=end_s)

    def freeze(self) -> tuple[Epoch, ...]:
        """Gives the epochs kept so far."""
        return (*self._first, *self._last)


class OpenEpoch:
    """An epoch while it runs."""

    def __init__(self, index: int, began_s: float) -> None:
        self.index = index
        self.began_s = began_s
        self.executions = 0
        self.steps = 0
        self.first_call_s: float | None = None
        self.validation_s = 0.0
        self.validation_began_s: float | None = None

    def add(self, execution: Execution) -> None:
        """Takes one of its executions."""
        self.executions += 1
        self.steps += execution.steps
        if self.first_call_s is None:
            self.first_call_s = execution.call_s

    def close(self, now_s: float) -> Epoch:
        """Gives the finished epoch."""
        return Epoch(
            index=self.index,
            duration_s=now_s - self.began_s,
            executions=self.executions,
            steps=self.steps,
            first_call_s=self.first_call_s,
            validation_s=self.validation_s,
        )
