"""Which steps count as steady, and what the pace is told from."""

from __future__ import annotations

import dataclasses

import constructed
import numpy as np
import pytest

from bottleneck_kit.evidence.gather import gather
from bottleneck_kit.evidence.steady import select_steady, warm_up_length
from bottleneck_kit.records.measurement import Measurement, Missing
from bottleneck_kit.records.run_record import RunRecord
from bottleneck_kit.records.steps import StepTimes


def steps_of(record: RunRecord) -> StepTimes:
    assert not isinstance(record.steps, Missing)
    return record.steps


def with_executions(record: RunRecord, change: dict[int, dict[str, object]]) -> RunRecord:
    """Changes fields of single executions."""
    kept = tuple(
        dataclasses.replace(one, **change.get(one.index, {})) for one in steps_of(record).kept
    )
    return dataclasses.replace(record, steps=dataclasses.replace(steps_of(record), kept=kept))


def value(number: Measurement | Missing) -> float:
    assert isinstance(number, Measurement), number
    return number.value


def test_steps_that_are_not_representative_are_left_out() -> None:
    record = constructed.record(steps=50, epochs=2, traced=(0, 30), taken=(1,))
    record = with_executions(record, {40: {"kit_s": 0.02}})

    steady = select_steady(record)

    assert not isinstance(steady, Missing)
    indices = {one.index for one in steady.executions}
    # First call, batch taken, traced again, much of the kit's own work, both epochs' ends.
    assert indices == set(range(100)) - {0, 1, 30, 40, 49, 99}


def test_shorter_last_execution_does_not_count() -> None:
    record = constructed.record(steps=42, epochs=2, steps_per_execution=4, wait_ms=None)

    steady = select_steady(record)

    assert not isinstance(steady, Missing)
    assert {one.steps for one in steady.executions} == {4}
    assert value(gather(record).step_s) == pytest.approx(0.083)


def test_work_of_the_kit_is_taken_out_of_the_host_part() -> None:
    record = constructed.record(host_ms=5.0)
    kept = tuple(dataclasses.replace(one, kit_s=0.001) for one in steps_of(record).kept)
    record = dataclasses.replace(record, steps=dataclasses.replace(steps_of(record), kept=kept))

    evidence = gather(record)

    assert value(evidence.host_s) == pytest.approx(0.004)
    assert value(evidence.step_s) == pytest.approx(0.082)
    assert value(evidence.wait_s) == pytest.approx(0.048)


@pytest.mark.parametrize("noise", [0.0, 0.05])
@pytest.mark.parametrize("buffered", [0, 1, 4, 16, 40])
def test_fast_steps_from_full_buffers_are_warm_up(buffered: int, noise: float) -> None:
    evidence = gather(constructed.record(buffered_steps=buffered, noise=noise))

    assert value(evidence.step_s) == pytest.approx(0.083, rel=0.05)
    assert value(evidence.input_share) == pytest.approx(48 / 83, rel=0.01)
    # The first execution compiles; where buffers were full, the warm-up ends with them.
    assert abs(evidence.warm_up_steps - (1 + buffered)) <= 2


def test_slow_steps_at_the_start_are_warm_up() -> None:
    periods = np.array([0.9, 0.5, 0.3, 0.2] + [0.1] * 40)

    assert warm_up_length(periods) == 4


def test_warm_up_never_takes_more_than_half() -> None:
    assert warm_up_length(np.array([9.0] * 25 + [1.0] * 15)) == 20
    assert warm_up_length(np.array([1.0, 1.0, 9.0])) == 0


@pytest.mark.parametrize(("level", "length"), [(1.14, 0), (1.16, 10), (0.86, 0), (0.84, 10)])
def test_warm_up_differs_by_more_than_the_noise_of_two_cores(level: float, length: int) -> None:
    assert warm_up_length(np.array([level] * 10 + [1.0] * 30)) == length


@pytest.mark.parametrize(("level", "length"), [(1.42, 0), (1.47, 10)])
def test_warm_up_differs_by_more_than_the_spread_of_the_steps(level: float, length: int) -> None:
    assert warm_up_length(np.array([level] * 10 + [0.9, 1.1] * 15)) == length


@pytest.mark.parametrize(("kit_s", "counts"), [(0.0082, True), (0.0084, False)])
def test_step_with_a_tenth_of_work_of_the_kit_does_not_count(kit_s: float, counts: bool) -> None:
    record = with_executions(constructed.record(), {50: {"kit_s": kit_s}})

    steady = select_steady(record)

    assert not isinstance(steady, Missing)
    assert (50 in {one.index for one in steady.executions}) is counts


