"""The arithmetic the remedies share: what a step would take if a stage's cost were changed."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from bottleneck_kit.prescription.change import MODEL_ERROR_SHARE, Change
from bottleneck_kit.prescription.stage_load import Bounds, bounds_of, load_of
from bottleneck_kit.records.evidence import Evidence
from bottleneck_kit.records.measurement import Measurement, Missing

SURELY_LATENCY_SHARE = 2 * MODEL_ERROR_SHARE
"""Unexplained time, as a share of the explained, from which all of it is latency.

Up to ``MODEL_ERROR_SHARE`` it is the model's own error (cores are never used to the last, work is
counted too low) and goes as the work goes; in between, a falling part of it does.
"""


@dataclass(frozen=True)
class Prediction:
    """A predicted time of a step, in seconds.

    Attributes:
        step_s: The estimate.
        low_s: Lower end of its interval.
        high_s: Upper end of its interval.
        gain_s: Time of a step now, less the estimate; negative where it would be slower.
    """

    step_s: float
    low_s: float
    high_s: float
    gain_s: float


def predict(evidence: Evidence, change: Change) -> Prediction | Missing:
    """Predicts the time of a step once ``change`` is made to the input pipeline.

    The model is Plumber's operational bound (Kuchnik et al., MLSys 2022)::

        t = max(t_ideal + moved work, slowest thread of the pipeline, Python seconds,
                CPU seconds / cores)

    The cores are those that other processes leave free; the interval reaches down to where they
    leave all. What the bounds explain twice is cut, so that "nothing changes" gives ``step_s``
    itself, and the measured wait is the truth: no change to the input gains more than ``wait_s``.

    What the bounds leave unexplained is, where it is little, the model's own error and goes as the
    work goes. Where it is much (``SURELY_LATENCY_SHARE``) it is latency that no stage's work
    accounts for: a remote source, a blocking read, a lock. Neither cores nor less work shorten
    that: it is added to the bounds after the change as it was before. Only a change that no longer
    runs here where it may sit, or overlaps its waiting, shortens it (``Change.latency_left``); the
    interval then reaches up to where it stays. Down it reaches to where some of it was work.

    Returns:
        The prediction, or Missing with the number that is lacking.
    """
    step, wait = evidence.step_s, evidence.wait_s
    if isinstance(step, Missing):
        return Missing(f"the time of a step is not known: {step.reason}")
    if isinstance(wait, Missing):
        return Missing(f"the wait for input is not known: {wait.reason}")
    load = load_of(evidence)
    if isinstance(load, Missing):
        return load
    for index in {**change.kept, **change.calls}:
        if index not in load.known:
            return Missing(f"the cost of stage {index} was not measured")
    wait_s = min(max(wait.value, 0.0), step.value)
    floor_s = step.value - wait_s
    calibration = _calibrate(bounds_of(load, evidence, Change()), floor_s, step.value)

    def bound_of(changed: Change) -> float:
        after = bounds_of(load, evidence, changed)
        return max(
            floor_s + change.step_s + calibration.tail * after.tail_s,
            calibration.threads * after.threads_s,
            min(after.cpu_s, step.value + change.step_s),
        )

    bound_s = bound_of(change)
    crowded_s = 0.0
    if change.cores is None:
        crowded_s = bound_s - bound_of(replace(change, cores=evidence.usable_cores))
    own_s = calibration.explained_s - floor_s
    goes = 1.0 if own_s <= 0 else min(1.0, max(0.0, bound_s - floor_s) / own_s)
    latency_s = calibration.latency_s * change.latency_left
    return _with_interval(
        evidence,
        step,
        wait,
        max(
            floor_s + change.step_s,
            bound_s + goes * calibration.error_s + latency_s,
            change.arrival_s,
        ),
        change.error_share,
        less_s=crowded_s
        + (1 - goes) * min(latency_s, SURELY_LATENCY_SHARE * calibration.explained_s),
        more_s=calibration.latency_s - latency_s,
    )


def predict_shorter(
    evidence: Evidence, saved: Measurement | Missing, *, error_share: float = 0.0
) -> Prediction | Missing:
    """Predicts the time of a step when work of the host between two fetches is saved.

    While the step waits for input, a saved host second only lengthens the wait, because the
    pipeline is the slower of the two: the gain is ``max(0, saved - wait)``.

    Args:
        evidence: The numbers of the run.
        saved: Seconds a step that are saved.
        error_share: Stated error, as a share of the predicted gain.
    """
    step = evidence.step_s
    if isinstance(step, Missing):
        return Missing(f"the time of a step is not known: {step.reason}")
    if isinstance(saved, Missing):
        return saved
    wait_s = 0.0 if isinstance(evidence.wait_s, Missing) else max(0.0, evidence.wait_s.value)
    gains = [
        min(max(0.0, seconds - wait_s), step.value)
        for seconds in (saved.low, saved.value, saved.high)
    ]
    error_s = error_share * gains[1]
    return Prediction(
        step_s=step.value - gains[1],
        low_s=max(0.0, step.value - gains[2] - error_s),
        high_s=min(step.value, step.value - gains[0] + error_s),
        gain_s=gains[1],
    )


@dataclass(frozen=True)
class _Calibration:
    """What makes the model give the measured step when nothing changes.

    Attributes:
        threads: Factor (at most 1) of the slowest thread's seconds.
        tail: Factor (at most 1) of the seconds of work in the training thread.
        explained_s: Seconds of the step that the bounds explain.
        error_s: Seconds beyond them that go as the work goes.
        latency_s: Seconds beyond them that no work accounts for.
    """

    threads: float
    tail: float
    explained_s: float
    error_s: float
    latency_s: float


def _calibrate(now: Bounds, floor_s: float, step_s: float) -> _Calibration:
    threads = min(1.0, step_s / now.threads_s) if now.threads_s > 0 else 1.0
    tail = min(1.0, (step_s - floor_s) / now.tail_s) if now.tail_s > 0 else 1.0
    explained_s = max(floor_s + tail * now.tail_s, threads * now.threads_s, min(now.cpu_s, step_s))
    rest_s = max(0.0, step_s - explained_s)
    # From 1 at MODEL_ERROR_SHARE down to 0 at SURELY_LATENCY_SHARE.
    little = 2 - rest_s / (MODEL_ERROR_SHARE * explained_s) if explained_s > 0 else 0.0
    error_s = rest_s * min(1.0, max(0.0, little))
    return _Calibration(threads, tail, explained_s, error_s, rest_s - error_s)


def _with_interval(
    evidence: Evidence,
    step: Measurement,
    wait: Measurement,
    step_s: float,
    error_share: float,
    *,
    less_s: float,
    more_s: float,
) -> Prediction:
    """Puts the interval around an estimate: the wait's own spread and the model's stated error.

    Its lower end reaches ``less_s`` further down, and further still where the step is slowed by
    more than its wait (the pipeline's contention for the cores, which goes as the work goes),
    never below the ideal step; its upper end reaches ``more_s`` further up.
    """
    # Rounding of the calibration must not look like a gain.
    step_s = step.value if math.isclose(step_s, step.value, rel_tol=1e-9) else step_s
    gain_s = step.value - step_s
    error_s = math.hypot(error_share * gain_s, (wait.high - wait.low) / 2 if gain_s else 0.0)
    contention_s = 0.0
    if not isinstance(evidence.unexplained_s, Missing) and wait.value > 0 and gain_s > 0:
        contention_s = max(0.0, evidence.unexplained_s.value) * min(1.0, gain_s / wait.value)
    ideal_s = step.value - max(wait.value, 0.0)
    if not isinstance(evidence.ideal_step_s, Missing):
        ideal_s = min(ideal_s, evidence.ideal_step_s.low)
    low_s = min(step_s, max(ideal_s, step_s - error_s - contention_s - less_s))
    high_s = step_s + error_s + more_s
    if gain_s >= 0:
        high_s = min(high_s, step.value)
    return Prediction(step_s=step_s, low_s=low_s, high_s=high_s, gain_s=gain_s)
