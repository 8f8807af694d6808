"""Reads from a model in ``fit`` what is trained and how, into a Job record."""

from __future__ import annotations

import json
import os
from typing import Any

import tensorflow as tf

from bottleneck_kit.instruments.batch_taking import HeldBatch
from bottleneck_kit.pipeline.element_spec import describe_spec
from bottleneck_kit.records.job import Job
from bottleneck_kit.records.measurement import Missing
from bottleneck_kit.records.stage import Stage

# Set by launchers of distributed training for every process they start.
_RANK_VARIABLES = ("OMPI_COMM_WORLD_RANK", "HOROVOD_RANK", "PMI_RANK", "RANK")


def read_job(
    model: Any,
    *,
    epochs: int,
    steps_per_epoch: int | None,
    iterator: Any = None,
    dataset: Any = None,
    stages: tuple[Stage, ...] = (),
    held: HeldBatch | None = None,
) -> Job:
    """Describes the training job.

    Args:
        model: The Keras model in fit.
        epochs: Epochs asked for.
        steps_per_epoch: Batches an epoch where Keras knows it.
        iterator: The iterator in use, or None where it was not seen.
        dataset: The dataset it was made from, or None.
        stages: The dataset's stages, main line, source first.
        held: The held batch, or None.
    """
    strategy = model.distribute_strategy
    spec = getattr(iterator, "element_spec", None)
    leaves = tf.nest.flatten(spec) if spec is not None else []
    batch = None if held is None else held.batches[0]
    return Job(
        model=str(model.name),
        parameters=model.count_params() if model.built else Missing("the model is not built"),
        epochs=epochs,
        steps_per_epoch=steps_per_epoch,
        steps_per_execution=int(model.steps_per_execution),
        batch_size=_batch_size(batch, leaves),
        jit_compile=bool(model.jit_compile),
        run_eagerly=bool(model.run_eagerly),
        replicas=int(strategy.num_replicas_in_sync),
        strategy="" if strategy.num_replicas_in_sync == 1 else type(strategy).__name__,
        input_kind=_input_kind(iterator, stages),
        cardinality=_cardinality(dataset),
        element_spec="" if spec is None else describe_spec(spec),
        batch_bytes=Missing("no batch was held") if held is None else held.batch_bytes,
        dynamic_shapes=any(_is_dynamic(leaf) for leaf in leaves),
        string_input=any(getattr(leaf, "dtype", None) == tf.string for leaf in leaves),
    )


def is_first_process(model: Any) -> bool:
    """Says whether this process is the one of a distributed job that should speak."""
    for name in _RANK_VARIABLES:
        if os.environ.get(name, "0") not in ("", "0"):
            return False
    resolver = model.distribute_strategy.cluster_resolver
    task_type, task_id = getattr(resolver, "task_type", None), getattr(resolver, "task_id", None)
    if task_type is None:
        try:
            task = json.loads(os.environ.get("TF_CONFIG", "{}")).get("task", {})
            task_type, task_id = task.get("type"), task.get("index")
        except (ValueError, AttributeError):
            return True
    if task_type in (None, "", "chief", "master"):
        return True
    return task_type == "worker" and task_id == 0


def _batch_size(batch: Any, spec_leaves: list[Any]) -> int | Missing:
    leaves = tf.nest.flatten(batch, expand_composites=False) if batch is not None else spec_leaves
    for leaf in leaves:
        local = getattr(leaf, "values", None)
        parts = local if isinstance(local, tuple) else (leaf,)
        sizes = [part.shape[0] for part in parts if getattr(part, "shape", None)]
        if sizes and all(size is not None for size in sizes):
            return int(sum(sizes))
    return Missing("the first dimension of a batch is not known")


def _is_dynamic(leaf: Any) -> bool:
    shape = getattr(leaf, "shape", None)
    return shape is None or shape.rank is None or any(size is None for size in shape[1:])


def _input_kind(iterator: Any, stages: tuple[Stage, ...]) -> str:
    if isinstance(iterator, tf.distribute.DistributedIterator):
        return "distributed"
    kinds = {stage.kind for stage in stages}
    for kind, name in (
        ("keras_arrays", "arrays"),
        ("keras_generator", "generator"),
        ("keras_py_dataset", "py_dataset"),
    ):
        if kind in kinds:
            return name
    return "dataset" if stages else "unknown"


def _cardinality(dataset: Any) -> int | Missing:
    if not isinstance(dataset, tf.data.Dataset):
        return Missing("the dataset was not seen")
    return int(dataset.cardinality())
