"""What to do about it: remedies in order of predicted gain."""

from __future__ import annotations

from dataclasses import dataclass, field

from bottleneck_kit.records.measurement import Missing

SAFETY_CLASSES = ("exact", "equivalent", "reorders", "redraws", "advice")


@dataclass(frozen=True)
class Prescription:
    """One remedy for one stage (or for the whole job).

    Attributes:
        name: The remedy's name, such as ``bake``.
        stage: Index of the (first) stage it works on; None for the whole job.
        predicted_step_s: Predicted time of a step once applied, or Missing where it cannot be
            predicted from this record.
        low_s: Lower end of the prediction, seconds.
        high_s: Upper end of the prediction, seconds.
        safety: One of SAFETY_CLASSES; how the data changes once the remedy is applied.
        cost: What it costs the user (disk, memory, another machine, a code change), a clause.
        text: What to do and why it helps here, one or two sentences.
        snippet: Python (or shell) to paste, right for this user's stage.
        findings: Codes of the findings it answers.
    """

    name: str
    stage: int | None
    predicted_step_s: float | Missing
    low_s: float | Missing
    high_s: float | Missing
    safety: str
    cost: str
    text: str
    snippet: str
    findings: tuple[str, ...] = ()


@dataclass(frozen=True)
class Plan:
    """The remedies, best first.

    Attributes:
        remedies: In order of predicted gain; those without a prediction last.
        unpredicted: Remedy name -> why it does not apply or could not be judged, for those that
            a finding asked for.
    """

    remedies: tuple[Prescription, ...] = ()
    unpredicted: dict[str, str] = field(default_factory=dict)
