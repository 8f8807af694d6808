"""Builds records and evidence of jobs whose truth is known, for every test that judges one.

The defaults are the article's kind of job: a step of 83 ms that waits 48 ms for its input. Times
are milliseconds here, because that is what a reader of a test thinks in; records hold seconds.
"""

from __future__ import annotations

import dataclasses
import math
import random
from collections.abc import Collection, Iterable, Sequence
from typing import Any

from bottleneck_kit.records.environment import Environment, Gpu
from bottleneck_kit.records.evidence import CallbackEvidence, Evidence, StageEvidence
from bottleneck_kit.records.held_batch import HeldBatchRun
from bottleneck_kit.records.job import Job
from bottleneck_kit.records.live_model import LiveModel, LiveNode
from bottleneck_kit.records.measurement import Measurement, Missing
from bottleneck_kit.records.overhead import Overhead
from bottleneck_kit.records.pipeline import Pipeline
from bottleneck_kit.records.run_record import RunRecord
from bottleneck_kit.records.stack_samples import CallbackSamples, StackSamples
from bottleneck_kit.records.stage import Stage, StageCost, Traits
from bottleneck_kit.records.steps import Epoch, Execution, StepTimes
from bottleneck_kit.records.utilization import HostUtilization, Series, Utilization

SAMPLE_INTERVAL_S = 0.25


def environment(*, cores: float = 2.0, gpus: int = 0, **fields: Any) -> Environment:
    """Makes a machine of ``cores`` usable cores."""
    defaults: dict[str, Any] = {
        "python": "3.11.9",
        "tensorflow": "2.21.0",
        "keras": "3.15.1",
        "kit": "0.1.0",
        "platform": "Linux-x86_64",
        "cpu_model": "a constructed processor",
        "cores": math.ceil(cores),
        "usable_cores": float(cores),
        "memory_limit_bytes": 8 * 2**30,
        "cpu_extensions": ("avx2",),
        "onednn": True,
        "gpus": tuple(Gpu(f"/physical_device:GPU:{i}", "a GPU") for i in range(gpus)),
    }
    return Environment(**{**defaults, **fields})


def job(**fields: Any) -> Job:
    """Makes the training job of an image classifier on a dataset of batches."""
    defaults: dict[str, Any] = {
        "model": "small_cnn",
        "parameters": 100_000,
        "epochs": 1,
        "steps_per_epoch": 100,
        "steps_per_execution": 1,
        "batch_size": 64,
        "jit_compile": False,
        "run_eagerly": False,
        "input_kind": "dataset",
        "cardinality": -1,
        "element_spec": "(float32[?,32,32,3], int64[?])",
        "batch_bytes": 64 * 32 * 32 * 3 * 4,
    }
    return Job(**{**defaults, **fields})


def stage(
    index: int,
    kind: str = "map",
    name: str | None = None,
    *,
    cost_ms: float | None = None,
    parallelism: int = 1,
    serial: bool | None = None,
    elements_per_step: float = 64.0,
    bytes_per_element: float = 3072.0,
    shared_with: tuple[int, ...] = (),
    buffer_fill_share: float | None = None,
    python: bool | None = False,
    traits: dict[str, Any] | None = None,
    **fields: Any,
) -> Stage:
    """Makes one stage; ``cost_ms`` are thread milliseconds a step, None where not measured.

    A stage with a user function (``name`` differs from ``kind``) gets a file and a line.
    """
    named = name is not None and name != kind
    cost: StageCost | Missing = Missing("its live node was not found")
    if cost_ms is not None:
        cost = StageCost(
            cost_s=cost_ms / 1e3,
            per_element_s=cost_ms / 1e3 / elements_per_step,
            elements_per_step=elements_per_step,
            bytes_per_element=bytes_per_element,
            parallelism=parallelism,
            serial=parallelism == 1 if serial is None else serial,
            nodes=(kind,),
            shared_with=shared_with,
            buffer_fill_share=buffer_fill_share,
            elements=1000,
        )
    defaults: dict[str, Any] = {
        "file": "train.py" if named else None,
        "line": 10 + index if named else None,
        "traits": Traits(python=python, **(traits or {})),
        "cost": cost,
    }
    return Stage(index=index, kind=kind, name=name or kind, **{**defaults, **fields})


def article_stages(*, parallelism: int = 2) -> tuple[Stage, ...]:
    """Makes the article's pipeline: its maps spread over ``parallelism`` calls."""
    return (
        stage(0, "tfrecord", cost_ms=2.0, traits={"reads_files": True}),
        stage(1, "map", "parse", cost_ms=4.0, parallelism=parallelism),
        stage(2, "map", "dilate", cost_ms=20.0, parallelism=parallelism),
        stage(3, "map", "blur", cost_ms=40.0, parallelism=parallelism),
        stage(4, "batch", cost_ms=1.0, elements_per_step=1.0, options={"batch_size": 64}),
        stage(5, "map", "augment", cost_ms=30.0, parallelism=parallelism, elements_per_step=1.0),
        stage(6, "prefetch", cost_ms=0.1, elements_per_step=1.0, buffer_fill_share=0.0),
    )


