"""The pipeline as rows of text: one a stage, the stages of branches before what they feed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from bottleneck_kit.records.evidence import StageEvidence
from bottleneck_kit.records.measurement import Missing
from bottleneck_kit.report.places import short_place
from bottleneck_kit.units import format_seconds, format_share


@dataclass(frozen=True)
class StageRow:
    """One line of the pipeline's table.

    Attributes:
        name: The stage's label, behind rails where it belongs to a branch.
        place: ``file:line`` of the user's function, or "".
        work: Thread time a step; "?" where not known, "in NAME" where it is booked there.
        share: Share of all stages' work, or "".
        at_a_time: How many elements it works on at a time, or "".
        costliest: Whether it alone imposes most on a step.
    """

    name: str
    place: str
    work: str
    share: str
    at_a_time: str
    costliest: bool


def stage_rows(
    stages: Sequence[StageEvidence], *, place_width: int, folder: Path | None = None
) -> list[StageRow]:
    """Makes the table's rows, in data order."""
    fused = _booked_elsewhere(stages)
    worst = costliest_stage(stages)
    rows = []
    for name, one in zip(_labels_with_rails(stages), stages, strict=True):
        work = "?" if isinstance(one.cost_s, Missing) else format_seconds(one.cost_s)
        share = "" if isinstance(one.share, Missing) else format_share(one.share)
        if one.stage.index in fused:
            work, share = f"in {fused[one.stage.index]}", ""
        place = short_place(one.stage.file, one.stage.line, width=place_width, folder=folder)
        rows.append(StageRow(name, place, work, share, _at_a_time(one), one is worst))
    return rows


def costliest_stage(stages: Sequence[StageEvidence]) -> StageEvidence | None:
    """Gives the stage that alone imposes most on a step; None where no cost is known."""
    known = [
        (one.bound_s, place)
        for place, one in enumerate(stages)
        if not isinstance(one.bound_s, Missing) and one.bound_s > 0
    ]
    return stages[max(known)[1]] if known else None


def fed_stages(stages: Sequence[StageEvidence]) -> dict[int, int]:
    """Gives, for each stage of a branch, the index of the stage that the branch feeds."""
    return {
        inner.index: one.stage.index
        for one in stages
        for branch in one.stage.branches
        for inner in branch
    }


def _labels_with_rails(stages: Sequence[StageEvidence]) -> list[str]:
    """Puts a rail before the stages of a branch, and a corner at the branch's beginning."""
    feeds = fed_stages(stages)
    first = {branch[0].index for one in stages for branch in one.stage.branches if branch}
    labels = []
    for one in stages:
        depth, index = 0, one.stage.index
        while index in feeds:
            depth, index = depth + 1, feeds[index]
        corner = "" if depth == 0 else "┌ " if one.stage.index in first else "│ "
        labels.append(f"{'│ ' * (depth - 1)}{corner}{one.stage.label}")
    return labels


def _booked_elsewhere(stages: Sequence[StageEvidence]) -> dict[int, str]:
    """Gives, for each stage whose cost is booked on another, that other's name."""
    found: dict[int, str] = {}
    for one in stages:
        if not isinstance(one.stage.cost, Missing):
            for index in one.stage.cost.shared_with:
                if index != one.stage.index:
                    found[index] = one.stage.name
    return found


def _at_a_time(one: StageEvidence) -> str:
    if one.serial:
        return "serial"
    if one.parallelism is not None:
        return f"{one.parallelism} call{'' if one.parallelism == 1 else 's'}"
    return "" if one.serial is None else "parallel"
