"""Medians, clipped means and their bootstrap intervals."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bottleneck_kit.evidence.callbacks import wilson_interval
from bottleneck_kit.evidence.spread import (
    clipped_mean,
    combine,
    estimate,
    mean,
    median,
    statistic_for,
)

TIMES = st.lists(st.floats(1e-4, 10.0), min_size=1, max_size=60)


@given(TIMES, st.sampled_from([median, mean, clipped_mean]))
def test_interval_holds_the_estimate_and_lies_within_the_data(values, statistic) -> None:
    found = estimate(values, statistic).measurement()

    assert found.low <= found.value <= found.high
    assert min(values) * (1 - 1e-9) <= found.low
    assert found.high <= max(values) * (1 + 1e-9)
    assert found.n == len(values)


@given(TIMES)
def test_same_values_give_the_same_interval(values) -> None:
    assert estimate(values).measurement() == estimate(values).measurement()


def test_interval_covers_the_truth_about_as_often_as_it_says() -> None:
    dice = np.random.default_rng(1)
    hits = 0
    for _ in range(200):
        found = estimate(dice.normal(1.0, 0.1, 60)).measurement()
        hits += found.low <= 1.0 <= found.high

    assert 0.88 <= hits / 200 <= 1.0


def test_interval_of_runs_is_wider_than_that_of_shuffled_values() -> None:
    dice = np.random.default_rng(2)
    runs = np.repeat(dice.normal(1.0, 0.1, 25), 8)

    def width(values) -> float:
        found = estimate(values, mean).measurement()
        return found.high - found.low

    assert width(runs) > 1.3 * width(dice.permutation(runs))


def test_long_series_is_resampled_in_parts_and_whole() -> None:
    assert estimate(np.ones(4096)).replicates.shape == (300,)


def test_parts_of_a_step_keep_their_correlation() -> None:
    dice = np.random.default_rng(3)
    step = dice.uniform(0.05, 0.15, 80)

    share = combine(lambda part, whole: part / whole, estimate(0.3 * step), estimate(step))

    assert share.measurement().high - share.measurement().low < 1e-9


def test_clipped_mean_keeps_what_recurs_and_drops_one_pause() -> None:
    recurring = np.array(([1.0] * 4 + [6.0]) * 20)
    paused = np.array([1.0] * 99 + [500.0])

    assert clipped_mean(recurring) == pytest.approx(2.0)
    assert clipped_mean(paused) == pytest.approx(1.0)
    assert statistic_for(recurring) is clipped_mean
    assert statistic_for(paused) is median


def test_one_value_in_twenty_is_clipped_and_more_is_not() -> None:
    assert clipped_mean(np.array([1.0] * 950 + [9.0] * 50)) == 1.0
    assert clipped_mean(np.array([1.0] * 949 + [9.0] * 51)) > 1.3


@pytest.mark.parametrize(("slow", "chosen"), [(1.48, median), (1.52, clipped_mean)])
def test_mean_is_chosen_where_a_median_would_hide_a_twentieth(slow: float, chosen) -> None:
    assert statistic_for(np.array([1.0] * 900 + [slow] * 100)) is chosen


def test_nothing_observed_is_refused() -> None:
    with pytest.raises(ValueError, match="no observation"):
        estimate([])


def test_quotient_by_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="do not allow"):
        combine(lambda a, b: a / b, estimate([1.0]), estimate([0.0]))


@pytest.mark.parametrize(
    ("count", "total", "low", "high"),
    [(0, 10, 0.0, 0.2775), (5, 10, 0.2366, 0.7634), (10, 10, 0.7225, 1.0)],
)
def test_wilson_interval_gives_the_published_values(count, total, low, high) -> None:
    assert wilson_interval(count, total) == pytest.approx((low, high), abs=1e-4)
