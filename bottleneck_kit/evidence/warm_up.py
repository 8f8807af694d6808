"""Evidence on what came before the steady state, and on compilation in the middle of it."""

from __future__ import annotations

from dataclasses import replace

from bottleneck_kit.evidence.steady import select_steady
from bottleneck_kit.records.evidence import Evidence, Number
from bottleneck_kit.records.measurement import Measurement, Missing
from bottleneck_kit.records.run_record import RunRecord
from bottleneck_kit.records.steps import Execution, StepTimes


def add_warm_up(record: RunRecord, evidence: Evidence) -> Evidence:
    """Adds the first call, the warm-up and its share of the fit."""
    if isinstance(record.steps, Missing):
        return replace(
            evidence, first_call_s=record.steps, warm_up_s=record.steps, warm_up_share=record.steps
        )
    evidence = replace(evidence, first_call_s=_first_call(record.steps))
    steady = select_steady(record)
    if isinstance(steady, Missing):
        return replace(evidence, warm_up_s=steady, warm_up_share=steady)
    before = [one for one in record.steps.kept if one.index < steady.first]
    weights = [1 if one.index < 64 else record.steps.stride for one in before]
    warm_up_s = sum(w * _period_s(one) for w, one in zip(weights, before, strict=True))
    share: Number = Missing("the length of the fit is not known")
    if record.fit_s > 0:
        share = Measurement.exact(min(1.0, warm_up_s / record.fit_s))
    return replace(
        evidence,
        warm_up_s=Measurement.exact(warm_up_s),
        warm_up_share=share,
        warm_up_steps=sum(w * one.steps for w, one in zip(weights, before, strict=True)),
    )


def add_recompiles(record: RunRecord, evidence: Evidence) -> Evidence:
    """Adds how often the train function was traced again, and what that took."""
    if isinstance(record.steps, Missing):
        return replace(evidence, recompiles=record.steps, recompile_s=record.steps)
    later = [one for one in record.steps.kept if one.traced and one.index > 0]
    count = len(later)
    if record.steps.stride > 1 and not isinstance(record.traces, Missing):
        # Between the executions that were kept others may have traced. The first call may count
        # two traces (TensorFlow traces again once variables exist), so two are not held against it.
        count = max(count, record.traces - 2)
    if count == 0:
        return replace(evidence, recompiles=0, recompile_s=Measurement.exact(0.0))
    recompile_s: Number = Missing("none of the executions that were kept traced")
    if isinstance(evidence.call_s, Missing):
        recompile_s = evidence.call_s
    elif later:
        usual_s = evidence.call_s.value
        spent_s = sum(max(0.0, one.call_s - usual_s * one.steps) for one in later)
        recompile_s = Measurement.exact(spent_s * count / len(later), len(later))
    return replace(evidence, recompiles=count, recompile_s=recompile_s)


def _first_call(steps: StepTimes) -> Number:
    for one in steps.kept[:1]:
        if one.index == 0:
            return Measurement.exact(one.call_s, 1)
    return Missing("the first call was not seen")


def _period_s(one: Execution) -> float:
    return one.call_s + (one.host_s or 0.0)
