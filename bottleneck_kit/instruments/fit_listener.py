"""What those who listen to a fit are told, and the execution that is not complete yet."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from bottleneck_kit.records.steps import Execution


class FitListener:
    """What a listener is told. Every method may be left out; none may change the training."""

    def on_iterator(self, iterator: Any, dataset: Any) -> None:
        """A new iterator is about to be used; ``dataset`` is None where it names none."""

    def before_execution(self, index: int) -> None:
        """Execution ``index`` is about to begin."""

    def on_execution(self, execution: Execution) -> None:
        """An execution's period is complete: at the next one's start, or at epoch's end."""

    def on_fit_end(self, ended: str) -> None:
        """Fit has ended; on another thread where it did not complete. Called exactly once."""


@dataclass
class OpenExecution:
    """An execution that has returned and whose period is not over; see records.steps.Execution.

    Attributes:
        entered_s: Reading of the clock when it began.
        cpu_s: Reading of the process's CPU clock when it began.
        own_s: Seconds of the kit's own code in it.
    """

    index: int
    epoch: int
    steps: int
    entered_s: float
    call_s: float
    cpu_s: float
    traced: bool
    taken: bool
    own_s: float = 0.0

    def complete(self, *, now_s: float | None, now_cpu_s: float | None) -> Execution:
        """Closes the period; None where no other execution of the same epoch follows."""
        return Execution(
            index=self.index,
            epoch=self.epoch,
            steps=self.steps,
            call_s=self.call_s,
            host_s=None if now_s is None else now_s - self.entered_s - self.call_s,
            cpu_s=None if now_cpu_s is None else now_cpu_s - self.cpu_s,
            traced=self.traced,
            taken=self.taken,
            kit_s=self.own_s,
        )
