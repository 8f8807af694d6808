"""The one line that names what holds a training back, and the class behind it."""

from __future__ import annotations

from bottleneck_kit.diagnosis import thresholds
from bottleneck_kit.diagnosis.conditions import InputPart, judge_input, most_wait_s
from bottleneck_kit.diagnosis.python_lock import PythonLock, find_python_lock
from bottleneck_kit.diagnosis.wording import has_unexplained_rest
from bottleneck_kit.records.diagnosis import Verdict
from bottleneck_kit.records.evidence import Evidence, Number
from bottleneck_kit.records.measurement import Measurement, Missing
from bottleneck_kit.units import format_seconds, format_share

INPUT_NAMES = {
    "arrays": "Keras' array adapter (NumPy input)",
    "generator": "the Python generator",
    "py_dataset": "the keras.utils.PyDataset",
}
"""What a step waits for, by ``Job.input_kind``; "data" for every other kind."""


def judge(evidence: Evidence) -> Verdict:
    """Judges which part of a step is the largest that need not be.

    input_bound, host_bound and mixed name parts over the thresholds; compute_bound is what is
    left when neither is; unknown says what is missing or too noisy. A lock that Python of the
    pipeline holds makes a step host_bound, unless more of it is waited for as input.
    """
    part = judge_input(evidence)
    kind = _kind(evidence, part)
    lock = find_python_lock(evidence)
    locked = lock is not None and _lock_decides(evidence, kind)
    kind = "host_bound" if locked else kind
    text = _TEXTS[kind](evidence, part) if lock is None or not locked else _say_locked(lock)
    severity = "none" if kind == "unknown" else part.severity
    return Verdict(
        kind=kind,
        severity=severity if severity in {"moderate", "high"} else "none",
        input_share=_value(evidence.input_share),
        step_s=_value(evidence.step_s),
        ideal_step_s=_value(evidence.ideal_step_s),
        reachable_step_s=_value(evidence.reachable_step_s),
        text=text + _emulated(evidence),
    )


def host_share(evidence: Evidence) -> Measurement | None:
    """Gives the share of a step outside the train function; None where it is not known."""
    host, step = evidence.host_s, evidence.step_s
    if isinstance(host, Missing) or isinstance(step, Missing) or not step.value > 0:
        return None
    value, low, high = (part / step.value for part in (host.value, host.low, host.high))
    return Measurement(value, low, high, host.n)


def _kind(evidence: Evidence, part: InputPart) -> str:
    if part.severity == "unknown" or (part.reason and not part.shared_cores):
        return "unknown"
    if part.shared_cores:
        return "mixed"
    host = host_share(evidence)
    host_is_high = host is not None and host.low >= thresholds.HIGH_SHARE
    if part.severity == "none":
        return "host_bound" if host_is_high else "compute_bound"
    if host is None or not host_is_high or isinstance(evidence.input_share, Missing):
        return "input_bound"
    factor = thresholds.SAME_SIZE_FACTOR
    if evidence.input_share.value > factor * host.value:
        return "input_bound"
    return "host_bound" if host.value > factor * evidence.input_share.value else "mixed"


def _lock_decides(evidence: Evidence, kind: str) -> bool:
    """Says whether the lock is more of the step than what was found without it."""
    if kind in {"compute_bound", "unknown"}:
        return True
    wait, rest = evidence.wait_s, evidence.unexplained_s
    if kind != "input_bound" or isinstance(wait, Missing) or isinstance(rest, Missing):
        return False
    return rest.value > wait.value


def _say_locked(lock: PythonLock) -> str:
    """Says whose Python it is; the step on the held batch is what the loop takes without it."""
    step, ideal = format_seconds(lock.step_s), format_seconds(lock.ideal_step_s)
    return (
        f"host-bound: Python in {lock.stage.stage.label} holds the interpreter lock that the "
        f"training loop needs; ideal {ideal}, now {step}"
    )


def _say_input_bound(evidence: Evidence, part: InputPart) -> str:
    bound = "at most " if evidence.wait_source == "held batch" else ""
    return (
        f"input-bound: {bound}{_share(evidence.input_share)} of each step waits for "
        f"{INPUT_NAMES.get(evidence.job.input_kind, 'data')}; "
        f"{_with_and_without_the_wait(evidence)}"
    )


def _say_compute_bound(evidence: Evidence, part: InputPart) -> str:
    eager = ", run op by op from Python (run_eagerly=True)" if evidence.job.run_eagerly else ""
    held = ""
    if has_unexplained_rest(evidence):
        held = f" ({_seconds(evidence.ideal_step_s)} with a held batch and the cores to itself)"
    wait = evidence.wait_s
    step = _seconds(evidence.step_s)
    rest = f"the rest of its {step} is"
    if isinstance(wait, Missing) or wait.value <= 0:
        rest = f"its {step} are"
    return f"compute-bound: {_waiting(evidence)}; {rest} the model's{eager}{held}"


