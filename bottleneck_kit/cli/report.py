"""Shows the report of a record that was saved by BottleneckCallback(log_dir=...).

The record is judged anew, by the rules of this version, on any machine: no TensorFlow is needed.
"""

from __future__ import annotations

import argparse
import sys

from bottleneck_kit.analysis import analyse
from bottleneck_kit.errors import RecordError
from bottleneck_kit.records.codec import load
from bottleneck_kit.records.run_record import RunRecord
from bottleneck_kit.report.report import Report


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the record and the two ways to show it."""
    parser.add_argument("record", metavar="RECORD", help="a record.json")
    parser.add_argument("--json", action="store_true", help="print one JSON object and no text")
    parser.add_argument(
        "--full",
        action="store_true",
        help="show the snippets of all remedies and all that could not be had",
    )


def run(arguments: argparse.Namespace) -> int:
    """Loads, judges, prints."""
    report = _judge(load(arguments.record), arguments.record)
    if arguments.json:
        sys.stdout.write(report.to_json() + "\n")
    else:
        report.print(full=arguments.full)
    return 0


def _judge(record: RunRecord, path: str) -> Report:
    """Makes the report; numbers that no run can give are a damaged file, not a crash."""
    try:
        analysis = analyse(record)
    except (ArithmeticError, LookupError, TypeError, ValueError) as error:
        raise RecordError(
            expected="a record whose numbers fit together",
            received=f"{path}, which cannot be judged ({type(error).__name__}: {error})",
            do="The file was changed after it was saved; record the run again.",
        ) from error
    return Report(
        record=record,
        evidence=analysis.evidence,
        diagnosis=analysis.diagnosis,
        plan=analysis.plan,
    )
