"""Trains a job that is slow on purpose, and finds out what holds it back.

Run it from a clone with ``python examples/find_the_bottleneck.py``; a folder as its argument is
where the training records are kept (default: below your cache folder).
"""

import sys
from pathlib import Path

import bottleneck_kit as bk
from bottleneck_kit.demo.labelled_images import load_images
from bottleneck_kit.demo.model import build_model
from bottleneck_kit.demo.pipeline import build_pipeline
from bottleneck_kit.demo.records import default_work_dir, write_records


def main(work_dir: Path, batch_size: int = 128, steps: int = 100) -> bk.Report:
    photographs = load_images(None, count=2048, seed=0)
    files = write_records(photographs, work_dir)
    dataset = build_pipeline(files.pattern, batch_size=batch_size, seed=0)
    model = build_model("small", classes=files.classes)

    callback = bk.BottleneckCallback()  # this line is all that the kit asks for
    model.fit(dataset, steps_per_epoch=steps, callbacks=[callback], verbose=2, shuffle=False)

    best = next(iter(callback.report.to_dict()["remedies"]), None)
    print("To try first:", best["snippet"] if best else "nothing, the input keeps up")
    return callback.report


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else default_work_dir())
