"""Reads from a model in ``fit`` what is trained and how, into a Job record."""

from __future__ import annotations

import json
import os
from typing import Any

import tensorflow as tf

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
    batches: Any = None,
) -> Job:
    """Describes the training job.

    Args:
        model: The Keras model in fit.
        epochs: Epochs asked for.
        steps_per_epoch: Batches an epoch where Keras knows it.
        iterator: The iterator in use, or None where it was not seen.
        dataset: The dataset it was made from, or None.
        stages: The dataset's stages, main line, source first.
        batches: The held batches of one execution, or None.
    """
    strategy = model.distribute_strategy
    spec = getattr(iterator, "element_spec", None)
    leaves = tf.nest.flatten(spec) if spec is not None else []
    batch = batches[0] if batches else None
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
        element_spec=describe_spec(spec),
        batch_bytes=Missing("no batch was held") if batch is None else batch_bytes(batch),
        dynamic_shapes=any(_is_dynamic(leaf) for leaf in leaves),
        string_input=any(getattr(leaf, "dtype", None) == tf.string for leaf in leaves),
    )


def describe_spec(spec: Any) -> str:
    """Prints an element spec shortly: ``(float32[?,32,32,3], int32[?])``."""
    if spec is None:
        return ""
    if isinstance(spec, dict):
        return "{" + ", ".join(f"{k}: {describe_spec(v)}" for k, v in spec.items()) + "}"
    if isinstance(spec, (tuple, list)):
        return "(" + ", ".join(describe_spec(item) for item in spec) + ")"
    shape, dtype = getattr(spec, "shape", None), getattr(spec, "dtype", None)
    if dtype is None or shape is None:
        return type(spec).__name__
    kind = "" if isinstance(spec, tf.TensorSpec) else type(spec).__name__.removesuffix("Spec") + " "
    if shape.rank is None:
        return f"{kind}{dtype.name}[...]"
    sizes = ",".join("?" if size is None else str(size) for size in shape)
    return f"{kind}{dtype.name}[{sizes}]"


def batch_bytes(batch: Any) -> int:
    """Gives the bytes of a batch's tensors; strings count nothing."""
    total = 0
    for leaf in tf.nest.flatten(batch, expand_composites=True):
        local = getattr(leaf, "values", None)  # PerReplica holds a tensor for each replica
        for tensor in local if isinstance(local, tuple) else (leaf,):
            if tf.is_tensor(tensor) and tensor.dtype.size:
                count = tensor.shape.num_elements()
                total += tensor.dtype.size * (count or 0)
    return total


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
