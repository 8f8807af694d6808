"""Executions and epochs of runs of any length stay within a bound."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bottleneck_kit.instruments.step_times import HEAD, LIMIT, EpochsRecorder, StepTimesRecorder
from bottleneck_kit.records.steps import Epoch, Execution


def execution(index: int, **fields: object) -> Execution:
    return Execution(index=index, epoch=0, steps=1, call_s=0.001 * index, host_s=0.0, **fields)


@pytest.mark.parametrize("count", [0, 1, HEAD, HEAD + 1, LIMIT, LIMIT + 1, 20 * LIMIT])
def test_keeps_the_head_and_an_even_choice_of_the_rest(count: int) -> None:
    recorder = StepTimesRecorder()
    for index in range(count):
        recorder.add(execution(index))
    recorder.settle()
    times = recorder.freeze()
    assert times.executions == times.steps == count
    assert len(times.kept) <= LIMIT
    indices = [e.index for e in times.kept]
    assert indices[:HEAD] == list(range(min(count, HEAD)))
    body = indices[HEAD:]
    assert all(b - a == times.stride for a, b in itertools.pairwise(body))
    if count > HEAD:
        assert body[-1] > count - 1 - 2 * times.stride
    assert times.total_call_s == pytest.approx(sum(0.001 * i for i in range(count)))


def test_a_long_run_without_gap_readings_is_bounded_too() -> None:
    recorder = StepTimesRecorder()
    for index in range(10 * LIMIT):
        recorder.add(execution(index))
    assert len(recorder.freeze().kept) < LIMIT + 5 * HEAD


@given(total=st.integers(3, 200), window=st.integers(1, 100))
def test_gaps_go_to_the_executions_they_belong_to(total: int, window: int) -> None:
    recorder = StepTimesRecorder()
    for index in range(total):
        recorder.add(execution(index))
    last = total - 2
    gaps = tuple(float(i) for i in range(max(0, last - window + 1), last + 1))
    recorder.assign_gaps(gaps, last)
    by_index = {e.index: e.gap_s for e in recorder.freeze().kept}
    for index, gap_s in by_index.items():
        expected = float(index) if last - len(gaps) < index <= last else None
        assert gap_s == expected


def test_a_gap_once_given_is_not_overwritten() -> None:
    recorder = StepTimesRecorder()
    recorder.add(execution(0))
    recorder.assign_gaps((1.0,), 0)
    recorder.assign_gaps((2.0,), 0)
    assert recorder.freeze().kept[0].gap_s == 1.0


def test_epochs_keep_the_first_and_the_last() -> None:
    recorder = EpochsRecorder()
    for index in range(3000):
        recorder.add(Epoch(index, 1.0, 1, 1, 0.1))
        recorder.amend_last(end_s=float(index))
    kept = recorder.freeze()
    assert recorder.count == 3000
    assert [e.index for e in kept] == [*range(512), *range(3000 - 512, 3000)]
    assert all(e.end_s == float(e.index) for e in kept)
