"""INP111: one stage works on one element at a time and holds up the rest."""

from __future__ import annotations

from collections.abc import Iterable

from bottleneck_kit.diagnosis import thresholds
from bottleneck_kit.diagnosis.conditions import judge_input, known, stages_unjudged
from bottleneck_kit.diagnosis.cores import cores_used, has_idle_cores, other_cores
from bottleneck_kit.diagnosis.rule import Match, Rule
from bottleneck_kit.diagnosis.stage_work import explains_alone, stage_name, thread_time
from bottleneck_kit.records.evidence import Evidence, StageEvidence
from bottleneck_kit.records.measurement import Missing

TAKES_PARALLEL_CALLS = frozenset({"map", "interleave", "batch", "map_and_batch"})
"""Kinds with an argument ``num_parallel_calls``."""


class SerialStage(Rule):
    """One stage works on one element at a time and holds up the rest, while cores are idle.

    What it checks:
        Whether a stage that is serial in the running pipeline takes at least 40 % of the step by
        itself, the step waits for input, and a parallel call would find a core; or whether it
        takes 80 % and more than all CPU time through the cores, be they full or not.

    Why it costs time:
        One thread prepares a batch after the other; the other cores have nothing to do.

    Evidence used:
        Cost and parallelism of each stage in the running pipeline (not in the code: tf.data
        parallelises a stateless map by itself), step_s, input_share, cpu_share, other_cores.

    Example:
        A filter between two parallel maps takes 20 ms of a step of 21 ms, at 1.1 of 8 cores.

    What to do:
        Give it num_parallel_calls where it takes one (a map with random ops then draws in
        another order); else split it, do it a batch at a time, or move it elsewhere.

    Known problems:
        The cost is wall time of its thread, so an op that uses several cores by itself is
        serial here, too. In a fit too short to be sampled a neighbour's cores read as idle.
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
        if not part.is_certain:
            return
        for one in evidence.stages:
            if isinstance(one.cost_s, Missing) or not _is_candidate(one):
                continue
            if one.cost_s < thresholds.LIMITING_SHARE * step.value:
                continue
            if not has_idle_cores(evidence) and not explains_alone(one, evidence):
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
                    "other_cores": other_cores(evidence),
                },
                remedies=_remedies(one),
            )

    def say(self, match: Match, evidence: Evidence) -> str:
        """Names the stage, what it takes and what the cores do meanwhile."""
        seconds = thread_time(match.number("cost_s"), match.number("step_s"))
        return (
            f"{match.numbers['stage']} works on one element at a time: its one thread is busy for "
            f"{seconds}, at {cores_used(evidence)}."
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
