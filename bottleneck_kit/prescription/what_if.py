"""The arithmetic the remedies share: what a step would take if a stage's cost were changed."""

from __future__ import annotations

import math
from dataclasses import dataclass

from bottleneck_kit.prescription.change import Change
from bottleneck_kit.prescription.stage_load import Bounds, Load, bounds_of, load_of
from bottleneck_kit.records.evidence import Evidence
from bottleneck_kit.records.measurement import Measurement, Missing

MOST_STRETCH = 1.5
"""Work may take this much longer than its bound says (uneven parts, cores in demand, see
MODEL_ERROR_SHARE); beyond that the rest is no work of the stages."""


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

    It is calibrated to the measured step: what the bounds leave unexplained scales them, by
    ``MOST_STRETCH`` at most, and what they explain twice is cut, so that "nothing changes" gives
    ``step_s`` itself. The measured wait is the truth: no change to the input gains more than
    ``wait_s``.

    What is left unexplained even then is latency that no stage's work accounts for (a remote
    source, a blocking read, a lock). Neither cores nor less work shorten it: it stays in every
    prediction, but for changes that no longer run the source and the stages of unknown cost.

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
    after = bounds_of(load, evidence, change)
    step_s = max(
        floor_s + change.step_s + calibration.tail * after.tail_s,
        calibration.all
        * max(calibration.threads * after.threads_s, min(after.cpu_s, step.value + change.step_s)),
        change.arrival_s,
    )
    step_s += calibration.unbooked_s * _latency_kept(load, change)
    return _with_interval(evidence, step, wait, step_s, change.error_share)


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


def _latency_kept(load: Load, change: Change) -> float:
    """Gives the share of unbooked latency that stays: it may sit wherever no work was measured."""
    suspects = [load.stages[0].index]
    suspects += [stage.index for stage in load.stages if stage.index not in load.known]
    return max(change.kept.get(index, 1.0) for index in suspects)


@dataclass(frozen=True)
class _Calibration:
    """What makes the model give the measured step when nothing changes.

    Attributes:
        threads: Factor of the slowest thread's seconds.
        tail: Factor of the seconds of work in the training thread.
        all: Factor of all bounds that overlap with the step.
        unbooked_s: Seconds a step that no factor explains.
    """

    threads: float
    tail: float
    all: float
    unbooked_s: float = 0.0


def _calibrate(now: Bounds, floor_s: float, step_s: float) -> _Calibration:
    wait_s = step_s - floor_s
    threads = min(1.0, step_s / now.threads_s) if now.threads_s > 0 else 1.0
    tail = min(1.0, wait_s / now.tail_s) if now.tail_s > 0 else 1.0
    bound_s = max(threads * now.threads_s, min(now.cpu_s, step_s))
    if max(floor_s + tail * now.tail_s, bound_s) >= step_s:
        return _Calibration(threads, tail, 1.0)
    # The model explains less than was measured: stretch the part that has to be stretched least.
    stretch_tail = wait_s / now.tail_s if now.tail_s > 0 else math.inf
    stretch_all = step_s / bound_s if bound_s > 0 else math.inf
    if stretch_tail < stretch_all:
        tail = min(stretch_tail, MOST_STRETCH)
        return _Calibration(threads, tail, 1.0, wait_s - tail * now.tail_s)
    everything = min(stretch_all, MOST_STRETCH)
    explained_s = max(floor_s + tail * now.tail_s, everything * bound_s)
    return _Calibration(threads, tail, everything, max(0.0, step_s - explained_s))


def _with_interval(
    evidence: Evidence, step: Measurement, wait: Measurement, step_s: float, error_share: float
) -> Prediction:
    """Puts the interval around an estimate: the wait's own spread and the model's stated error.

    Its lower end reaches further down where the step is slowed by more than its wait (the
    pipeline's contention for the cores, which goes as the work goes), never below the ideal step.
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
    low_s = min(step_s, max(ideal_s, step_s - error_s - contention_s))
    high_s = step_s + error_s
    if gain_s >= 0:
        high_s = min(high_s, step.value)
    return Prediction(step_s=step_s, low_s=low_s, high_s=high_s, gain_s=gain_s)
