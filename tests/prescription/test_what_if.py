from __future__ import annotations

import math
from typing import Any

import pytest
from constructed import stage
from hypothesis import given
from hypothesis import strategies as st
from prescribed_jobs import batch, mapped, prefetch, python_map, run, serial_map, source

from bottleneck_kit.prescription.change import Change
from bottleneck_kit.prescription.stage_load import free_cores, latency_left
from bottleneck_kit.prescription.what_if import Prediction, predict, predict_shorter
from bottleneck_kit.records.evidence import Evidence
from bottleneck_kit.records.measurement import Measurement, Missing
from bottleneck_kit.records.stage import Stage

COSTS = st.floats(0.01, 200.0)


def predicted(evidence: Evidence, change: Change) -> Prediction:
    result = predict(evidence, change)
    assert isinstance(result, Prediction), result
    return result


@st.composite
def jobs(draw: Any) -> Evidence:
    """Any pipeline of maps, serial or parallel, in front of a batch, in any kind of job."""
    stages: list[Stage] = [source(0, draw(COSTS))]
    for index in range(1, draw(st.integers(2, 5))):
        make = mapped if draw(st.booleans()) else serial_map
        stages.append(make(index, f"f{index}", draw(COSTS)))
    stages.append(batch(len(stages), draw(COSTS)))
    if draw(st.booleans()):
        stages.append(prefetch(len(stages)))
    step_ms = draw(st.floats(1.0, 300.0))
    wait_ms = step_ms * draw(st.floats(0.0, 1.0))
    cores = draw(st.sampled_from([1.0, 1.5, 2.0, 8.0]))
    cpu_ms = draw(st.floats(0.0, 1.0)) * cores * step_ms
    return run(
        stages,
        step_s=step_ms / 1e3,
        wait_s=wait_ms / 1e3,
        held_call_s=(step_ms - wait_ms) / 1e3 * draw(st.floats(0.5, 1.0)),
        host_s=0.0,
        cpu_step_s=cpu_ms / 1e3,
        cpu_held_s=cpu_ms / 1e3 * draw(st.floats(0.0, 1.0)),
        usable_cores=cores,
        prefetch_at_end=draw(st.sampled_from([True, False, None])),
    )


@given(jobs())
def test_nothing_changed_predicts_the_measured_step(evidence: Evidence) -> None:
    assert isinstance(evidence.step_s, Measurement)
    prediction = predicted(evidence, Change())
    assert prediction.step_s == evidence.step_s.value
    assert prediction.gain_s == 0


@given(jobs(), st.data())
def test_removing_work_gains_between_nothing_and_the_whole_wait(
    evidence: Evidence, data: Any
) -> None:
    assert isinstance(evidence.step_s, Measurement)
    assert isinstance(evidence.wait_s, Measurement)
    assert isinstance(evidence.ideal_step_s, Measurement)
    index = data.draw(st.integers(0, len(evidence.stages) - 1))
    prediction = predicted(evidence, Change(kept={index: data.draw(st.floats(0.0, 1.0))}))
    step_s, wait_s = evidence.step_s.value, evidence.wait_s.value
    assert step_s - wait_s - 1e-9 <= prediction.step_s <= step_s
    assert evidence.ideal_step_s.low - 1e-9 <= prediction.low_s
    assert prediction.low_s <= prediction.step_s <= prediction.high_s <= step_s


@given(jobs(), st.data())
def test_removing_more_of_a_stage_never_gains_less(evidence: Evidence, data: Any) -> None:
    index = data.draw(st.integers(0, len(evidence.stages) - 1))
    less, more = sorted(data.draw(st.tuples(st.floats(0.0, 1.0), st.floats(0.0, 1.0))))
    assert (
        predicted(evidence, Change(kept={index: less})).step_s
        <= predicted(evidence, Change(kept={index: more})).step_s + 1e-12
    )


@given(COSTS, COSTS)
def test_of_two_serial_stages_the_dearer_gains_no_less_when_removed(
    first_ms: float, second_ms: float
) -> None:
    stages = [
        source(0, 0.1),
        serial_map(1, "first", first_ms),
        serial_map(2, "second", second_ms),
        batch(3),
        prefetch(4),
    ]
    evidence = run(stages)
    gains = [predicted(evidence, Change(kept={index: 0.0})).gain_s for index in (1, 2)]
    dearer, cheaper = gains if first_ms >= second_ms else reversed(gains)
    assert dearer >= cheaper - 1e-12


@given(jobs(), st.floats(0.1, 10.0))
def test_scaling_all_times_scales_the_prediction(evidence: Evidence, factor: float) -> None:
    def scaled(value: Measurement | Missing) -> Measurement:
        assert isinstance(value, Measurement)
        return Measurement(value.value * factor, value.low * factor, value.high * factor)

    stages = [mapped_like(one.stage, factor) for one in evidence.stages]
    other = run(
        stages,
        step_s=scaled(evidence.step_s),
        wait_s=scaled(evidence.wait_s),
        held_call_s=scaled(evidence.held_call_s),
        host_s=0.0,
        cpu_step_s=scaled(evidence.cpu_step_s),
        cpu_held_s=scaled(evidence.cpu_held_s),
        usable_cores=evidence.usable_cores,
        prefetch_at_end=evidence.prefetch_at_end,
    )
    change = Change(kept={1: 0.25})
    assert predicted(other, change).step_s == pytest.approx(
        factor * predicted(evidence, change).step_s
    )


