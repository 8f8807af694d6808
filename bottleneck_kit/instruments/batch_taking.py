"""Takes the batches of one running execution, trains on exactly those, and keeps the first."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import tensorflow as tf

from bottleneck_kit.instruments.memory import available_bytes
from bottleneck_kit.records.measurement import Missing

SHARE_OF_MEMORY = 0.25
"""Batches that would take more than this share of the memory still free are not kept."""

_HOLDABLE_SPECS = (
    tf.TensorSpec,
    tf.RaggedTensorSpec,
    tf.SparseTensorSpec,
    tf.OptionalSpec,
    type(None),
)


@dataclass(frozen=True)
class HeldBatch:
    """A batch that a running fit took for itself.

    Attributes:
        batches: The batch, in a tuple of one; as the iterator gave it.
        spec: The iterator's element spec; the same spec means the same traced function.
        batch_bytes: Bytes of the batch.
        distributed: Whether it came from a DistributedIterator.
    """

    batches: tuple[Any, ...] = field(repr=False)
    spec: Any
    batch_bytes: int
    distributed: bool

    def endless(self) -> tf.data.Dataset:
        """Gives a dataset that repeats the batch without end. Not for a distributed one."""
        return _in_spec(tf.data.Dataset.from_tensors(self.batches[0]).repeat(), self.spec)


@dataclass(frozen=True)
class Taken:
    """What came of an execution in which batches were to be taken.

    Attributes:
        logs: What the train function returned.
        held: The batch, or Missing with the reason.
        steps: Batches trained on; None where the iterator was handed on untouched.
    """

    logs: Any
    held: HeldBatch | Missing
    steps: int | None


def train_on_taken(
    train: Callable[[Any], Any], iterator: Any, *, steps: int, takes_list: bool
) -> Taken:
    """Runs one execution on batches pulled here, as it would have run on the iterator.

    The number of pulls, the order of the data, an early end of it and an error in it are what
    they would have been. No iterator of the user's dataset is made.

    Args:
        train: The train function.
        iterator: The iterator Keras handed to it.
        steps: Batches an execution works through.
        takes_list: Whether ``train`` takes a list of batches, too.
    """
    try:
        limit = int(available_bytes() * SHARE_OF_MEMORY)
        reason = _reason_against(iterator, steps=steps, takes_list=takes_list, limit=limit)
    except Exception as failure:
        reason = f"{type(failure).__name__}: {failure}"
    if reason:
        return Taken(train(iterator), Missing(reason), None)
    spec = iterator.element_spec
    distributed = isinstance(iterator, tf.distribute.DistributedIterator)
    batches: list[Any] = []
    error: Exception | None = None
    logs: Any = None
    done = 0
    batch_bytes = 0
    one_by_one = False
    while done + len(batches) < steps:
        try:
            batches.append(next(iterator))
        except StopIteration:
            break
        except Exception as raised:  # the user's pipeline failed at this batch
            error = raised
            break
        if done == 0 and len(batches) == 1:
            batch_bytes = bytes_of(batches[0])
            # Several batches at once would take too much memory. Where a shorter execution is
            # allowed (newer Keras), as many of one step each train just the same.
            one_by_one = steps > 1 and takes_list and batch_bytes * steps > limit
        if one_by_one:
            logs = train(_iterator_of(batches, spec))
            batches.clear()
            done += 1
    first = batches[0] if batches else None
    if batches:
        try:
            logs = train(batches if distributed else _iterator_of(batches, spec))
        except (StopIteration, tf.errors.OutOfRangeError):
            # Older Keras (3.5, say) ends an execution that is short of batches this way.
            if error is None:
                raise
    elif not done and error is None:
        # The data has ended: Keras finds that out by itself, as ever.
        return Taken(train(iterator), Missing("the data ended"), None)
    if error is not None:
        raise error
    if first is None or batch_bytes > limit:
        return Taken(logs, Missing("the batch is too large to keep a copy of it"), done or 1)
    held = HeldBatch((first,), spec, batch_bytes, distributed)
    return Taken(logs, held, done + len(batches))


def bytes_of(batch: Any) -> int:
    """Gives the bytes of a batch's tensors; strings count as eight bytes each."""
    total = 0
    for tensor in tf.nest.flatten(batch, expand_composites=True):
        if not tf.is_tensor(tensor):  # an element may hold None
            continue
        total += (tensor.shape.num_elements() or 0) * (tensor.dtype.size or 8)
    return total


def _reason_against(iterator: Any, *, steps: int, takes_list: bool, limit: int) -> str:
    """Says why no batch can be taken from ``iterator``; "" where one can."""
    if isinstance(iterator, tf.distribute.DistributedIterator):
        if not takes_list:
            return "this version of Keras takes no batches of a distributed dataset by hand"
    elif not isinstance(iterator, tf.data.Iterator):
        return f"the train function was given a {type(iterator).__name__}, no tf.data iterator"
    else:
        for leaf in tf.nest.flatten(iterator.element_spec):
            if not isinstance(leaf, _HOLDABLE_SPECS) and type(leaf).__name__ != "NoneTensorSpec":
                return f"batches hold a {type(leaf).__name__}, which cannot be kept"
    least_bytes = sum(_least_bytes(leaf) for leaf in tf.nest.flatten(iterator.element_spec, True))
    if least_bytes * steps > limit:
        return "the batches of one execution are too large to keep a copy of them"
    return ""


def _least_bytes(spec: Any) -> int:
    """Gives the bytes of a tensor of this spec, every open dimension taken as one."""
    shape = getattr(spec, "shape", None)
    if not isinstance(spec, tf.TensorSpec) or shape is None or shape.rank is None:
        return 0
    count = 1
    for size in shape.as_list():
        count *= 1 if size is None else size
    return count * spec.dtype.size


def _iterator_of(batches: list[Any], spec: Any) -> Any:
    parts = [_in_spec(tf.data.Dataset.from_tensors(batch), spec) for batch in batches]
    while len(parts) > 1:  # a balanced tree: a chain of hundreds would be walked recursively
        parts = [
            left.concatenate(right) for left, right in zip(parts[::2], parts[1::2], strict=False)
        ] + ([parts[-1]] if len(parts) % 2 else [])
    return iter(_in_spec(parts[0], spec))


def _in_spec(dataset: tf.data.Dataset, spec: Any) -> tf.data.Dataset:
    """Gives the dataset with the element spec that the train function was traced for.

    Neither optimisation nor tuning is wanted for a batch that is there already; leaving them off
    keeps threads and time out of it.
    """
    options = tf.data.Options()
    options.autotune.enabled = False
    options.experimental_optimization.apply_default_optimizations = False
    dataset = tf.data.experimental.from_variant(tf.data.experimental.to_variant(dataset), spec)
    return dataset.with_options(options)
