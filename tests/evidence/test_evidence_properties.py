"""What must hold for every record: no scale, no damage and no gap turns it into a lie."""

from __future__ import annotations

import copy
import dataclasses
import json
from typing import Any

import constructed
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bottleneck_kit.diagnosis.engine import diagnose
from bottleneck_kit.diagnosis.rules import ALL_RULES
from bottleneck_kit.errors import RecordError
from bottleneck_kit.evidence.gather import SUBJECTS, gather
from bottleneck_kit.records import codec
from bottleneck_kit.records.evidence import Evidence
from bottleneck_kit.records.measurement import Measurement, Missing
from bottleneck_kit.records.run_record import RunRecord

SHARES = (
    "input_share",
    "cpu_share",
    "overlap_share",
    "warm_up_share",
    "validation_share",
    "epoch_end_share",
    "slow_call_share",
    "step_spread",
)

JOBS = st.fixed_dictionaries(
    {
        "step_ms": st.floats(60, 500),
        "noise": st.sampled_from([0.0, 0.05, 0.2]),
        "steps": st.sampled_from([30, 64]),
        "epochs": st.sampled_from([1, 3]),
        "buffered_steps": st.sampled_from([0, 6]),
        "seed": st.integers(0, 99),
        "validation_s": st.sampled_from([0.0, 2.0]),
        "cpu_ms": st.floats(10, 400),
        "held_ms": st.one_of(st.none(), st.floats(10, 200)),
        "host_ms": st.floats(1, 50),
    },
    optional={
        "wait_ms": st.one_of(st.none(), st.floats(1, 59)),
        "steps_per_execution": st.sampled_from([1, 4]),
    },
)


def scaled(value: Any, factor: float) -> Any:
    """Multiplies every field of a record whose name says seconds, all the way down."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return dataclasses.replace(
            value,
            **{
                f.name: _scaled_field(f.name, getattr(value, f.name), factor)
                for f in dataclasses.fields(value)
            },
        )
    if isinstance(value, tuple):
        return tuple(scaled(item, factor) for item in value)
    return value


def _scaled_field(name: str, value: Any, factor: float) -> Any:
    if name.endswith("_s"):
        if isinstance(value, tuple):
            return tuple(item * factor for item in value)
        if isinstance(value, float):
            return value * factor
    return scaled(value, factor)


@settings(max_examples=40, deadline=None)
@given(JOBS, st.sampled_from([1.7, 3.0, 11.3]))
def test_scaling_all_times_changes_no_share_and_no_verdict(job: dict[str, Any], factor) -> None:
    record = constructed.record(**job)
    small, large = gather(record), gather(scaled(record, factor))

    for name in SHARES:
        one, other = getattr(small, name), getattr(large, name)
        if isinstance(one, Missing):
            assert isinstance(other, Missing)
        else:
            assert other.value == pytest.approx(one.value, rel=1e-6, abs=1e-9), name
    left, right = diagnose(small).verdict, diagnose(large).verdict
    assert (left.kind, left.severity) == (right.kind, right.severity)
    assert large.limited_by == small.limited_by


NUMBERS = [
    f.name
    for f in dataclasses.fields(Evidence)
    if isinstance(getattr(constructed.evidence(), f.name), (Measurement, Missing))
] + ["recompiles", "callbacks", "has_pipeline"]

RICH = (
    {},
    {"cpu_share": 0.95},
    {"wait_source": "held batch", "cpu_share": 0.4},
    {"wait_source": "held batch", "cpu_share": 0.95},
    {"wait_source": "held batch", "cpu_share": 0.4, "recompiles": 2},
    {"wait_source": "held batch", "cpu_share": 0.4, "supply_s": 0.001},
    {"recompiles": 5, "recompile_s": 4.0, "validation_share": 0.5, "warm_up_s": 60.0},
    {"callbacks": (constructed.callback_evidence(share=0.5),), "prefetch_at_end": False},
    {
        "cpu_share": 0.4,
        "stages": constructed.stages_evidence(
            (
                constructed.stage(0, "tfrecord", cost_ms=60),
                constructed.stage(1, "map", "py", cost_ms=50, python=True),
                constructed.stage(2, "filter", "odd", cost_ms=50),
            )
        ),
    },
)


@settings(max_examples=200, deadline=None)
@given(st.sampled_from(RICH), st.sets(st.sampled_from(NUMBERS), min_size=1, max_size=3))
def test_missing_evidence_adds_no_finding(fields: dict[str, Any], gone: set[str]) -> None:
    whole = constructed.evidence(**fields)
    less = dataclasses.replace(whole, **{name: Missing("gone") for name in gone})

    before = {one.code for one in diagnose(whole).findings}
    after = diagnose(less)

    # Where the number that went missing was what exonerated the input, it no longer does: how
    # much of full cores is the model's, and that the pipeline alone keeps up.
    added = {one.code for one in after.findings} - before
    if "cpu_pipe_s" in gone:
        added -= {"INP110"}
    if gone & {"supply_s", "ideal_step_s"} and whole.wait_source == "held batch":
        added = set()
    assert not added
    assert {one.code for one in after.not_evaluated} <= {rule.code for rule in ALL_RULES}
    assert not any("failed" in one.reason for one in after.not_evaluated)


def places_in(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Gives the path to every scalar of a JSON value."""
    if isinstance(value, dict):
        return [p for key, item in value.items() for p in places_in(item, (*path, key))]
    if isinstance(value, list):
        return [p for i, item in enumerate(value[:6]) for p in places_in(item, (*path, i))]
    return [path]


