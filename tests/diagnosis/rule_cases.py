"""The cases of every rule: just above, just below, and with evidence missing."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import constructed

from bottleneck_kit.records.measurement import Measurement, Missing
from bottleneck_kit.records.stage import Stage

GONE = Missing("taken out by the test")


@dataclass(frozen=True)
class Case:
    """Evidence and what a rule must make of it.

    Attributes:
        code: The rule.
        name: What the case is about, for the test's name.
        fields: Fields of the evidence that differ from the input-bound default.
        expected: Severity and stage of each finding; empty where the rule must stay silent.
        reason: Part of the reason for which it is not evaluated; "" where it is.
    """

    code: str
    name: str
    fields: dict[str, Any] = field(default_factory=dict)
    expected: tuple[tuple[str, int | None], ...] = ()
    reason: str = ""


def waits(share: float, *, step_s: float = 0.1, spread: float = 0.0, **more: Any) -> dict[str, Any]:
    """Fields of a job that waits for ``share`` of its step, give or take ``spread``."""
    wait_s = share * step_s
    return {
        "step_s": step_s,
        "wait_s": wait_s,
        "input_share": Measurement(share, share - spread, share + spread, 90),
        "held_call_s": step_s - wait_s - 0.0005,
        **more,
    }


def pipeline(*stages: Stage, step_s: float = 0.1, cpu_share: float = 0.5, **more: Any) -> Any:
    """Fields of a job that waits for half of its step, with these stages and idle cores."""
    evidence = constructed.stages_evidence(stages)
    bounds = [one.bound_s for one in evidence if not isinstance(one.bound_s, Missing)]
    sources = [s.cost_s for s in evidence if s.reads and not isinstance(s.cost_s, Missing)]
    return waits(
        more.pop("share", 0.5),
        step_s=step_s,
        **{
            "stages": evidence,
            "cpu_share": cpu_share,
            "cpu_step_s": cpu_share * 2 * step_s,
            "source_s": sum(sources) if sources else Missing("no reader"),
            "prepare_s": float(sum(bounds)) if bounds else Missing("no cost is known"),
            **more,
        },
    )


def source(cost_ms: float = 1.0, **more: Any) -> Stage:
    return constructed.stage(0, "tfrecord", cost_ms=cost_ms, **more)


def work(cost_ms: float | None, **more: Any) -> Stage:
    return constructed.stage(1, "map", "heavy", **{"cost_ms": cost_ms, **more})


def python_work(cost_ms: float, **more: Any) -> Stage:
    return constructed.stage(1, "map", "numpy_work", cost_ms=cost_ms, python=True, **more)


def batch(cost_ms: float = 1.0) -> Stage:
    return constructed.stage(2, "batch", cost_ms=cost_ms, elements_per_step=1.0)


def locked(python_ms: float, *, lost_ms: float = 60.0, **more: Any) -> dict[str, Any]:
    """Fields of a job that hardly waits, but is ``lost_ms`` of 100 slower than on a held batch."""
    fields = {"share": 0.01, "held_call_s": 0.0995 - lost_ms / 1e3, **more}
    return pipeline(source(), python_work(python_ms), batch(), **fields)


def blocked(work_ms: float, **more: Any) -> dict[str, Any]:
    """Fields of a job that waits 50 ms, with ``work_ms`` of CPU time in its pipeline."""
    fields = {"cpu_pipe_s": work_ms / 1e3, "prefetch_at_end": False, "overlap_share": 0.0, **more}
    return pipeline(source(), batch(), **fields)


HELD = {"wait_source": "held batch", "cpu_share": 0.4}
FULL = {"cpu_share": 0.95, "cpu_step_s": 0.19}

INPUT_BOUND = (
    Case("INP101", "just above the moderate band", waits(0.051), (("moderate", None),)),
    Case("INP101", "just below the moderate band", waits(0.049)),
    Case("INP101", "just above the high band", waits(0.201), (("high", None),)),
    Case("INP101", "just below the high band", waits(0.199), (("moderate", None),)),
    Case(
        "INP101",
        "high by value, not by the cautious end",
        waits(0.22, spread=0.05),
        (("moderate", None),),
    ),
    Case("INP101", "over the band by value only", waits(0.06, spread=0.02)),
    Case(
        "INP101", "an interval from none to high", waits(0.12, spread=0.1), reason="vary too much"
    ),
    Case(
        "INP101",
        "20 steady steps are enough for high",
        waits(0.5, steady_steps=20),
        (("high", None),),
    ),
    Case("INP101", "19 are not", waits(0.5, steady_steps=19), (("moderate", None),)),
    Case(
        "INP101",
        "8 steady steps are enough to judge",
        waits(0.5, steady_steps=8),
        (("moderate", None),),
    ),
    Case("INP101", "7 are not", waits(0.5, steady_steps=7), reason="expected at least 8"),
    Case("INP101", "a fetch of 0.19 ms is no wait", waits(0.19, step_s=0.001)),
    Case("INP101", "one of 0.21 ms is", waits(0.21, step_s=0.001), (("high", None),)),
    Case(
        "INP101",
        "a wait that may be none or much",
        waits(
            0.3, step_s=0.001, spread=0.15, **{"wait_s": Measurement(0.0003, 0.00019, 0.0004, 90)}
        ),
        reason="vary too much",
    ),
    Case("INP101", "no wait known", {"wait_s": GONE}, reason="taken out by the test"),
    Case(
        "INP101",
        "the held batch, nothing else to explain it",
        waits(0.5, **HELD),
        (("high", None),),
    ),
    Case(
        "INP101",
        "the held batch, cores full",
        waits(0.5, **{**HELD, **FULL}),
        reason="cores are full",
    ),
    Case(
        "INP101",
        "the held batch, cores full beside a GPU",
        waits(0.5, **{**HELD, **FULL, "environment": constructed.environment(gpus=1)}),
        (("high", None),),
    ),
    Case(
        "INP101",
        "the held batch, batches of many shapes",
        waits(0.5, **HELD, job=constructed.job(dynamic_shapes=True)),
        reason="differ in shape",
    ),
    Case(
        "INP101",
        "the held batch, compiled again",
        waits(0.5, **HELD, recompiles=3),
        reason="compiled again",
    ),
    Case(
        "INP101",
        "the held batch, a pipeline that keeps up",
        waits(0.5, **HELD, supply_s=0.039),
        reason="alone is faster",
    ),
    Case(
        "INP101",
        "the held batch, a pipeline that hardly does",
        waits(0.5, **HELD, supply_s=0.041),
        (("high", None),),
    ),
    Case(
        "INP101",
        "the held batch, nothing known of the pipeline and little CPU",
        waits(0.5, **HELD, stages=(), has_pipeline=GONE, cpu_pipe_s=0.0245),
        reason="something else may have slowed",
    ),
    Case(
        "INP101",
        "the same with the pipeline's CPU time to explain it",
        waits(0.5, **HELD, stages=(), has_pipeline=GONE, cpu_pipe_s=0.0255),
        (("high", None),),
    ),
    Case(
        "INP101",
        "the held batch, nothing known of the cores",
        waits(0.5, wait_source="held batch", cpu_share=GONE),
        reason="not known whether the cores are full",
    ),
    Case(
        "INP101",
        "the held batch, traces not counted",
        waits(0.5, **HELD, recompiles=GONE),
        reason="not known whether the train step was compiled again",
    ),
    Case("INP101", "gaps are not doubted", waits(0.5, **FULL, recompiles=3), (("high", None),)),
)

CPU_SATURATED = (
    Case("INP110", "just full", waits(0.5, cpu_share=0.86), (("high", None),)),
    Case("INP110", "not quite full", waits(0.5, cpu_share=0.84), (("moderate", None),)),
    Case("INP110", "just mostly busy", waits(0.5, cpu_share=0.61), (("moderate", None),)),
    Case("INP110", "just not mostly busy", waits(0.5, cpu_share=0.59)),
    Case(
        "INP110",
        "just under one of six cores idle",
        waits(0.5, cpu_share=0.84, usable_cores=6.0),
        (("moderate", None),),
    ),
    Case(
        "INP110",
        "just over one of seven cores idle",
        waits(0.5, cpu_share=0.84, usable_cores=6.6),
    ),
    Case(
        "INP110",
        "mostly busy, a serial stage takes little",
        pipeline(source(), work(39.9), batch(), cpu_share=0.7),
        (("moderate", None),),
    ),
    Case(
        "INP110",
        "mostly busy, a serial stage takes much",
        pipeline(source(), work(40.1), batch(), cpu_share=0.7),
    ),
    Case("INP110", "mostly busy, latency", blocked(30, share=0.9, cpu_share=0.7)),
    Case(
        "INP110",
        "mostly busy, no latency to speak of",
        blocked(30, share=0.5, cpu_share=0.7),
        (("moderate", None),),
    ),
    Case(
        "INP110",
        "a neighbour leaves no core",
        waits(0.5, cpu_share=0.5, other_cores=0.9),
        (("high", None),),
    ),
    Case(
        "INP110",
        "a neighbour leaves little",
        waits(0.5, cpu_share=0.5, other_cores=0.8),
        (("moderate", None),),
    ),
    Case("INP110", "neighbours not sampled", waits(0.5, cpu_share=0.5, other_cores=GONE)),
    Case(
        "INP110",
        "neighbours take all, this process its half",
        waits(0.5, cpu_share=0.43, other_cores=1.9),
        (("high", None),),
    ),
    Case(
        "INP110",
        "neighbours take all, this process less than its half",
        waits(0.5, cpu_share=0.42, other_cores=1.9),
        (("moderate", None),),
    ),
    Case("INP110", "full cores but no wait", waits(0.01, cpu_share=0.95)),
    Case(
        "INP110",
        "full of the model's work",
        waits(0.5, cpu_share=0.95, cpu_step_s=0.19, cpu_pipe_s=0.037),
    ),
    Case(
        "INP110",
        "a fifth of it the pipeline's",
        waits(0.5, cpu_share=0.95, cpu_step_s=0.19, cpu_pipe_s=0.039),
        (("high", None),),
    ),
    Case(
        "INP110",
        "a serial stage takes more than the cores' part",
        pipeline(source(), work(88.0), batch(), cpu_share=0.87),
    ),
    Case(
        "INP110",
        "a serial stage takes less than the cores' part",
        pipeline(source(), work(86.0), batch(), cpu_share=0.87),
        (("high", None),),
    ),
    Case(
        "INP110",
        "beside a neighbour, a serial stage explains it",
        pipeline(source(), work(81.0), batch(), other_cores=1.0),
    ),
    Case(
        "INP110",
        "beside a neighbour, a serial stage does not",
        pipeline(source(), work(79.0), batch(), other_cores=1.0),
        (("high", None),),
    ),
    Case(
        "INP110",
        "a serial stage does not",
        pipeline(source(), work(79.0), batch(), cpu_share=0.95),
        (("high", None),),
    ),
    Case(
        "INP110",
        "held batch, the pipeline's CPU time explains the difference",
        waits(0.5, **{**HELD, **FULL}, cpu_pipe_s=0.051),
        (("moderate", None),),
    ),
    Case(
        "INP110",
        "held batch, it does not",
        waits(0.5, **{**HELD, **FULL}, cpu_pipe_s=0.049),
        reason="need not be input",
    ),
    Case(
        "INP110", "without a probe", waits(0.5, cpu_share=0.95, cpu_pipe_s=GONE), (("high", None),)
    ),
    Case("INP110", "no CPU time", {"cpu_share": GONE}, reason="taken out by the test"),
)

SERIAL_STAGE = (
    Case("INP111", "just above", pipeline(source(), work(40.1), batch()), (("high", 1),)),
    Case("INP111", "just below", pipeline(source(), work(39.9), batch())),
    Case(
        "INP111",
        "the same cost over two calls",
        pipeline(source(), work(80.0, parallelism=2), batch()),
    ),
    Case(
        "INP111",
        "cores just idle",
        pipeline(source(), work(50), batch(), cpu_share=0.84),
        (("high", 1),),
    ),
    Case("INP111", "cores full", pipeline(source(), work(50), batch(), cpu_share=0.86)),
    Case(
        "INP111",
        "cores full, but the stage takes more",
        pipeline(source(), work(88), batch(), cpu_share=0.87),
        (("high", 1),),
    ),
    Case(
        "INP111",
        "cores full and take more",
        pipeline(source(), work(86), batch(), cpu_share=0.87),
    ),
    Case(
        "INP111",
        "beside a neighbour, explains the step",
        pipeline(source(), work(81), batch(), other_cores=1.0),
        (("high", 1),),
    ),
    Case(
        "INP111",
        "beside a neighbour, does not",
        pipeline(source(), work(79), batch(), other_cores=1.0),
    ),
    Case("INP111", "no wait", pipeline(source(), work(50), batch(), share=0.02)),
    Case("INP111", "Python is another rule's", pipeline(source(), python_work(50), batch())),
    Case(
        "INP111", "two of them", pipeline(source(), work(45), batch(45)), (("high", 1), ("high", 2))
    ),
    Case(
        "INP111",
        "no stage has a cost",
        pipeline(work(None), source_s=0.0),
        reason="no stage's cost is known",
    ),
    Case(
        "INP111",
        "no pipeline",
        waits(0.5, stages=(), has_pipeline=GONE),
        reason="taken out by the test",
    ),
)

PYTHON_STAGE = (
    Case("INP112", "just above", pipeline(source(), python_work(40.1), batch()), (("high", 1),)),
    Case("INP112", "just below", pipeline(source(), python_work(39.9), batch())),
    Case(
        "INP112",
        "eight calls wait for one lock",
        pipeline(source(), python_work(400, parallelism=8), batch()),
        (("high", 1),),
    ),
    Case(
        "INP112",
        "eight calls that do little",
        pipeline(source(), python_work(300, parallelism=8), batch()),
    ),
    Case(
        "INP112",
        "full cores make no difference",
        pipeline(source(), python_work(50), batch(), cpu_share=0.95),
        (("high", 1),),
    ),
    Case("INP112", "no wait", pipeline(source(), python_work(50), batch(), share=0.02)),
    Case("INP112", "no wait, just enough Python", locked(40.1), (("high", 1),)),
    Case("INP112", "no wait, just too little Python", locked(39.9)),
    Case("INP112", "no wait, twice what is lost", locked(49, lost_ms=25), (("high", 1),)),
    Case("INP112", "no wait, more than twice what is lost", locked(51, lost_ms=25)),
    Case("INP112", "no wait, half of what is lost", locked(46, lost_ms=90), (("high", 1),)),
    Case("INP112", "no wait, less than half of what is lost", locked(44, lost_ms=90)),
    Case(
        "INP112",
        "no wait, eight calls for one lock",
        pipeline(
            source(),
            python_work(400, parallelism=8),
            batch(),
            share=0.01,
            held_call_s=0.0495,
        ),
        (("high", 1),),
    ),
    Case("INP112", "no wait, 20 steps", locked(50, steady_steps=20), (("high", 1),)),
    Case("INP112", "no wait, 19 steps", locked(50, steady_steps=19), (("moderate", 1),)),
    Case("INP112", "no wait, 8 steps", locked(50, steady_steps=8), (("moderate", 1),)),
    Case("INP112", "no wait, 7 steps", locked(50, steady_steps=7), reason="at least 8"),
    Case("INP112", "no wait, compiled again", locked(50, recompiles=1)),
    Case("INP112", "no wait, traces not counted", locked(50, recompiles=GONE)),
    Case("INP112", "no wait, shapes", locked(50, job=constructed.job(dynamic_shapes=True))),
    Case("INP112", "no wait, cores full", locked(50, cpu_share=0.86)),
    Case("INP112", "no wait, cores just not full", locked(50, cpu_share=0.84), (("high", 1),)),
    Case("INP112", "a little wait and much lock", locked(50, share=0.1), (("high", 1),)),
    Case("INP112", "no wait, Python that mostly waits", locked(50, cpu_pipe_s=0.0249)),
    Case("INP112", "no wait, CPU time not known", locked(50, cpu_pipe_s=GONE), (("high", 1),)),
    Case("INP112", "no wait, no held batch", locked(50, held_call_s=GONE, ideal_step_s=0.04)),
    Case(
        "INP112",
        "waits or is locked out, by turns",
        locked(50, input_share=Measurement(0.12, 0.02, 0.25, 90)),
        (("high", 1),),
    ),
    Case("INP112", "TensorFlow ops", pipeline(source(), work(50), batch())),
    Case(
        "INP112",
        "a PyDataset that is waited for",
        waits(0.5, stages=(), has_pipeline=GONE, job=constructed.job(input_kind="py_dataset")),
        (("high", None),),
    ),
    Case(
        "INP112",
        "a PyDataset that is not",
        waits(0.01, stages=(), has_pipeline=GONE, job=constructed.job(input_kind="py_dataset")),
    ),
    Case(
        "INP112",
        "a generator whose Python costs little",
        pipeline(
            source(2.0, python=True), work(60), batch(), job=constructed.job(input_kind="generator")
        ),
    ),
    Case(
        "INP112",
        "no pipeline",
        waits(0.5, stages=(), has_pipeline=GONE),
        reason="taken out by the test",
    ),
    Case(
        "INP112",
        "a PyDataset without a known wait",
        {"wait_s": GONE, "job": constructed.job(input_kind="py_dataset")},
        reason="taken out by the test",
    ),
)

SLOW_SOURCE = (
    Case(
        "INP113",
        "just above half of the work",
        pipeline(source(50.1), work(49), batch(1)),
        (("high", 0),),
    ),
    Case("INP113", "just below", pipeline(source(49.9), work(50), batch(1))),
    Case(
        "INP113",
        "just above the share of the step",
        pipeline(source(40.1), batch(1)),
        (("high", 0),),
    ),
    Case("INP113", "just below the share of the step", pipeline(source(39.9), batch(1))),
    Case("INP113", "cores full", pipeline(source(60), batch(1), cpu_share=0.86)),
    Case("INP113", "no wait", pipeline(source(60), batch(1), share=0.02)),
    Case(
        "INP113", "a Python source is another rule's", pipeline(source(60, python=True), batch(1))
    ),
    Case(
        "INP113",
        "a map that opens files",
        pipeline(source(1), work(60, parallelism=8, traits={"reads_files": True}), batch(1)),
        (("high", 1),),
    ),
    Case("INP113", "half of the wait is nobody's work", blocked(24.9), (("high", 0),)),
    Case("INP113", "more than half is the processor's", blocked(25.1)),
    Case(
        "INP113",
        "half of the wait is nobody's, by its low end",
        blocked(19.9, wait_s=Measurement(0.05, 0.04, 0.06, 90)),
        (("high", 0),),
    ),
    Case(
        "INP113",
        "by its value only",
        blocked(20.1, wait_s=Measurement(0.05, 0.04, 0.06, 90)),
    ),
    Case(
        "INP113",
        "half of the wait is not the stages'",
        pipeline(source(), work(22.9, parallelism=2), batch(), cpu_pipe_s=0.001),
        (("high", 0),),
    ),
    Case(
        "INP113",
        "more than half is the stages'",
        pipeline(source(), work(23.1, parallelism=2), batch(), cpu_pipe_s=0.001),
    ),
    Case(
        "INP113",
        "latency without a held batch",
        blocked(0, cpu_pipe_s=GONE, cpu_step_s=0.0249),
        (("high", 0),),
    ),
    Case(
        "INP113",
        "no latency without a held batch",
        blocked(0, cpu_pipe_s=GONE, cpu_step_s=0.0251),
    ),
    Case("INP113", "latency of a source unknown", blocked(1, source_s=GONE), (("high", 0),)),
    Case("INP113", "latency, but the cores are full", blocked(1, cpu_share=0.86)),
    Case(
        "INP113",
        "beside a neighbour, explains the step",
        pipeline(source(81), batch(1), other_cores=1.0),
        (("high", 0),),
    ),
    Case("INP113", "beside a neighbour, does not", pipeline(source(79), batch(1), other_cores=1.0)),
    Case(
        "INP113", "nothing known of the source", {"source_s": GONE}, reason="taken out by the test"
    ),
)

TURNS = {"prefetch_at_end": False, "overlap_share": 0.0}
NO_OVERLAP = (
    Case(
        "INP114",
        "preparation just shorter than the step",
        pipeline(source(59.9), share=0.4, **TURNS),
        (("high", None),),
    ),
    Case("INP114", "preparation just longer", pipeline(source(60.1), share=0.4, **TURNS)),
    Case(
        "INP114",
        "just under half is hidden",
        pipeline(source(45), share=0.4, prefetch_at_end=False, overlap_share=0.49),
        (("high", None),),
    ),
    Case(
        "INP114",
        "just over half is hidden",
        pipeline(source(45), share=0.4, prefetch_at_end=False, overlap_share=0.51),
    ),
    Case(
        "INP114",
        "there is a prefetch",
        pipeline(source(45), share=0.4, prefetch_at_end=True, overlap_share=0.0),
    ),
    Case(
        "INP114",
        "whether there is one is not known",
        pipeline(source(45), share=0.4, prefetch_at_end=None, overlap_share=0.0),
        (("high", None),),
    ),
    Case(
        "INP114",
        "a stage of unknown cost, shorter than the step",
        pipeline(source(1), share=0.49, **TURNS),
        (("high", None),),
    ),
    Case(
        "INP114",
        "a stage of unknown cost, longer than the step",
        pipeline(source(1), share=0.51, **TURNS),
    ),
    Case(
        "INP114",
        "a parallel map works ahead by itself",
        pipeline(source(5), work(50, parallelism=2), share=0.4, **TURNS),
    ),
    Case("INP114", "latency that no work accounts for", blocked(10, share=0.49)),
    Case("INP114", "no prefetch and no wait", pipeline(source(30), share=0.02, **TURNS)),
    Case("INP114", "no cost is known", {"overlap_share": GONE}, reason="taken out by the test"),
)


def small(micros: float, *, elements: float = 256.0, **more: Any) -> Stage:
    """A map of ``micros`` µs an element."""
    return work(micros * elements / 1e3, elements_per_step=elements, **more)


WORK_PER_ELEMENT = (
    Case(
        "INP115",
        "just under the cost of an element",
        pipeline(source(), small(149), batch()),
        (("high", 1),),
    ),
    Case("INP115", "just over", pipeline(source(), small(151), batch())),
    Case(
        "INP115",
        "eight elements",
        pipeline(source(), small(149, elements=8), batch(2), step_s=0.01),
        (("high", 1),),
    ),
    Case(
        "INP115",
        "seven elements",
        pipeline(source(), small(149, elements=7), batch(2), step_s=0.01),
    ),
    Case(
        "INP115",
        "just enough of the wait",
        pipeline(source(), small(40), batch()),
        (("high", 1),),
    ),
    Case("INP115", "just too little of the wait", pipeline(source(), small(38), batch())),
    Case(
        "INP115",
        "too little of the wait through two calls",
        pipeline(source(), small(76, parallelism=2), batch()),
    ),
    Case(
        "INP115",
        "just over the share of the work",
        pipeline(source(10), small(10.1, elements=256), batch(0.3), step_s=0.02),
        (("high", 1),),
    ),
    Case(
        "INP115",
        "just under the share of the work",
        pipeline(source(10), small(9.9, elements=256), batch(0.3), step_s=0.02),
    ),
    Case(
        "INP115",
        "large elements",
        pipeline(source(), small(100, bytes_per_element=270 * 1024), batch()),
    ),
    Case(
        "INP115",
        "elements that are not too large",
        pipeline(source(), small(100, bytes_per_element=250 * 1024), batch()),
        (("high", 1),),
    ),
    Case(
        "INP115",
        "behind the batch",
        pipeline(
            constructed.stage(0, "from_tensor_slices", cost_ms=1),
            constructed.stage(1, "batch", cost_ms=1),
            constructed.stage(2, "map", "scale", cost_ms=20, elements_per_step=256),
        ),
    ),
    Case(
        "INP115", "Python is another rule's", pipeline(source(), small(100, python=True), batch())
    ),
    Case("INP115", "no wait", pipeline(source(), small(100), batch(), share=0.02)),
    Case(
        "INP115",
        "no stage has a cost",
        pipeline(work(None), source_s=0.0),
        reason="no stage's cost is known",
    ),
)


def callback(share: float, *, spread: float = 0.2, **more: Any) -> dict[str, Any]:
    """Fields of a job with one callback."""
    one = constructed.callback_evidence(share=share, spread=spread, **more)
    return {"callbacks": (one,)}


SLOW_CALLBACK = (
    Case(
        "HST301",
        "just above the moderate band",
        callback(0.0511, spread=0.02),
        (("moderate", None),),
    ),
    Case("HST301", "just below", callback(0.0499, spread=0.0)),
    Case("HST301", "just above the high band", callback(0.2511), (("high", None),)),
    Case("HST301", "just below the high band", callback(0.2489), (("moderate", None),)),
    Case("HST301", "too few looks to be sure", callback(0.3, spread=0.9)),
    Case("HST301", "just above 0.1 ms a step", callback(0.3, step_ms=0.126), (("high", None),)),
    Case("HST301", "just below 0.1 ms a step", callback(0.3, step_ms=0.124)),
    Case("HST301", "nobody seen", {"callbacks": ()}),
    Case("HST301", "nobody looked", {"callbacks": GONE}, reason="taken out by the test"),
)

VALIDATION_STALL = (
    Case(
        "HST305",
        "just above",
        {"validation_share": 0.201, "validation_s": 2.0},
        (("moderate", None),),
    ),
    Case("HST305", "just below", {"validation_share": 0.199, "validation_s": 2.0}),
    Case(
        "HST305",
        "just above high",
        {"validation_share": 0.401, "validation_s": 2.0},
        (("high", None),),
    ),
    Case(
        "HST305",
        "just below high",
        {"validation_share": 0.399, "validation_s": 2.0},
        (("moderate", None),),
    ),
    Case("HST305", "no epoch ended", {"validation_share": GONE}, reason="taken out by the test"),
)

RECOMPILE = (
    Case("RUN401", "just above", {"recompiles": 2, "recompile_s": 1.0}, (("moderate", None),)),
    Case("RUN401", "just below", {"recompiles": 1, "recompile_s": 1.0}),
    Case(
        "RUN401",
        "just above high",
        {"recompiles": 9, "recompile_s": 2.01, "fit_s": 10.0},
        (("high", None),),
    ),
    Case(
        "RUN401",
        "just below high",
        {"recompiles": 9, "recompile_s": 1.99, "fit_s": 10.0},
        (("moderate", None),),
    ),
    Case(
        "RUN401",
        "its time is not known",
        {"recompiles": 9, "recompile_s": GONE},
        (("moderate", None),),
    ),
    Case("RUN401", "traces not counted", {"recompiles": GONE}, reason="taken out by the test"),
)


def start(lost_s: float, fit_s: float, **more: Any) -> dict[str, Any]:
    """Fields of a fit that lost ``lost_s`` before its first ten steps were through."""
    return {
        "warm_up_s": lost_s + 1.0,
        "warm_up_steps": 10,
        "step_s": 0.1,
        "fit_s": fit_s,
        **more,
    }


SLOW_START = (
    Case("RUN402", "just above ten seconds", start(10.1, 60.0), (("moderate", None),)),
    Case("RUN402", "just below ten seconds", start(9.9, 60.0)),
    Case("RUN402", "just above a tenth of the fit", start(10.1, 100.0), (("moderate", None),)),
    Case("RUN402", "just below a tenth of the fit", start(10.1, 102.0)),
    Case("RUN402", "just above high", start(41.0, 100.0), (("high", None),)),
    Case("RUN402", "just below high", start(39.0, 100.0), (("moderate", None),)),
    Case(
        "RUN402",
        "buffers filled anew each epoch",
        start(1.0, 60.0, refill_s=3.1, epochs=4),
        (("moderate", None),),
    ),
    Case("RUN402", "filled anew, but quickly", start(1.0, 60.0, refill_s=2.9, epochs=4)),
    Case("RUN402", "never steady", {"warm_up_s": GONE}, reason="taken out by the test"),
)

CASES = (
    *SLOW_CALLBACK,
    *VALIDATION_STALL,
    *INPUT_BOUND,
    *CPU_SATURATED,
    *SERIAL_STAGE,
    *PYTHON_STAGE,
    *SLOW_SOURCE,
    *NO_OVERLAP,
    *WORK_PER_ELEMENT,
    *RECOMPILE,
    *SLOW_START,
)
