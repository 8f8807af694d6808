"""What a remedy changes about the work of a step, for the what-if arithmetic."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

MODEL_ERROR_SHARE = 0.25
"""Stated error of the model, as a share of the predicted gain.

Predictions from thread seconds and from process CPU seconds lay 15 % (276 against 241 batches/s
measured) and more beside the truth; a quarter covers the kinds of pipeline that were tried.
"""


@dataclass(frozen=True)
class Change:
    """What a remedy does to the work of a step.

    Attributes:
        kept: Stage index -> share (0 to 1) of its work that stays in this machine's pipeline.
        calls: Stage index -> calls that work on it at once afterwards.
        step_s: Seconds added to the step itself, where work moves into it.
        step_cpu_s: CPU seconds of this machine added to the step itself.
        arrival_s: Seconds a step that receiving finished batches takes at least.
        cores: Cores afterwards, to itself; None where they stay.
        overlap: Whether a buffer at the end is added, so that the pipeline works beside the step.
        python_processes: Processes that share the work of the Python stages.
        handing_s: Seconds a step that handing elements to those processes holds this one's lock.
        latency_left: Share of the latency that no stage's work accounts for that may stay.
        error_share: Stated error, as a share of the predicted gain.
    """

    kept: Mapping[int, float] = field(default_factory=dict)
    calls: Mapping[int, float] = field(default_factory=dict)
    step_s: float = 0.0
    step_cpu_s: float = 0.0
    arrival_s: float = 0.0
    cores: float | None = None
    overlap: bool = False
    python_processes: int = 1
    handing_s: float = 0.0
    latency_left: float = 1.0
    error_share: float = MODEL_ERROR_SHARE
