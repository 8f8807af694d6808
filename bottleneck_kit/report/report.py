"""What the user holds at the end: verdict, findings and remedies, shown or handed on."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, TextIO

from bottleneck_kit.records.diagnosis import Diagnosis, Finding, Verdict
from bottleneck_kit.records.evidence import Evidence, StageEvidence
from bottleneck_kit.records.plan import Plan, Prescription
from bottleneck_kit.records.run_record import RunRecord
from bottleneck_kit.report.json_format import report_to_dict
from bottleneck_kit.report.plain_text import to_encoding
from bottleneck_kit.report.wording import headline, notes_of

PLAIN_WIDTH = 100
"""Columns of ``str(report)``."""


@dataclass(frozen=True, repr=False)
class Report:
    """What one fit (or one ``diagnose``) showed, and what to do about it.

    Printing it gives the report for people, ``to_dict`` and ``to_json`` the one for programs;
    in a notebook it shows itself.

    Attributes:
        record: What was observed.
        evidence: The numbers made from it.
        diagnosis: What was concluded.
        plan: What to do, best first.
    """

    record: RunRecord
    evidence: Evidence
    diagnosis: Diagnosis
    plan: Plan

    @property
    def verdict(self) -> Verdict:
        """What holds the training back, in one line."""
        return self.diagnosis.verdict

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What is wrong, worst first."""
        return self.diagnosis.findings

    @property
    def remedies(self) -> tuple[Prescription, ...]:
        """What to do about it, in order of predicted gain."""
        return self.plan.remedies

    @property
    def stages(self) -> tuple[StageEvidence, ...]:
        """The stages of the input pipeline with their costs, source first."""
        return self.evidence.stages

    @cached_property
    def unavailable(self) -> dict[str, str]:
        """What could not be had, with the reason.

        Holds the instruments that gave nothing (``held_batch``, ``live_pipeline``, ...) and the
        path of each null in ``to_dict()``, such as ``verdict.ideal_step_s``.
        """
        reasons: dict[str, str] = self.to_dict()["unavailable"]
        return reasons

    @property
    def notes(self) -> tuple[str, ...]:
        """Sentences a reader has to know before trusting a number."""
        return notes_of(self.record, self.evidence)

    def headline(self) -> str:
        """Gives the verdict as one line that begins with its class."""
        return headline(self.verdict)

    def to_dict(self) -> dict[str, Any]:
        """Gives the report in plain values; ``json_format.report_to_dict`` lists the keys."""
        return report_to_dict(self)

    def to_json(self, path: str | Path | None = None) -> str:
        """Gives the report as JSON text, and writes it to ``path`` where there is one.

        Raises:
            OSError: The file cannot be written.
        """
        text = json.dumps(self.to_dict(), indent=2, allow_nan=False)
        if path is not None:
            Path(path).write_text(text + "\n", encoding="utf-8")
        return text

    def print(
        self, *, file: TextIO | None = None, width: int | None = None, full: bool = False
    ) -> None:
        """Prints the report for people.

        Args:
            file: Where to; standard output by default. Colour is used on a terminal only.
            width: Columns; those of the terminal by default, at most 120.
            full: Show every remedy with its snippet, not of the first three only, all that
                could not be had, what AUTOTUNE chose, and the versions in use.
        """
        # Rich takes 0.1 s to load: only who prints pays for it.
        from bottleneck_kit.report.console import print_report

        print_report(self, file=file, width=width, full=full)

    def print_headline(self) -> None:
        """Prints the one line on a line of its own, in the encoding standard output has."""
        # Keras' progress bar leaves the cursor in its line.
        target = sys.stdout
        encoding = getattr(target, "encoding", None) or "utf-8"
        target.write(to_encoding(f"\n{self.headline()}\n", encoding))
        target.flush()

    def __str__(self) -> str:
        from bottleneck_kit.report.console import render_text

        return render_text(self, width=PLAIN_WIDTH).rstrip("\n")

    def __repr__(self) -> str:
        return f"<Report {self.headline()}>"

    def _repr_html_(self) -> str:
        """Shows the report in a notebook."""
        from bottleneck_kit.report.console import render_html

        return render_html(self, width=PLAIN_WIDTH)
