"""The few lines a person reads first, and what the longer ones group by."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from bottleneck_kit.records.evidence import StageEvidence
from bottleneck_kit.records.measurement import Missing
from bottleneck_kit.records.plan import Prescription
from bottleneck_kit.report.places import short_place
from bottleneck_kit.report.stage_rows import costliest_stage
from bottleneck_kit.report.wording import absent_thing, gain, prediction, stage_name
from bottleneck_kit.units import format_seconds, format_share

if TYPE_CHECKING:
    from bottleneck_kit.report.report import Report

_NAMED_NUMBER = re.compile(r"^\w+ is missing: ")
"""Which number a rule lacks matters less than why it is lacking, by which rules are grouped."""

VERDICT_RULE = "INP101"
"""The rule that repeats the verdict; it names no cause to look at."""


def look_at(report: Report, *, place_width: int, folder: Path | None = None) -> str:
    """Names the place to look at: the worst finding's stage, or the worst finding; "" if none."""
    causes = [finding for finding in report.findings if finding.code != VERDICT_RULE]
    for finding in causes:
        for one in report.stages:
            if finding.stage == one.stage.index:
                return _stage_line(one, place_width, folder)
    input_holds_back = report.verdict.kind in ("input_bound", "mixed")
    if input_holds_back and (costliest := costliest_stage(report.stages)):
        return _stage_line(costliest, place_width, folder)
    return f"{causes[0].name} ({causes[0].code})" if causes else ""


def _stage_line(one: StageEvidence, place_width: int, folder: Path | None) -> str:
    place = short_place(one.stage.file, one.stage.line, width=place_width, folder=folder)
    text = f"{one.stage.label}, {place}" if place else one.stage.label
    if isinstance(one.cost_s, Missing):
        return text
    text += f": {format_seconds(one.cost_s)} of work a step"
    return text if isinstance(one.share, Missing) else f"{text}, {format_share(one.share)} of all"


OTHER_MACHINES = ("machine", "service")
"""Remedies that need hardware a person may not have: they stand in the list by their gain, but
what is tried first is what can be tried now."""


def try_first(report: Report) -> str:
    """Names the first remedy at hand with what it is predicted to bring; "" where none helps."""
    helping = [one for one in report.remedies if gain(one, report.evidence.step_s)]
    if not helping:
        return ""
    first = next((one for one in helping if one.name not in OTHER_MACHINES), helping[0])
    title = remedy_title(first, report.stages)
    return f"{title}: {prediction(first)} a step, {gain(first, report.evidence.step_s)}"


def remedy_title(remedy: Prescription, stages: tuple[StageEvidence, ...]) -> str:
    """Gives the remedy's name with the stage it works on."""
    stage = stage_name(stages, remedy.stage)
    return f"{remedy.name} on {stage}" if stage else remedy.name


def unjudged(report: Report, *, full: bool = False) -> list[tuple[str, list[str]]]:
    """Groups what could not be judged by its reason.

    Args:
        report: The report.
        full: Also list every single value that is null; else rules and instruments only.

    Returns:
        Reason and what it keeps from being judged, in the order first met.
    """
    groups: dict[str, list[str]] = {}
    for rule in report.diagnosis.not_evaluated:
        reason = _NAMED_NUMBER.sub("", rule.reason)
        groups.setdefault(reason, []).append(f"{rule.code} {rule.name}")
    for path, reason in report.unavailable.items():
        single = "." in path and not path.startswith("verdict.")
        # What an earlier line already explains, or what no version could have, is noise.
        if not full and (single or path in ("utilization", "overhead")):
            continue
        things = groups.setdefault(reason, [])
        if absent_thing(path) not in things:
            things.append(absent_thing(path))
    return list(groups.items())
