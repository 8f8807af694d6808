"""INP113: reading the data takes longer than working on it."""

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

ARRAY_REMEDIES = ("steps_per_execution", "machine")
"""For Keras' array adapter: it is no stage of the user's that could be tuned or cached."""


class SlowSource(Rule):
    """Reading the data takes longer than working on it, while cores are idle.

    What it checks:
        Whether the stages that read take half or more of all stages' thread seconds, the step
        waits for input, and the cores are not full.

    Why it costs time:
        Threads wait for a disk, a network or a bucket; too few reads are under way at once.

    Evidence used:
        source_s against the cost of all stages, input_share, cpu_share.

    Example:
        Four files read in turn from a bucket: 20 ms a step of which 2 ms are decoding; sixteen
        at once take 2.6 ms.

    What to do:
        Read more files at once (a parallel interleave with a longer cycle, in any order), put
        small files together into records, or keep a copy in memory or on a local disk.

    Known problems:
        A map that opens a file and decodes it counts as reading with both. Reads that keep a core
        busy (decompression) are told from waiting ones only by the cores of the whole process.
    """

    code = "INP113"
    name = "slow-source"
    needs = ("input_share", "step_s", "cpu_share", "source_s")
    remedies = ("tune", "cache", "bake", "service")

    def why_not(self, evidence: Evidence) -> str:
        """Gives the reason where the wait is not known, or no stage's cost is."""
        return stages_unjudged(evidence)

    def matches(self, evidence: Evidence) -> Iterable[Match]:
        """Gives one match, at the stage that reads longest."""
        part, step = judge_input(evidence), known(evidence.step_s)
        if not part.is_certain or not has_idle_cores(evidence):
            return
        total_s = sum(_cost_s(one) for one in evidence.stages)
        readers = [one for one in evidence.stages if one.reads and not one.stage.traits.python]
        reading_s = sum(_cost_s(one) for one in readers)
        if not total_s > 0 or reading_s < thresholds.DOMINANT_SHARE * total_s:
            return
        if reading_s < thresholds.LIMITING_SHARE * step.value:
            return
        longest = max(readers, key=_cost_s)
        yield Match(
            part.severity,
            stage=longest.stage.index,
            numbers={
                "stage": stage_name(longest.stage),
                "source_s": reading_s,
                "source_share": reading_s / total_s,
                "step_s": step.value,
                "parallelism": longest.parallelism,
                "cpu_share": known(evidence.cpu_share).value,
            },
            remedies=ARRAY_REMEDIES if longest.stage.kind == "keras_arrays" else None,
        )

    def say(self, match: Match, evidence: Evidence) -> str:
        """Names the source, its share and its calls."""
        numbers = match.numbers
        calls = numbers["parallelism"]
        at_once = "" if calls is None else f" with {calls} at once"
        return (
            f"Reading ({match.numbers['stage']}{at_once}) takes "
            f"{format_seconds(match.number('source_s'))} of thread time a step, "
            f"{format_share(match.number('source_share'))} of the whole pipeline, while "
            f"only {format_share(match.number('cpu_share'))} of the cores' time is used."
        )


def _cost_s(one: StageEvidence) -> float:
    return 0.0 if isinstance(one.cost_s, Missing) else one.cost_s
