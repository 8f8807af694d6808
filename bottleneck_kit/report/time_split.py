"""Where a step's time goes and where the fit's does: the bars of a report."""

from __future__ import annotations

from dataclasses import dataclass

from bottleneck_kit.records.evidence import Evidence, Number
from bottleneck_kit.records.measurement import Missing


@dataclass(frozen=True)
class TimePart:
    """One part of a step, or of a fit.

    Attributes:
        name: Its key in JSON, such as ``wait``.
        label: Its name for a person.
        seconds_s: Seconds of it.
        share: Share (0 to 1) of the whole.
    """

    name: str
    label: str
    seconds_s: float
    share: float


def split_step(evidence: Evidence) -> tuple[TimePart, ...]:
    """Splits a steady step into parts that add up to it.

    Where the wait is known: wait, copy and compute, callbacks, Keras' own
    loop; callbacks are left out where none was seen. Where it is not,
    wait, copy and compute stay together, as they happen inside one call. Copy and compute is what
    the other parts leave of the step, so that no time is lost or booked twice.

    Returns:
        The parts in the order they happen; empty where the step itself was not measured.
    """
    if isinstance(evidence.step_s, Missing) or evidence.step_s.value <= 0:
        return ()
    step_s = evidence.step_s.value
    host_s = min(_seconds(evidence.host_s), step_s)
    callbacks_s = min(_seconds(evidence.callback_step_s), host_s)
    in_call_s = step_s - host_s
    parts: list[tuple[str, str, float]] = []
    if isinstance(evidence.wait_s, Missing):
        parts.append(("train_function", "input, copy and compute", in_call_s))
    else:
        wait_s = min(max(evidence.wait_s.value, 0.0), in_call_s)
        upper = " (at most)" if evidence.wait_source == "held batch" else ""
        parts.append(("wait", f"wait for input{upper}", wait_s))
        parts.append(("compute", "copy and compute", in_call_s - wait_s))
    if callbacks_s > 0:
        parts.append(("callbacks", "your callbacks", callbacks_s))
    parts.append(("host_loop", "Keras' own loop", host_s - callbacks_s))
    return _with_shares(parts, step_s)


def split_fit(evidence: Evidence) -> tuple[TimePart, ...]:
    """Splits the fit into warm-up, validation, epoch ends and the steps that are left.

    Returns:
        The parts that are known and not nothing; empty where the fit was not timed.
    """
    fit_s = evidence.fit_s
    if fit_s <= 0:
        return ()
    # The shares come from different instruments: none may push the sum over the whole.
    left_s = fit_s
    parts: list[tuple[str, str, float]] = []
    for name, label, seconds_s in (
        ("warm_up", "first steps (tracing, buffers)", _seconds(evidence.warm_up_s)),
        ("validation", "validation", _seconds(evidence.validation_share) * fit_s),
        ("epoch_ends", "between epochs", _seconds(evidence.epoch_end_share) * fit_s),
    ):
        taken_s = min(max(seconds_s, 0.0), left_s)
        left_s -= taken_s
        parts.append((name, label, taken_s))
    parts.append(("steady_steps", "steady steps", left_s))
    return tuple(part for part in _with_shares(parts, fit_s) if part.seconds_s > 0)


def _seconds(number: Number) -> float:
    """Gives the value; a part that was not measured stays inside the part around it."""
    return 0.0 if isinstance(number, Missing) else number.value


def _with_shares(parts: list[tuple[str, str, float]], whole_s: float) -> tuple[TimePart, ...]:
    return tuple(
        TimePart(name, label, seconds_s, seconds_s / whole_s) for name, label, seconds_s in parts
    )