def record(
    *,
    step_ms: float = 83.0,
    wait_ms: float | None = 48.0,
    host_ms: float = 0.5,
    held_ms: float | None = 31.0,
    steps: int = 100,
    steps_per_execution: int = 1,
    epochs: int = 1,
    noise: float = 0.0,
    seed: int = 0,
    first_call_ms: float = 900.0,
    buffered_steps: int = 0,
    traced: Collection[int] = (0,),
    retrace_ms: float = 900.0,
    taken: Collection[int] = (0,),
    cpu_ms: float | None = 120.0,
    held_cpu_ms: float = 40.0,
    cores: float = 2.0,
    stages: Sequence[Stage] | Missing | None = None,
    live: LiveModel | Missing | None = None,
    callbacks: Iterable[tuple[str, str, float]] = (),
    validation_s: float = 0.0,
    epoch_end_s: float = 0.1,
    stride: int = 1,
    pipeline_options: dict[str, Any] | None = None,
    emulated_ms: float = 0.0,
    job_fields: dict[str, Any] | None = None,
    environment_fields: dict[str, Any] | None = None,
    **fields: Any,
) -> RunRecord:
    """Makes the record of a run.

    Args:
        step_ms: Period of a steady step: call and host together, kit's own work apart.
        wait_ms: Part of it that waits for input, told by the gap; None where the gap is not known.
        host_ms: Part of it outside the train function.
        held_ms: Time of the train function on the held batch, a step; None without a probe.
        steps: Batches an epoch.
        steps_per_execution: Batches an execution.
        epochs: Epochs.
        noise: Standard deviation of a factor on every step, as a share.
        seed: Of that noise.
        first_call_ms: Time of the fit's first call.
        buffered_steps: Executions after the first that found a full buffer and did not wait.
        traced: Executions in which the train function was traced.
        retrace_ms: What tracing adds to an execution other than the first.
        taken: Executions that took the held batch; each takes 10 ms longer.
        cpu_ms: Process CPU a step in training; None where not known.
        held_cpu_ms: Process CPU a step on the held batch.
        cores: Usable cores.
        stages: The pipeline; the article's where None; Missing where it could not be read.
        live: AUTOTUNE's model; a single node where None.
        callbacks: Class name, hook and milliseconds a step of each callback. They are part of
            ``host_ms`` where they run each batch.
        validation_s: Seconds of validation an epoch.
        epoch_end_s: Seconds between two epochs, validation apart.
        stride: Every which execution is kept, behind the first 64.
        pipeline_options: Options of the dataset.
        emulated_ms: Milliseconds of an emulated accelerator.
        job_fields: Fields of the Job that differ from the default.
        environment_fields: Fields of the Environment that differ from the default.
        fields: Fields of the RunRecord, put in as they are.
    """
    dice = random.Random(seed)
    kept, summaries = [], []
    index, total_call_s = 0, 0.0
    for epoch in range(epochs):
        left, first_call_s, epoch_s, executions = steps, None, 0.0, 0
        while left > 0:
            count = min(steps_per_execution, left)
            left -= count
            factor = max(0.05, dice.gauss(1.0, noise)) if noise else 1.0
            waited_ms = 0.0 if 0 < index <= buffered_steps else wait_ms or 0.0
            lost_ms = (wait_ms or 0.0) - waited_ms
            period_s = (step_ms - lost_ms) * count * factor / 1e3
            host_s = host_ms * count * factor / 1e3
            call_s = period_s - host_s
            gap_s = None
            if wait_ms is not None and steps_per_execution == 1:
                gap_s = (step_ms - wait_ms) * factor / 1e3
            if index == 0:
                call_s = first_call_ms / 1e3
            elif index in traced:
                call_s += retrace_ms / 1e3
            if index in taken:
                call_s += 0.01
            last = left == 0
            execution = Execution(
                index=index,
                epoch=epoch,
                steps=count,
                call_s=call_s,
                host_s=None if last else host_s,
                cpu_s=None if last or cpu_ms is None else cpu_ms * count * factor / 1e3,
                gap_s=None if last else gap_s,
                traced=index in traced,
                taken=index in taken,
            )
            if index < 64 or (index - 64) % stride == 0:
                kept.append(execution)
            first_call_s = call_s if first_call_s is None else first_call_s
            total_call_s += call_s
            epoch_s += call_s + host_s
            index += 1
            executions += 1
        summaries.append(
            Epoch(
                index=epoch,
                duration_s=epoch_s + validation_s,
                executions=executions,
                steps=steps,
                first_call_s=first_call_s,
                validation_s=validation_s,
                end_s=epoch_end_s,
            )
        )
    fit_s = sum(e.duration_s for e in summaries) + epochs * epoch_end_s
    held: HeldBatchRun | Missing = Missing("the probe was switched off")
    if held_ms is not None:
        per_call = [dice.gauss(1.0, noise) if noise else 1.0 for _ in range(20)]
        held = HeldBatchRun(
            call_s=tuple(held_ms * steps_per_execution * f / 1e3 for f in per_call),
            cpu_s=tuple(held_cpu_ms * steps_per_execution * f / 1e3 for f in per_call),
            steps_per_execution=steps_per_execution,
            batch_bytes=64 * 32 * 32 * 3 * 4,
            cost_s=0.7,
            restored_variables=12,
        )
    pipeline: Pipeline | Missing
    if isinstance(stages, Missing):
        pipeline = stages
    else:
        pipeline = Pipeline(
            stages=tuple(article_stages() if stages is None else stages),
            live=live or LiveModel(root=LiveNode("Root", 100, 0.1, 0), readings=3, passes=1),
            options=dict(pipeline_options or {}),
        )
    defaults: dict[str, Any] = {
        "environment": environment(cores=cores, **(environment_fields or {})),
        "job": job(
            **{
                "steps_per_execution": steps_per_execution,
                "epochs": epochs,
                "steps_per_epoch": steps,
                **(job_fields or {}),
            }
        ),
        "steps": StepTimes(
            executions=index,
            steps=steps * epochs,
            kept=tuple(kept),
            stride=stride,
            total_call_s=total_call_s,
        ),
        "epochs": tuple(summaries),
        "pipeline": pipeline,
        "held_batch": held,
        "stack": _stack(fit_s, steps * epochs, total_call_s, epochs * validation_s, callbacks),
        "traces": len(set(traced)),
        "overhead": Overhead(40e-6, 0.01, 0.02, 0.7, 0.1, fit_s),
        "accelerator_emulated_ms": emulated_ms,
        "fit_s": fit_s,
    }
    return RunRecord(**{**defaults, **fields})