def _say_host_bound(evidence: Evidence, part: InputPart) -> str:
    host = host_share(evidence)
    share = "much" if host is None else format_share(host.value)
    return (
        f"host-bound: {share} of each step ({_seconds(evidence.host_s)} of "
        f"{_seconds(evidence.step_s)}) passes in Keras' loop and callbacks; "
        f"{_waiting(evidence)}"
    )


def _say_mixed(evidence: Evidence, part: InputPart) -> str:
    if part.shared_cores:
        return (
            "mixed: pipeline and model share full cores: waiting or contention (which of them "
            f"cannot be told) takes {_share(evidence.input_share)} of each step; "
            f"{_two_times(evidence)}"
        )
    host = host_share(evidence)
    share = "much" if host is None else format_share(host.value)
    return (
        f"mixed: {_share(evidence.input_share)} of each step waits for "
        f"{INPUT_NAMES.get(evidence.job.input_kind, 'data')} and {share} passes in Keras' loop "
        f"and callbacks; {_two_times(evidence)}"
    )


def _say_unknown(evidence: Evidence, part: InputPart) -> str:
    host = host_share(evidence)
    aside = ""
    if host is not None and host.low >= thresholds.HIGH_SHARE:
        aside = f"; {format_share(host.value)} of each step passes outside the train function"
    return f"unknown: {part.reason}{aside}"


_TEXTS = {
    "input_bound": _say_input_bound,
    "compute_bound": _say_compute_bound,
    "host_bound": _say_host_bound,
    "mixed": _say_mixed,
    "unknown": _say_unknown,
}


def _waiting(evidence: Evidence) -> str:
    """Says how little of a step waits, for a verdict that does not name input."""
    wait, share = evidence.wait_s, evidence.input_share
    if isinstance(wait, Missing) or isinstance(share, Missing):
        most_s = most_wait_s(evidence) or 0.0
        return f"a step waits {format_seconds(most_s)} for data at the very most"
    if wait.value <= 0:
        return "a step does not wait for data"
    if wait.value < thresholds.SMALLEST_WAIT_S:
        return f"taking a batch costs {format_seconds(wait.value)} of a step"
    said = f"waiting for data takes {format_share(share.value)} of a step"
    if share.value < thresholds.MODERATE_SHARE:
        return said
    return f"{said} (between {format_share(share.low)} and {format_share(share.high)})"


def _two_times(evidence: Evidence) -> str:
    """Says ideal and real step."""
    step, ideal = evidence.step_s, evidence.ideal_step_s
    if isinstance(step, Missing):
        return "the time of a step is not known"
    if isinstance(ideal, Missing):
        return f"now {format_seconds(step.value)}"
    # Noise can put the held batch a little above the real step; nobody is told to get slower.
    free_s = min(ideal.value, step.value)
    return f"ideal {format_seconds(free_s)}, now {format_seconds(step.value)}"


def _with_and_without_the_wait(evidence: Evidence) -> str:
    """Says what a step takes and would take, and an epoch.

    Where the ideal may be out of reach, because the held batch is faster for other reasons, too,
    the step less its wait alone is said instead of the epoch.
    """
    step, ideal, wait = evidence.step_s, evidence.ideal_step_s, evidence.wait_s
    if isinstance(step, Missing) or isinstance(ideal, Missing) or isinstance(wait, Missing):
        return _two_times(evidence)
    if has_unexplained_rest(evidence):
        return (
            f"now {format_seconds(step.value)}, without the wait "
            f"{format_seconds(step.value - wait.value)}, with a held batch "
            f"{format_seconds(ideal.value)}"
        )
    steps = evidence.job.steps_per_epoch or 100
    what = f"an epoch of {steps} steps" if evidence.job.steps_per_epoch else f"{steps} steps"
    free_s = min(ideal.value, step.value)
    return (
        f"{_two_times(evidence)}; {what} would take {format_seconds(steps * free_s)}, not "
        f"{format_seconds(steps * step.value)}"
    )


def _emulated(evidence: Evidence) -> str:
    if not evidence.emulated_ms:
        return ""
    return f" (accelerator emulated: {format_seconds(evidence.emulated_ms / 1e3)} a step)"


def _value(number: Number) -> float | Missing:
    return number if isinstance(number, Missing) else number.value


def _seconds(number: Number) -> str:
    return "an unknown time" if isinstance(number, Missing) else format_seconds(number.value)


def _share(number: Number) -> str:
    return "an unknown share" if isinstance(number, Missing) else format_share(number.value)
