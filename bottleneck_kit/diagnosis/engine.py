"""Asks every rule, and keeps what the others found when one of them breaks."""

from __future__ import annotations

from collections.abc import Iterable

from bottleneck_kit.diagnosis.rule import Rule
from bottleneck_kit.diagnosis.rules import ALL_RULES
from bottleneck_kit.diagnosis.verdict import judge
from bottleneck_kit.records.diagnosis import SEVERITIES, Diagnosis, Finding, NotEvaluated, Verdict
from bottleneck_kit.records.evidence import Evidence
from bottleneck_kit.records.measurement import Missing


def diagnose(evidence: Evidence, rules: Iterable[Rule] = ALL_RULES) -> Diagnosis:
    """Concludes from evidence: the verdict, what each rule found, what could not be asked.

    A rule whose evidence is missing, or that fails, becomes a NotEvaluated; it never takes
    anything from the others.
    """
    findings: list[Finding] = []
    not_evaluated: list[NotEvaluated] = []
    for rule in rules:
        try:
            reason = rule.missing(evidence)
            if reason:
                not_evaluated.append(NotEvaluated(rule.code, rule.name, reason))
            else:
                findings += rule.findings(evidence)
        # A rule is written by whoever adds it: whatever it raises is its own failure alone.
        except Exception as error:
            failure = f"the rule failed ({type(error).__name__}: {error})"
            not_evaluated.append(NotEvaluated(rule.code, rule.name, failure))
    findings.sort(key=_worst_first)
    return Diagnosis(_verdict(evidence), tuple(findings), tuple(not_evaluated))


def _worst_first(finding: Finding) -> tuple[int, str, int]:
    stage = -1 if finding.stage is None else finding.stage
    return -SEVERITIES.index(finding.severity), finding.code, stage


def _verdict(evidence: Evidence) -> Verdict:
    try:
        return judge(evidence)
    except Exception as error:
        missing = Missing(f"the verdict failed ({type(error).__name__}: {error})")
        return Verdict(
            "unknown", "none", missing, missing, missing, missing, f"unknown: {missing.reason}"
        )
