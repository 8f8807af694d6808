"""The verdict on jobs whose truth is known, from the record to the sentence."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import constructed
import pytest

from bottleneck_kit.diagnosis.engine import diagnose
from bottleneck_kit.diagnosis.verdict import judge
from bottleneck_kit.evidence.gather import gather
from bottleneck_kit.records.diagnosis import SEVERITIES, VERDICT_CLASSES
from bottleneck_kit.records.measurement import Measurement, Missing
from bottleneck_kit.records.run_record import RunRecord

LIGHT = (
    constructed.stage(0, "tfrecord", cost_ms=0.5),
    constructed.stage(1, "map", "parse", cost_ms=1.0, parallelism=2),
    constructed.stage(2, "batch", cost_ms=0.2, elements_per_step=1),
    constructed.stage(3, "prefetch", elements_per_step=1),
)
"""A pipeline of 1.7 ms a batch; the live model has no node for its prefetch."""

UNREAD = Missing("autotune is off for this dataset")


@dataclass(frozen=True)
class Job:
    """A constructed job and the verdict that is right for it."""

    name: str
    kind: str
    severity: str
    fields: dict[str, Any] = field(default_factory=dict)
    says: str = ""
    alter: Callable[[RunRecord], RunRecord] = lambda record: record

    def record(self) -> RunRecord:
        return self.alter(constructed.record(**self.fields))


def without_steps(record: RunRecord) -> RunRecord:
    return dataclasses.replace(record, steps=Missing("fit ended before a step"))


def in_bursts(record: RunRecord) -> RunRecord:
    """Four steps find a batch, the fifth waits 200 ms."""
    assert not isinstance(record.steps, Missing)
    kept = tuple(
        dataclasses.replace(one, call_s=one.call_s + 0.2) if one.index % 5 == 4 else one
        for one in record.steps.kept
    )
    return dataclasses.replace(record, steps=dataclasses.replace(record.steps, kept=kept))


CONTENDED: dict[str, Any] = {"step_ms": 100.0, "held_ms": 59.5, "cpu_ms": 190.0}
"""A step of 100 ms in training, 60 on the held batch: 40 % faster, with the cores to itself."""

LOCKED: dict[str, Any] = {
    "step_ms": 27.0,
    "wait_ms": 0.1,
    "held_ms": 7.5,
    "cpu_ms": 27.0,
    "held_cpu_ms": 8.0,
    "stages": (constructed.stage(0, "from_generator", "numbers", cost_ms=20.0, python=True),),
}
"""A generator that runs Python for 20 ms of each 27 ms step; 8 ms on the held batch."""

JOBS = (
    Job("the article's job", "input_bound", "high", {}, "58 % of each step waits for data"),
    Job(
        "the same in four noisy epochs",
        "input_bound",
        "high",
        {"noise": 0.1, "epochs": 4, "steps": 40, "buffered_steps": 8},
    ),
    Job("a tenth of the step waits", "input_bound", "moderate", {"wait_ms": 8.3, "held_ms": 74}),
    Job("full buffers", "compute_bound", "none", {"wait_ms": 0.1, "held_ms": 82.4}),
    Job(
        "no wait at all, and noise",
        "compute_bound",
        "none",
        {"wait_ms": 0.0, "held_ms": 82.5, "noise": 0.15},
    ),
    Job(
        "a slow callback",
        "host_bound",
        "none",
        {"step_ms": 40, "wait_ms": 0.1, "host_ms": 25, "held_ms": 14.9},
        "62 % of each step",
    ),
    Job(
        "a slow callback and as much wait",
        "mixed",
        "high",
        {"step_ms": 60, "wait_ms": 25, "host_ms": 20, "held_ms": 15},
    ),
    Job(
        "a slow callback and a little wait",
        "host_bound",
        "moderate",
        {"step_ms": 60, "wait_ms": 6, "host_ms": 35, "held_ms": 19},
    ),
    Job(
        "much wait and a callback",
        "input_bound",
        "high",
        {"step_ms": 100, "wait_ms": 70, "host_ms": 22, "held_ms": 8},
    ),
    Job(
        "steps of a millisecond",
        "compute_bound",
        "none",
        {"step_ms": 1.0, "wait_ms": 0.1, "host_ms": 0.1, "held_ms": 0.85, "cpu_ms": 1},
        "taking a batch costs 100 µs",
    ),
    Job(
        "contended, with gaps",
        "compute_bound",
        "none",
        {**CONTENDED, "wait_ms": 0.1, "held_cpu_ms": 110},
        "(60.0 ms with a held batch and the cores to itself)",
    ),
    Job(
        "contended, without gaps, a light pipeline",
        "compute_bound",
        "none",
        {
            **CONTENDED,
            "wait_ms": None,
            "steps_per_execution": 4,
            "held_cpu_ms": 110,
            "stages": LIGHT,
        },
    ),
    Job(
        "contended, without gaps, pipeline unread, model's CPU",
        "unknown",
        "none",
        {
            **CONTENDED,
            "wait_ms": None,
            "steps_per_execution": 4,
            "held_cpu_ms": 180,
            "stages": UNREAD,
        },
        "cores are full",
    ),
    Job(
        "contended, without gaps, pipeline unread, pipeline's CPU",
        "mixed",
        "moderate",
        {
            **CONTENDED,
            "wait_ms": None,
            "steps_per_execution": 4,
            "held_cpu_ms": 90,
            "stages": UNREAD,
        },
        "cannot be told",
    ),
    Job(
        "slowed by a neighbour, without gaps, pipeline unread",
        "unknown",
        "none",
        {
            **CONTENDED,
            "cpu_ms": 112,
            "wait_ms": None,
            "steps_per_execution": 4,
            "held_cpu_ms": 110,
            "stages": UNREAD,
        },
        "another process",
    ),
    Job(
        "without gaps, batches of many shapes",
        "unknown",
        "none",
        {"wait_ms": None, "job_fields": {"dynamic_shapes": True}},
        "differ in shape",
    ),
    Job(
        "without gaps, compiled again",
        "unknown",
        "none",
        {"wait_ms": None, "traced": (0, 20, 40, 60)},
        "compiled again",
    ),
    Job(
        "without gaps, nothing else to explain it",
        "input_bound",
        "high",
        {"wait_ms": None},
        "at most 62 %",
    ),
    Job(
        "without gaps, a callback is not input",
        "host_bound",
        "none",
        {"step_ms": 40, "wait_ms": None, "host_ms": 25, "held_ms": 14.9, "stages": UNREAD},
    ),
    Job(
        "several steps an execution",
        "input_bound",
        "high",
        {"wait_ms": None, "steps_per_execution": 5},
        "at most",
    ),
    Job(
        "gaps that belong to fetches beside the step",
        "input_bound",
        "moderate",
        {
            "step_ms": 40,
            "wait_ms": 39.4,
            "held_ms": 33.5,
            "cpu_ms": 50,
            "host_ms": 0.5,
            "stages": (constructed.stage(0, "tfrecord", cost_ms=39.0),),
        },
        "at most",
    ),
    Job(
        "bursts: every fifth step waits for five",
        "input_bound",
        "high",
        {"step_ms": 20, "wait_ms": 0.05, "held_ms": 19.5},
        "66 % of each step",
        in_bursts,
    ),
    Job(
        "seven steady steps",
        "unknown",
        "none",
        {"steps": 9},
        "expected at least 8 steady steps, saw 7; train for more steps",
    ),
    Job(
        "neither gap nor probe",
        "unknown",
        "none",
        {"wait_ms": None, "held_ms": None},
        "the probe was switched off",
    ),
    Job(
        "neither gap nor probe, but a pipeline too light to wait for",
        "compute_bound",
        "none",
        {"wait_ms": None, "held_ms": None, "stages": LIGHT},
        "a step waits 1.70 ms for data at the very most; its 83.0 ms are the model's",
    ),
    Job("the probe off, gaps there", "input_bound", "high", {"held_ms": None}, "ideal 35.0 ms"),
    Job("no step seen", "unknown", "none", {}, "fit ended before a step", without_steps),
    Job(
        "eager",
        "compute_bound",
        "none",
        {"wait_ms": 0.1, "held_ms": 82, "job_fields": {"run_eagerly": True}},
        "run_eagerly=True",
    ),
    Job(
        "a Python generator that holds the lock",
        "host_bound",
        "none",
        LOCKED,
        "Python in from_generator numbers holds the interpreter lock that the training loop "
        "needs; ideal 8.00 ms, now 27.0 ms",
    ),
    Job(
        "the same, where most of it is waited for",
        "input_bound",
        "high",
        {**LOCKED, "wait_ms": 12.0},
    ),
    Job(
        "the same, where least of it is waited for",
        "host_bound",
        "high",
        {**LOCKED, "wait_ms": 9.0},
    ),
    Job(
        "a slow source",
        "input_bound",
        "high",
        {
            "step_ms": 27,
            "wait_ms": 25,
            "held_ms": 1.5,
            "cpu_ms": 4,
            "held_cpu_ms": 2,
            "stages": LIGHT,
        },
    ),
    Job("emulated", "input_bound", "high", {"emulated_ms": 30.0}, "accelerator emulated: 30.0 ms"),
)


@pytest.mark.parametrize("job", JOBS, ids=lambda job: job.name)
def test_verdict_is_right_for_a_job_whose_truth_is_known(job: Job) -> None:
    verdict = judge(gather(job.record()))

    assert (verdict.kind, verdict.severity) == (job.kind, job.severity), verdict.text
    assert job.says in verdict.text
    assert verdict.text.startswith(job.kind.replace("_", "-"))


LONGEST = 150
"""Letters of a verdict: one line of a wide terminal, two of a narrow one."""


@pytest.mark.parametrize(
    "job", [one for one in JOBS if one.kind != "unknown"], ids=lambda job: job.name
)
def test_verdict_is_one_line_unless_it_has_to_give_reasons(job: Job) -> None:
    text = judge(gather(job.record())).text

    assert len(text.partition(" (accelerator")[0]) <= LONGEST


def test_jobs_cover_every_class_and_severity() -> None:
    assert {job.kind for job in JOBS} == set(VERDICT_CLASSES)
    assert {job.severity for job in JOBS} == set(SEVERITIES)


@pytest.mark.parametrize(
    "job", [one for one in JOBS if one.kind != "input_bound"], ids=lambda job: job.name
)
def test_rule_input_bound_agrees_with_a_verdict_that_is_another(job: Job) -> None:
    diagnosis = diagnose(gather(job.record()))

    if job.severity == "none":
        found = {one.code for one in diagnosis.findings}
        assert not found & {"INP101", "INP110", "INP111"}
        assert ("INP112" in found) is ("interpreter lock" in diagnosis.verdict.text)


def test_sentence_is_the_one_promised() -> None:
    record = constructed.record(step_ms=83, wait_ms=48, held_ms=30.5, host_ms=0.5)

    assert judge(gather(record)).text == (
        "input-bound: 58 % of each step waits for data; ideal 31.0 ms, now 83.0 ms; "
        "an epoch of 100 steps would take 3.10 s, not 8.30 s"
    )


def test_contention_is_told_apart_from_the_wait_with_both_numbers() -> None:
    record = constructed.record(step_ms=100, wait_ms=40, held_ms=39.5, cpu_ms=190)
    evidence = gather(record)
    diagnosis = diagnose(evidence)
    (finding,) = (one for one in diagnosis.findings if one.code == "INP101")

    assert isinstance(evidence.unexplained_s, Measurement)
    assert evidence.unexplained_s.value == pytest.approx(0.020)
    assert diagnosis.verdict.text == (
        "input-bound: 40 % of each step waits for data; now 100 ms, without the wait 60.0 ms, "
        "with a held batch 40.0 ms"
    )
    assert "faster by another 20.0 ms, which is not waiting" in finding.text


def test_numbers_of_the_verdict_are_those_of_the_evidence() -> None:
    verdict = judge(gather(constructed.record()))

    assert verdict.input_share == pytest.approx(48 / 83)
    assert verdict.step_s == pytest.approx(0.083)
    assert verdict.ideal_step_s == pytest.approx(0.0315)
    assert verdict.reachable_step_s == pytest.approx(0.060)


def test_share_between_none_and_high_is_unknown() -> None:
    wide = Measurement(0.12, 0.02, 0.25, 30)

    verdict = judge(constructed.evidence(input_share=wide))

    assert verdict.kind == "unknown"
    assert "between 2.0 % and 25 %" in verdict.text


def test_epoch_without_a_known_length_is_counted_in_a_hundred_steps() -> None:
    evidence = constructed.evidence(job=constructed.job(steps_per_epoch=None))

    assert "; 100 steps would take" in judge(evidence).text


def test_nobody_is_told_to_get_slower_by_a_noisy_probe() -> None:
    evidence = constructed.evidence(held_call_s=0.090, wait_s=0.010)

    assert "ideal 83.0 ms, now 83.0 ms" in judge(evidence).text


@pytest.mark.parametrize("kind", ["generator", "py_dataset"])
def test_python_input_is_named(kind: str) -> None:
    text = judge(constructed.evidence(job=constructed.job(input_kind=kind))).text

    assert "Python generator" in text or "keras.utils.PyDataset" in text


def test_unknown_verdict_still_says_that_the_host_takes_time() -> None:
    evidence = constructed.evidence(wait_s=Missing("not told"), host_s=0.040)

    assert judge(evidence).text == (
        "unknown: not told; 48 % of each step passes outside the train function"
    )


@pytest.mark.parametrize(
    ("wait_s", "host_s", "kind"),
    [
        (0.0407, 0.0201, "input_bound"),
        (0.0395, 0.0201, "mixed"),
        (0.015, 0.031, "host_bound"),
        (0.016, 0.031, "mixed"),
        (0.001, 0.0201, "host_bound"),
        (0.001, 0.0199, "compute_bound"),
    ],
)
def test_class_follows_the_larger_part_unless_they_are_of_one_size(wait_s, host_s, kind) -> None:
    evidence = constructed.evidence(step_s=0.100, wait_s=wait_s, host_s=host_s)

    assert judge(evidence).kind == kind


@pytest.mark.parametrize(("rest_s", "said"), [(0.0101, True), (0.0099, False)])
def test_unexplained_time_is_said_from_a_tenth_of_the_step(rest_s: float, said: bool) -> None:
    diagnosis = diagnose(constructed.evidence(step_s=0.100, unexplained_s=rest_s))
    (finding,) = (one for one in diagnosis.findings if one.code == "INP101")

    assert ("without the wait" in diagnosis.verdict.text) is said
    assert ("which is not waiting" in finding.text) is said


def test_wait_over_the_band_by_value_alone_is_said_with_its_interval() -> None:
    share = Measurement(0.071, 0.036, 0.12, 90)

    verdict = judge(constructed.evidence(input_share=share, wait_s=0.006))

    assert (verdict.kind, verdict.severity) == ("compute_bound", "none")
    assert "takes 7.1 % of a step (between 3.6 % and 12 %)" in verdict.text


@pytest.mark.parametrize(("cost_ms", "kind"), [(4.1, "compute_bound"), (4.2, "unknown")])
def test_light_pipeline_is_cleared_up_to_the_moderate_band(cost_ms: float, kind: str) -> None:
    stages = (constructed.stage(0, "range", cost_ms=cost_ms),)
    record = constructed.record(wait_ms=None, held_ms=None, stages=stages)

    assert judge(gather(record)).kind == kind
