"""What findings say: causes that agree with each other, numbers that can be, neighbours named."""

from __future__ import annotations

from typing import Any

import constructed
import pytest
from rule_cases import GONE, batch, blocked, locked, pipeline, python_work, source, waits, work

from bottleneck_kit.diagnosis.engine import diagnose
from bottleneck_kit.diagnosis.rules import ALL_RULES
from bottleneck_kit.records.stage import Stage

CAUSES = {"INP110", "INP111", "INP112", "INP113", "INP114", "INP115"}


def texts(**fields: Any) -> dict[str, str]:
    """What each rule says of this evidence, by its code."""
    return {one.code: one.text for one in diagnose(constructed.evidence(**fields)).findings}


def opaque() -> Stage:
    return constructed.stage(1, "opaque")


def test_latency_is_nobodys_work_and_no_other_cause_is_named() -> None:
    said = texts(**blocked(2.0, cpu_share=0.05))

    assert set(said) == {"INP101", "INP113"}
    assert said["INP113"] == (
        "48.0 ms of the 50.0 ms wait is nobody's work, at 5.0 % of the 2 cores: the source, "
        "tfrecord, or something outside tf.data, is slow to deliver (remote storage, blocking "
        "reads, a lock, a sleep)."
    )


def test_latency_points_at_the_stage_that_could_not_be_read() -> None:
    fields = pipeline(source(), opaque(), batch(), cpu_pipe_s=0.002, cpu_share=0.05)

    assert texts(**fields)["INP113"].endswith("Look at stage 1 first: it could not be read.")


def test_latency_of_arrays_offers_nothing_that_needs_a_stage_of_the_user() -> None:
    adapter = constructed.stage(0, "keras_arrays", cost_ms=1.0, injected_by="keras")
    fields = pipeline(adapter, cpu_pipe_s=0.002, cpu_share=0.05)
    findings = {one.code: one for one in diagnose(constructed.evidence(**fields)).findings}

    assert findings["INP113"].remedies == ("steps_per_execution", "machine")


def test_latency_without_a_known_source_is_about_the_whole() -> None:
    fields = pipeline(constructed.stage(1, "map", "heavy", cost_ms=1.0, python=True))
    evidence = constructed.evidence(**{**fields, "cpu_pipe_s": 0.002, "cpu_share": 0.05})
    (finding,) = (one for one in diagnose(evidence).findings if one.code == "INP113")

    assert finding.stage is None
    assert "the source, or something outside tf.data, is slow" in finding.text


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        (waits(0.5, cpu_share=0.55, other_cores=0.9), "INP110"),
        (pipeline(source(), work(50), batch(), cpu_share=0.4, other_cores=0.9), "INP111"),
        (pipeline(source(60), batch(), cpu_share=0.4, other_cores=0.9), "INP113"),
        (blocked(2.0, cpu_share=0.05, other_cores=0.9), "INP113"),
    ],
    ids=["full cores", "serial stage", "slow source", "latency"],
)
def test_cores_that_another_process_takes_are_said(fields: dict[str, Any], code: str) -> None:
    assert "other processes keep 0.9 busy" in texts(**fields)[code]
    assert "other processes" not in texts(**{**fields, "cpu_share": 0.9, "other_cores": 0.0}).get(
        "INP110", ""
    )


@pytest.mark.parametrize(("cores", "said"), [(0.26, True), (0.24, False)])
def test_a_little_of_another_process_is_not_worth_a_word(cores: float, said: bool) -> None:
    text = texts(**waits(0.5, cpu_share=0.9, other_cores=cores))["INP110"]

    assert ("other processes" in text) is said


def test_a_little_of_another_process_is_said_where_it_fills_the_cores() -> None:
    text = texts(**waits(0.5, cpu_share=0.83, other_cores=0.2))["INP110"]

    assert text.endswith(
        "83 % of the 2 cores; other processes keep 0.2 busy. No core is left for more parallel "
        "calls."
    )