def mapped_like(one: Stage, factor: float) -> Stage:
    assert not isinstance(one.cost, Missing)
    return stage(
        one.index,
        one.kind,
        one.name,
        cost_ms=one.cost.cost_s * factor * 1e3,
        parallelism=one.cost.parallelism,
    )


def test_saturated_cores_leave_parallel_calls_nothing_to_gain() -> None:
    stages = [source(0), serial_map(1, "decode", 60.0), mapped(2, "warp", 90.0), batch(3)]
    evidence = run(stages, cpu_step_s=0.164, cpu_held_s=0.010)
    assert predicted(evidence, Change(calls={1: 2.0})).gain_s < 0.02 * 0.083


def test_cores_that_others_keep_busy_are_nothing_to_gain_from() -> None:
    stages = [source(0), serial_map(1, "decode", 80.0), batch(2), prefetch(3)]
    alone = run(stages, cpu_step_s=0.085, cpu_held_s=0.005)
    crowded = run(stages, cpu_step_s=0.085, cpu_held_s=0.005, other_cores=1.0)
    change = Change(calls={1: 2.0})
    assert predicted(alone, change).gain_s > 0.03
    held_up = predicted(crowded, change)
    assert held_up.gain_s == 0
    # Should the others leave, it is as fast as alone.
    assert held_up.low_s <= predicted(alone, change).step_s + 1e-9


@pytest.mark.parametrize(
    ("others", "free"), [(0.0, 2.0), (0.5, 1.5), (1.0, 1.0), (2.0, 1.0), (Missing("no"), 2.0)]
)
def test_the_free_cores_are_what_others_leave_but_one_at_least(
    others: float | Missing, free: float
) -> None:
    assert free_cores(run(other_cores=others, cpu_share=0.1)) == free


def test_cores_that_the_job_has_already_are_free() -> None:
    assert free_cores(run(other_cores=1.0, cpu_share=0.9)) == pytest.approx(1.8)


@pytest.mark.parametrize(("step_ms", "latency_ms"), [(42.0, 0.0), (50.0, 0.0), (60.0, 20.0)])
def test_only_what_the_model_cannot_err_by_is_taken_for_latency(
    step_ms: float, latency_ms: float
) -> None:
    # The thread of 40 ms explains a step of up to 50 ms; from 60 ms on the rest is latency.
    stages = [source(0, 0.0), serial_map(1, "decode", 40.0), batch(2, 0.0)]
    step_s = step_ms / 1e3
    evidence = run(stages, step_s=step_s, wait_s=step_s, cpu_step_s=0.04, cpu_held_s=0.0)
    left = predicted(evidence, Change(kept={1: 0.0}))
    assert left.step_s * 1e3 == pytest.approx(latency_ms, abs=1e-6)


def test_a_change_that_may_remove_latency_has_an_interval_up_to_where_it_stays() -> None:
    stages = [source(0, 1.0), mapped(1, "decode", 4.0), batch(2), prefetch(3)]
    evidence = run(stages, wait_s=0.070, cpu_step_s=0.015, cpu_held_s=0.010)
    stays = predicted(evidence, Change(kept={0: 0.0, 1: 0.0, 2: 0.0}))
    goes = predicted(evidence, Change(kept={0: 0.0, 1: 0.0, 2: 0.0}, latency_left=0.0))
    assert goes.step_s < 0.02 < stays.step_s <= goes.high_s


def test_latency_goes_only_with_all_the_stages_it_may_sit_in() -> None:
    evidence = run([source(0, 1.0), mapped(1, "fetch", None), mapped(2, "warp", 4.0), batch(3)])
    assert latency_left(evidence, [0]) == 1.0
    assert latency_left(evidence, [1, 2]) == 1.0
    assert latency_left(evidence, [0, 1]) == 0.0


def test_an_idle_core_lets_a_serial_stage_go_twice_as_fast() -> None:
    stages = [source(0), serial_map(1, "decode", 80.0), batch(2), prefetch(3)]
    evidence = run(stages, cpu_step_s=0.085, cpu_held_s=0.005)
    prediction = predicted(evidence, Change(calls={1: 2.0}))
    assert prediction.step_s == pytest.approx(0.0425, rel=0.1)


def test_serial_stages_in_one_thread_add_up() -> None:
    stages = [source(0), serial_map(1, "a", 40.0), serial_map(2, "b", 40.0), batch(3), prefetch(4)]
    evidence = run(stages, cpu_step_s=0.085, cpu_held_s=0.005)
    assert predicted(evidence, Change(kept={1: 0.0})).step_s == pytest.approx(0.043, rel=0.05)


