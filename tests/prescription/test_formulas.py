from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bottleneck_kit.prescription.formulas import (
    bake_break_even_epochs,
    buffer_that_hides,
    cores_to_feed,
    empty_buffer_probability,
    service_workers,
    share_of_gap_closed,
)

TIMES = st.floats(1e-4, 1e3)


@pytest.mark.parametrize(
    ("fixed_s", "share"), [(122, 0.0), (115, 0.11), (97, 0.39), (77, 0.70), (58, 1.0)]
)
def test_the_share_of_the_gap_closed_is_that_of_the_articles_table(
    fixed_s: float, share: float
) -> None:
    closed = share_of_gap_closed(122, fixed_s, 58)
    assert closed == pytest.approx(share, abs=0.005)


def test_without_a_gap_no_share_of_it_is_closed() -> None:
    assert share_of_gap_closed(58, 57, 58) is None


def test_baking_pays_after_its_time_over_the_time_saved() -> None:
    assert bake_break_even_epochs(70, 122, 115) == 10
    assert bake_break_even_epochs(70, 122, 122) == math.inf


@given(TIMES, TIMES, st.integers(1, 200))
def test_the_probability_of_an_empty_buffer_is_one(x: float, y: float, size: int) -> None:
    assert 0 <= empty_buffer_probability(x, y, size) <= 1


@given(TIMES, TIMES, st.integers(1, 50))
def test_a_larger_buffer_is_never_found_empty_more_often(x: float, y: float, size: int) -> None:
    larger = empty_buffer_probability(x, y, size + 1)
    assert larger <= empty_buffer_probability(x, y, size) + 1e-12


@pytest.mark.parametrize(
    ("consumer_s", "producer_s", "size", "probability"),
    [(1, 1, 1, 1 / 2), (1, 2, 1, 2 / 3), (2, 1, 1, 1 / 3), (1, 2, 2, 4 / 7), (1e3, 1e-4, 200, 0)],
)
def test_the_probability_follows_the_formula(
    consumer_s: float, producer_s: float, size: int, probability: float
) -> None:
    assert empty_buffer_probability(consumer_s, producer_s, size) == pytest.approx(probability)


def test_a_buffer_hides_a_faster_producer_only() -> None:
    size = buffer_that_hides(1.0, 0.8, at_most=0.05)
    assert size is not None
    assert empty_buffer_probability(1.0, 0.8, size) <= 0.05
    assert empty_buffer_probability(1.0, 0.8, size - 1) > 0.05
    assert buffer_that_hides(1.0, 1.5, at_most=0.05) is None


@pytest.mark.parametrize(("cpu_s", "workers"), [(0.01, 1), (0.48, 2), (0.4801, 3)])
def test_workers_do_the_moved_work_within_an_ideal_step(cpu_s: float, workers: int) -> None:
    assert service_workers(cpu_s, 0.03, 8) == workers


@pytest.mark.parametrize(("cpu_s", "cores"), [(0.001, 1), (0.03, 1), (0.031, 2), (0.3, 10)])
def test_cores_feed_the_accelerator_when_they_do_the_work_within_a_step(
    cpu_s: float, cores: int
) -> None:
    assert cores_to_feed(cpu_s, 0.03) == cores
