"""Questions of the diagnosis about the work of stages: what holds a step back, what does not."""

from __future__ import annotations

from bottleneck_kit.diagnosis import thresholds
from bottleneck_kit.diagnosis.cores import has_idle_cores
from bottleneck_kit.records.evidence import Evidence, StageEvidence
from bottleneck_kit.records.measurement import Missing
from bottleneck_kit.records.stage import Stage
from bottleneck_kit.units import format_seconds


def stage_name(stage: Stage) -> str:
    """Names a stage for a person, with file and line of its function where there is one."""
    if stage.kind == "keras_arrays":
        return "Keras' array adapter (NumPy input)"
    return f"{stage.label} ({stage.place})" if stage.place else stage.label


def cost_s(one: StageEvidence) -> float:
    """Gives the thread seconds of a stage a step; 0 where they are not known."""
    return 0.0 if isinstance(one.cost_s, Missing) else one.cost_s


def unspreadable_s(one: StageEvidence) -> float | None:
    """Gives the seconds a step that a stage takes whatever the cores; None where it can be spread.

    For a Python stage the calls wait for each other's lock and count the waiting: cost through
    calls is the work itself.
    """
    if isinstance(one.cost_s, Missing):
        return None
    if one.stage.traits.python:
        calls = 1 if one.serial else max(1, one.parallelism or 1)
        return one.cost_s / calls
    return one.cost_s if one.serial else None


def limits_as_python(one: StageEvidence, step_s: float) -> bool:
    """Says whether a stage runs Python for so much of a step that it is what the step waits for."""
    seconds = unspreadable_s(one)
    if not one.stage.traits.python or seconds is None:
        return False
    return seconds >= thresholds.LIMITING_SHARE * step_s


def explains_alone(one: StageEvidence, evidence: Evidence) -> bool:
    """Says whether a stage that cannot be spread takes the step by itself.

    It must take more than this process' CPU seconds through the cores: else full cores are the
    tighter bound, and spreading the stage would win nothing.
    """
    seconds, step = unspreadable_s(one), evidence.step_s
    if seconds is None or isinstance(step, Missing):
        return False
    share = evidence.cpu_share
    cpu_s = 0.0 if isinstance(share, Missing) else share.value * step.value
    return seconds >= max(thresholds.EXPLAINS_SHARE * step.value, cpu_s)


def is_part_of_the_wait(seconds: float, evidence: Evidence) -> bool:
    """Says whether saving these seconds a step would be felt by a step that waits."""
    wait = evidence.wait_s
    return isinstance(wait, Missing) or seconds >= thresholds.CAUSE_SHARE * wait.value


def latency_s(evidence: Evidence) -> float | None:
    """Gives the part of the wait that no work accounts for; None where that is not much of it.

    Even if nothing overlaps, a step waits no longer than the thread seconds of all stages; what a
    stage without a known cost computes is in the CPU time of the process. What is left, while
    cores are idle, is something that blocks: a slow disk or network, a lock, a sleep.
    """
    wait = evidence.wait_s
    if isinstance(wait, Missing) or not has_idle_cores(evidence):
        return None
    cpu = evidence.cpu_step_s if isinstance(evidence.cpu_pipe_s, Missing) else evidence.cpu_pipe_s
    if isinstance(cpu, Missing):
        return None
    work_s = max(sum(cost_s(one) for one in evidence.stages), cpu.value)
    if wait.low - work_s < thresholds.LATENCY_SHARE * wait.low:
        return None
    return wait.value - work_s


def thread_time(seconds: float, step_s: float) -> str:
    """Says how long one thread works in a step, also where tf.data counted more than the step."""
    if seconds <= step_s:
        return f"{format_seconds(seconds)} of each {format_seconds(step_s)} step"
    return (
        f"all of each {format_seconds(step_s)} step "
        f"({format_seconds(seconds)} of thread time, waits for a core or a lock included)"
    )
