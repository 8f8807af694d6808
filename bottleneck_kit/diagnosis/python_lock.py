"""Whether Python of the input pipeline takes the interpreter lock from the training loop."""

from __future__ import annotations

from dataclasses import dataclass

from bottleneck_kit.diagnosis import thresholds
from bottleneck_kit.diagnosis.stage_work import limits_as_python, unspreadable_s
from bottleneck_kit.records.evidence import Evidence, StageEvidence
from bottleneck_kit.records.measurement import Missing
from bottleneck_kit.records.python_waits import python_waits


@dataclass(frozen=True)
class PythonLock:
    """A lock that the pipeline's Python holds while the training loop needs it.

    Attributes:
        stage: The stage that runs Python longest.
        python_s: Seconds a step that all stages together run Python.
        lost_s: Seconds by which a step is longer than on the held batch.
        step_s: Seconds of a step now.
        ideal_step_s: Seconds of a step on the held batch.
        severity: "moderate" or "high".
    """

    stage: StageEvidence
    python_s: float
    lost_s: float
    step_s: float
    ideal_step_s: float
    severity: str


def find_python_lock(evidence: Evidence) -> PythonLock | None:
    """Finds the lock where Python of the pipeline and what a step loses to it are of one size.

    A step that needs the lock to fetch, to call and to come back waits for it outside the
    iterator, where no gap tells it as input. The held batch, which needs no pipeline, tells it.
    """
    step, ideal = evidence.step_s, evidence.ideal_step_s
    if isinstance(step, Missing) or isinstance(ideal, Missing):
        return None
    if isinstance(evidence.held_call_s, Missing) or _has_other_reasons(evidence):
        return None
    if evidence.steady_steps < thresholds.FEWEST_STEPS:
        return None
    limiting = [one for one in evidence.stages if limits_as_python(one, step.value)]
    if not limiting or step.low - ideal.high < thresholds.HIGH_SHARE * step.value:
        return None
    python_s = sum(unspreadable_s(one) or 0.0 for one in limiting)
    lost_s = step.value - ideal.value
    factor = thresholds.SAME_SIZE_FACTOR
    if not lost_s / factor <= python_s <= lost_s * factor or python_waits(python_s, evidence):
        return None
    return PythonLock(
        stage=max(limiting, key=lambda one: unspreadable_s(one) or 0.0),
        python_s=python_s,
        lost_s=lost_s,
        step_s=step.value,
        ideal_step_s=ideal.value,
        severity=(
            "high" if evidence.steady_steps >= thresholds.FEWEST_STEPS_FOR_HIGH else "moderate"
        ),
    )


def _has_other_reasons(evidence: Evidence) -> bool:
    """Says whether the held batch may be faster for its one shape, compilation or full cores."""
    share, recompiles = evidence.cpu_share, evidence.recompiles
    full = not isinstance(share, Missing) and share.value >= thresholds.SATURATED_SHARE
    compiled_again = isinstance(recompiles, Missing) or recompiles > 0
    return full or compiled_again or evidence.job.dynamic_shapes
