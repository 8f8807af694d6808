"""The wait for input, the CPU seconds and what tuning could reach."""

from __future__ import annotations

import dataclasses

import constructed
import pytest

from bottleneck_kit.evidence.gather import gather
from bottleneck_kit.records.measurement import Measurement, Missing


def value(number: Measurement | Missing) -> float:
    assert isinstance(number, Measurement), number
    return number.value


def test_gap_tells_the_wait_exactly() -> None:
    evidence = gather(constructed.record())

    assert evidence.wait_source == "gap"
    assert value(evidence.wait_s) == pytest.approx(0.048)
    assert value(evidence.input_share) == pytest.approx(48 / 83)
    assert value(evidence.ideal_step_s) == pytest.approx(0.0315)
    assert value(evidence.unexplained_s) == pytest.approx(0.0035)


def test_wait_is_never_negative() -> None:
    record = constructed.record(step_ms=50, wait_ms=-1.0, held_ms=50)

    evidence = gather(record)

    assert value(evidence.wait_s) == 0.0
    assert value(evidence.input_share) == 0.0


def test_gaps_longer_than_their_steps_are_not_used() -> None:
    evidence = gather(constructed.record(step_ms=50, wait_ms=-5.0, held_ms=50))

    assert evidence.wait_source == "held batch"
    assert "longer than the steps" in evidence.unavailable["wait from gaps"]


def test_gaps_far_below_the_held_batch_are_not_used() -> None:
    evidence = gather(constructed.record(step_ms=40, wait_ms=39, held_ms=30))

    assert evidence.wait_source == "held batch"
    assert "beside the step" in evidence.unavailable["wait from gaps"]


@pytest.mark.parametrize(("wait_ms", "source"), [(-2.4, "gap"), (-2.6, "held batch")])
def test_gap_may_be_longer_than_its_step_by_a_twentieth(wait_ms: float, source: str) -> None:
    assert gather(constructed.record(step_ms=50, wait_ms=wait_ms)).wait_source == source


@pytest.mark.parametrize(("gap_ms", "source"), [(12.2, "gap"), (11.8, "held batch")])
def test_gap_is_at_least_six_tenths_of_the_ideal_step(gap_ms: float, source: str) -> None:
    record = constructed.record(step_ms=40, wait_ms=40 - gap_ms, held_ms=19.5, host_ms=0.5)

    assert gather(record).wait_source == source


def test_gaps_of_several_steps_an_execution_are_not_used() -> None:
    record = constructed.record(steps_per_execution=5)

    evidence = gather(record)

    assert evidence.wait_source == "held batch"
    assert "steps_per_execution=5" in evidence.unavailable["wait from gaps"]


def test_too_few_gaps_are_not_used() -> None:
    record = constructed.record()
    assert not isinstance(record.steps, Missing)
    kept = tuple(
        dataclasses.replace(one, gap_s=one.gap_s if one.index > 91 else None)
        for one in record.steps.kept
    )
    steps = dataclasses.replace(record.steps, kept=kept)

    evidence = gather(dataclasses.replace(record, steps=steps))

    assert evidence.wait_source == "held batch"
    assert "7 steady steps, 8 are needed" in evidence.unavailable["wait from gaps"]


def test_held_batch_bounds_the_wait_from_above() -> None:
    evidence = gather(constructed.record(wait_ms=None))

    assert evidence.wait_source == "held batch"
    assert value(evidence.wait_s) == pytest.approx(0.083 - 0.0315)
    assert value(evidence.unexplained_s) == pytest.approx(0.0, abs=1e-12)


def test_time_in_callbacks_is_not_part_of_that_bound() -> None:
    evidence = gather(constructed.record(step_ms=83, wait_ms=None, host_ms=40, held_ms=31))

    assert value(evidence.wait_s) == pytest.approx(0.012)


