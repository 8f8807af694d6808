"""What the kit itself cost the training."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Overhead:
    """The kit's own cost in one fit.

    Attributes:
        per_step_s: Median seconds in the kit's hooks a step.
        hooks_s: Seconds in the kit's hooks, all steps together, live readings included.
        threads_cpu_s: CPU seconds of the kit's threads.
        probe_s: Seconds the held-batch probe took at the end of training.
        report_s: Seconds to read the pipeline, diagnose and print.
        fit_s: Seconds of the whole fit, to compare with.
    """

    per_step_s: float
    hooks_s: float
    threads_cpu_s: float
    probe_s: float
    report_s: float
    fit_s: float

    @property
    def share(self) -> float:
        """Share (0 to 1) of the fit that the kit took."""
        spent = self.hooks_s + self.threads_cpu_s + self.probe_s + self.report_s
        return spent / self.fit_s if self.fit_s > 0 else 0.0
