"""The demo from images to closing figures: train with the callback, then on a cached batch."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import keras

from bottleneck_kit.callbacks.bottleneck import BottleneckCallback
from bottleneck_kit.demo.cached_batch_run import CachedBatchRun, run_cached_batch
from bottleneck_kit.demo.command import IMAGES
from bottleneck_kit.demo.labelled_images import load_images
from bottleneck_kit.demo.model import build_model
from bottleneck_kit.demo.pipeline import build_pipeline
from bottleneck_kit.demo.progress import late_bar
from bottleneck_kit.demo.records import default_work_dir, write_records
from bottleneck_kit.units import format_seconds, format_share


@dataclass(frozen=True)
class Outcome:
    """What the demo has to say at its end.

    Attributes:
        report: The report of the training, as ``Report.to_dict`` gives it.
        cached_batch: The real run on one cached batch.
        images: What was trained on, a clause.
        accelerator_emulated_ms: Time of the emulated accelerator in milliseconds; 0 without one.
    """

    report: dict[str, Any]
    cached_batch: CachedBatchRun
    images: str
    accelerator_emulated_ms: float

    def to_dict(self) -> dict[str, Any]:
        """Gives it all as plain values."""
        return {
            "images": self.images,
            "accelerator_emulated_ms": self.accelerator_emulated_ms,
            "cached_batch": {
                "step_s": self.cached_batch.step_s,
                "low_s": self.cached_batch.low_s,
                "high_s": self.cached_batch.high_s,
                "steps": self.cached_batch.steps,
            },
            "report": self.report,
        }

    def closing_text(self) -> str:
        """Puts the cached-batch run beside what the kit measured and what it called ideal."""
        verdict, cached = self.report["verdict"], self.cached_batch
        emulated = (
            f" (accelerator emulated: {self.accelerator_emulated_ms:g} ms a step)"
            if self.accelerator_emulated_ms
            else ""
        )
        rows = (
            ("a step in this training", verdict["step_s"], ""),
            ("ideal, by the kit", verdict["ideal_step_s"], self._beside_cached()),
            (
                "ideal, by that run",
                cached.step_s,
                f"{format_seconds(cached.low_s)} to {format_seconds(cached.high_s)}, "
                f"10th to 90th percentile of {cached.steps} steps",
            ),
        )
        lines = [
            "Check: a copy of the model was trained on one batch, cached and repeated; "
            f"input is free there{emulated}.",
        ]
        for name, seconds, remark in rows:
            value = "not known" if seconds is None else format_seconds(seconds)
            lines.append(f"  {name:<24}{value:>10}   {remark}".rstrip())
        return "\n".join(lines)

    def _beside_cached(self) -> str:
        ideal_s = self.report["verdict"]["ideal_step_s"]
        if ideal_s is None:
            return "the report says why"
        return f"{format_share(ideal_s / self.cached_batch.step_s)} of that run's"


def train(arguments: argparse.Namespace, *, say: Callable[[str], None]) -> Outcome:
    """Runs the demo.

    Args:
        arguments: The options, as ``command.add_arguments`` names them; already checked.
        say: Prints a line for a person; prints nothing where the output is JSON, and then the
            report is not printed either.
    """
    quiet = arguments.json
    images = load_images(arguments.data, count=IMAGES, seed=arguments.seed, progress=late_bar)
    work_dir = Path(arguments.work_dir).expanduser() if arguments.work_dir else default_work_dir()
    files = write_records(images, work_dir, progress=late_bar)
    found = "found again in" if files.reused else "written to"
    say(f"Training on {images.origin}; {found} {Path(files.pattern).parent}.")
    if arguments.accelerator_ms:
        say(f"The accelerator is emulated: each step sleeps {arguments.accelerator_ms:g} ms.")

    keras.utils.set_random_seed(arguments.seed)
    dataset = build_pipeline(files.pattern, batch_size=arguments.batch_size, seed=arguments.seed)
    model = build_model(
        arguments.model, classes=files.classes, accelerator_ms=arguments.accelerator_ms
    )
    callback = BottleneckCallback(log_dir=arguments.log_dir, report=None if quiet else "console")
    model.fit(
        dataset,
        epochs=arguments.epochs,
        steps_per_epoch=arguments.steps,
        callbacks=[callback],
        verbose=0 if quiet else 1 if sys.stdout.isatty() else 2,
        shuffle=False,  # the files are shuffled; Keras warns that it leaves a dataset as it is
    )
    say("Training a copy of the model on one cached batch, to check the ideal step ...")
    return Outcome(
        report=callback.report.to_dict(),
        cached_batch=run_cached_batch(model, dataset, steps=arguments.steps),
        images=images.origin,
        accelerator_emulated_ms=arguments.accelerator_ms,
    )