def test_wait_is_no_longer_than_all_the_work_of_a_batch() -> None:
    stages = (constructed.stage(0, "range", cost_ms=2.0), constructed.stage(1, "prefetch"))

    evidence = gather(constructed.record(wait_ms=None, stages=stages))

    assert value(evidence.wait_s) == pytest.approx(0.002)
    assert value(evidence.unexplained_s) == pytest.approx(0.083 - 0.0315 - 0.002)


def test_one_unknown_cost_lifts_that_limit() -> None:
    stages = (constructed.stage(0, "range", cost_ms=2.0), constructed.stage(1, "map", "work"))

    evidence = gather(constructed.record(wait_ms=None, stages=stages))

    assert value(evidence.wait_s) == pytest.approx(0.0515)
    assert isinstance(evidence.supply_s, Missing)
    assert "map work" in evidence.supply_s.reason


def test_stage_fused_into_another_is_no_unknown_cost() -> None:
    stages = (
        constructed.stage(0, "range", cost_ms=2.0),
        constructed.stage(1, "map", "work"),
        constructed.stage(2, "batch", cost_ms=10.0, shared_with=(1,)),
    )

    assert value(gather(constructed.record(stages=stages)).supply_s) == pytest.approx(0.010)


def test_neither_gap_nor_probe_names_both_reasons() -> None:
    evidence = gather(constructed.record(wait_ms=None, held_ms=None))

    assert isinstance(evidence.wait_s, Missing)
    assert "between two fetches" in evidence.wait_s.reason
    assert "the probe was switched off" in evidence.wait_s.reason
    assert evidence.wait_source == ""


def test_without_a_probe_the_ideal_is_the_step_less_its_wait() -> None:
    evidence = gather(constructed.record(held_ms=None))

    assert value(evidence.ideal_step_s) == pytest.approx(0.035)
    assert isinstance(evidence.held_call_s, Missing)
    assert isinstance(evidence.unexplained_s, Missing)


def test_probe_that_gave_no_time_is_missing() -> None:
    record = constructed.record()
    assert not isinstance(record.held_batch, Missing)
    empty = dataclasses.replace(record.held_batch, call_s=(), cpu_s=(float("nan"),))

    evidence = gather(dataclasses.replace(record, held_batch=empty))

    assert isinstance(evidence.held_call_s, Missing)
    assert isinstance(evidence.cpu_held_s, Missing)
    assert isinstance(evidence.cpu_pipe_s, Missing)


def test_held_batch_is_a_time_a_step_with_several_an_execution() -> None:
    evidence = gather(constructed.record(steps_per_execution=4, wait_ms=None))

    assert value(evidence.held_call_s) == pytest.approx(0.031)
    assert value(evidence.cpu_held_s) == pytest.approx(0.040)


def test_cpu_seconds_are_split_into_model_and_pipeline() -> None:
    evidence = gather(constructed.record(cpu_ms=120, held_cpu_ms=40, cores=2))

    assert value(evidence.cpu_step_s) == pytest.approx(0.120)
    assert value(evidence.cpu_held_s) == pytest.approx(0.040)
    assert value(evidence.cpu_pipe_s) == pytest.approx(0.080)
    assert value(evidence.cpu_share) == pytest.approx(120 / 166)


def test_pipeline_never_takes_negative_cpu() -> None:
    assert value(gather(constructed.record(cpu_ms=40, held_cpu_ms=50)).cpu_pipe_s) == 0.0


def test_cpu_time_that_was_not_read_is_missing() -> None:
    evidence = gather(constructed.record(cpu_ms=None))

    for number in (evidence.cpu_step_s, evidence.cpu_share, evidence.cpu_pipe_s):
        assert isinstance(number, Missing)


