"""What a rule is: a code, the evidence it needs, whether it holds, what to say, which remedies."""

from __future__ import annotations

import abc
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import ClassVar

from bottleneck_kit.records.diagnosis import Finding
from bottleneck_kit.records.evidence import Evidence
from bottleneck_kit.records.measurement import Missing


@dataclass(frozen=True)
class Match:
    """One place where a rule holds.

    Attributes:
        severity: "moderate" or "high".
        stage: Index of the stage, or None where the rule is about the whole job.
        numbers: The numbers the rule rests on, by name with unit, and names it needs to speak.
        remedies: Overrides the rule's remedies where they depend on the case.
    """

    severity: str
    stage: int | None = None
    numbers: dict[str, float | int | str | None] = field(default_factory=dict)
    remedies: tuple[str, ...] | None = None

    def number(self, name: str) -> float:
        """Gives one of the numbers.

        Raises:
            KeyError: The match has no number of that name; text and None are none.
        """
        value = self.numbers[name]
        if value is None or isinstance(value, str):
            raise KeyError(name)
        return float(value)


class Rule(abc.ABC):
    """One cause, judged from evidence alone.

    A subclass documents itself with the headings What it checks / Why it costs time / Evidence
    used / Example / What to do / Known problems; ``bottleneck-kit rules CODE`` prints that.

    Attributes:
        code: Such as ``INP111``. INP input pipeline, DEV device, HST host, RUN run.
        name: Such as ``serial-stage``; the module is named the same, with underscores.
        needs: Names of Evidence fields without which the rule cannot be asked. Where one of
            them is Missing the engine lists the rule as not evaluated with that reason.
        remedies: Names of the remedies that may cure it, best first.
    """

    code: ClassVar[str]
    name: ClassVar[str]
    needs: ClassVar[tuple[str, ...]]
    remedies: ClassVar[tuple[str, ...]]

    @abc.abstractmethod
    def matches(self, evidence: Evidence) -> Iterable[Match]:
        """Gives a match for each place where the rule holds; nothing where it does not."""

    def why_not(self, evidence: Evidence) -> str:
        """Says why the rule cannot be asked though all of ``needs`` is there; "" where it can."""
        return ""

    def missing(self, evidence: Evidence) -> str:
        """Says why the rule cannot be asked of this evidence; "" where it can."""
        for name in self.needs:
            value = getattr(evidence, name)
            if isinstance(value, Missing):
                return f"{name} is missing: {value.reason}"
        return self.why_not(evidence)

    @abc.abstractmethod
    def say(self, match: Match, evidence: Evidence) -> str:
        """Says it to a person, in one or two sentences with the numbers."""

    def findings(self, evidence: Evidence) -> tuple[Finding, ...]:
        """Gives the findings of this rule."""
        return tuple(
            Finding(
                code=self.code,
                name=self.name,
                severity=match.severity,
                stage=match.stage,
                evidence=dict(match.numbers),
                text=self.say(match, evidence),
                remedies=self.remedies if match.remedies is None else match.remedies,
            )
            for match in self.matches(evidence)
        )
