"""The command ``bottleneck-kit demo``: trains the article's job and says what holds it back."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from bottleneck_kit.demo.quiet_start import load_tensorflow
from bottleneck_kit.errors import InvalidArgumentError, MissingDependencyError

IMAGES = 8192
"""Crops cut from the photographs: 24 MiB of records, written in a fraction of a second."""

MODEL_NAMES = ("small", "resnet50")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the options of the demo; loads no framework."""
    parser.add_argument(
        "--data",
        metavar="FOLDER",
        help="folder of images (its sub-folders are the classes) or of CIFAR-10 in its Python or "
        "binary form; without it, photographs that come with scikit-image",
    )
    parser.add_argument(
        "--model",
        choices=MODEL_NAMES,
        default="small",
        help="small network (default) or the article's ResNet50, which wants a GPU",
    )
    parser.add_argument(
        "--batch-size",
        type=int,
        default=128,
        metavar="N",
        help="images a batch (default: %(default)s; the article: 1024)",
    )
    parser.add_argument(
        "--steps", type=int, default=100, metavar="N", help="steps an epoch (default: %(default)s)"
    )
    parser.add_argument(
        "--epochs", type=int, default=1, metavar="N", help="epochs (default: %(default)s)"
    )
    parser.add_argument(
        "--accelerator-ms",
        type=float,
        default=0.0,
        metavar="MS",
        help="emulate an accelerator whose step takes MS milliseconds and none of the host's cores",
    )
    parser.add_argument(
        "--log-dir", metavar="FOLDER", help="folder to save the record of the run in"
    )
    parser.add_argument(
        "--work-dir",
        metavar="FOLDER",
        help="folder to keep the training records in (default: below the user's cache folder)",
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object and no text")
    parser.add_argument(
        "--seed", type=int, default=0, metavar="N", help="of images, order and weights"
    )


def run(arguments: argparse.Namespace) -> int:
    """Trains, prints the report, and ends with the cached-batch figure.

    Returns:
        The exit code: 0.

    Raises:
        BottleneckKitError: An option is off, or a part is not installed.
    """
    _check(arguments)
    try:
        load_tensorflow()
    except ImportError as error:
        raise MissingDependencyError(
            expected="TensorFlow, which the demo trains with",
            received=f"an environment where it cannot be imported ({error})",
            do="Install it with 'pip install \"bottleneck-kit[tensorflow,demo]\"', or with "
            "'[cpu,demo]' on a machine without a GPU.",
        ) from error
    from bottleneck_kit.demo.job import train

    outcome = train(arguments, say=_silent if arguments.json else _say)
    if arguments.json:
        json.dump(outcome.to_dict(), sys.stdout, indent=2)
        sys.stdout.write("\n")
    else:
        _say(outcome.closing_text())
    return 0


def _check(arguments: argparse.Namespace) -> None:
    for option in ("batch_size", "steps", "epochs"):
        value = getattr(arguments, option)
        if value < 1:
            raise _off(option, "a whole number from 1", value)
    if not 0 <= arguments.accelerator_ms <= 60_000:
        raise _off("accelerator_ms", "milliseconds from 0 to 60000", arguments.accelerator_ms)
    if not 0 <= arguments.seed < 2**31:
        raise _off("seed", "a whole number from 0 to 2147483647", arguments.seed)
    log_dir = arguments.log_dir
    if log_dir is not None and Path(log_dir).exists() and not Path(log_dir).is_dir():
        raise _off("log_dir", "a folder", log_dir)


def _off(option: str, expected: str, value: Any) -> InvalidArgumentError:
    flag = "--" + option.replace("_", "-")
    return InvalidArgumentError(
        expected=f"{flag} to be {expected}",
        received=str(value),
        do="'bottleneck-kit demo --help' lists the options.",
    )


def _say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def _silent(text: str) -> None:
    """Says nothing: the output is JSON."""
