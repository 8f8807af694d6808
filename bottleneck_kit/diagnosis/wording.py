"""Clauses that the verdict and rules share, so that their numbers agree."""

from __future__ import annotations

from bottleneck_kit.diagnosis import thresholds
from bottleneck_kit.diagnosis.python_lock import find_python_lock
from bottleneck_kit.records.evidence import Evidence
from bottleneck_kit.records.measurement import Missing
from bottleneck_kit.units import format_seconds


def has_unexplained_rest(evidence: Evidence) -> bool:
    """Says whether the held batch is much faster for other reasons than the wait."""
    rest, step = evidence.unexplained_s, evidence.step_s
    if isinstance(rest, Missing) or isinstance(step, Missing):
        return False
    return rest.low >= thresholds.UNEXPLAINED_SHARE * step.value


def beside_the_wait(evidence: Evidence) -> str:
    """Says, as a sentence, why the held batch is faster than the step less its wait."""
    rest = evidence.unexplained_s
    if isinstance(rest, Missing) or not has_unexplained_rest(evidence):
        return ""
    why = "it has the cores to itself and one shape"
    if find_python_lock(evidence) is not None:
        why = "it has the interpreter lock to itself"
    return (
        f" A held batch is faster by another {format_seconds(rest.value)}, which is not waiting: "
        f"{why}."
    )
