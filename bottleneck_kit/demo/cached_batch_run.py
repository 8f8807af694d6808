"""What a step takes on one cached batch, measured by really training a copy of the model."""

from __future__ import annotations

import time
from dataclasses import dataclass

import keras
import numpy as np
import tensorflow as tf

from bottleneck_kit.demo.model import copy_model

WARM_UP_STEPS = 5
"""Steps cut at the beginning: tracing, filling the cache, waking the threads."""

LIMIT_S = 20.0
"""Enough for a median; a large model on a small machine is stopped here ..."""

LEAST_STEPS = WARM_UP_STEPS + 5
"""... but not before this many steps."""


@dataclass(frozen=True)
class CachedBatchRun:
    """Times of a real run on ``dataset.take(1).cache().repeat()``.

    Attributes:
        step_s: Median seconds from the start of a step to the start of the next.
        low_s: 10th percentile.
        high_s: 90th percentile.
        steps: How many steps the median rests on.
    """

    step_s: float
    low_s: float
    high_s: float
    steps: int


def run_cached_batch(model: keras.Model, dataset: tf.data.Dataset, *, steps: int) -> CachedBatchRun:
    """Trains a copy of ``model`` on the dataset's first batch, again and again, as the article did.

    Args:
        model: Compiled; stays as it is.
        dataset: The whole pipeline; one pass over it is begun.
        steps: Steps to time.
    """
    clock = _StepClock()
    copy_model(model).fit(
        dataset.take(1).cache().repeat(),
        steps_per_epoch=max(WARM_UP_STEPS + steps, LEAST_STEPS),
        callbacks=[clock],
        verbose=0,
        shuffle=False,
    )
    periods = np.diff(clock.begins_s)[WARM_UP_STEPS:]
    low_s, step_s, high_s = np.percentile(periods, (10, 50, 90))
    return CachedBatchRun(float(step_s), float(low_s), float(high_s), len(periods))


class _StepClock(keras.callbacks.Callback):
    """Notes when each step begins, and ends the run at its limit."""

    def __init__(self) -> None:
        super().__init__()
        self.begins_s: list[float] = []

    def on_train_batch_begin(self, batch: int, logs: dict | None = None) -> None:
        self.begins_s.append(time.perf_counter())

    def on_train_batch_end(self, batch: int, logs: dict | None = None) -> None:
        spent_s = time.perf_counter() - self.begins_s[0]
        if spent_s > LIMIT_S and len(self.begins_s) >= LEAST_STEPS:
            self.model.stop_training = True