def _stack(
    fit_s: float,
    steps: int,
    call_s: float,
    validation_s: float,
    callbacks: Iterable[tuple[str, str, float]],
) -> StackSamples:
    def looks(seconds: float) -> int:
        return round(seconds / SAMPLE_INTERVAL_S)

    total = looks(fit_s)
    seen = tuple(
        CallbackSamples(name, hook, looks(ms * steps / 1e3)) for name, hook, ms in callbacks
    )
    in_call = min(total, looks(call_s))
    in_validation = min(total - in_call, looks(validation_s))
    other = total - in_call - in_validation - sum(one.count for one in seen)
    return StackSamples(
        interval_s=SAMPLE_INTERVAL_S,
        total=total,
        in_train_function=in_call,
        in_validation=in_validation,
        callbacks=seen,
        other=max(0, other),
    )


def utilization(*, other_cores: float = 0.0, spread: float = 0.0, samples: int = 12) -> Utilization:
    """Makes what was sampled of a machine where others keep ``other_cores`` busy."""
    others = Series(other_cores, other_cores - spread, other_cores + spread)
    still = Series(0.0, 0.0, 0.0)
    return Utilization(
        interval_s=SAMPLE_INTERVAL_S,
        samples=samples,
        host=HostUtilization(
            core_shares=(0.5, 0.5),
            machine_cores=still,
            process_cores=still,
            other_cores=others,
            iowait_share=still,
            process_memory_bytes=still,
            memory_limit_bytes=8 * 2**30,
            disk_read_bytes_per_s=still,
            disk_write_bytes_per_s=still,
            network_received_bytes_per_s=still,
            network_sent_bytes_per_s=still,
        ),
        gpus=Missing("no NVIDIA driver"),
    )


def stage_evidence(
    one: Stage,
    *,
    total_ms: float | None = None,
    cores: float = 2.0,
    behind_batch: bool = False,
    reads: bool = False,
) -> StageEvidence:
    """Makes the evidence of a stage; ``total_ms`` is the cost of all stages, for its share."""
    cost = one.cost
    if isinstance(cost, Missing):
        return StageEvidence(one, cost, cost, cost, behind_batch=behind_batch, reads=reads)
    total_s = cost.cost_s if total_ms is None else total_ms / 1e3
    calls = 1.0 if cost.serial else max(1.0, min(cost.parallelism, cores))
    return StageEvidence(
        stage=one,
        cost_s=cost.cost_s,
        share=cost.cost_s / total_s if total_s else 0.0,
        bound_s=cost.cost_s / calls,
        parallelism=cost.parallelism,
        serial=cost.serial,
        behind_batch=behind_batch,
        reads=reads,
    )


