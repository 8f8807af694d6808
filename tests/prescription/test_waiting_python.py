from __future__ import annotations

import pytest
from constructed import stage
from prescribed_jobs import (
    ask,
    batch,
    diagnosis,
    finding,
    prefetch,
    python_map,
    run,
    serial_map,
    source,
    why_not,
)

from bottleneck_kit.prescription.prescribe import prescribe
from bottleneck_kit.prescription.waiting_python import MAP_CALLS, WORKERS
from bottleneck_kit.records.evidence import Evidence
from bottleneck_kit.records.measurement import Measurement, Missing
from bottleneck_kit.records.stage import Stage

ASKS = finding("tune", "processes", stage=1, code="INP112")


def job_of(*stages: Stage, cpu_pipe_ms: float = 10.0, step_ms: float = 82.0) -> Evidence:
    """Makes a job that waits for all but 2 ms of its step."""
    return run(
        [source(0, 0.1), *stages],
        step_s=step_ms / 1e3,
        held_call_s=0.0015,
        wait_s=step_ms / 1e3 - 0.002,
        cpu_step_s=cpu_pipe_ms / 1e3 + 0.001,
        cpu_held_s=0.001,
    )


def sleeping_map(**fields: object) -> Evidence:
    return job_of(python_map(1, "load", 80.0, **fields), batch(2), prefetch(3))


def test_python_that_waits_is_called_more_often_at_once_than_there_are_cores() -> None:
    first, *others = prescribe(sleeping_map(), diagnosis(ASKS)).remedies
    assert first.name == "tune"
    assert isinstance(first.predicted_step_s, float)
    # 80 ms over sixteen calls is the bound of the CPU, which is 11 ms through two cores.
    assert 0.005 <= first.predicted_step_s < 0.012
    assert f"num_parallel_calls={MAP_CALLS}" in first.snippet
    assert f"private_threadpool_size = {2 * MAP_CALLS}" in first.snippet
    assert "processes" not in [one.name for one in others]


def test_processes_are_not_offered_to_python_that_waits_and_the_plan_says_why() -> None:
    plan = prescribe(sleeping_map(), diagnosis(ASKS))
    assert "frees the lock" in plan.unpredicted["processes"]


@pytest.mark.parametrize(("cpu_pipe_ms", "waits"), [(47.9, True), (48.1, False)])
def test_little_cpu_time_is_what_tells_waiting_from_work(cpu_pipe_ms: float, waits: bool) -> None:
    evidence = job_of(python_map(1, "load", 80.0), batch(2), prefetch(3), cpu_pipe_ms=cpu_pipe_ms)
    assert bool(ask("tune", evidence, ASKS)) is waits
    assert bool(ask("processes", evidence, ASKS)) is not waits


def test_python_of_unknown_cpu_time_counts_as_work() -> None:
    evidence = run(
        [source(0), python_map(1, "load", 80.0), batch(2)], cpu_step_s=Missing("no clock")
    )
    assert ask("tune", evidence, ASKS) == []
    assert "one lock serialises" in why_not("tune", evidence)


def test_enough_waiting_calls_are_left_as_they_are() -> None:
    # 16 calls of 5 ms each: what is left of the wait is not for want of calls.
    busy = python_map(1, "load", 1280.0, parallelism=MAP_CALLS)
    evidence = job_of(busy, batch(2), prefetch(3))
    assert ask("tune", evidence, ASKS) == []
    assert "often enough at once" in why_not("tune", evidence)


@pytest.mark.parametrize("kind", ["keras_py_dataset", "keras_generator"])
def test_a_python_input_that_waits_gets_workers(kind: str) -> None:
    waiting = stage(0, kind, "Rows", cost_ms=20.0, python=True, injected_by="keras")
    evidence = run(
        [waiting, prefetch(1)],
        step_s=0.021,
        held_call_s=0.0015,
        wait_s=0.019,
        cpu_step_s=0.003,
        cpu_held_s=0.001,
    )
    (one,) = ask("tune", evidence, finding("tune", code="INP112"))
    assert f"workers={WORKERS}" in one.snippet
    assert "use_multiprocessing" not in one.snippet
    assert isinstance(one.predicted_step_s, float)
    assert one.predicted_step_s == pytest.approx(0.0025, abs=0.001)


def test_a_generator_that_waits_becomes_a_map_over_its_indices() -> None:
    rows = stage(
        0,
        "from_generator",
        "rows",
        cost_ms=80.0,
        python=True,
        element_spec="(float32[8,8], int64[])",
    )
    evidence = run(
        [rows, batch(1), prefetch(2)],
        step_s=0.082,
        held_call_s=0.0015,
        wait_s=0.080,
        cpu_step_s=0.011,
        cpu_held_s=0.001,
    )
    (one,) = ask("tune", evidence, finding("tune", stage=0))
    assert "tf.numpy_function(load_one, [i], [tf.float32, tf.int64])" in one.snippet
    assert "tf.ensure_shape(part_0, [8, 8]), tf.ensure_shape(part_1, [])" in one.snippet


def test_a_remedy_that_would_be_slower_is_no_cure_even_where_a_finding_names_its_stage() -> None:
    # Handing over 128 small elements one at a time costs more than their Python.
    evidence = run(
        [source(0, 0.1), python_map(1, "load", 7.0), serial_map(2, "crop", 0.1), batch(3, 0.1)],
        step_s=0.008,
        held_call_s=0.0005,
        wait_s=0.007,
        cpu_step_s=0.0085,
        cpu_held_s=0.0005,
    )
    asked = finding("processes", stage=1)
    (slower,) = ask("processes", evidence, asked)
    assert isinstance(evidence.step_s, Measurement)
    assert isinstance(slower.predicted_step_s, float)
    assert slower.predicted_step_s > evidence.step_s.value
    plan = prescribe(evidence, diagnosis(asked))
    assert plan.remedies == ()
    assert "slower" in plan.unpredicted["processes"]
