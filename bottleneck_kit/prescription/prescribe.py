"""Asks every remedy what it would bring, and puts the answers in order."""

from __future__ import annotations

from collections.abc import Mapping, Set

from bottleneck_kit.prescription.remedy import WORTH_SHARE
from bottleneck_kit.prescription.table import ALL_REMEDIES, Row
from bottleneck_kit.records.diagnosis import Diagnosis
from bottleneck_kit.records.evidence import Evidence
from bottleneck_kit.records.measurement import Missing
from bottleneck_kit.records.plan import SAFETY_CLASSES, Plan, Prescription

SAME_GAIN_SHARE = 0.01
"""Difference of two predictions, as a share of the step, that is no difference.

Far inside the model's own error: the easier remedy then comes first.
"""

HARDWARE_LEAD = 1.1
"""How many times faster hardware must be than software to come before it.

Within 10 % the prediction cannot tell them apart, and software can be tried now.
"""


def prescribe(
    evidence: Evidence, diagnosis: Diagnosis, *, remedies: Mapping[str, Row] = ALL_REMEDIES
) -> Plan:
    """Gives the remedies for a job, best first.

    Args:
        evidence: The numbers of the run.
        diagnosis: What was concluded from them.
        remedies: The remedies to ask.

    Returns:
        Those that apply, in order of predicted gain, those without a prediction last. Of equal
        gains the easier and safer comes first, and what needs hardware has to be
        ``HARDWARE_LEAD`` times faster to come before what does not. ``unpredicted`` says why a
        remedy that a finding asked for, or one that broke, is not among them; a predicted gain of
        nothing is such a reason.
    """
    given: list[Prescription] = []
    unpredicted: dict[str, str] = {}
    asked = {name for finding in diagnosis.findings for name in finding.remedies}
    for name, row in remedies.items():
        try:
            prescriptions = list(row.judge.prescriptions(evidence, diagnosis))
            kept = [one for one in prescriptions if _is_worth_showing(one, evidence, diagnosis)]
            if not kept and name in asked:
                idle = " ".join(one.text for one in prescriptions)
                if prescriptions:
                    effect = (
                        "be slower" if _are_slower(prescriptions, evidence) else "bring nothing"
                    )
                    unpredicted[name] = f"is predicted to {effect} here. {idle}"
                else:
                    unpredicted[name] = _why_not(row, evidence, diagnosis)
        except Exception as error:  # one broken remedy must not lose the others'
            unpredicted[name] = f"could not be judged: {type(error).__name__}: {error}"
            continue
        given += kept
    for name in sorted(asked - set(remedies)):
        unpredicted[name] = "this version of the kit does not know it"
    efforts = {name: row.judge.effort for name, row in remedies.items()}
    hardware = {name for name, row in remedies.items() if row.judge.needs_hardware}
    given.sort(key=lambda one: _order(one, evidence, efforts, hardware))
    return Plan(remedies=tuple(given), unpredicted=unpredicted)


def _why_not(row: Row, evidence: Evidence, diagnosis: Diagnosis) -> str:
    """Says why a remedy is not given; that nothing is known of the stages comes before all else."""
    if row.judge.needs_stages and not evidence.stages:
        known = evidence.has_pipeline
        reason = known.reason if isinstance(known, Missing) else "it was not recorded"
        return f"the stages of the pipeline are not known: {reason}"
    return row.judge.why_not(evidence, diagnosis)


def _are_slower(prescriptions: list[Prescription], evidence: Evidence) -> bool:
    """Says whether each of these lengthens the step."""
    step = evidence.step_s
    return not isinstance(step, Missing) and all(
        not isinstance(one.predicted_step_s, Missing)
        and one.predicted_step_s > (1 + SAME_GAIN_SHARE) * step.value
        for one in prescriptions
    )


def _is_worth_showing(one: Prescription, evidence: Evidence, diagnosis: Diagnosis) -> bool:
    """Says whether a prescription stays in the plan.

    One that is predicted to bring nothing stays only for a finding about its own stage: there the
    reader looks for an answer. A finding about the whole job names what may help in general. One
    that is predicted to be slower than now is no cure for anything.
    """
    if isinstance(one.predicted_step_s, Missing) or isinstance(evidence.step_s, Missing):
        return True
    if evidence.step_s.value - one.predicted_step_s >= WORTH_SHARE * evidence.step_s.value:
        return True
    if one.predicted_step_s > evidence.step_s.value:
        return False
    return any(
        finding.stage is not None and finding.code in one.findings and one.name in finding.remedies
        for finding in diagnosis.findings
    )


def _order(
    one: Prescription, evidence: Evidence, efforts: Mapping[str, int], hardware: Set[str]
) -> tuple[bool, bool, float, bool, int, int, str, int]:
    """Gives the sort key: gain, effort, safety, name, place; without a prediction last."""
    predicted = one.predicted_step_s
    missing = isinstance(predicted, Missing) or isinstance(evidence.step_s, Missing)
    rank = 0.0
    if not isinstance(predicted, Missing) and not isinstance(evidence.step_s, Missing):
        unit_s = SAME_GAIN_SHARE * evidence.step_s.value
        counted_s = predicted * (HARDWARE_LEAD if one.name in hardware else 1.0)
        rank = round(counted_s / unit_s) if unit_s > 0 else counted_s
    return (
        missing,
        # Of those without a number, what a finding asks for comes first.
        missing and not one.findings,
        rank,
        one.name in hardware,
        efforts.get(one.name, 0),
        SAFETY_CLASSES.index(one.safety),
        one.name,
        -1 if one.stage is None else one.stage,
    )