def test_more_calls_do_not_help_a_stage_that_holds_the_lock() -> None:
    stages = [source(0), python_map(1, "load", 80.0), batch(2), prefetch(3)]
    evidence = run(stages, cpu_step_s=0.085, cpu_held_s=0.005)
    assert predicted(evidence, Change(calls={1: 8.0})).gain_s < 0.05 * 0.083
    assert predicted(evidence, Change(calls={1: 2.0}, python_processes=2)).gain_s > 0.03


def test_a_buffer_at_the_end_lets_pipeline_and_step_overlap() -> None:
    stages = [source(0), serial_map(1, "decode", 40.0), batch(2, 8.0)]
    evidence = run(stages, cpu_step_s=0.060, prefetch_at_end=False)
    assert predicted(evidence, Change(overlap=True)).step_s == pytest.approx(0.048, rel=0.05)


def test_work_that_moves_into_the_step_lengthens_it() -> None:
    evidence = run(wait_s=0.0, held_call_s=0.0825)
    assert predicted(evidence, Change(kept={8: 0.0}, step_s=0.010)).step_s == pytest.approx(0.093)


def test_a_fused_cost_is_shared_out_among_the_stages_that_run_a_function() -> None:
    stages = [
        source(0),
        serial_map(1, "decode", 80.0, shared_with=(2,)),
        batch(2, None),
        prefetch(3),
    ]
    evidence = run(stages, cpu_step_s=0.085, cpu_held_s=0.005)
    assert predicted(evidence, Change(kept={1: 0.0})).gain_s == pytest.approx(0.048)
    assert predicted(evidence, Change(kept={2: 0.0})).gain_s == 0


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"step_s": Missing("no steps")}, "the time of a step is not known: no steps"),
        ({"wait_s": Missing("no probe")}, "the wait for input is not known: no probe"),
        ({"stages": ()}, "the costs of the stages are not known"),
    ],
)
def test_a_missing_number_makes_the_prediction_missing(fields: dict[str, Any], reason: str) -> None:
    assert predict(run(**fields), Change(kept={4: 0.0})) == Missing(reason)


def test_a_stage_without_a_cost_makes_only_its_own_prediction_missing() -> None:
    evidence = run([source(0), mapped(1, "decode", None), mapped(2, "warp", 80.0), batch(3)])
    assert predict(evidence, Change(kept={1: 0.0})) == Missing(
        "the cost of stage 1 was not measured"
    )
    assert predicted(evidence, Change(kept={2: 0.0})).gain_s > 0


def test_a_wide_wait_makes_a_wide_prediction() -> None:
    narrow = predicted(run(), Change(kept={5: 0.0}))
    wide = predicted(run(wait_s=Measurement(0.048, 0.028, 0.068)), Change(kept={5: 0.0}))
    assert wide.high_s - wide.low_s > narrow.high_s - narrow.low_s


@pytest.mark.parametrize(
    ("saved_ms", "wait_ms", "gain_ms"), [(10.0, 0.0, 10.0), (10.0, 4.0, 6.0), (10.0, 48.0, 0.0)]
)
def test_saved_host_time_gains_what_the_wait_leaves_of_it(
    saved_ms: float, wait_ms: float, gain_ms: float
) -> None:
    evidence = run(wait_s=wait_ms / 1e3)
    result = predict_shorter(evidence, Measurement.exact(saved_ms / 1e3))
    assert isinstance(result, Prediction)
    assert result.gain_s == pytest.approx(gain_ms / 1e3)
    assert result.low_s <= result.step_s <= result.high_s
    assert math.isclose(result.step_s + result.gain_s, 0.083)


def test_latency_that_no_stage_accounts_for_stays_whatever_the_cores() -> None:
    stages = [source(0, 1.0), mapped(1, "decode", 4.0), batch(2), prefetch(3)]
    evidence = run(stages, wait_s=0.070, cpu_step_s=0.015, cpu_held_s=0.010)
    assert predicted(evidence, Change(cores=64.0)).gain_s < 0.05 * 0.083
    assert predicted(evidence, Change(kept={1: 0.0})).gain_s < 0.10 * 0.083
    # Without the source and all behind it there is nothing left to wait for.
    everything = Change(kept={0: 0.0, 1: 0.0, 2: 0.0}, latency_left=0.0)
    assert predicted(evidence, everything).step_s == pytest.approx(0.013, rel=0.05)


def test_latency_may_sit_in_a_stage_of_unknown_cost() -> None:
    stages = [source(0, 1.0), mapped(1, "fetch", None), batch(2), prefetch(3)]
    evidence = run(stages, wait_s=0.070, cpu_step_s=0.015, cpu_held_s=0.010)
    assert predicted(evidence, Change(kept={0: 0.0})).gain_s < 0.10 * 0.083


def test_time_spent_waiting_for_the_lock_is_no_work_for_processes() -> None:
    # Two calls take turns: 80 ms of thread time are 40 ms of Python.
    stages = [source(0), python_map(1, "load", 80.0), batch(2), prefetch(3)]
    stages[1] = mapped(1, "load", 80.0, python=True, parallelism=2)
    evidence = run(stages, step_s=0.045, wait_s=0.040, cpu_step_s=0.045, cpu_held_s=0.005)
    two = Change(calls={1: 2.0}, python_processes=2)
    assert predicted(evidence, two).step_s < 0.030
