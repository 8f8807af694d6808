"""INP111: one stage works on one element at a time and holds up the rest."""

from __future__ import annotations

from collections.abc import Iterable

from bottleneck_kit.diagnosis import thresholds
from bottleneck_kit.diagnosis.conditions import (
    has_idle_cores,
    judge_input,
    known,
    stage_name,
    stages_unjudged,
)
from bottleneck_kit.diagnosis.rule import Match, Rule
from bottleneck_kit.records.evidence import Evidence, StageEvidence
from bottleneck_kit.records.measurement import Missing
from bottleneck_kit.units import format_seconds, format_share

TAKES_PARALLEL_CALLS = frozenset({"map", "interleave", "batch", "map_and_batch"})
"""Kinds with an argument ``num_parallel_calls``."""


class SerialStage(Rule):
    """One stage works on one element at a time and holds up the rest, while cores are idle.

    What it checks:
        Whether a stage that is serial in the running pipeline takes at least 40 % of the step by
        itself, the step waits for input, and a parallel call would find a core.

    Why it costs time:
        One thread prepares a batch after the other; the other cores have nothing to do.

    Evidence used:
        Cost and parallelism of each stage in the running pipeline (not in the code: tf.data
        parallelises a stateless map by itself), step_s, input_share, cpu_share.

    Example:
        A filter between two parallel maps takes 20 ms of a step of 21 ms, at 1.1 of 8 cores.

    What to do:
        Give it num_parallel_calls where it takes one (a map with random ops then draws in
        another order); else split it, do it a batch at a time, or move it elsewhere.

    Known problems:
        The cost is wall time of its thread, so an op that uses several cores by itself is
        serial here, too. A neighbour's load makes cores read as idle.
    """

    code = "INP111"
    name = "serial-stage"
    needs = ("input_share", "step_s", "cpu_share")
    remedies = ("tune", "vectorize", "split", "head", "bake", "service")

    def why_not(self, evidence: Evidence) -> str:
        """Gives the reason where the wait is not known, or no stage's cost is."""
        return stages_unjudged(evidence)

    def matches(self, evidence: Evidence) -> Iterable[Match]:
        """Gives a match for each serial stage that limits the step."""
        part = judge_input(evidence)
        step, cpu_share = known(evidence.step_s), known(evidence.cpu_share)
        if not part.is_certain or not has_idle_cores(evidence):
            return
        for one in evidence.stages:
            if isinstance(one.cost_s, Missing) or not _is_candidate(one):
                continue
            if one.cost_s < thresholds.LIMITING_SHARE * step.value:
                continue
            yield Match(
                part.severity,
                stage=one.stage.index,
                numbers={
                    "stage": stage_name(one.stage),
                    "cost_s": one.cost_s,
                    "step_s": step.value,
                    "parallelism": one.parallelism,
                    "cpu_share": cpu_share.value,
                },
                remedies=_remedies(one),
            )

    def say(self, match: Match, evidence: Evidence) -> str:
        """Names the stage, what it takes and that cores are idle."""
        return (
            f"{match.numbers['stage']} works on one element at a time and takes "
            f"{format_seconds(match.number('cost_s'))} of each step of "
            f"{format_seconds(match.number('step_s'))}, while only "
            f"{format_share(match.number('cpu_share'))} of the cores' time is used."
        )


def _is_candidate(one: StageEvidence) -> bool:
    """Python stages are INP112's: parallel calls cannot help them; sources are INP113's."""
    return bool(one.serial) and not one.stage.traits.python and not one.reads


def _remedies(one: StageEvidence) -> tuple[str, ...]:
    names = ["vectorize", "split", "head", "service"]
    if one.stage.kind in TAKES_PARALLEL_CALLS:
        names.insert(0, "tune")
    else:
        names.insert(0, "reorder")
    if one.stage.traits.deterministic:
        names += ["cache", "bake"]
    return tuple(names)
