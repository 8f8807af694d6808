"""INP110: the pipeline's work fills the cores."""

from __future__ import annotations

from collections.abc import Iterable

from bottleneck_kit.diagnosis import thresholds
from bottleneck_kit.diagnosis.conditions import input_unjudged, judge_input, known
from bottleneck_kit.diagnosis.cores import (
    cores_used,
    is_nearly_saturated,
    is_saturated,
    other_cores,
)
from bottleneck_kit.diagnosis.rule import Match, Rule
from bottleneck_kit.diagnosis.stage_work import explains_alone, latency_s, unspreadable_s
from bottleneck_kit.records.evidence import Evidence
from bottleneck_kit.records.measurement import Missing
from bottleneck_kit.units import format_seconds


class CpuSaturated(Rule):
    """The pipeline's work fills the cores: no setting makes it faster on this machine.

    What it checks:
        Whether the process uses 85 % or more of the cores that other processes leave it while the
        pipeline costs the step time, and no single stage that works alone explains the wait. From
        60 %, with less than one core idle, it is moderate where no stage that works alone takes
        40 % of the step.

    Why it costs time:
        Preparing a batch takes more CPU seconds than the cores have during a step.

    Evidence used:
        cpu_share, other_cores (where the machine was sampled), cpu_step_s, cpu_pipe_s (where a
        held batch was probed), the stages' bounds.

    Example:
        Two cores, a step of 83 ms, 160 ms of CPU in it, 120 of them the pipeline's.

    What to do:
        Less work: cache or bake what is always the same, do it a batch at a time, cast late; or
        elsewhere: in the model's head, on the device, in a tf.data service, on a larger machine.

    Known problems:
        A fit that is too short to be sampled does not see its neighbours: their cores read as
        idle, and then the job looks like one of a serial stage or a slow source.
    """

    code = "INP110"
    name = "cpu-saturated"
    needs = ("input_share", "cpu_share", "cpu_step_s", "step_s")
    remedies = (
        "head",
        "vectorize",
        "cache",
        "bake",
        "device",
        "late_cast",
        "fuse",
        "dali",
        "service",
        "machine",
    )

    def why_not(self, evidence: Evidence) -> str:
        """Gives the reason where it is not known whether the pipeline costs time."""
        return input_unjudged(evidence)

    def matches(self, evidence: Evidence) -> Iterable[Match]:
        """Gives one match where the cores are full of the pipeline's work."""
        cpu, share, step = map(known, (evidence.cpu_step_s, evidence.cpu_share, evidence.step_s))
        part, full = judge_input(evidence), is_saturated(evidence)
        if not part.costs_time or not (full or _nothing_else_limits(evidence)):
            return
        pipe = evidence.cpu_pipe_s
        pipe_s = None if isinstance(pipe, Missing) else pipe.value
        if pipe_s is not None and pipe_s < thresholds.PIPELINE_CPU_SHARE * cpu.value:
            return
        if any(explains_alone(one, evidence) for one in evidence.stages):
            return
        numbers: dict[str, float | int | str | None] = {
            "cpu_share": share.value,
            "cpu_step_s": cpu.value,
            "cpu_pipe_s": pipe_s,
            "step_s": step.value,
            "usable_cores": evidence.usable_cores,
            "other_cores": other_cores(evidence),
        }
        yield Match(part.severity if full else "moderate", numbers=numbers)

    def say(self, match: Match, evidence: Evidence) -> str:
        """Says how full the cores are and how much of it is the pipeline."""
        numbers = match.numbers
        pipe_s = numbers["cpu_pipe_s"]
        part = "" if pipe_s is None else f", {format_seconds(float(pipe_s))} of it the pipeline's"
        left = "No core is" if is_saturated(evidence) else "Less than one core is"
        return (
            f"A step uses {format_seconds(match.number('cpu_step_s'))} of CPU time{part}: "
            f"{cores_used(evidence)}. {left} left for more parallel calls."
        )


def _nothing_else_limits(evidence: Evidence) -> bool:
    """Says whether the cores are nearly full and no lone stage or latency holds the step back."""
    if not is_nearly_saturated(evidence) or latency_s(evidence) is not None:
        return False
    alone = [unspreadable_s(one) or 0.0 for one in evidence.stages]
    limit_s = thresholds.LIMITING_SHARE * known(evidence.step_s).value
    return max(alone, default=0.0) < limit_s
