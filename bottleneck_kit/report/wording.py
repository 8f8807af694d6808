"""The words of a report: headline, notes, and numbers as a person reads them."""

from __future__ import annotations

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


def interval(measurement: Measurement) -> str:
    """Gives the 95 % interval of seconds, or "" where the spread is not known."""
    if measurement.low == measurement.high:
        return ""
    return f"{format_seconds(measurement.low)} to {format_seconds(measurement.high)}"


def number(name: str, value: float | int | str | None) -> str:
    """Gives one number a finding rests on, with the unit its name ends in."""
    words, text = name, str(value)
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        text = count(value)
        for ending, formatter in (
            ("_s", format_seconds),
            ("_share", format_share),
            ("_bytes", format_bytes),
        ):
            if name.endswith(ending):
                words, text = name[: -len(ending)], formatter(value)
                break
        else:
            if name == "share":
                text = format_share(value)
    return f"{words.replace('_', ' ')} {text}"


def numbers(finding: Finding) -> str:
    """Gives the numbers a finding rests on, in one line.

    Names without a value are left out, and the stage, which the finding's title names.
    """
    return " · ".join(
        number(name, value)
        for name, value in finding.evidence.items()
        if value not in (None, "") and name not in ("stage", "place")
    )


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
    if remedy.low_s == remedy.high_s:
        return text
    return f"{text} ({format_seconds(remedy.low_s)} to {format_seconds(remedy.high_s)})"


def gain(remedy: Prescription, step_s: float | Missing | Measurement) -> str:
    """Says how many times faster a step would be; "" where that cannot be told or is nothing."""
    before = step_s.value if isinstance(step_s, Measurement) else step_s
    after = remedy.predicted_step_s
    if isinstance(before, Missing) or isinstance(after, Missing) or after <= 0:
        return ""
    ratio = before / after
    return f"{ratio:.2g}× faster" if ratio >= 1.05 else ""


def absent_thing(path: str) -> str:
    """Names, for a person, what ``unavailable`` lists under ``path``."""
    return _INSTRUMENT_WORDS.get(path, path.replace("_", " "))


def own_cost(record: RunRecord) -> str:
    """Says what the kit itself cost the training; "" where that is not known."""
    overhead = record.overhead
    if isinstance(overhead, Missing):
        return ""
    return (
        f"the kit took {format_seconds(overhead.per_step_s)} a step, "
        f"{format_share(overhead.share)} of the fit in all"
    )
