"""Reads AUTOTUNE's model of the running iterator now and then, without a profiler."""

from __future__ import annotations

import time
import weakref
from collections.abc import Callable
from typing import Any

import tensorflow as tf

from bottleneck_kit.instruments.model_join import ModelJoin, ModelReading, NodeReading
from bottleneck_kit.records.live_model import LiveModel
from bottleneck_kit.records.measurement import Missing

_NO_MODEL = (
    "tf.data keeps no model of this iterator: autotune is off, or the data comes from a "
    "PyDataset with workers"
)

_NOT_READ = Missing("the iterator was not read")


class LivePipeline:
    """Watches one iterator at a time and joins what it reads over all of them.

    It keeps only a weak hold on the iterator, and nothing of the dataset's. No method raises.
    A reading takes 0.2 to 1.3 ms; ``own_s`` counts them up.

    Attributes:
        own_s: Seconds spent in ``read``.
    """

    def __init__(self, *, clock: Callable[[], float] = time.perf_counter) -> None:
        self.own_s = 0.0
        self._clock = clock
        self._join = ModelJoin()
        self._iterator: Callable[[], Any | None] = _nothing
        self._refusal = Missing("no iterator was seen")

    def start(self, iterator: Any, dataset: Any = None) -> None:
        """Watches a new iterator from now on; called in the training thread.

        Args:
            iterator: What ``fit`` hands to its train function.
            dataset: The dataset it was made from, for the reason where there is no model.
        """
        self._refusal = _NOT_READ
        self._iterator = _nothing
        if type(iterator).__name__.startswith("Distributed"):
            self._refusal = Missing("a distribution strategy's iterator keeps no model")
            return
        if not hasattr(tf.data.experimental, "get_model_proto"):
            self._refusal = Missing(
                f"TensorFlow {tf.__version__} has no get_model_proto; it came with 2.17"
            )
            return
        try:
            if dataset is not None and dataset.options().autotune.enabled is False:
                self._refusal = Missing(
                    "autotune is off for this dataset, so that tf.data keeps no model of it "
                    "(Keras turns it off for a PyDataset with workers)"
                )
                return
            self._iterator = weakref.ref(iterator)
        except Exception as error:
            self._refusal = Missing(f"the iterator cannot be watched: {_short(error)}")
            return
        self._join.begin_iterator()

    def read(self) -> tuple[float, ...] | Missing:
        """Reads the model once and joins it.

        Returns:
            The iterator's gap times in seconds, at most the last 100, oldest first: the time
            between the end of one fetch and the start of the next. Missing with the reason
            where there is no model.
        """
        begin = self._clock()
        try:
            return self._read()
        except Exception as error:
            self._refusal = Missing(f"the model could not be read: {_short(error)}")
            return self._refusal
        finally:
            self.own_s += self._clock() - begin

    def freeze(self) -> LiveModel | Missing:
        """Gives all readings joined, or Missing with the reason of the last refusal."""
        try:
            return self._join.freeze() or self._refusal
        except Exception as error:
            return Missing(f"the readings could not be joined: {_short(error)}")

    def _read(self) -> tuple[float, ...] | Missing:
        iterator = self._iterator()
        if iterator is None:
            if self._refusal == _NOT_READ:  # an earlier failure says more
                self._refusal = Missing("the iterator is gone")
            return self._refusal
        try:
            proto = tf.data.experimental.get_model_proto(iterator)
        except tf.errors.NotFoundError:
            self._refusal = Missing(_NO_MODEL)
            self._iterator = _nothing  # it will have none later, either
            return self._refusal
        self._join.add(reading_of(proto))
        return tuple(gap_us * 1e-6 for gap_us in proto.gap_times)


def reading_of(proto: Any) -> ModelReading:
    """Turns TensorFlow's ModelProto into a reading.

    Raises:
        AttributeError: A field of the proto was renamed.
        ValueError: The model holds no nodes.
    """
    if proto.output not in proto.nodes:
        raise ValueError("the model holds no nodes yet")
    return ModelReading(
        nodes={key: _node(key, node) for key, node in proto.nodes.items()},
        root=proto.output,
        cpu_budget=proto.optimization_params.cpu_budget,
        ram_budget_bytes=proto.optimization_params.ram_budget,
    )


def _node(key: int, node: Any) -> NodeReading:
    parameters = {item.name: item for item in node.parameters}
    parallelism = parameters.get("parallelism")
    buffer = parameters.get("buffer_size") or parameters.get("max_buffered_elements")
    return NodeReading(
        id=key,
        name=node.name,
        elements=node.num_elements,
        processing_ns=node.processing_time,
        bytes_produced=node.bytes_produced,
        ratio=node.ratio,
        buffered_elements=node.buffered_elements,
        parallelism=None if parallelism is None else _in_use(parallelism),
        parallelism_tunable=parallelism is not None and parallelism.tunable,
        buffer_size=None if buffer is None else max(1, round(buffer.value)),
        inputs=tuple(node.inputs),
    )


def _in_use(parameter: Any) -> int:
    """Gives the parallel calls in use: what the op works with, which lags behind the plan."""
    return max(1, round(parameter.state_value or parameter.value))


def _nothing() -> None:
    return None


def _short(error: Exception) -> str:
    first_line = (str(error).splitlines() or [""])[0]
    return f"{type(error).__name__}: {first_line}"[:200]