SMALL = json.loads(
    codec.dumps(
        constructed.record(
            steps=24,
            epochs=2,
            validation_s=1.0,
            callbacks=[("Slow", "on_train_batch_end", 20.0), ("Saver", "on_epoch_end", 30.0)],
            host_ms=20.0,
        )
    )
)
PLACES = places_in(SMALL)
ODD = [0, -1, 1e308, 1e-300, "nan", "inf", "-inf", None, True, 10**12, {"missing": "gone"}]


@settings(max_examples=400, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(PLACES), st.sampled_from(ODD)), min_size=1, max_size=8))
def test_gathering_and_judging_never_raise_on_a_record_that_decodes(changes) -> None:
    content = copy.deepcopy(SMALL)
    for path, odd in changes:
        inner = content
        for key in path[:-1]:
            inner = inner[key]
        inner[path[-1]] = odd
    try:
        record = codec.from_jsonable(RunRecord, content)
    except RecordError:
        return

    diagnosis = diagnose(gather(record))

    assert diagnosis.verdict.text
    assert "failed" not in diagnosis.verdict.text
    assert not any("failed" in one.reason for one in diagnosis.not_evaluated)


FIELDS = [f.name for f in dataclasses.fields(RunRecord) if f.name not in {"environment", "job"}]


@pytest.mark.parametrize("name", FIELDS)
def test_record_without_a_field_is_judged_from_the_rest(name: str) -> None:
    default = next(f for f in dataclasses.fields(RunRecord) if f.name == name)
    empty = RunRecord(constructed.environment(), constructed.job())
    assert default.default is not dataclasses.MISSING or default.default_factory is not None

    evidence = gather(dataclasses.replace(constructed.record(), **{name: getattr(empty, name)}))

    assert diagnose(evidence).verdict.text
    assert not set(evidence.unavailable) & {subject for subject, _ in SUBJECTS} - {"steps"}


def test_empty_record_is_unknown_and_says_what_is_not_there() -> None:
    evidence = gather(RunRecord(constructed.environment(), constructed.job()))
    diagnosis = diagnose(evidence)

    assert diagnosis.verdict.kind == "unknown"
    assert diagnosis.findings == ()
    assert {one.code for one in diagnosis.not_evaluated} == {rule.code for rule in ALL_RULES}
    assert evidence.unavailable["held_batch"] == "not recorded"


def test_subject_that_fails_leaves_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(record: RunRecord, evidence: Evidence) -> Evidence:
        raise ZeroDivisionError("a bug in a subject")

    subjects = tuple((name, fail if name == "cpu" else add) for name, add in SUBJECTS)
    monkeypatch.setattr("bottleneck_kit.evidence.gather.SUBJECTS", subjects)

    evidence = gather(constructed.record())

    assert "a bug in a subject" in evidence.unavailable["cpu"]
    assert isinstance(evidence.cpu_share, Missing)
    assert isinstance(evidence.input_share, Measurement)


def test_what_the_record_calls_unavailable_stays_so() -> None:
    record = constructed.record(
        unavailable={"sampler": "psutil is missing"}, live=Missing("autotune is off")
    )

    found = gather(record).unavailable

    assert found["sampler"] == "psutil is missing"
    assert found["live pipeline"] == "autotune is off"