@pytest.mark.parametrize(
    ("fields", "bound_s", "name"),
    [
        ({"cpu_ms": 120}, 0.060, "cpu"),
        ({"cpu_ms": 50}, 0.0315, "ideal step"),
        (
            {"cpu_ms": 50, "stages": (constructed.stage(0, "filter", "odd", cost_ms=70),)},
            0.070,
            "serial stage filter odd",
        ),
        (
            {
                "cpu_ms": 50,
                "stages": (
                    constructed.stage(0, "map", "a", cost_ms=160, parallelism=8, python=True),
                    constructed.stage(1, "map", "b", cost_ms=30, python=True),
                ),
            },
            0.050,
            "python stage map b",
        ),
        (
            {"cpu_ms": 50, "stages": (constructed.stage(0, "filter", "odd", cost_ms=200),)},
            0.083,
            "serial stage filter odd",
        ),
    ],
)
def test_reachable_step_is_the_tightest_bound(fields, bound_s: float, name: str) -> None:
    evidence = gather(constructed.record(**fields))

    assert value(evidence.reachable_step_s) == pytest.approx(bound_s)
    assert evidence.limited_by == name


def test_reachable_step_needs_costs_or_cpu_time() -> None:
    evidence = gather(constructed.record(cpu_ms=None, stages=Missing("autotune is off")))

    assert isinstance(evidence.reachable_step_s, Missing)
    assert evidence.limited_by == ""


def test_reachable_step_needs_an_ideal_one() -> None:
    evidence = gather(constructed.record(wait_ms=None, held_ms=None))

    assert isinstance(evidence.reachable_step_s, Missing)


def test_cores_of_other_processes_are_taken_from_the_samples() -> None:
    sampled = constructed.utilization(other_cores=0.9, spread=0.3)
    evidence = gather(constructed.record(utilization=sampled))

    assert evidence.other_cores == Measurement(
        0.9, pytest.approx(0.6), pytest.approx(1.2), sampled.samples
    )


@pytest.mark.parametrize(
    ("machine_cores", "others", "taken"),
    [(8, 5.0, 0.0), (8, 7.0, 1.0), (8, 9.5, 2.0), (2, 0.5, 0.5)],
)
def test_cores_that_this_process_may_not_use_are_not_taken_from_it(
    machine_cores: int, others: float, taken: float
) -> None:
    record = constructed.record(
        environment=dataclasses.replace(constructed.environment(), cores=machine_cores),
        utilization=constructed.utilization(other_cores=others),
    )

    assert value(gather(record).other_cores) == pytest.approx(taken)


@pytest.mark.parametrize(
    "utilization",
    [
        Missing("switched off"),
        dataclasses.replace(constructed.utilization(), host=Missing("too short for two samples")),
        constructed.utilization(other_cores=float("nan")),
    ],
    ids=["no sampling", "no host", "damaged"],
)
def test_cores_of_other_processes_are_missing_where_they_were_not_sampled(utilization) -> None:
    assert isinstance(gather(constructed.record(utilization=utilization)).other_cores, Missing)


def with_waits(waits_ms: list[float]) -> Measurement:
    """The wait found in even steps of 20 ms, of which each waits as long as this list says."""
    record = constructed.record(step_ms=20, wait_ms=0.0, held_ms=11, steps=len(waits_ms) + 2)
    assert not isinstance(record.steps, Missing)
    kept = tuple(
        dataclasses.replace(one, gap_s=0.020 - wait_ms / 1e3)
        for one, wait_ms in zip(record.steps.kept, [0.0, *waits_ms, 0.0], strict=True)
    )
    steps = dataclasses.replace(record.steps, kept=kept)
    found = gather(dataclasses.replace(record, steps=steps)).wait_s
    assert isinstance(found, Measurement)
    return found


def test_waits_in_bursts_are_averaged_though_the_steps_are_even() -> None:
    few, many = with_waits([0.0, 0.0, 8.0, 0.0, 8.0] * 20), with_waits([8.0, 0.0, 8.0] * 33)

    assert few.value == pytest.approx(0.0032, rel=0.05)
    assert many.value == pytest.approx(0.0053, rel=0.05)
    assert few.low > 0.001


@pytest.mark.parametrize(("burst_ms", "hidden"), [(4.9, True), (5.1, False)])
def test_bursts_below_the_band_of_a_verdict_leave_the_median(burst_ms: float, hidden: bool) -> None:
    wait = with_waits([0.0, 0.0, 0.0, 0.0, burst_ms] * 20)

    assert (wait.value == 0.0) is hidden
