"""What the kit costs: time in its hooks, CPU of its threads, wall time, memory.

Run from a clone: ``python -m benchmarks.overhead [--quick]``. Exits with 1 where a target is
missed. About two minutes; on a busy machine the wall ratios say little, which the A/A beside
them shows.
"""

from __future__ import annotations

import argparse
import gc
import sys
import time
from typing import Any

import keras
import numpy as np
import psutil
import tensorflow as tf

import bottleneck_kit as bk
from benchmarks.judging import Judge, print_machine, spread
from bottleneck_kit.demo.accelerator import EmulatedAccelerator

HOOKS_TARGET_US = 60.0
THREADS_TARGET_PERCENT = 1.0
MEMORY_TARGET_MIB = 5.0
MEMORY_FROM_STEPS = 1_000
EMULATED_MS = 10.0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer steps, for a first look")
    quick = parser.parse_args().quick
    print_machine()
    judge = Judge()
    # Memory first: what the other parts free would hide growth.
    judge_memory(judge, steps=20_000 if quick else 100_000)
    judge_hooks_and_threads(judge, steps=300 if quick else 1_500)
    show_wall_ratios(pairs=3 if quick else 10, steps=100)
    return judge.exit_code()


def judge_memory(judge: Judge, *, steps: int) -> None:
    """Compares resident memory early and late in one long fit, beside a fit without the kit."""
    growth_mib = {}
    for name, callbacks in (("without", []), ("with", [bk.BottleneckCallback(report=None)])):
        watch = _MemoryWatch((MEMORY_FROM_STEPS, steps))
        dataset = tf.data.Dataset.from_tensors((tf.ones((1, 1)), tf.ones((1, 1)))).repeat()
        _NoStep.make().fit(
            dataset,
            steps_per_epoch=steps,
            callbacks=[*callbacks, watch],
            verbose=0,
            shuffle=False,
        )
        growth_mib[name] = (watch.seen_bytes[steps] - watch.seen_bytes[MEMORY_FROM_STEPS]) / 2**20
    judge.at_most(
        f"memory from step {MEMORY_FROM_STEPS} to {steps}",
        growth_mib["with"],
        MEMORY_TARGET_MIB,
        "MiB",
        f"without the kit {growth_mib['without']:.2f} MiB",
    )


def judge_hooks_and_threads(judge: Judge, *, steps: int) -> None:
    """Reads the kit's own cost from the record of a job with short steps."""
    callback = bk.BottleneckCallback(report=None)
    _fit(_model(), [callback], steps=steps)
    overhead = callback.record.overhead
    judge.at_most(
        "median time in the kit's hooks a step",
        overhead.per_step_s * 1e6,
        HOOKS_TARGET_US,
        "µs",
        f"mean {overhead.hooks_s / steps * 1e6:.1f} µs, readings of the live pipeline included",
    )
    judge.at_most(
        "CPU of the kit's threads",
        100 * overhead.threads_cpu_s / overhead.fit_s,
        THREADS_TARGET_PERCENT,
        "% of a core",
        f"over {overhead.fit_s:.1f} s, emulated step of {EMULATED_MS:g} ms",
    )


def show_wall_ratios(*, pairs: int, steps: int) -> None:
    """Prints wall time with the kit over without, beside without over without."""
    model = _model()
    _fit(model, [], steps=20)
    with_kit, without, end_s = [], [], []
    for pair in range(pairs):
        order = ("base", "with", "again") if pair % 2 else ("again", "with", "base")
        taken_s = {}
        for name in order:
            callback = bk.BottleneckCallback(report=None)
            clock = _EpochClock()
            callbacks = [clock, callback] if name == "with" else [clock]
            begin_s = time.perf_counter()
            _fit(model, callbacks, steps=steps)
            taken_s[name] = clock.epoch_s
            if name == "with":
                end_s.append(time.perf_counter() - begin_s - clock.epoch_s)
        with_kit.append(taken_s["with"] / taken_s["base"])
        without.append(taken_s["again"] / taken_s["base"])
    print(f"      wall of {steps} steps, with / without (A/B): {spread(with_kit)}")
    print(f"      wall of {steps} steps, without / without (A/A): {spread(without)}")
    print(f"      seconds around those steps with the kit (start, probe, report): {spread(end_s)}")


def _model() -> keras.Model:
    """A small model behind an emulated accelerator: steps short enough to show any cost."""
    inputs = keras.Input((8,))
    hidden = keras.layers.Dense(8, activation="relu")(EmulatedAccelerator(EMULATED_MS)(inputs))
    model = keras.Model(inputs, keras.layers.Dense(1)(hidden))
    model.compile("adam", "mse", jit_compile=False)
    return model


def _fit(model: keras.Model, callbacks: list[keras.callbacks.Callback], *, steps: int) -> None:
    values = np.random.default_rng(0).random((256, 8), dtype=np.float32)
    dataset = tf.data.Dataset.from_tensor_slices((values, values[:, :1])).repeat()
    dataset = dataset.shuffle(64, seed=0).map(_scale).batch(16).prefetch(tf.data.AUTOTUNE)
    model.fit(dataset, steps_per_epoch=steps, callbacks=callbacks, verbose=0, shuffle=False)


def _scale(value: tf.Tensor, target: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    return value * 2, target


class _NoStep(keras.Model):
    """Takes its batches and does nothing with them, so that 100,000 steps take seconds."""

    @classmethod
    def make(cls) -> _NoStep:
        inputs = keras.Input((1,))
        model = cls(inputs, keras.layers.Dense(1)(inputs))
        model.compile("sgd", "mse")
        return model

    def make_train_function(self, force: bool = False) -> Any:
        def take(iterator: Any) -> dict[str, float]:
            next(iterator)
            return {"loss": 0.0}

        self.train_function = take
        return take


class _MemoryWatch(keras.callbacks.Callback):
    """Notes the resident memory of the process at given steps."""

    def __init__(self, at_steps: tuple[int, ...]) -> None:
        super().__init__()
        self.at_steps = frozenset(at_steps)
        self.seen_bytes: dict[int, int] = {}

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        if batch + 1 in self.at_steps:
            gc.collect()
            self.seen_bytes[batch + 1] = psutil.Process().memory_info().rss


class _EpochClock(keras.callbacks.Callback):
    """Times the epoch, without what goes before and after it."""

    epoch_s = 0.0

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        self._begin_s = time.perf_counter()

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        self.epoch_s = time.perf_counter() - self._begin_s


if __name__ == "__main__":
    sys.exit(main())
