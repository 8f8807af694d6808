"""The few things that records say of themselves."""

from __future__ import annotations

import dataclasses
import importlib
import pkgutil

import pytest
from constructed import stage

import bottleneck_kit.records
from bottleneck_kit.records.measurement import Measurement, Missing, present
from bottleneck_kit.records.overhead import Overhead
from bottleneck_kit.records.pipeline import Pipeline


def all_records() -> list[type]:
    folder = bottleneck_kit.records
    modules = [
        importlib.import_module(f"{folder.__name__}.{one.name}")
        for one in pkgutil.iter_modules(folder.__path__)
    ]
    return [
        value
        for module in modules
        for value in vars(module).values()
        if dataclasses.is_dataclass(value) and value.__module__ == module.__name__
    ]


@pytest.mark.parametrize("kind", all_records(), ids=lambda kind: kind.__name__)
def test_a_record_is_frozen_and_documents_each_field(kind: type) -> None:
    assert kind.__dataclass_params__.frozen  # type: ignore[attr-defined]
    for field in dataclasses.fields(kind):
        assert f"{field.name}:" in (kind.__doc__ or ""), f"{kind.__name__}.{field.name}"


def test_a_walk_gives_each_branch_before_the_stage_it_feeds() -> None:
    left = (stage(0, "tfrecord"), stage(1, "map", "parse"))
    right = (stage(3, "zip", branches=((stage(2, "range"),),)),)
    pipeline = Pipeline((stage(4, "zip", branches=(left, right)), stage(5, "batch")))

    assert [one.index for one in pipeline.walk()] == [0, 1, 2, 3, 4, 5]


def test_a_stage_is_named_by_its_kind_and_the_user_function() -> None:
    assert stage(0, "map", "dilate").label == "map dilate"
    assert stage(0, "shuffle").label == "shuffle"


def test_a_place_is_as_much_as_is_known() -> None:
    assert stage(0, "map", "dilate", file="train.py", line=7).place == "train.py:7"
    assert stage(0, "map", "dilate", file="train.py", line=None).place == "train.py"
    assert stage(0, "batch").place == ""


def test_overhead_counts_all_that_the_kit_did() -> None:
    overhead = Overhead(1e-5, hooks_s=1, threads_cpu_s=2, probe_s=3, report_s=4, fit_s=100)

    assert overhead.share == pytest.approx(0.1)


def test_overhead_of_a_fit_that_took_no_time_is_no_division_by_zero() -> None:
    assert Overhead(0, 0, 0, 0, 0, fit_s=0).share == 0


def test_missing_is_not_a_value() -> None:
    assert not present(Missing("no probe"))
    assert present(0)
    assert present(Measurement.exact(0.0))


def test_an_exact_measurement_has_no_spread() -> None:
    assert Measurement.exact(3.0, 5) == Measurement(3.0, 3.0, 3.0, 5)
