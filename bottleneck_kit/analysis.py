"""From a record to what it means and what to do: evidence, diagnosis and plan in one go."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from bottleneck_kit.diagnosis.engine import diagnose
from bottleneck_kit.evidence.gather import gather
from bottleneck_kit.prescription.prescribe import prescribe
from bottleneck_kit.records.diagnosis import Diagnosis, Verdict
from bottleneck_kit.records.evidence import Evidence
from bottleneck_kit.records.measurement import Missing
from bottleneck_kit.records.plan import Plan
from bottleneck_kit.records.run_record import RunRecord

Result = TypeVar("Result")


@dataclass(frozen=True)
class Analysis:
    """All that follows from one record.

    Attributes:
        evidence: The numbers, each with its spread.
        diagnosis: What was concluded from them.
        plan: What to do about it, best first.
    """

    evidence: Evidence
    diagnosis: Diagnosis
    plan: Plan


def analyse(record: RunRecord) -> Analysis:
    """Judges a record; loads no framework.

    Never raises for a record that decodes: a part that fails leaves its reason in
    ``evidence.unavailable``, in the verdict's text or in ``plan.unpredicted``.
    """
    evidence = _attempt(
        lambda: gather(record),
        lambda reason: Evidence(
            environment=record.environment,
            job=record.job,
            unavailable={**record.unavailable, "evidence": reason},
        ),
    )
    diagnosis = _attempt(lambda: diagnose(evidence), _no_diagnosis)
    plan = _attempt(
        lambda: prescribe(evidence, diagnosis),
        lambda reason: Plan(unpredicted={"all": reason}),
    )
    return Analysis(evidence, diagnosis, plan)


def _attempt(work: Callable[[], Result], instead: Callable[[str], Result]) -> Result:
    """Gives what ``work`` gives, or what stands for it with the reason where it fails."""
    try:
        return work()
    except Exception as error:  # a judgement that fails must not take the measurements with it
        return instead(f"failed on this record: {type(error).__name__}: {error}")


def _no_diagnosis(reason: str) -> Diagnosis:
    missing = Missing(f"the diagnosis {reason}")
    return Diagnosis(
        Verdict(
            kind="unknown",
            severity="none",
            input_share=missing,
            step_s=missing,
            ideal_step_s=missing,
            reachable_step_s=missing,
            text=f"The diagnosis {reason}.",
        )
    )
