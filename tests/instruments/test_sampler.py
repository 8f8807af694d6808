"""The sampling thread: it ends, it survives what fails, and its series are weighted by time."""

from __future__ import annotations

import sys
import threading
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bottleneck_kit.instruments.sampler import UtilizationSampler
from bottleneck_kit.instruments.weighted import LIMIT, WeightedSeries
from bottleneck_kit.records.measurement import Missing


class Steady:
    """Counts its samples."""

    def __init__(self) -> None:
        self.times_s: list[float] = []

    def sample(self, now_s: float) -> None:
        self.times_s.append(now_s)

    def freeze(self) -> Missing:
        return Missing(f"{len(self.times_s)} samples")

    def close(self) -> None:
        self.closed = True


class FailsSecondTime(Steady):
    def sample(self, now_s: float) -> None:
        super().sample(now_s)
        if len(self.times_s) == 2:
            raise RuntimeError("the bus is on fire")


def refuse() -> None:
    raise OSError("not on this machine")


def wait_for(condition, limit_s: float = 5.0) -> None:
    end = time.monotonic() + limit_s
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.005)


def test_samples_at_once_and_once_more_at_the_end() -> None:
    sampler = UtilizationSampler(60.0, host=Steady, gpus=Steady)
    sampler.start()
    wait_for(lambda: sampler.samples == 1)
    sampler.stop()
    assert sampler.samples == 2
    assert not [t for t in threading.enumerate() if "utilization" in t.name]


def test_stop_without_start_and_twice_does_nothing() -> None:
    sampler = UtilizationSampler(1.0, host=Steady, gpus=Steady)
    sampler.stop()
    sampler.start()
    sampler.stop()
    sampler.stop()


def test_one_that_fails_in_the_middle_goes_on_and_is_named() -> None:
    sampler = UtilizationSampler(0.005, host=FailsSecondTime, gpus=Steady)
    sampler.start()
    wait_for(lambda: sampler.samples >= 4)
    sampler.stop()
    frozen = sampler.freeze()
    assert frozen.failures == {"host": "RuntimeError: the bus is on fire"}
    assert frozen.samples >= 4


def test_one_that_cannot_start_is_missing_with_its_reason() -> None:
    sampler = UtilizationSampler(0.005, host=Steady, gpus=refuse)
    sampler.start()
    sampler.stop()
    assert sampler.freeze().gpus == Missing("OSError: not on this machine")


@given(
    st.lists(
        st.tuples(st.floats(0, 1e6), st.floats(1e-3, 10)),
        min_size=1,
        max_size=50,
    )
)
def test_mean_and_percentiles_are_weighted_by_time(values: list[tuple[float, float]]) -> None:
    series = WeightedSeries()
    for value, duration_s in values:
        series.add(value, duration_s)
    frozen = series.freeze()
    total = sum(duration for _, duration in values)
    assert frozen.mean == pytest.approx(sum(v * d for v, d in values) / total, rel=1e-6, abs=1e-6)
    assert min(v for v, _ in values) <= frozen.p5 <= frozen.p95 <= max(v for v, _ in values)


def test_a_series_stays_within_its_bound() -> None:
    series = WeightedSeries()
    for index in range(50 * LIMIT):
        series.add(float(index % 100), 1.0)
    assert len(series._kept) <= LIMIT
    frozen = series.freeze()
    assert frozen.mean == pytest.approx(49.5)
    assert frozen.p95 == pytest.approx(95, abs=6)


def test_nothing_taken_is_no_series() -> None:
    series = WeightedSeries()
    series.add(1.0, 0.0)
    assert series.freeze() is None


def test_a_binding_that_does_not_import_costs_the_gpus_alone(monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "pynvml", None)
    monkeypatch.delitem(sys.modules, "bottleneck_kit.instruments.nvidia", raising=False)
    sampler = UtilizationSampler(0.005)
    sampler.start()
    wait_for(lambda: sampler.samples >= 3)
    sampler.stop()
    frozen = sampler.freeze()
    assert isinstance(frozen.gpus, Missing)
    assert "pynvml" in frozen.gpus.reason
    assert not isinstance(frozen.host, Missing)
