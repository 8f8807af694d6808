"""Evidence on the pace of the training: step, call and host times in steady state."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from bottleneck_kit.evidence.limits import SLOW_FACTOR
from bottleneck_kit.evidence.spread import estimate
from bottleneck_kit.evidence.steady import select_steady
from bottleneck_kit.records.evidence import Evidence
from bottleneck_kit.records.measurement import Measurement, Missing
from bottleneck_kit.records.run_record import RunRecord


def add_steps(record: RunRecord, evidence: Evidence) -> Evidence:
    """Adds step, call and host time, their spread and outliers."""
    steady = select_steady(record)
    if isinstance(steady, Missing):
        return replace(
            evidence,
            step_s=steady,
            call_s=steady,
            host_s=steady,
            slow_call_share=steady,
            step_spread=steady,
        )
    calls, periods = steady.call_s(), steady.period_s()
    ninth, first = np.percentile(periods, [90, 10])
    slow = float(np.mean(calls > SLOW_FACTOR * np.median(calls)))
    return replace(
        evidence,
        steady_steps=steady.steps,
        step_s=estimate(periods, steady.statistic).measurement(),
        call_s=estimate(calls, steady.statistic).measurement(),
        host_s=estimate(steady.host_s(), steady.statistic).measurement(),
        slow_call_share=Measurement.exact(slow, len(calls)),
        step_spread=Measurement.exact(float(ninth / first), len(periods)),
    )
