"""Evidence on the stages of the pipeline: what each costs, and how fast it can be at best."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

from bottleneck_kit.records.evidence import Evidence, Number, StageEvidence
from bottleneck_kit.records.live_model import LiveModel, LiveNode
from bottleneck_kit.records.measurement import Measurement, Missing
from bottleneck_kit.records.pipeline import Pipeline
from bottleneck_kit.records.run_record import RunRecord
from bottleneck_kit.records.stage import Stage

BATCHING = frozenset(
    {
        "batch",
        "padded_batch",
        "ragged_batch",
        "sparse_batch",
        "map_and_batch",
        "group_by_window",
        "window",
        "keras_arrays",
        "keras_generator",
        "keras_py_dataset",
    }
)
UNBATCHING = frozenset({"unbatch", "flat_map"})
READS_THROUGH = frozenset({"interleave", "flat_map"})

FREE_OF_COST = frozenset({"prefetch", "repeat", "take", "skip", "options", "assert_cardinality"})
"""Kinds that only hand elements on: a live model without their node loses nothing."""

PASSING_NODES = (
    "Root",
    "Model",
    "Options",
    "Finalize",
    "MaxIntraOpParallelism",
    "PrivateThreadPool",
    "ForeverRepeat",
    "FiniteRepeat",
    "Repeat",
    "FiniteTake",
    "Take",
    "FiniteSkip",
    "Skip",
    "AssertCardinality",
)
"""Live nodes that only hand elements on: a prefetch behind them still overlaps with the step."""


def add_stages(record: RunRecord, evidence: Evidence) -> Evidence:
    """Adds every stage with cost, share and bound, what reads, and the values AUTOTUNE chose."""
    pipeline = record.pipeline
    if isinstance(pipeline, Missing):
        return replace(
            evidence,
            has_pipeline=pipeline,
            source_s=pipeline,
            overlap_share=pipeline,
            supply_s=pipeline,
            prepare_s=pipeline,
        )
    cores = record.environment.usable_cores
    costs = [_cost_s(stage) for stage in pipeline.walk()]
    total_s = sum(cost for cost in costs if cost is not None)
    reading = reading_stages(pipeline.stages)
    stages = tuple(
        replace(
            _judge(stage, behind_batch=behind, total_s=total_s, cores=cores),
            reads=stage.index in reading,
        )
        for stage, behind in _with_batching(pipeline.stages)
    )
    return replace(
        evidence,
        stages=stages,
        source_s=_source(stages),
        supply_s=_supply(stages, cores),
        prepare_s=_prepare(stages),
        pipeline_options=dict(pipeline.options),
        has_pipeline=True,
        prefetch_at_end=_prefetch_at_end(pipeline),
        autotune=_autotune(pipeline),
    )


def add_overlap(record: RunRecord, evidence: Evidence) -> Evidence:
    """Adds which share of a batch's preparation is hidden behind the step; needs the wait."""
    if isinstance(evidence.wait_s, Missing):
        return replace(evidence, overlap_share=evidence.wait_s)
    if isinstance(evidence.prepare_s, Missing):
        return replace(evidence, overlap_share=evidence.prepare_s)
    prepare_s = evidence.prepare_s.value
    wait = evidence.wait_s
    ends = [min(1.0, max(0.0, 1 - s / prepare_s)) for s in (wait.value, wait.high, wait.low)]
    return replace(evidence, overlap_share=Measurement(ends[0], ends[1], ends[2], wait.n))


def _cost_s(stage: Stage) -> float | None:
    """Gives the cost of a stage where it is known and sound."""
    if isinstance(stage.cost, Missing) or not math.isfinite(stage.cost.cost_s):
        return None
    return stage.cost.cost_s if stage.cost.cost_s >= 0 else None


def _judge(stage: Stage, *, behind_batch: bool, total_s: float, cores: float) -> StageEvidence:
    cost_s = _cost_s(stage)
    if isinstance(stage.cost, Missing) or cost_s is None:
        missing = (
            stage.cost if isinstance(stage.cost, Missing) else Missing("its cost is no number")
        )
        return StageEvidence(stage, missing, missing, missing, behind_batch=behind_batch)
    calls = 1.0 if stage.cost.serial else max(1.0, min(float(stage.cost.parallelism), cores))
    return StageEvidence(
        stage=stage,
        cost_s=cost_s,
        share=cost_s / total_s if total_s > 0 else 0.0,
        bound_s=cost_s / calls,
        parallelism=stage.cost.parallelism,
        serial=stage.cost.serial,
        behind_batch=behind_batch,
    )