def stages_evidence(stages: Iterable[Stage], *, cores: float = 2.0) -> tuple[StageEvidence, ...]:
    """Makes the evidence of a main line of stages."""
    stages = tuple(stages)
    total_ms = sum(s.cost.cost_s for s in stages if not isinstance(s.cost, Missing)) * 1e3
    found, behind = [], False
    for place, one in enumerate(stages):
        found.append(
            stage_evidence(
                one,
                total_ms=total_ms,
                cores=cores,
                behind_batch=behind,
                reads=place == 0 or bool(one.traits.reads_files),
            )
        )
        behind = behind or one.kind in {"batch", "padded_batch", "ragged_batch"}
    return tuple(found)


def callback_evidence(
    name: str = "SlowLogger",
    *,
    step_ms: float = 10.0,
    share: float = 0.12,
    hook: str = "on_train_batch_end",
    spread: float = 0.2,
) -> CallbackEvidence:
    """Makes the evidence of a callback; its interval is ``spread`` to either side."""
    step_s = step_ms / 1e3
    return CallbackEvidence(
        name=name,
        hook=hook,
        step_s=Measurement(step_s, step_s * (1 - spread), step_s * (1 + spread), 40),
        share=share,
        per_batch="batch" in hook,
    )


_PLAIN = {"usable_cores", "fit_s", "emulated_ms"}
"""Fields of Evidence that are numbers, not measurements."""


def evidence(**fields: Any) -> Evidence:
    """Makes evidence: the input-bound default with ``fields`` put in.

    A plain float stands for an exact measurement. What follows from other fields
    (``input_share``, ``ideal_step_s``, ``unexplained_s``, ``cpu_pipe_s``, ``cpu_share``,
    ``call_s``) is computed from them unless it is given.
    """
    cores = float(fields.get("usable_cores", 2.0))
    defaults: dict[str, Any] = {
        "environment": environment(cores=cores),
        "job": job(),
        "steady_steps": 90,
        "step_s": 0.083,
        "host_s": 0.0005,
        "callback_step_s": 0.0,
        "held_call_s": 0.031,
        "wait_s": 0.048,
        "wait_source": "gap",
        "cpu_step_s": 0.120,
        "cpu_held_s": 0.040,
        "usable_cores": cores,
        "reachable_step_s": 0.060,
        "limited_by": "cpu",
        "stages": stages_evidence(article_stages(), cores=cores),
        "source_s": 0.002,
        "overlap_share": 0.4,
        "callbacks": (),
        "first_call_s": 0.9,
        "warm_up_s": 0.9,
        "warm_up_share": 0.1,
        "warm_up_steps": 1,
        "validation_share": 0.0,
        "validation_s": 0.0,
        "epoch_end_share": 0.01,
        "recompiles": 0,
        "recompile_s": 0.0,
        "slow_call_share": 0.0,
        "step_spread": 1.1,
        "fit_s": 9.0,
        "epochs": 1,
        "has_pipeline": True,
        "prefetch_at_end": True,
        "supply_s": 0.050,
        "prepare_s": 0.050,
    }
    values = {**defaults, **fields}
    for field in dataclasses.fields(Evidence):
        value = values.get(field.name)
        if isinstance(value, float) and field.name not in _PLAIN:
            values[field.name] = Measurement.exact(value, values["steady_steps"])
    rules = {
        "call_s": (lambda step, host: step - host, "step_s", "host_s"),
        "ideal_step_s": (lambda held, host: held + host, "held_call_s", "host_s"),
        "input_share": (lambda wait, step: wait / step, "wait_s", "step_s"),
        "cpu_pipe_s": (lambda step, held: max(0.0, step - held), "cpu_step_s", "cpu_held_s"),
        "cpu_share": (lambda cpu, step: cpu / (cores * step), "cpu_step_s", "step_s"),
    }
    for name, (rule, left, right) in rules.items():
        if name not in fields:
            values[name] = _combine(rule, values[left], values[right])
    if "unexplained_s" not in fields:
        rest = _combine(lambda step, wait: step - wait, values["step_s"], values["wait_s"])
        values["unexplained_s"] = _combine(lambda a, b: a - b, rest, values["ideal_step_s"])
    return Evidence(**values)


def _combine(rule: Any, left: Measurement | Missing, right: Measurement | Missing) -> Any:
    """Applies ``rule`` to the values; the interval is that of the worst and the best case."""
    for one in (left, right):
        if isinstance(one, Missing):
            return one
    assert isinstance(left, Measurement)
    assert isinstance(right, Measurement)
    ends = [rule(a, b) for a in (left.low, left.high) for b in (right.low, right.high)]
    return Measurement(rule(left.value, right.value), min(ends), max(ends), left.n)
