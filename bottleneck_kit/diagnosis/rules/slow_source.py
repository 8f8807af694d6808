"""INP113: reading the data, or waiting for it, takes longer than working on it."""

from __future__ import annotations

from collections.abc import Iterable

from bottleneck_kit.diagnosis import thresholds
from bottleneck_kit.diagnosis.conditions import judge_input, known, stages_unjudged
from bottleneck_kit.diagnosis.cores import cores_used, has_idle_cores
from bottleneck_kit.diagnosis.rule import Match, Rule
from bottleneck_kit.diagnosis.stage_work import cost_s, explains_alone, latency_s, stage_name
from bottleneck_kit.records.evidence import Evidence, StageEvidence
from bottleneck_kit.records.measurement import Missing
from bottleneck_kit.units import format_seconds, format_share

ARRAY_REMEDIES = ("steps_per_execution", "machine")
"""For Keras' array adapter: it is no stage of the user's that could be tuned or cached."""


class SlowSource(Rule):
    """Reading the data takes longer than working on it, while cores are idle.

    What it checks:
        Whether the stages that read take half or more of all stages' thread seconds and 40 % of
        the step, the step waits for input, and the cores are not full; or whether half or more of
        the wait is nobody's work: longer than all thread and CPU seconds of the pipeline.

    Why it costs time:
        Threads wait for a disk, a network or a bucket; too few reads are under way at once.

    Evidence used:
        source_s against the cost of all stages, wait_s, cpu_pipe_s, cpu_share, other_cores.

    Example:
        Four files read in turn from a bucket: 20 ms a step of which 2 ms are decoding; sixteen
        at once take 2.6 ms.

    What to do:
        Read more files at once (a parallel interleave with a longer cycle, in any order), put
        small files together into records, or keep a copy in memory or on a local disk.

    Known problems:
        A map that opens a file and decodes it counts as reading with both. Reads that keep a core
        busy (decompression) are told from waiting ones only by the cores of the whole process.
        Latency that no stage shows is booked on the source; a lock or a sleep of another stage
        that tf.data does not time looks the same.
    """

    code = "INP113"
    name = "slow-source"
    needs = ("input_share", "step_s", "cpu_share")
    remedies = ("tune", "cache", "bake", "service")

    def why_not(self, evidence: Evidence) -> str:
        """Gives the reason where the wait is not known, or the cost of no stage that reads."""
        reason = stages_unjudged(evidence)
        if not reason and isinstance(evidence.source_s, Missing) and not latency_s(evidence):
            return f"source_s is missing: {evidence.source_s.reason}"
        return reason

    def matches(self, evidence: Evidence) -> Iterable[Match]:
        """Gives one match: for latency at the source, else at the stage that reads longest."""
        part, step = judge_input(evidence), known(evidence.step_s)
        if not part.is_certain:
            return
        readers = [one for one in evidence.stages if one.reads and not one.stage.traits.python]
        latency = latency_s(evidence)
        if latency is not None:
            yield _latency_match(part.severity, latency, readers, evidence)
            return
        if not has_idle_cores(evidence) and not any(
            explains_alone(one, evidence) for one in readers
        ):
            return
        total_s = sum(cost_s(one) for one in evidence.stages)
        reading_s = sum(cost_s(one) for one in readers)
        if not total_s > 0 or reading_s < thresholds.DOMINANT_SHARE * total_s:
            return
        if reading_s < thresholds.LIMITING_SHARE * step.value:
            return
        longest = max(readers, key=cost_s)
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
        """Names the source, its share and its calls; or the latency and whose work it is not."""
        numbers = match.numbers
        used = cores_used(evidence)
        if "latency_s" in numbers:
            unread = numbers["unreadable"]
            aside = f" Look at {unread} first: it could not be read." if unread else ""
            return (
                f"{format_seconds(match.number('latency_s'))} of the "
                f"{format_seconds(match.number('wait_s'))} wait is nobody's work, at {used}: "
                f"{numbers['stage']}, or something outside tf.data, is slow to deliver (remote "
                f"storage, blocking reads, a lock, a sleep).{aside}"
            )
        calls = numbers["parallelism"]
        at_once = "" if calls is None else f", {calls} at once"
        return (
            f"Reading ({numbers['stage']}{at_once}) takes "
            f"{format_seconds(match.number('source_s'))} of thread time a step, "
            f"{format_share(match.number('source_share'))} of the whole pipeline's, at {used}."
        )


def _latency_match(
    severity: str, latency: float, readers: list[StageEvidence], evidence: Evidence
) -> Match:
    source = max(readers, key=cost_s) if readers else None
    unreadable = [f"stage {one.stage.index}" for one in evidence.stages if _is_unreadable(one)]
    return Match(
        severity,
        stage=None if source is None else source.stage.index,
        numbers={
            "stage": "the source" if source is None else f"the source, {stage_name(source.stage)}",
            "latency_s": latency,
            "wait_s": known(evidence.wait_s).value,
            "work_s": sum(cost_s(one) for one in evidence.stages),
            "unreadable": " and ".join(unreadable),
            "cpu_share": known(evidence.cpu_share).value,
        },
        remedies=ARRAY_REMEDIES
        if source is not None and source.stage.kind == "keras_arrays"
        else None,
    )


def _is_unreadable(one: StageEvidence) -> bool:
    return one.stage.kind == "opaque" and isinstance(one.cost_s, Missing)