@pytest.mark.parametrize(("factor", "share"), [(3.9, 0.0), (4.1, 1 / 98)])
def test_call_over_four_medians_is_an_outlier(factor: float, share: float) -> None:
    record = with_executions(constructed.record(), {50: {"call_s": factor * 0.0825}})

    assert value(gather(record).slow_call_share) == pytest.approx(share)


def test_bursts_are_no_warm_up() -> None:
    periods = np.array(([0.02] * 4 + [0.22]) * 20)

    assert warm_up_length(periods) == 0


def test_bursts_count_with_their_mean_and_single_pauses_do_not() -> None:
    record = constructed.record(step_ms=20, wait_ms=0.0, steps=102)
    every_fifth = {i: {"call_s": 0.2195, "gap_s": 0.02} for i in range(5, 101, 5)}
    one_pause = {50: {"call_s": 5.0, "gap_s": 0.02}}

    bursts, pause = (gather(with_executions(record, c)) for c in (every_fifth, one_pause))

    assert value(bursts.step_s) == pytest.approx(0.06, rel=0.02)
    assert value(bursts.wait_s) == pytest.approx(0.04, rel=0.02)
    assert value(pause.step_s) == pytest.approx(0.02)
    assert value(pause.slow_call_share) == pytest.approx(0.01, abs=0.001)


def test_long_runs_are_judged_from_the_executions_that_were_kept() -> None:
    record = constructed.record(steps=4000, stride=10, noise=0.1, wait_ms=48)

    evidence = gather(record)

    assert value(evidence.step_s) == pytest.approx(0.083, rel=0.03)
    assert evidence.steady_steps == len(steps_of(record).kept) - 1


def test_warm_up_is_measured_in_seconds_steps_and_share() -> None:
    record = constructed.record(steps=100, first_call_ms=3000, buffered_steps=0)

    evidence = gather(record)

    assert value(evidence.first_call_s) == pytest.approx(3.01)
    assert value(evidence.warm_up_s) == pytest.approx(3.0105)
    assert value(evidence.warm_up_share) == pytest.approx(3.0105 / record.fit_s)
    assert evidence.warm_up_steps == 1


def test_no_steady_step_is_said_with_what_was_seen() -> None:
    evidence = gather(constructed.record(steps=1))

    assert isinstance(evidence.step_s, Missing)
    assert "none of the 1 steps" in evidence.step_s.reason
    assert isinstance(evidence.warm_up_s, Missing)
    assert evidence.steady_steps == 0


def test_first_call_that_was_not_kept_is_missing() -> None:
    record = constructed.record()
    later = dataclasses.replace(steps_of(record), kept=steps_of(record).kept[5:])

    assert isinstance(gather(dataclasses.replace(record, steps=later)).first_call_s, Missing)


def test_recompiles_are_counted_and_timed_after_the_first_execution() -> None:
    evidence = gather(constructed.record(traced=(0, 20, 40, 60), retrace_ms=500))

    assert evidence.recompiles == 3
    assert value(evidence.recompile_s) == pytest.approx(1.5)


def test_first_trace_is_no_recompile() -> None:
    evidence = gather(constructed.record())

    assert evidence.recompiles == 0
    assert value(evidence.recompile_s) == 0.0


def test_recompiles_between_kept_executions_are_told_by_the_tracing_count() -> None:
    seen = constructed.record(steps=1000, stride=10, traced=(0, 20), retrace_ms=500, traces=12)
    unseen = constructed.record(steps=1000, stride=10, traces=12)

    assert gather(seen).recompiles == 10
    assert value(gather(seen).recompile_s) == pytest.approx(5.0)
    assert gather(unseen).recompiles == 10
    assert isinstance(gather(unseen).recompile_s, Missing)


def test_recompiles_without_a_steady_step_have_no_time() -> None:
    evidence = gather(constructed.record(steps=3, traced=(0, 1, 2)))

    assert evidence.recompiles == 2
    assert isinstance(evidence.recompile_s, Missing)


@pytest.mark.parametrize("pattern", [(10, 10, 5, 5), (10, 10, 10, 5, 5, 5)], ids=["four", "six"])
def test_five_steps_tell_whether_the_pace_is_reached(pattern: tuple[float, ...]) -> None:
    """The first three of five are at the pace; of four or six steps only half of them would be."""
    periods = np.array([*pattern, *[10.0] * 40])

    assert warm_up_length(periods) == 0
    assert warm_up_length(periods[len(pattern) // 2 :]) == len(pattern) // 2