def test_thread_time_over_the_step_is_said_as_what_it_is() -> None:
    said = texts(**pipeline(source(), work(120), batch()))

    assert "busy for all of each 100 ms step (120 ms of thread time, waits for" in said["INP111"]
    assert (
        "busy for 60.0 ms of each 100 ms step,"
        in (texts(**pipeline(source(), work(60), batch()))["INP111"])
    )


def test_python_that_takes_the_lock_names_the_step_without_it() -> None:
    said = texts(**locked(50))

    assert set(said) == {"INP112"}
    assert "runs Python for 50.0 ms of each 100 ms step" in said["INP112"]
    assert said["INP112"].endswith(
        "The training loop needs the same lock: on a held batch a step takes 40.0 ms."
    )


def test_python_lock_is_why_the_held_batch_is_faster() -> None:
    said = texts(**locked(50, share=0.25))

    assert "which is not waiting: it has the interpreter lock to itself." in said["INP101"]


@pytest.mark.parametrize(("cpu_ms", "waits"), [(29.9, True), (30.1, False)])
def test_python_that_uses_no_processor_waits_and_holds_no_lock(cpu_ms: float, waits: bool) -> None:
    said = texts(**locked(50, share=0.25, cpu_pipe_s=cpu_ms / 1e3))

    assert ("uses only 29.9 ms of CPU time: it waits for something" in said["INP112"]) is waits
    assert ("needs the same lock" in said["INP112"]) is not waits


def test_processes_come_first_against_python() -> None:
    fields = pipeline(source(), python_work(60), batch())
    findings = {one.code: one for one in diagnose(constructed.evidence(**fields)).findings}

    assert findings["INP112"].remedies[0] == findings["INP101"].remedies[0] == "processes"


def test_calls_come_first_where_python_waits_and_processes_not_at_all() -> None:
    fields = pipeline(source(), python_work(60), batch(), cpu_pipe_s=0.01)
    findings = {one.code: one for one in diagnose(constructed.evidence(**fields)).findings}

    for code in ("INP101", "INP112"):
        assert findings[code].remedies[0] == "tune"
        assert "processes" not in findings[code].remedies


def test_wait_without_a_cause_names_the_dearest_stage() -> None:
    said = texts(**pipeline(source(), work(70, parallelism=2), batch()))

    assert set(said) == {"INP101"}
    assert said["INP101"].endswith(
        "No single cause stands out; the dearest stage is map heavy (train.py:11), with 70.0 ms "
        "of thread time a step."
    )


def test_wait_without_known_stages_says_that_its_cause_cannot_be_named() -> None:
    said = texts(**waits(0.5, cpu_share=0.5, stages=(), has_pipeline=GONE, source_s=GONE))

    assert said["INP101"].endswith("what the pipeline's stages cost is not known.")


@pytest.mark.parametrize("cpu_share", [0.1, 0.3, 0.5, 0.7, 0.9])
@pytest.mark.parametrize("cost_ms", [1, 10, 30, 50, 70, 90])
@pytest.mark.parametrize("others", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("kind", ["serial", "python", "parallel", "source"])
def test_every_high_wait_names_a_cause_or_says_that_none_stands_out(
    cpu_share: float, cost_ms: float, others: float, kind: str
) -> None:
    stages = {
        "serial": (source(), work(cost_ms), batch()),
        "python": (source(), python_work(cost_ms), batch()),
        "parallel": (source(), work(cost_ms, parallelism=2), batch()),
        "source": (source(cost_ms), batch()),
    }[kind]
    said = texts(**pipeline(*stages, cpu_share=cpu_share, other_cores=others))

    assert bool(set(said) & CAUSES) is ("No single cause" not in said["INP101"])
    # What takes most of the step by itself is never passed over.
    if cost_ms == 90 and kind != "parallel":
        assert set(said) & CAUSES


def test_rules_are_asked_of_one_place() -> None:
    for rule in ALL_RULES:
        assert rule.missing(constructed.evidence(step_s=GONE, wait_s=GONE)) or not (
            {"step_s", "wait_s", "input_share"} & set(rule.needs)
        )
