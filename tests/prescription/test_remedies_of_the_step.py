from __future__ import annotations

from typing import Any

import pytest
from constructed import callback_evidence, job
from prescribed_jobs import ask, batch, compute_bound, finding, run, source, why_not

from bottleneck_kit.records.evidence import Evidence
from bottleneck_kit.records.measurement import Measurement, Missing


def tiny_steps(**fields: Any) -> Evidence:
    """The steps of 1.35 ms of which Keras' loop takes 1 ms."""
    return compute_bound(**{"step_s": 0.00135, "host_s": 0.001, "held_call_s": 0.00035, **fields})


def test_several_steps_an_execution_are_offered_where_the_loop_takes_most_of_the_step() -> None:
    (one,) = ask("steps_per_execution", tiny_steps())
    assert not isinstance(one.predicted_step_s, Missing)
    assert one.predicted_step_s == pytest.approx(0.00037, rel=0.05)
    assert "steps_per_execution=50" in one.snippet


def test_the_number_of_steps_an_execution_divides_the_epoch() -> None:
    (one,) = ask("steps_per_execution", tiny_steps(job=job(steps_per_epoch=64)))
    assert "steps_per_execution=64" in one.snippet


def test_a_users_callback_is_not_taken_for_the_loop() -> None:
    assert ask("steps_per_execution", tiny_steps(callback_step_s=0.00095)) == []


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"job": job(steps_per_execution=8)}, "already"),
        ({"job": job(run_eagerly=True)}, "eagerly"),
        ({"host_s": Missing("no hook")}, "not measured"),
    ],
)
def test_several_steps_an_execution_are_not_offered(fields: dict[str, Any], reason: str) -> None:
    evidence = tiny_steps(**fields)
    wanted = finding("steps_per_execution")
    assert ask("steps_per_execution", evidence, wanted) == []
    assert reason in why_not("steps_per_execution", evidence, wanted)


def test_a_loop_of_a_hundredth_of_the_step_is_left_alone() -> None:
    assert ask("steps_per_execution", compute_bound(host_s=0.0008)) == []


def test_a_shorter_loop_gains_nothing_while_the_step_waits_for_its_input() -> None:
    assert ask("steps_per_execution", run(host_s=0.010)) == []


def test_xla_is_offered_to_a_compute_bound_job_with_a_gpu() -> None:
    (one,) = ask("jit_compile", compute_bound(gpus=1), kind="compute_bound")
    assert isinstance(one.predicted_step_s, Missing)
    assert "jit_compile=True" in one.snippet


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({}, "no GPU"),
        ({"emulated_ms": 31.0}, "no GPU"),
        ({"gpus": 1, "job": job(jit_compile=True)}, "already"),
        ({"gpus": 1, "job": job(run_eagerly=True)}, "eagerly"),
        ({"gpus": 1, "job": job(string_input=True)}, "strings"),
        ({"gpus": 1, "job": job(dynamic_shapes=True)}, "vary"),
        ({"gpus": 1, "job": job(element_spec="(RaggedTensorSpec, int64[?])")}, "ragged"),
    ],
)
def test_xla_is_not_offered(fields: dict[str, Any], reason: str) -> None:
    evidence = compute_bound(**fields)
    assert ask("jit_compile", evidence, finding("jit_compile"), kind="compute_bound") == []
    assert reason in why_not("jit_compile", evidence)


def test_xla_is_not_offered_unasked_to_a_job_that_waits_for_its_input() -> None:
    assert ask("jit_compile", run(gpus=1)) == []


def test_shapes_are_padded_where_they_vary() -> None:
    evidence = compute_bound(recompiles=7, recompile_s=6.3, job=job(dynamic_shapes=True))
    (one,) = ask("pad_shapes", evidence, finding("pad_shapes", code="RUN401"))
    assert "7 times, 6.30 s together" in one.text
    assert "padded_batch" in one.snippet
    assert isinstance(one.predicted_step_s, Missing)


def test_a_short_last_batch_is_dropped_where_shapes_are_fixed() -> None:
    evidence = compute_bound([source(0), batch(1)], recompiles=3)
    (one,) = ask("pad_shapes", evidence, finding("pad_shapes", code="RUN401"))
    assert one.snippet == "dataset = dataset.batch(128, drop_remainder=True)"


def test_shapes_are_left_alone_where_nothing_was_traced_again() -> None:
    assert ask("pad_shapes", compute_bound()) == []
    assert "not traced again" in why_not("pad_shapes", compute_bound())


def test_eager_mode_is_dropped_wherever_it_is_on() -> None:
    (one,) = ask("drop_eager", compute_bound(job=job(run_eagerly=True)))
    assert "run_eagerly=False" in one.snippet
    assert ask("drop_eager", compute_bound(), finding("drop_eager")) == []
    assert "already" in why_not("drop_eager", compute_bound())


def test_a_slow_callback_is_named_with_its_hook() -> None:
    evidence = compute_bound(callbacks=(callback_evidence("SlowLogger", step_ms=10.0),))
    (one,) = ask("callback", evidence)
    assert "SlowLogger.on_train_batch_end" in one.text
    assert "class SparingSlowLogger(SlowLogger):" in one.snippet
    assert one.predicted_step_s == pytest.approx(0.0731)


def test_a_callback_between_epochs_has_no_predicted_step() -> None:
    slow = callback_evidence("Plots", hook="on_epoch_end", share=0.3)
    (one,) = ask("callback", compute_bound(callbacks=(slow,)))
    assert isinstance(one.predicted_step_s, Missing)
    assert "def on_epoch_end(self, epoch, logs=None):" in one.snippet


def test_a_callback_without_a_class_name_gets_a_stand_in() -> None:
    slow = callback_evidence("LambdaCallback train.py:12")
    (one,) = ask("callback", compute_bound(callbacks=(slow,)))
    assert "class SparingYourCallback(YourCallback):" in one.snippet


def test_only_the_callback_that_a_finding_names_is_thinned_out() -> None:
    fast = callback_evidence("Quick", share=0.01)
    slow = callback_evidence("Slow", share=0.04)
    named = finding("callback", code="HST301")
    named.evidence["callback"] = "Slow"
    given = ask("callback", compute_bound(callbacks=(fast, slow)), named)
    assert [one.snippet.splitlines()[0] for one in given] == ["class SparingSlow(Slow):"]


def test_no_callback_is_named_where_none_was_seen() -> None:
    missing = compute_bound(callbacks=Missing("the thread was not watched"))
    assert ask("callback", missing, finding("callback")) == []
    assert "the thread was not watched" in why_not("callback", missing)
    assert ask("callback", compute_bound(callbacks=())) == []


@pytest.mark.parametrize(("share", "given"), [(0.19, 0), (0.21, 1)])
def test_validation_is_offered_from_a_fifth_of_the_fit(share: float, given: int) -> None:
    evidence = compute_bound(validation_share=share, validation_s=Measurement.exact(4.0))
    assert len(ask("validation", evidence)) == given


def test_validation_that_is_not_there_is_not_shortened() -> None:
    assert ask("validation", compute_bound(), finding("validation")) == []
    assert "no validation" in why_not("validation", compute_bound())
