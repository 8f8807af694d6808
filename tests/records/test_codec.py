"""Records survive JSON; what is no record is refused with a clear message."""

from __future__ import annotations

import dataclasses
import json
import math
import os
import stat
from pathlib import Path
from typing import Any

import pytest
from constructed import record
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bottleneck_kit.errors import RecordError
from bottleneck_kit.records import codec
from bottleneck_kit.records.environment import Environment
from bottleneck_kit.records.evidence import Evidence
from bottleneck_kit.records.job import Job
from bottleneck_kit.records.live_model import LiveModel, LiveNode
from bottleneck_kit.records.measurement import Measurement, Missing
from bottleneck_kit.records.pipeline import Pipeline
from bottleneck_kit.records.run_record import SCHEMA, RunRecord
from bottleneck_kit.records.stage import Stage, StageCost, Traits
from bottleneck_kit.records.steps import Epoch, StepTimes
from bottleneck_kit.records.utilization import Utilization

# NaN is left out, as it is not equal to itself; it has a test of its own.
st.register_type_strategy(float, st.floats(allow_nan=False))


def several(strategy: st.SearchStrategy[Any]) -> st.SearchStrategy[tuple[Any, ...]]:
    return st.lists(strategy, max_size=2).map(tuple)


def built(kind: type, **fields: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Makes records of ``kind`` with every field drawn by its annotation, but for ``fields``."""
    hints = codec._hints(kind)
    drawn = {f.name: st.from_type(hints[f.name]) for f in dataclasses.fields(kind)}
    return st.builds(kind, **{**drawn, **fields})


missing = st.builds(Missing, st.text())
live_nodes = st.recursive(
    built(LiveNode, inputs=st.just(())),
    lambda inner: built(LiveNode, inputs=several(inner)),
    max_leaves=4,
)
stages = st.recursive(
    built(Stage, branches=st.just(())),
    lambda inner: built(Stage, branches=several(several(inner))),
    max_leaves=3,
)
live_models = built(LiveModel, root=live_nodes)
pipelines = built(Pipeline, stages=several(stages), live=missing | live_models)

PARTS = {
    "environment": built(Environment),
    "job": built(Job),
    "steps": missing | built(StepTimes),
    "epochs": several(built(Epoch)),
    "pipeline": missing | pipelines,
    "utilization": missing | built(Utilization),
}


@pytest.mark.parametrize("part", PARTS)
def test_every_part_of_a_record_survives_json(part: str) -> None:
    base = record(steps=3)

    @settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
    @given(PARTS[part])
    def survives(value: Any) -> None:
        changed = dataclasses.replace(base, **{part: value})
        assert codec.loads(codec.dumps(changed)) == changed

    survives()


def test_the_remaining_fields_of_a_record_survive_json() -> None:
    base = record(steps=3)
    hints = codec._hints(RunRecord)
    rest = {
        f.name: st.from_type(hints[f.name])
        for f in dataclasses.fields(RunRecord)
        if f.name not in PARTS and f.name != "schema"
    }

    @settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
    @given(st.fixed_dictionaries(rest))
    def survives(values: dict[str, Any]) -> None:
        changed = dataclasses.replace(base, **values)
        assert codec.loads(codec.dumps(changed)) == changed

    survives()


@settings(max_examples=25, deadline=None)
@given(
    steps=st.integers(1, 300),
    epochs=st.integers(1, 3),
    steps_per_execution=st.integers(1, 7),
    step_ms=st.floats(0.1, 1e5),
    wait_ms=st.none() | st.floats(0, 0.1),
    held_ms=st.none() | st.floats(0.01, 1e4),
)
def test_a_constructed_run_survives_json(**fields: Any) -> None:
    run = record(**fields)

    assert codec.loads(codec.dumps(run)) == run


def test_evidence_survives_json_too() -> None:
    value = Evidence(record().environment, record().job, step_s=Measurement(1.0, 0.5, math.inf, 3))

    assert codec.from_jsonable(Evidence, codec.to_jsonable(value)) == value


def test_a_text_that_reads_like_a_number_stays_a_text() -> None:
    value = Stage(0, "map", "inf", options={"name": "nan", "limit": math.inf})

    assert codec.from_jsonable(Stage, codec.to_jsonable(value)) == value


def test_nan_survives_json() -> None:
    cost = StageCost(math.nan, 0.0, 1.0)

    loaded = codec.from_jsonable(StageCost, json.loads(json.dumps(codec.to_jsonable(cost))))

    assert math.isnan(loaded.cost_s)


def test_the_json_is_strict() -> None:
    run = dataclasses.replace(record(steps=2), fit_s=math.nan)

    def refuse(token: str) -> None:
        raise AssertionError(token)

    json.loads(codec.dumps(run), parse_constant=refuse)


def content(run: RunRecord | None = None) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads(codec.dumps(run or record(steps=3)))
    return loaded


def test_an_older_record_loads_with_defaults_for_what_it_lacks() -> None:
    older = content()
    for later in ("utilization", "notes", "stack", "overhead"):
        del older[later]
    del older["environment"]["optional_parts"]
    del older["pipeline"]["stages"][0]["traits"]

    loaded = codec.loads(json.dumps(older))

    assert loaded.utilization == Missing("not recorded")
    assert loaded.stack == Missing("not recorded")
    assert loaded.notes == ()
    assert loaded.environment.optional_parts == {}
    assert isinstance(loaded.pipeline, Pipeline)
    assert loaded.pipeline.stages[0].traits == Traits()


def test_fields_of_a_later_version_are_passed_over() -> None:
    later = content()
    later["weather"] = {"sun": [1, 2]}
    later["job"]["colour"] = "green"

    assert codec.loads(json.dumps(later)) == record(steps=3)


def test_a_later_schema_is_refused_with_the_way_out() -> None:
    later = {**content(), "schema": SCHEMA + 1}

    with pytest.raises(RecordError, match=f"schema {SCHEMA + 1}.*pip install --upgrade"):
        codec.loads(json.dumps(later))


@pytest.mark.parametrize("schema", [None, "1", 0, -1, True, 1.5, [1]])
def test_a_schema_that_is_no_number_is_refused(schema: Any) -> None:
    with pytest.raises(RecordError, match=r"schema|int was expected"):
        codec.loads(json.dumps({**content(), "schema": schema}))


@pytest.mark.parametrize(
    "text",
    [
        *("", " ", "no", "{", "null", "[]", "3", '"text"', "{}", '{"record": 1}'),
        *("\ufeff{}", "\x00", "[" * 100_000, '{"a":' * 100_000, "9" * 5000),
    ],
    ids=lambda text: repr(text[:12]),
)
def test_what_is_no_record_is_refused(text: str) -> None:
    with pytest.raises(RecordError, match="Expected a record"):
        codec.loads(text, source="this file")


def test_a_file_cut_anywhere_is_refused() -> None:
    whole = codec.dumps(record(steps=2))
    for length in range(0, len(whole), 97):
        with pytest.raises(RecordError, match="not JSON"):
            codec.loads(whole[:length])


@pytest.mark.parametrize(
    ("path", "value", "named"),
    [
        (("job",), None, "job: Job was expected"),
        (("job",), [], "job: Job was expected"),
        (("job", "epochs"), "three", "job: epochs: int was expected"),
        (("job", "epochs"), True, "job: epochs: int was expected"),
        (("job", "parameters"), {"missing": 5}, "job: parameters: a missing value was expected"),
        (("fit_s",), "long", "fit_s: float was expected"),
        (("fit_s",), {"number": "many"}, "fit_s: float was expected"),
        (("fit_s",), 10**400, "fit_s: int too large"),
        (("epochs",), {}, "epochs: a list was expected"),
        (("unavailable",), [], "unavailable: an object was expected"),
        (("unavailable",), {"probe": 1}, "unavailable: str was expected"),
        (("steps", "kept"), 5, "steps: kept: a list was expected"),
        (("pipeline", "stages"), [[]], "pipeline: stages: Stage was expected"),
        (("environment", "gpus"), [None], "environment: gpus: Gpu was expected"),
    ],
)
def test_a_field_of_the_wrong_type_is_named(path: tuple[str, ...], value: Any, named: str) -> None:
    damaged = content()
    inner = damaged
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = value

    with pytest.raises(RecordError, match=named) as caught:
        codec.loads(json.dumps(damaged), source="run.json")
    assert "run.json" in str(caught.value)


def test_a_field_that_every_record_has_may_not_lack() -> None:
    damaged = content()
    del damaged["job"]

    with pytest.raises(RecordError, match="job"):
        codec.loads(json.dumps(damaged))


def test_endless_nesting_is_refused() -> None:
    damaged = content()
    stage = damaged["pipeline"]["stages"][0]
    text = json.dumps(stage)
    head, tail = text.split('"branches": []')
    nested = (head + '"branches": [[') * 2000 + text + (("]]" + tail) * 2000)
    damaged["pipeline"]["stages"] = ["HERE"]

    with pytest.raises(RecordError):
        codec.loads(json.dumps(damaged).replace('"HERE"', nested))


@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_a_flipped_byte_never_raises_anything_but_a_record_error(data: st.DataObject) -> None:
    text = bytearray(FLIPPED)
    place = data.draw(st.integers(0, len(text) - 1))
    text[place] = data.draw(st.integers(0, 127))
    try:
        loaded = codec.loads(text.decode("ascii"))
    except RecordError:
        return
    assert isinstance(loaded, RunRecord)


FLIPPED = codec.dumps(record(steps=2)).encode("ascii")


def test_a_saved_record_loads_as_it_was(tmp_path: Path) -> None:
    path = codec.save(record(), tmp_path / "new" / "folder" / "record.json")

    assert codec.load(path) == record()
    assert os.listdir(path.parent) == ["record.json"]


def test_a_saved_record_is_for_others_to_read_where_the_user_lets_them(tmp_path: Path) -> None:
    old = os.umask(0o022)
    try:
        path = codec.save(record(steps=1), tmp_path / "record.json")
    finally:
        os.umask(old)

    assert stat.S_IMODE(path.stat().st_mode) == 0o644


def test_a_failing_write_leaves_the_old_file_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = codec.save(record(steps=1), tmp_path / "record.json")

    def full_disk(source: Any, target: Any) -> None:
        raise OSError("no space left on device")

    monkeypatch.setattr(os, "replace", full_disk)
    with pytest.raises(OSError, match="no space left"):
        codec.save(record(steps=2), path)

    assert codec.load(path) == record(steps=1)
    assert os.listdir(tmp_path) == ["record.json"]


def test_a_record_that_cannot_be_written_leaves_no_file(tmp_path: Path) -> None:
    unwritable = dataclasses.replace(record(steps=1), notes=(object(),))

    with pytest.raises(TypeError):
        codec.save(unwritable, tmp_path / "record.json")

    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("name", ["absent.json", ".", "a\0name", "x" * 300])
def test_a_path_that_cannot_be_read_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(RecordError, match="cannot be read"):
        codec.load(tmp_path / name)


@pytest.mark.parametrize("content", [b"", b"\xff\xfe\x00", bytes(range(256)), b"\x89PNG\r\n\x1a\n"])
def test_a_file_of_another_kind_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "record.json"
    path.write_bytes(content)

    with pytest.raises(RecordError, match=r"record\.json"):
        codec.load(path)
