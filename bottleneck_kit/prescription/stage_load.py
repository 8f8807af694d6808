"""The pipeline as threads with work: the bounds that the what-if arithmetic starts from."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from bottleneck_kit.prescription.change import Change
from bottleneck_kit.prescription.stage_order import in_memory
from bottleneck_kit.records.evidence import Evidence
from bottleneck_kit.records.measurement import Missing
from bottleneck_kit.records.python_waits import stage_waits

MENTIONED_CORES = 0.2
"""Cores in the hands of other processes from which a text mentions them."""

HANDING_CPU_SHARE = 0.3
"""Share of the handing time that is CPU of this process, as measured; the rest is waking up."""


@dataclass(frozen=True)
class StageLoad:
    """The work of one stage.

    Attributes:
        index: The stage's index.
        seconds: Thread seconds a step.
        calls: Calls that work at once, at most the usable cores where they compute; 1 for a
            serial stage.
        buffered: Whether it hands its output on through a buffer, so that what comes before it
            and what comes after it run in different threads.
        ends_thread: Whether it belongs to the thread before its buffer (a prefetch).
        lock_s: Seconds that hold the interpreter's lock: its own over its calls, since a call
            that waits for the lock counts its waiting as work; 0 where it runs no Python, or
            Python that waits for something else.
        spread: Calls of the parallel stage that this branch feeds; 1 on the main line.
    """

    index: int
    seconds: float
    calls: float
    buffered: bool
    ends_thread: bool
    lock_s: float
    spread: float = 1.0


@dataclass(frozen=True)
class Load:
    """The work of a pipeline.

    Attributes:
        stages: One entry a stage, in data order.
        known: Indices of the stages whose cost is known.
        overlapped: Whether the end of the pipeline works beside the step.
    """

    stages: tuple[StageLoad, ...]
    known: frozenset[int]
    overlapped: bool


@dataclass(frozen=True)
class Bounds:
    """What limits a step from the pipeline's side, each in seconds a step.

    Attributes:
        threads_s: The slowest thread, or the seconds that hold Python's lock, if more.
        tail_s: Work done in the training thread itself, because no buffer is behind it.
        cpu_s: CPU seconds of the process over the cores.
    """

    threads_s: float
    tail_s: float
    cpu_s: float


def load_of(evidence: Evidence) -> Load | Missing:
    """Gives the work of each stage; the cost of stages fused into one node is shared out.

    A fused cost (``map`` and ``batch`` in one) is booked on those of them that run a function,
    in equal parts, since copying into the batch is small beside it.
    """
    cores = max(1.0, evidence.usable_cores)
    seconds = stage_seconds(evidence)
    if not seconds:
        return Missing("the costs of the stages are not known")
    spread = {}
    for one in evidence.stages:
        for branch in one.stage.branches:
            for inner in branch:
                spread[inner.index] = min(float(one.parallelism or 1), cores)
    booked = {index: holder for holder, group in _fused(evidence).items() for index in group}
    by_index = {one.stage.index: one for one in evidence.stages}
    stages = []
    for one in evidence.stages:
        source = by_index[booked.get(one.stage.index, one.stage.index)]
        parallel = source.serial is False
        waits = stage_waits(source, evidence)
        calls = max(1.0, float(source.parallelism or 1)) if parallel else 1.0
        stages.append(
            StageLoad(
                index=one.stage.index,
                seconds=seconds.get(one.stage.index, 0.0),
                calls=calls if waits else min(calls, cores),
                buffered=parallel or one.stage.kind == "prefetch",
                ends_thread=one.stage.kind == "prefetch",
                lock_s=(
                    seconds.get(one.stage.index, 0.0) / calls
                    if one.stage.traits.python and not waits
                    else 0.0
                ),
                spread=max(1.0, spread.get(one.stage.index, 1.0)),
            )
        )
    return Load(tuple(stages), frozenset(seconds), evidence.prefetch_at_end is not False)


def stage_seconds(evidence: Evidence) -> dict[int, float]:
    """Gives the thread seconds a step of each stage whose cost is known, fused ones shared out."""
    seconds = {
        one.stage.index: one.cost_s
        for one in evidence.stages
        if not isinstance(one.cost_s, Missing)
    }
    stages = {one.stage.index: one.stage for one in evidence.stages}
    for holder, group in _fused(evidence).items():
        if holder not in seconds:
            continue
        cost_s = seconds[holder]
        working = [index for index in group if stages[index].name != stages[index].kind]
        for index in group:
            seconds[index] = 0.0
        for index in working or [holder]:
            seconds[index] = cost_s / max(1, len(working))
    return seconds


def free_cores(evidence: Evidence) -> float:
    """Gives the cores the job can have while the machine's other processes keep theirs.

    With a core taken by others, a pipeline on two took 20.8 ms a step, which is its 20.9 ms of
    CPU through one core, however many calls worked at once; with both free, 4.3 in place of 7.4.
    """
    others = 0.0 if isinstance(evidence.other_cores, Missing) else evidence.other_cores.value
    share = 0.0 if isinstance(evidence.cpu_share, Missing) else evidence.cpu_share.value
    cores = max(1.0, evidence.usable_cores)
    # What it has already is not taken from it, and others leave it a core's worth.
    return min(cores, max(1.0, share * evidence.usable_cores, cores - others))


def taken_clause(evidence: Evidence) -> str:
    """Says, as a clause, how many cores other processes keep; "" where it is few."""
    taken = evidence.usable_cores - free_cores(evidence)
    if taken < MENTIONED_CORES:
        return ""
    return f" ({taken:.1f} of them kept busy by other processes)"


def latency_left(evidence: Evidence, gone: Iterable[int]) -> float:
    """Gives the share of unbooked latency that stays once the stages ``gone`` no longer run here.

    It may sit wherever no work was measured: at a source outside memory, or in a stage without a
    cost. Only where all of those go can it go.
    """
    known = stage_seconds(evidence)
    suspects = {one.stage.index for one in evidence.stages if one.stage.index not in known}
    suspects |= {one.stage.index for one in evidence.stages[:1] if not in_memory(one)}
    return 0.0 if suspects and suspects <= set(gone) else 1.0


def bounds_of(load: Load, evidence: Evidence, change: Change) -> Bounds:
    """Gives the bounds once ``change`` is made.

    Serial stages between two buffers share one thread, so their seconds add up; a parallel stage
    spreads its seconds over its calls. Source: the execution of tf.data iterators (Murray et al.,
    VLDB 2021), and Plumber's bounds (MLSys 2022).
    """
    cores = free_cores(evidence) if change.cores is None else max(1.0, change.cores)
    more_cores = 1.0 if change.cores is None else cores / max(1.0, evidence.usable_cores)
    overlapped = load.overlapped or change.overlap
    threads = [0.0]
    run_s = python_s = left_s = total_s = 0.0
    for stage in load.stages:
        seconds = stage.seconds * change.kept.get(stage.index, 1.0)
        total_s += stage.seconds
        left_s += seconds
        if stage.lock_s > 0:
            lock_s = stage.lock_s * change.kept.get(stage.index, 1.0)
            python_s += lock_s / change.python_processes
            if change.python_processes > 1:
                # With a lock for each process, what its calls spent waiting for it is gone.
                seconds = lock_s
        if stage.ends_thread:
            threads.append(run_s + seconds)
            run_s = 0.0
        elif stage.buffered or stage.index in change.calls:
            calls = change.calls.get(stage.index, stage.calls * max(1.0, more_cores))
            threads += [run_s, seconds / max(stage.calls, calls)]
            run_s = 0.0
        else:
            run_s += seconds / stage.spread
    if overlapped:
        threads.append(run_s)
        run_s = 0.0
    step_s = 0.0 if isinstance(evidence.step_s, Missing) else evidence.step_s.value
    # Held seconds cannot exceed the step that was measured.
    python_bound_s = min(python_s, step_s / change.python_processes) + change.handing_s
    cpu_s = _cpu_seconds(evidence, left_s / total_s if total_s > 0 else 1.0, left_s)
    return Bounds(
        threads_s=max(*threads, python_bound_s),
        tail_s=run_s,
        cpu_s=(cpu_s + change.step_cpu_s + change.handing_s * HANDING_CPU_SHARE) / cores,
    )


def pipeline_cpu_s(evidence: Evidence, share: float) -> float:
    """Gives the CPU seconds a step of a part of the pipeline, by its share of thread seconds.

    Where the process's CPU time is not known, thread seconds stand for it.
    """
    if isinstance(evidence.cpu_pipe_s, Missing):
        return share * sum(stage_seconds(evidence).values())
    return share * max(0.0, evidence.cpu_pipe_s.value)


def _cpu_seconds(evidence: Evidence, share: float, left_s: float) -> float:
    if isinstance(evidence.cpu_pipe_s, Missing):
        return left_s
    held = evidence.cpu_held_s
    return (0.0 if isinstance(held, Missing) else held.value) + pipeline_cpu_s(evidence, share)


def _fused(evidence: Evidence) -> dict[int, tuple[int, ...]]:
    """Gives, for each stage that a fused cost is booked on, all stages it is the cost of."""
    known = {one.stage.index for one in evidence.stages}
    groups = {}
    for one in evidence.stages:
        cost = one.stage.cost
        if not isinstance(cost, Missing) and cost.shared_with:
            others = (index for index in cost.shared_with if index in known)
            groups[one.stage.index] = (one.stage.index, *others)
    return groups
