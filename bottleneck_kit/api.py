"""The verbs beside the callbacks: diagnose a model and its dataset without training."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import keras
import tensorflow as tf

from bottleneck_kit.callbacks.bottleneck import BottleneckCallback
from bottleneck_kit.errors import (
    EmptyDatasetError,
    InvalidArgumentError,
    ModelNotReadyError,
)
from bottleneck_kit.instruments.fit_hook import FitHook
from bottleneck_kit.instruments.model_state import ModelState
from bottleneck_kit.instruments.python_randomness import python_randomness_kept
from bottleneck_kit.report.report import Report

LEAST_STEPS = 10
"""Fewer say nothing: the first ones compile and find the buffers full."""


def diagnose(model: keras.Model, dataset: Any, steps: int = 50) -> Report:
    """Says what would hold this training back, without training.

    Runs ``steps`` real training steps, times the train function on one held batch, and puts the
    model back: weights, optimizer, metrics, random state of layers, to the bit. What cannot be
    put back is the position of the dataset: a shuffle, a generator or a random map of it has
    moved on; and what the train step does in Python. The report says so.

    Args:
        model: A compiled Keras model. A Sequential that is not built is built by this; call a
            subclassed one on one batch first.
        dataset: What ``fit`` takes as ``x``: a ``tf.data.Dataset`` of batches, a
            ``keras.utils.PyDataset``, a generator; or a tuple ``(x, y)`` of arrays.
        steps: Batches to run; a shorter dataset is run through again.

    Returns:
        The report. It is not printed.

    Raises:
        ModelNotReadyError: The model is not compiled, or has no weights yet to put back.
        EmptyDatasetError: The dataset gives no batch.
        InvalidArgumentError: ``steps`` is not a whole number of at least 10.
    """
    _check(model, steps)
    arguments: dict[str, Any] = {"x": dataset}
    if isinstance(dataset, tuple):
        arguments = dict(zip(("x", "y", "sample_weight"), dataset, strict=False))
    epochs, steps_per_epoch = _epochs(dataset, steps)
    callback = _DiagnosingCallback()
    state = ModelState(model)
    try:
        with python_randomness_kept(), warnings.catch_warnings():
            # A dataset that is shorter than ``steps`` is no fault here.
            warnings.filterwarnings("ignore", message="Your input ran out of data")
            warnings.filterwarnings("ignore", message=r".*shuffle=True. was passed")
            model.fit(
                **arguments,
                epochs=epochs,
                steps_per_epoch=steps_per_epoch,
                verbose=0,
                callbacks=[_StateKeeper(state), callback],
            )
    except Exception as error:
        if not callback.saw_a_step and _is_about_no_data(error, dataset):
            raise _empty(dataset) from error
        raise
    finally:
        state.restore()
    if not callback.saw_a_step:
        raise _empty(dataset)
    if state.reason:  # only of a model that its first step has built
        raise ModelNotReadyError(
            expected="a model whose state can be copied",
            received=state.reason,
            do="It was trained for the steps of this diagnosis: make it anew.",
        )
    report = callback.report
    if state.not_put_back:
        note = f"Not put back, beside the dataset's position: {state.not_put_back}."
        record = replace(report.record, notes=(*report.record.notes, note))
        report = replace(report, record=record)
    return report


class _DiagnosingCallback(BottleneckCallback):
    """The callback as ``diagnose`` uses it: silent, and with a word on what was not put back."""

    _origin = "diagnose"
    _notes = (
        "diagnose put the model back as it was; the dataset's own shuffles, generators and "
        "random maps have moved on.",
    )

    def __init__(self) -> None:
        super().__init__(report=None)

    @property
    def saw_a_step(self) -> bool:
        """Whether any step was trained."""
        return bool(self.reports) and self.reports[-1].record.fit_s > 0 and self._steps() > 0

    def _steps(self) -> int:
        return getattr(self.reports[-1].record.steps, "steps", 0)


class _StateKeeper(keras.callbacks.Callback):
    """Hands the running fit's hook to the one who keeps the model's state."""

    def __init__(self, state: ModelState) -> None:
        super().__init__()
        self._state = state
        self._hook: FitHook | None = None

    def on_train_begin(self, logs: Any = None) -> None:
        self._hook = FitHook.acquire(self.model)
        self._state.listen(self._hook)
        if self._state.reason:
            raise ModelNotReadyError(
                expected="a model whose state can be copied",
                received=self._state.reason,
                do="Call the model on one batch first, or add BottleneckCallback to fit: it needs "
                "no copy.",
            )

    def on_train_end(self, logs: Any = None) -> None:
        if self._hook is not None:
            self._hook.release()


def _check(model: Any, steps: Any) -> None:
    if not isinstance(model, keras.Model):
        raise InvalidArgumentError(
            expected="a keras.Model",
            received=type(model).__name__,
            do="Call diagnose(model, dataset).",
        )
    if not getattr(model, "compiled", False):
        raise ModelNotReadyError(
            expected="a compiled model",
            received=f"{model.name}, which is not compiled",
            do="Call model.compile(optimizer=..., loss=...) first, as for fit.",
        )
    if isinstance(steps, bool) or not isinstance(steps, int) or steps < LEAST_STEPS:
        raise InvalidArgumentError(
            expected=f"steps to be a whole number of at least {LEAST_STEPS}",
            received=repr(steps),
            do="Leave it out for 50.",
        )


def _epochs(dataset: Any, steps: int) -> tuple[int, int | None]:
    """Gives epochs and steps an epoch, so that ``steps`` batches are run."""
    if isinstance(dataset, tuple) and any(hasattr(a, "__len__") and not len(a) for a in dataset):
        raise _empty(dataset)
    if not isinstance(dataset, tf.data.Dataset):
        # Arrays and PyDatasets know their length; Keras starts them anew each epoch. What is
        # shorter than ``steps`` ends early.
        return 1, steps
    cardinality = int(dataset.cardinality())
    if cardinality == 0:
        raise _empty(dataset)
    if 0 < cardinality < steps:
        return math.ceil(steps / cardinality), None
    return 1, steps


def _empty(dataset: Any) -> EmptyDatasetError:
    return EmptyDatasetError(
        expected="a dataset that gives batches",
        received=f"{type(dataset).__name__} without any",
        do="Look at next(iter(dataset)); a filter or a file pattern may let nothing through.",
    )


def _is_about_no_data(error: Exception, dataset: Any) -> bool:
    """Says whether fit failed for want of data; Keras has no error of its own for that."""
    text = f"{type(error).__name__}: {error}".lower()
    # Keras up to 3.8 takes the first batch of a generator without looking whether there is one.
    peeked = isinstance(error, IndexError) and isinstance(dataset, Iterator)
    return peeked or isinstance(error, StopIteration) or "empty" in text or "no data" in text
