"""Evidence on what tuning this machine could reach: the bound that no setting gets below."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from bottleneck_kit.records.evidence import Evidence, StageEvidence
from bottleneck_kit.records.measurement import Measurement, Missing
from bottleneck_kit.records.run_record import RunRecord


def add_reachable(record: RunRecord, evidence: Evidence) -> Evidence:
    """Adds ``t_bound``: the most of ideal step, serial stage, Python seconds and CPU seconds.

    The operational bound of Plumber (Kuchnik et al., MLSys 2022): with everything overlapped a
    step takes as long as the slowest of what cannot be spread. It is never above the step as it
    is now: costs are wall seconds of threads, which contention inflates.
    """
    step = evidence.step_s
    if isinstance(step, Missing):
        return replace(evidence, reachable_step_s=step)
    known = [one for one in evidence.stages if not isinstance(one.cost_s, Missing)]
    if not known and isinstance(evidence.cpu_step_s, Missing):
        missing = Missing("neither the stages' costs nor the CPU time of a step are known")
        return replace(evidence, reachable_step_s=missing)
    ideal = evidence.ideal_step_s
    if isinstance(ideal, Missing):
        return replace(evidence, reachable_step_s=ideal)
    bounds = [(ideal, "ideal step"), *_serial_bounds(known), *_python_bound(known)]
    if not isinstance(evidence.cpu_step_s, Missing) and evidence.usable_cores > 0:
        cpu, cores = evidence.cpu_step_s, evidence.usable_cores
        bounds.append(
            (Measurement(cpu.value / cores, cpu.low / cores, cpu.high / cores, cpu.n), "cpu")
        )
    bound, name = max(bounds, key=lambda pair: pair[0].value)
    reachable = Measurement(
        value=min(bound.value, step.value),
        low=min(bound.low, step.value),
        high=min(bound.high, step.high),
        n=bound.n,
    )
    return replace(evidence, reachable_step_s=reachable, limited_by=name)


def _serial_bounds(stages: list[StageEvidence]) -> Iterator[tuple[Measurement, str]]:
    for one in stages:
        if one.serial and not one.stage.traits.python and not isinstance(one.bound_s, Missing):
            yield Measurement.exact(one.bound_s), f"serial stage {one.stage.label}"


def _python_bound(stages: list[StageEvidence]) -> Iterator[tuple[Measurement, str]]:
    """Gives the seconds a step that hold the interpreter lock, named after the largest stage.

    A call that waits for the lock counts its waiting as cost, so with k calls at once the cost is
    k times the work: the quotient is the bound, whatever the number of cores.
    """
    held: list[tuple[float, str]] = []
    for one in stages:
        if one.stage.traits.python and not isinstance(one.cost_s, Missing):
            calls = 1 if one.serial else max(1, one.parallelism or 1)
            held.append((one.cost_s / calls, one.stage.label))
    if held:
        seconds = sum(seconds for seconds, _ in held)
        yield Measurement.exact(seconds), f"python stage {max(held)[1]}"
