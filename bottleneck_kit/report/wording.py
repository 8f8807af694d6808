"""The words of a report: headline, notes, and numbers as a person reads them."""

from __future__ import annotations

from collections.abc import Callable

from bottleneck_kit.records.diagnosis import Finding, Verdict
from bottleneck_kit.records.evidence import Evidence, StageEvidence
from bottleneck_kit.records.measurement import Measurement, Missing
from bottleneck_kit.records.plan import Prescription
from bottleneck_kit.records.run_record import RunRecord
from bottleneck_kit.units import format_bytes, format_seconds, format_share

CLASS_WORDS = {
    "input_bound": "input-bound",
    "compute_bound": "compute-bound",
    "host_bound": "host-bound",
    "mixed": "mixed",
    "unknown": "unknown",
}

SAFETY_WORDS = {
    "exact": "same data, same order",
    "equivalent": "same data within rounding",
    "reorders": "same data, other order",
    "redraws": "other random draws",
    "advice": "yours to carry out",
}

_INSTRUMENT_WORDS = {
    "steps": "step times",
    "pipeline": "the pipeline's stages",
    "live_pipeline": "what each stage costs",
    "held_batch": "the step with input for free (held batch)",
    "stack": "where the training thread was",
    "traces": "how often the step was traced",
    "stages.cost_s": "what each stage costs",
    "verdict.input_share": "share of a step that waits for input",
    "verdict.step_s": "step time",
    "verdict.ideal_step_s": "step time with input for free",
    "verdict.reachable_step_s": "step time that tuning could reach",
    "autotune": "the values AUTOTUNE chose",
    "overhead": "what the kit itself cost",
}


NOTICEABLE_GAIN = 1.05
"""Less than 5 % is within what one fit differs from the next by; nobody would call it faster."""

_FORMATTERS: dict[str, Callable[[float], str]] = {
    "s": format_seconds,
    "share": format_share,
    "bytes": format_bytes,
}


def headline(verdict: Verdict) -> str:
    """Gives the verdict as one line that begins with its class."""
    word = CLASS_WORDS.get(verdict.kind, verdict.kind)
    text = " ".join(verdict.text.split())
    return text if text.lower().startswith(word) else f"{word}: {text}"


def notes_of(record: RunRecord, evidence: Evidence) -> tuple[str, ...]:
    """Gives the sentences a reader has to know before trusting a number."""
    notes = []
    if evidence.emulated_ms > 0:
        emulated = format_seconds(evidence.emulated_ms / 1e3)
        notes.append(
            f"The accelerator is emulated: each step sleeps {emulated} in place of one. "
            "Step times are not those of a real device."
        )
    if record.ended not in ("completed", "running"):
        notes.append(f"Training did not run to its end: {record.ended}.")
    if evidence.wait_source == "held batch":
        notes.append(
            "The wait is the step less its time on a held batch: an upper bound, as a held batch "
            "is fast for other reasons than input, too."
        )
    limit = record.environment.cores_limited_by
    if limit:
        notes.append(
            f"This process may use {count(record.environment.usable_cores)} of "
            f"{record.environment.cores} cores ({limit})."
        )
    notes += [note for note in record.notes if note not in notes]
    return tuple(notes)


def count(number: float) -> str:
    """Gives a count without needless decimals: ``2``, ``1.5``."""
    return f"{number:.3g}" if number < 1000 else f"{number:.0f}"


def interval(name: str, low: float | str, high: float | str) -> str:
    """Gives `` (LOW to HIGH)`` in the unit the name ends in, or "" where both read the same."""
    ends = number(name, low), number(name, high)
    return "" if ends[0] == ends[1] else f" ({ends[0]} to {ends[1]})"


def number(name: str, value: float | int | str | None) -> str:
    """Gives a number a finding rests on, in the unit that its name ends in, without the name."""
    if not isinstance(value, (int, float)) or isinstance(value, bool):
        return str(value)
    for ending, formatter in _FORMATTERS.items():
        if name == ending or name.endswith(f"_{ending}"):
            return formatter(value)
    return count(value)


def numbers(finding: Finding) -> str:
    """Gives the numbers a finding rests on, in one line: ``wait 48.0 ms (47.1 ms to 49.0 ms)``.

    ``NAME_low`` and ``NAME_high`` become the interval of NAME. Names without a value are left
    out, and so is the stage, which the finding's title names.
    """
    found = finding.evidence
    items = []
    for name, value in found.items():
        end_of = name.removesuffix("_low").removesuffix("_high")
        if (
            value in (None, "")
            or name in ("stage", "place")
            or (end_of != name and end_of in found)
        ):
            continue
        text = f"{_without_unit(name)} {number(name, value)}"
        low, high = found.get(f"{name}_low"), found.get(f"{name}_high")
        if low is not None and high is not None:
            text += interval(name, low, high)
        items.append(text)
    return " · ".join(items)


def _without_unit(name: str) -> str:
    head, _, ending = name.rpartition("_")
    return (head if head and ending in ("s", "bytes") else name).replace("_", " ")


def stage_name(stages: tuple[StageEvidence, ...], index: int | None) -> str:
    """Gives the label of a stage by its index; "" for the whole job."""
    for one in stages:
        if one.stage.index == index:
            return one.stage.label
    return ""


def prediction(remedy: Prescription, *, ends: bool = True) -> str:
    """Gives the predicted step time, with its interval where ``ends`` asks for it."""
    if isinstance(remedy.predicted_step_s, Missing):
        return "not predicted"
    text = format_seconds(remedy.predicted_step_s)
    if not ends or isinstance(remedy.low_s, Missing) or isinstance(remedy.high_s, Missing):
        return text
    return text + interval("low_s", remedy.low_s, remedy.high_s)


def gain(remedy: Prescription, step_s: float | Missing | Measurement) -> str:
    """Says how many times faster a step would be; "" where that cannot be told or is nothing."""
    before = step_s.value if isinstance(step_s, Measurement) else step_s
    after = remedy.predicted_step_s
    if isinstance(before, Missing) or isinstance(after, Missing) or after <= 0:
        return ""
    ratio = before / after
    return f"{ratio:.{1 if ratio < 9.95 else 0}f}× faster" if ratio >= NOTICEABLE_GAIN else ""


def absent_thing(path: str) -> str:
    """Names, for a person, what ``unavailable`` lists under ``path``."""
    if path in _INSTRUMENT_WORDS:
        return _INSTRUMENT_WORDS[path]
    words = path.replace("_", " ").split(".")
    if words[0] == "remedies":
        return f"step time with {words[1]}"
    if words[0] == "stages" and len(words) == 3:
        return f"{words[2].removesuffix(' s')} of stage {words[1]}"
    return " ".join(words)


def own_cost(record: RunRecord) -> str:
    """Says what the kit itself cost the training; "" where that is not known."""
    overhead = record.overhead
    if isinstance(overhead, Missing):
        return ""
    probe = f", its probe {format_seconds(overhead.probe_s)}" if overhead.probe_s > 0 else ""
    return (
        f"the kit took {format_seconds(overhead.per_step_s)} a step{probe}, "
        f"{format_share(overhead.share)} of the fit in all"
    )
