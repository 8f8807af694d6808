"""Is the kit's ideal step time what a real run on one cached batch takes?

Run from a clone: ``python -m benchmarks.ideal_step [--quick]``. Trains the demo's job with the
callback, then a copy of the model on ``take(1).cache().repeat()``, pair by pair, and compares.
Exits with 1 where the median ratio is off by more than ten per cent. About two minutes.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

import keras
import numpy as np

import bottleneck_kit as bk
from benchmarks.judging import Judge, print_machine, spread
from bottleneck_kit.demo.cached_batch_run import run_cached_batch
from bottleneck_kit.demo.labelled_images import load_images
from bottleneck_kit.demo.model import build_model
from bottleneck_kit.demo.pipeline import build_pipeline
from bottleneck_kit.demo.records import write_records
from bottleneck_kit.records.measurement import present

TOLERANCE = 0.10
BATCH_SIZE = 128
STEPS = 100
"""Both as the demo has them by default."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer pairs, for a first look")
    parser.add_argument(
        "--accelerator-ms", type=float, default=0.0, help="emulate an accelerator (default: none)"
    )
    arguments = parser.parse_args()
    print_machine()
    if arguments.accelerator_ms:
        print(f"accelerator emulated: {arguments.accelerator_ms:g} ms a step")
    judge = Judge()
    with tempfile.TemporaryDirectory() as work_dir:
        judge_ideal_step(
            judge,
            Path(work_dir),
            pairs=3 if arguments.quick else 10,
            accelerator_ms=arguments.accelerator_ms,
        )
    return judge.exit_code()


def judge_ideal_step(judge: Judge, work_dir: Path, *, pairs: int, accelerator_ms: float) -> None:
    """Measures pairs of kit and real run in turns, and the real run against itself beside."""
    keras.utils.set_random_seed(0)
    files = write_records(load_images(None, count=4096, seed=0), work_dir)
    dataset = build_pipeline(files.pattern, batch_size=BATCH_SIZE, seed=0)
    model = build_model("small", classes=files.classes, accelerator_ms=accelerator_ms)
    ratios, real_ratios, ideals_s, reals_s, steps_s = [], [], [], [], []
    for pair in range(pairs):
        callback = bk.BottleneckCallback(report=None)
        real_first_s = run_cached_batch(model, dataset, steps=STEPS).step_s
        model.fit(dataset, steps_per_epoch=STEPS, callbacks=[callback], verbose=0, shuffle=False)
        real_second_s = run_cached_batch(model, dataset, steps=STEPS).step_s
        ideal_s = callback.report.evidence.ideal_step_s
        if not present(ideal_s):
            judge.missed.append(f"pair {pair}: no ideal step ({ideal_s.reason})")
            continue
        # The kit's figure lies between the two real ones in time: compare with both.
        ratios.append(ideal_s.value / np.sqrt(real_first_s * real_second_s))
        real_ratios.append(real_second_s / real_first_s)
        ideals_s.append(ideal_s.value)
        reals_s += [real_first_s, real_second_s]
        steps_s.append(callback.report.evidence.step_s.value)
    if not ratios:
        return
    print(f"      step in training: {spread(np.multiply(steps_s, 1e3))} ms")
    print(f"      ideal step by the kit: {spread(np.multiply(ideals_s, 1e3))} ms")
    print(f"      real cached-batch step: {spread(np.multiply(reals_s, 1e3))} ms")
    print(f"      ratios kit / real: {spread(ratios)}")
    print(f"      ratios real / real (A/A): {spread(real_ratios)}")
    judge.within(
        f"median ratio of {len(ratios)} pairs",
        float(np.median(ratios)),
        1 - TOLERANCE,
        1 + TOLERANCE,
    )


if __name__ == "__main__":
    sys.exit(main())
