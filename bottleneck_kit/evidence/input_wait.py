"""Evidence on the wait for input: from the gaps of the iterator, or from the held batch."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from bottleneck_kit.evidence.limits import (
    BURST_SHARE,
    FEWEST_GAPS,
    GAP_MISFIT_SHARE,
    GAP_TO_IDEAL,
)
from bottleneck_kit.evidence.spread import (
    Estimate,
    Floats,
    Statistic,
    clipped_mean,
    combine,
    estimate,
    median,
)
from bottleneck_kit.evidence.stages import unknown_cost
from bottleneck_kit.evidence.steady import Steady, select_steady
from bottleneck_kit.records.evidence import Evidence
from bottleneck_kit.records.measurement import Missing
from bottleneck_kit.records.run_record import RunRecord


def add_input_wait(record: RunRecord, evidence: Evidence) -> Evidence:
    """Adds the ideal step and the wait for input with its source; needs the stages' costs.

    The gap tells the wait exactly. Without it the held batch gives an upper bound, because it is
    fast for other reasons, too; where every stage's cost is known, the wait is no longer than the
    thread seconds that one batch takes, however badly they overlap.
    """
    steady = select_steady(record)
    held = _held(record)
    if isinstance(steady, Missing):
        return replace(
            evidence,
            held_call_s=held if isinstance(held, Missing) else held.measurement(),
            ideal_step_s=steady,
            wait_s=steady,
            input_share=steady,
            unexplained_s=steady,
        )
    step = estimate(steady.period_s(), steady.statistic)
    host = estimate(steady.host_s(), steady.statistic)
    ideal: Estimate | Missing = held
    if not isinstance(held, Missing):
        ideal = combine(lambda call, between: call + between, held, host)
        evidence = replace(
            evidence, held_call_s=held.measurement(), ideal_step_s=ideal.measurement()
        )
    else:
        evidence = replace(evidence, held_call_s=held, ideal_step_s=held)
    gap_wait = _wait_from_gaps(record, steady, ideal)
    if not isinstance(gap_wait, Missing):
        return _with_wait(evidence, "gap", gap_wait, step, ideal)
    evidence = replace(
        evidence, unavailable={**evidence.unavailable, "wait from gaps": gap_wait.reason}
    )
    if isinstance(ideal, Missing):
        reason = Missing(f"{gap_wait.reason}, and there is no held batch: {ideal.reason}")
        return replace(evidence, wait_s=reason, input_share=reason, unexplained_s=reason)
    wait = combine(lambda now, free: np.maximum(now - free, 0.0), step, ideal)
    most_s = _most_a_batch_can_take(evidence)
    if most_s is not None:
        wait = combine(lambda seconds: np.minimum(seconds, most_s), wait)
    return _with_wait(evidence, "held batch", wait, step, ideal)


def _with_wait(
    evidence: Evidence, source: str, wait: Estimate, step: Estimate, ideal: Estimate | Missing
) -> Evidence:
    share = combine(lambda waited, now: waited / now, wait, step).measurement(least=0.0)
    evidence = replace(
        evidence, wait_s=wait.measurement(least=0.0), wait_source=source, input_share=share
    )
    if isinstance(ideal, Missing):
        free = combine(lambda now, waited: now - np.maximum(waited, 0.0), step, wait)
        return replace(evidence, ideal_step_s=free.measurement(least=0.0), unexplained_s=ideal)
    rest = combine(
        lambda now, free, waited: now - free - np.maximum(waited, 0.0), step, ideal, wait
    )
    return replace(evidence, unexplained_s=rest.measurement())


def _wait_from_gaps(
    record: RunRecord, steady: Steady, ideal: Estimate | Missing
) -> Estimate | Missing:
    if record.job.steps_per_execution != 1:
        return Missing(
            f"with steps_per_execution={record.job.steps_per_execution} batches are fetched "
            "beside the step, so that the time between two fetches does not tell the wait"
        )
    known = [
        one
        for one in steady.executions
        if one.gap_s is not None and math.isfinite(one.gap_s) and one.gap_s >= 0 and one.steps == 1
    ]
    if len(known) < FEWEST_GAPS:
        return Missing(
            f"the running pipeline told the time between two fetches of {len(known)} steady "
            f"steps, {FEWEST_GAPS} are needed"
        )
    # The kit's own work lies in the period and in the gap alike, and so cancels.
    period = np.array([one.call_s + (one.host_s or 0.0) for one in known])
    gap = np.array([one.gap_s for one in known], dtype=np.float64)
    wait = estimate(period - gap, _statistic_of_waits(steady, period, period - gap))
    if wait.value < -GAP_MISFIT_SHARE * float(np.median(period)):
        return Missing("the times between two fetches are longer than the steps they belong to")
    gap_s = float(np.median(gap))
    if not isinstance(ideal, Missing) and gap_s < GAP_TO_IDEAL * ideal.value:
        return Missing(
            "the time between two fetches is far below the step on the held batch, so batches "
            "are fetched beside the step"
        )
    return wait


def _statistic_of_waits(steady: Steady, period: Floats, waits: Floats) -> Statistic:
    """Chooses how waits are told, which may come in bursts though the steps are even.

    Where pipeline and model share cores, a step either waits or is slowed, and takes as long in
    both cases: the median of the waits is then one or the other, by chance.
    """
    hidden_s = abs(float(clipped_mean(waits)) - float(median(waits)))
    return clipped_mean if hidden_s > BURST_SHARE * float(median(period)) else steady.statistic


def _held(record: RunRecord) -> Estimate | Missing:
    held = record.held_batch
    if isinstance(held, Missing):
        return held
    usable = [call_s for call_s in held.call_s if math.isfinite(call_s) and call_s > 0]
    if not usable or held.steps_per_execution < 1:
        return Missing("the probe on the held batch gave no time")
    return estimate(np.array(usable) / held.steps_per_execution)


def _most_a_batch_can_take(evidence: Evidence) -> float | None:
    """Gives the thread seconds of all stages for one batch; None where one of them is not known."""
    if unknown_cost(evidence.stages) is not None:
        return None
    return sum(one.cost_s for one in evidence.stages if not isinstance(one.cost_s, Missing))
