"""The one line that names what holds a training back, and the class behind it."""

from __future__ import annotations

from bottleneck_kit.diagnosis import thresholds
from bottleneck_kit.diagnosis.conditions import InputPart, judge_input, most_wait_s
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
    left when neither is; unknown says what is missing or too noisy.
    """
    part = judge_input(evidence)
    kind = _kind(evidence, part)
    severity = "none" if kind == "unknown" else part.severity
    return Verdict(
        kind=kind,
        severity=severity if severity in {"moderate", "high"} else "none",
        input_share=_value(evidence.input_share),
        step_s=_value(evidence.step_s),
        ideal_step_s=_value(evidence.ideal_step_s),
        reachable_step_s=_value(evidence.reachable_step_s),
        text=_TEXTS[kind](evidence, part) + _emulated(evidence),
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


def _say_input_bound(evidence: Evidence, part: InputPart) -> str:
    bound = "at most " if evidence.wait_source == "held batch" else ""
    return (
        f"input-bound: {bound}{_share(evidence.input_share)} of each step waits for "
        f"{INPUT_NAMES.get(evidence.job.input_kind, 'data')}; {_ideal_and_now(evidence)}"
        f"{_unexplained(evidence)}{_without_the_wait(evidence)}"
    )


def _say_compute_bound(evidence: Evidence, part: InputPart) -> str:
    eager = " as Python, because run_eagerly=True" if evidence.job.run_eagerly else ""
    return (
        f"compute-bound: {_waiting(evidence)}, the rest of its {_seconds(evidence.step_s)} "
        f"is the model's{eager}{_unexplained(evidence)}"
    )


def _say_host_bound(evidence: Evidence, part: InputPart) -> str:
    host = host_share(evidence)
    share = "much" if host is None else format_share(host.value)
    return (
        f"host-bound: {share} of each step ({_seconds(evidence.host_s)} of "
        f"{_seconds(evidence.step_s)}) passes outside the train function, in Keras' loop and "
        f"callbacks; {_waiting(evidence)}"
    )


def _say_mixed(evidence: Evidence, part: InputPart) -> str:
    if part.shared_cores:
        pipe_s = evidence.cpu_pipe_s
        return (
            "mixed: the pipeline and the model share cores that are full; "
            f"{_share(evidence.input_share)} of each step is lost to waiting for data or to that "
            f"contention, and without the gaps between two fetches it cannot be told to which; "
            f"the pipeline takes {_seconds(pipe_s)} of CPU a step; {_ideal_and_now(evidence)}"
        )
    host = host_share(evidence)
    share = "much" if host is None else format_share(host.value)
    return (
        f"mixed: {_share(evidence.input_share)} of each step waits for "
        f"{INPUT_NAMES.get(evidence.job.input_kind, 'data')} and {share} passes in Keras' loop "
        f"and callbacks; {_ideal_and_now(evidence)}"
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
        return f"preparing a batch takes {format_seconds(most_wait_s(evidence) or 0.0)} in all"
    if wait.value <= 0:
        return "a step does not wait for data"
    if wait.value < thresholds.SMALLEST_WAIT_S:
        return f"taking a batch costs {format_seconds(wait.value)} of a step"
    said = f"waiting for data takes {format_share(share.value)} of a step"
    if share.value < thresholds.MODERATE_SHARE:
        return said
    return f"{said} (between {format_share(share.low)} and {format_share(share.high)})"


def _ideal_and_now(evidence: Evidence) -> str:
    """Says ideal and real step, and what an epoch takes and would take."""
    step, ideal = evidence.step_s, evidence.ideal_step_s
    if isinstance(step, Missing):
        return "the time of a step is not known"
    if isinstance(ideal, Missing):
        return f"now {format_seconds(step.value)}"
    # Noise can put the held batch a little above the real step; nobody is told to get slower.
    free_s = min(ideal.value, step.value)
    steps = evidence.job.steps_per_epoch or 100
    what = f"an epoch of {steps} steps" if evidence.job.steps_per_epoch else f"{steps} steps"
    return (
        f"ideal {format_seconds(free_s)}, now {format_seconds(step.value)}; {what} would take "
        f"{format_seconds(steps * free_s)}, not {format_seconds(steps * step.value)}"
    )


def _unexplained(evidence: Evidence) -> str:
    """Says what the held batch is faster by for other reasons, where that is much."""
    rest, step = evidence.unexplained_s, evidence.step_s
    if isinstance(rest, Missing) or isinstance(step, Missing):
        return ""
    if rest.low < thresholds.UNEXPLAINED_SHARE * step.value:
        return ""
    return (
        f"; the held batch is faster by another {format_seconds(rest.value)} that is not waiting "
        "(cores to itself, one shape of batch)"
    )


def _without_the_wait(evidence: Evidence) -> str:
    """Says the second number where the ideal may be out of reach: the step less the wait alone."""
    step, wait = evidence.step_s, evidence.wait_s
    if isinstance(step, Missing) or isinstance(wait, Missing) or not _unexplained(evidence):
        return ""
    return f": without the wait alone a step would take {format_seconds(step.value - wait.value)}"


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
