"""Evidence on callbacks of the user: looks at the stack, scaled by the precise host time."""

from __future__ import annotations

from dataclasses import replace

from bottleneck_kit.records.evidence import CallbackEvidence, Evidence
from bottleneck_kit.records.measurement import Measurement, Missing
from bottleneck_kit.records.run_record import RunRecord
from bottleneck_kit.records.stack_samples import CallbackSamples, StackSamples

Z = 1.959964
"""Standard normal quantile of a two-sided 95 % interval."""


def add_callbacks(record: RunRecord, evidence: Evidence) -> Evidence:
    """Adds each callback seen on the training thread with the time it takes a step.

    Looks at the stack say how time outside the train function divides, the step times say
    exactly how much of it there is. A hook called for each batch gets its part of ``host_s``; the
    others (ends of epochs) get their part of the fit.
    """
    stack, host = record.stack, evidence.host_s
    if isinstance(stack, Missing):
        return replace(evidence, callbacks=stack, callback_step_s=stack)
    if isinstance(host, Missing) or isinstance(record.steps, Missing):
        missing = host if isinstance(host, Missing) else Missing("no step was seen")
        return replace(evidence, callbacks=missing, callback_step_s=missing)
    steps, fit_s = record.steps.steps, record.fit_s
    if steps < 1 or not fit_s > 0 or stack.total < 1:
        missing = Missing("the training thread was not looked at during the fit")
        return replace(evidence, callbacks=missing, callback_step_s=missing)
    per_batch = [one for one in stack.callbacks if _is_per_batch(one)]
    outside = sum(one.count for one in per_batch) + stack.other
    found = [
        _judge(one, looks=outside, whole_s=host.value, steps=steps, fit_s=fit_s)
        if _is_per_batch(one)
        else _judge(one, looks=stack.total, whole_s=fit_s / steps, steps=steps, fit_s=fit_s)
        for one in stack.callbacks
        if one.count > 0
    ]
    found.sort(key=lambda one: one.share, reverse=True)
    return replace(
        evidence,
        callbacks=tuple(found),
        callback_step_s=_all_per_batch(per_batch, stack, host),
    )


def wilson_interval(count: int, total: int) -> tuple[float, float]:
    """Gives the 95 % interval of a share of which ``count`` of ``total`` looks were seen.

    Wilson's score interval (1927): sound for few looks, and never outside 0 to 1.
    """
    share = count / total
    middle = (share + Z**2 / (2 * total)) / (1 + Z**2 / total)
    half = Z / (1 + Z**2 / total) * (share * (1 - share) / total + Z**2 / (4 * total**2)) ** 0.5
    return max(0.0, middle - half), min(1.0, middle + half)


def _is_per_batch(one: CallbackSamples) -> bool:
    return one.hook.startswith(("on_train_batch", "on_batch"))


def _judge(
    one: CallbackSamples, *, looks: int, whole_s: float, steps: int, fit_s: float
) -> CallbackEvidence:
    looks = max(looks, one.count)
    low, high = wilson_interval(one.count, looks)
    step_s = whole_s * one.count / looks
    return CallbackEvidence(
        name=one.name,
        hook=one.hook,
        step_s=Measurement(step_s, whole_s * low, whole_s * high, one.count),
        share=min(1.0, step_s * steps / fit_s),
        per_batch=_is_per_batch(one),
    )


def _all_per_batch(
    per_batch: list[CallbackSamples], stack: StackSamples, host: Measurement
) -> Measurement | Missing:
    count = sum(one.count for one in per_batch)
    outside = count + stack.other
    if outside < 1:
        # Never found outside the train function: the host part is too short to be divided, and
        # what is not seen in it is bounded by the whole of it.
        return Measurement(0.0, 0.0, host.value, 0)
    low, high = wilson_interval(count, outside)
    return Measurement(host.value * count / outside, host.value * low, host.value * high, count)
