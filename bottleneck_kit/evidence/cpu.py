"""Evidence on the processor: CPU seconds a step, split into model and pipeline."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from bottleneck_kit.evidence.spread import Estimate, combine, estimate, mean
from bottleneck_kit.evidence.steady import Steady, select_steady
from bottleneck_kit.records.evidence import Evidence, Number
from bottleneck_kit.records.measurement import Measurement, Missing
from bottleneck_kit.records.run_record import RunRecord


def add_cpu(record: RunRecord, evidence: Evidence) -> Evidence:
    """Adds CPU seconds a step of the process, in training and on the held batch, and of neighbours.

    Means, not medians: the pipeline works ahead, so that its CPU time falls on other steps than
    those it feeds, and only the sum over many steps is right.
    """
    cores = record.environment.usable_cores
    evidence = replace(evidence, usable_cores=cores, other_cores=_other_cores(record))
    steady = select_steady(record)
    if isinstance(steady, Missing):
        return replace(evidence, cpu_step_s=steady, cpu_share=steady, cpu_pipe_s=steady)
    training = _training(steady)
    held = _held(record)
    share: Number = Missing("the CPU time of the process was not read")
    if not isinstance(training, Missing) and cores > 0:
        cpu, period = training
        share = combine(lambda used, wall: used / (cores * wall), cpu, period).measurement()
    pipe: Number
    if isinstance(training, Missing):
        pipe = training
    elif isinstance(held, Missing):
        pipe = held
    else:
        pipe = combine(lambda total, model: total - model, training[0], held).measurement(least=0)
    return replace(
        evidence,
        cpu_step_s=training if isinstance(training, Missing) else training[0].measurement(),
        cpu_held_s=held if isinstance(held, Missing) else held.measurement(),
        cpu_pipe_s=pipe,
        cpu_share=share,
    )


def _other_cores(record: RunRecord) -> Number:
    """Gives the cores that others keep busy, less those that this process may not use anyway."""
    utilization = record.utilization
    if isinstance(utilization, Missing):
        return utilization
    if isinstance(utilization.host, Missing):
        return utilization.host
    environment, others = record.environment, utilization.host.other_cores
    if not all(math.isfinite(number) for number in (others.mean, others.p5, others.p95)):
        return Missing("the machine's cores were not sampled soundly")
    elsewhere = max(0.0, environment.cores - environment.usable_cores)
    mean, low, high = (
        min(environment.usable_cores, max(0.0, number - elsewhere))
        for number in (others.mean, others.p5, others.p95)
    )
    return Measurement(mean, min(low, mean), max(high, mean), utilization.samples)


def _training(steady: Steady) -> tuple[Estimate, Estimate] | Missing:
    """Gives CPU and wall seconds a step over the steady executions whose CPU time is known."""
    known = [one for one in steady.executions if one.cpu_s is not None and one.cpu_s >= 0]
    if not known:
        return Missing("the CPU time of the process was not read")
    cpu = np.array([(one.cpu_s or 0.0) / one.steps for one in known])
    wall = np.array([(one.call_s + (one.host_s or 0.0)) / one.steps for one in known])
    return estimate(cpu, mean), estimate(wall, mean)


def _held(record: RunRecord) -> Estimate | Missing:
    held = record.held_batch
    if isinstance(held, Missing):
        return held
    usable = [cpu_s for cpu_s in held.cpu_s if math.isfinite(cpu_s) and cpu_s >= 0]
    if not usable or held.steps_per_execution < 1:
        return Missing("the probe on the held batch gave no CPU time")
    return estimate(np.array(usable) / held.steps_per_execution, mean)