def unknown_cost(stages: tuple[StageEvidence, ...]) -> Missing | None:
    """Gives the first stage's cost that is missing and matters; None where all are known."""
    booked_elsewhere: set[int] = set()
    for one in stages:
        if not isinstance(one.stage.cost, Missing):
            booked_elsewhere.update(one.stage.cost.shared_with)
    for one in stages:
        known = one.stage.index in booked_elsewhere or one.stage.kind in FREE_OF_COST
        if isinstance(one.cost_s, Missing) and not known:
            return Missing(f"the cost of {one.stage.label} is not known: {one.cost_s.reason}")
    return None if stages else Missing("the pipeline has no stage")


def _supply(stages: tuple[StageEvidence, ...], cores: float) -> Number:
    missing = unknown_cost(stages)
    if missing is not None:
        return missing
    bounds = [one.bound_s for one in stages if not isinstance(one.bound_s, Missing)]
    total_s = sum(one.cost_s for one in stages if not isinstance(one.cost_s, Missing))
    return Measurement.exact(max([total_s / max(cores, 1.0), *bounds]))


def _prepare(stages: tuple[StageEvidence, ...]) -> Number:
    bounds = [one.bound_s for one in stages if not isinstance(one.bound_s, Missing)]
    if not sum(bounds) > 0:
        return Missing("no stage's cost is known")
    return Measurement.exact(sum(bounds))


def _with_batching(stages: tuple[Stage, ...]) -> Iterator[tuple[Stage, bool]]:
    """Gives every stage, in the order of ``Pipeline.walk``, and whether its input is a batch."""
    batched = False
    for stage in stages:
        for branch in stage.branches:
            inside = list(_with_batching(branch))
            yield from inside
            if inside:
                batched = batched or _gives_batches(*inside[-1])
        yield stage, batched
        batched = _gives_batches(stage, batched)


def _gives_batches(stage: Stage, behind_batch: bool) -> bool:
    if stage.kind in BATCHING:
        return True
    return behind_batch and stage.kind not in UNBATCHING


def _source(stages: tuple[StageEvidence, ...]) -> Number:
    """Gives the thread seconds a step of all stages that read."""
    known = [one.cost_s for one in stages if one.reads and not isinstance(one.cost_s, Missing)]
    if not known:
        return Missing("no cost is known of a stage that reads")
    return Measurement.exact(sum(known))


def reading_stages(stages: tuple[Stage, ...]) -> frozenset[int]:
    """Gives the indices of the stages that read: those without input, and those that open files.

    An interleave over readers counts, too: the live model books the work of its branches on it.
    """
    found: set[int] = set()
    for place, stage in enumerate(stages):
        if stage.traits.reads_files or (place == 0 and not stage.branches):
            found.add(stage.index)
        for branch in stage.branches:
            found |= reading_stages(branch)
            if stage.kind in READS_THROUGH and any(one.traits.reads_files for one in branch):
                found.add(stage.index)
    return frozenset(found)


def _prefetch_at_end(pipeline: Pipeline) -> bool | None:
    """Says whether the last thing before the step is a prefetch, the user's or an injected one."""
    if not isinstance(pipeline.live, Missing):
        for node in _down_from(pipeline.live):
            if node.name.startswith("Prefetch"):
                return True
            if not node.name.startswith(PASSING_NODES):
                return False
    last = [stage.kind for stage in pipeline.stages if stage.kind not in {"options", "repeat"}][-1:]
    return True if last == ["prefetch"] else None


def _down_from(live: LiveModel) -> Iterator[LiveNode]:
    node = live.root
    yield node
    while len(node.inputs) == 1:
        node = node.inputs[0]
        yield node


def _autotune(pipeline: Pipeline) -> dict[str, float]:
    """Gives the values AUTOTUNE chose: by the stage's label, or the node's name without one."""
    if isinstance(pipeline.live, Missing):
        return {}
    labels = {
        name: f"{stage.label} (stage {stage.index})"
        for stage in pipeline.walk()
        if not isinstance(stage.cost, Missing)
        for name in stage.cost.nodes
    }
    found: dict[str, float] = {}
    waiting = [pipeline.live.root]
    while waiting:
        node = waiting.pop()
        waiting += node.inputs
        label = labels.get(node.name, node.name)
        if node.parallelism_tunable and node.parallelism is not None:
            found[f"{label} parallel calls"] = float(node.parallelism)
        if node.buffer_size is not None and node.name.startswith("Prefetch"):
            found[f"{label} buffer"] = float(node.buffer_size)
    return found
