"""What was concluded from the evidence: a verdict, findings, and what could not be judged."""

from __future__ import annotations

from dataclasses import dataclass, field

from bottleneck_kit.records.measurement import Missing

VERDICT_CLASSES = ("input_bound", "compute_bound", "host_bound", "mixed", "unknown")
SEVERITIES = ("none", "moderate", "high")


@dataclass(frozen=True)
class Verdict:
    """The one line that names what holds the training back.

    Attributes:
        kind: One of VERDICT_CLASSES ("class" in JSON).
        severity: One of SEVERITIES: how much input holds the step back.
        input_share: Share (0 to 1) of the step that waits for input.
        step_s: Time of a step now.
        ideal_step_s: Time of a step were input free.
        reachable_step_s: Time of a step that tuning this machine could reach.
        text: The sentence, with its numbers; for "unknown", with the reason.
    """

    kind: str
    severity: str
    input_share: float | Missing
    step_s: float | Missing
    ideal_step_s: float | Missing
    reachable_step_s: float | Missing
    text: str


@dataclass(frozen=True)
class Finding:
    """One thing that is wrong, with the numbers it rests on.

    Attributes:
        code: The rule's code, such as ``INP111``.
        name: The rule's name, such as ``serial-stage``.
        severity: "moderate" or "high".
        stage: Index of the stage it is about; None where it is about the whole.
        evidence: The numbers it rests on, by name with unit.
        text: One or two sentences for a person.
        remedies: Names of the remedies that may cure it, best first.
    """

    code: str
    name: str
    severity: str
    stage: int | None
    evidence: dict[str, float | int | str | None]
    text: str
    remedies: tuple[str, ...] = ()


@dataclass(frozen=True)
class NotEvaluated:
    """A rule that could not be asked.

    Attributes:
        code: The rule's code.
        name: The rule's name.
        reason: Which evidence is missing and why, or that the rule failed.
    """

    code: str
    name: str
    reason: str


@dataclass(frozen=True)
class Diagnosis:
    """All that was concluded.

    Attributes:
        verdict: The one line.
        findings: What is wrong, worst first.
        not_evaluated: Rules that could not be asked.
    """

    verdict: Verdict
    findings: tuple[Finding, ...] = field(default=())
    not_evaluated: tuple[NotEvaluated, ...] = field(default=())
