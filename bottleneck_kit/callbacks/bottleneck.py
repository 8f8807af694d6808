"""BottleneckCallback: watches a fit, says what holds it back, and what to do about it."""

from __future__ import annotations

import numbers
import os
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import keras

from bottleneck_kit.analysis import analyse
from bottleneck_kit.callbacks.guard import harmless, logger
from bottleneck_kit.errors import InvalidArgumentError, NothingRecordedError
from bottleneck_kit.instruments.fit_recorder import FitRecorder
from bottleneck_kit.instruments.job_reader import is_first_process
from bottleneck_kit.records import codec
from bottleneck_kit.records.run_record import RunRecord
from bottleneck_kit.report.report import Report

LEAST_INTERVAL_S, MOST_INTERVAL_S = 0.01, 3600.0

# The first word is said once so many steady steps are in.
FIRST_WORD_STEPS = 30
_LOOKS = 4
_STEPS_BETWEEN_LOOKS = 20


class BottleneckCallback(keras.callbacks.Callback):
    """Says what holds a training job back; training is not changed by a bit.

    Example:
        >>> callback = BottleneckCallback()
        >>> model.fit(dataset, epochs=1, callbacks=[callback])
        >>> callback.report.verdict.text

    One line is printed once 30 steady steps are in, the report at the end of ``fit``, however
    it ends. In a loop of fits the report is printed again only when the verdict changes; in a
    distributed job the first process alone prints.

    Args:
        log_dir: Folder in which the record of each fit is saved, for ``bottleneck-kit report``:
            ``record.json``, or ``record-2.json`` and so on where that is there already. None
            saves nothing.
        profile_batch: Batches to capture with the profiler, such as "20,24". This version takes
            no captures: the report says so under what was not available.
        probe: Whether to time the train function on one held batch at the end of training (at
            most 30 steps, 10 s or 2 % of the fit, but three steps). Without it the ideal step
            time is not known.
        sample_interval_s: Seconds between two samples of the machine: cores, memory, disks,
            network and GPUs (NVML).
        report: "console" prints; None is silent.

    Attributes:
        reports: One Report for each finished fit, oldest first.
        saved_to: Where the last record was saved; None where it was not.
        failures: What failed in the callback's own hooks: hook -> reason.

    Raises:
        InvalidArgumentError: An argument is off. Nothing else is ever raised into ``fit``.
    """

    _origin = "fit"
    _notes: tuple[str, ...] = ()

    def __init__(
        self,
        log_dir: str | Path | None = None,
        profile_batch: str | int | tuple[int, int] | None = None,
        probe: bool = True,
        sample_interval_s: float = 0.25,
        report: str | None = "console",
    ) -> None:
        super().__init__()
        if report not in ("console", None):
            raise InvalidArgumentError(
                expected='report="console" or report=None',
                received=f"report={report!r}",
                do="Use None for silence; callback.report holds the report in both cases.",
            )
        if not _is_interval(sample_interval_s):
            raise InvalidArgumentError(
                expected=f"sample_interval_s to be a number of seconds from {LEAST_INTERVAL_S:g} "
                f"to {MOST_INTERVAL_S:g}",
                received=f"{sample_interval_s!r}",
                do="Leave it out for four samples a second.",
            )
        if log_dir is not None and not (isinstance(log_dir, (str, os.PathLike)) and str(log_dir)):
            raise InvalidArgumentError(
                expected="log_dir to be the path of a folder, or None",
                received=f"{log_dir!r}",
                do='Write log_dir="logs", or leave it out to save nothing.',
            )
        # Made absolute now: a script may change its folder while it trains.
        self._log_dir = None if log_dir is None else Path(log_dir).absolute()
        self.saved_to: Path | None = None
        self._profile_batch = profile_batch
        self._probe = bool(probe)
        self._sample_interval_s = float(sample_interval_s)
        self._prints = report == "console"
        self.reports: list[Report] = []
        self.failures: dict[str, str] = {}
        self._recorder: FitRecorder | None = None
        self._printed_verdict: tuple[str, str] | None = None
        self._looks_left = 0
        self._next_look = 0
        self._warned = False

    @property
    def report(self) -> Report:
        """The report of the last fit; while one runs, of what was seen of it so far.

        Raises:
            NothingRecordedError: No fit was seen.
        """
        recorder = self._recorder
        if recorder is not None:
            return _report(recorder.freeze())
        if not self.reports:
            raise NothingRecordedError(
                expected="a training with model.fit(..., callbacks=[callback])",
                received="none" + "".join(f"; {k} failed: {v}" for k, v in self.failures.items()),
                do="train_on_batch and loops of your own call no callbacks, evaluate and predict "
                "do not train: use bottleneck_kit.diagnose(model, dataset) there.",
            )
        return self.reports[-1]

    @property
    def record(self) -> RunRecord:
        """The record of the last fit; while one runs, what was seen of it so far.

        Raises:
            NothingRecordedError: No fit was seen.
        """
        return self.report.record

    @harmless
    def on_train_begin(self, logs: Any = None) -> None:
        """Starts the instruments."""
        if self._recorder is not None:
            if self._recorder.is_in_fit():
                return  # twice in one list of callbacks, or in a fit within this one
            # An earlier fit was cut off and nobody noticed yet.
            self._recorder.on_fit_end("interrupted")
        self.failures.clear()
        self._looks_left, self._next_look = _LOOKS, FIRST_WORD_STEPS + 5
        params = self.params or {}
        self._recorder = FitRecorder(
            self.model,
            probe=self._probe,
            epochs=int(params.get("epochs") or 1),
            # NumPy's integers are no JSON.
            steps_per_epoch=None if params.get("steps") is None else int(params["steps"]),
            sample_interval_s=self._sample_interval_s,
            origin=self._origin,
            notes=self._notes,
            on_step=self._say_first_word if self._speaks() else None,
            on_abort=self._conclude,
        )
        if self._profile_batch is not None:
            self._recorder.unavailable["capture"] = (
                "this version takes no profiler captures; profile_batch was not used"
            )

    @harmless
    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        """Passes the epoch on."""
        if self._recorder is not None:
            self._recorder.epoch_begin(epoch)

    @harmless
    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        """Passes the epoch on."""
        if self._recorder is not None:
            self._recorder.epoch_end(epoch)

    @harmless
    def on_test_begin(self, logs: Any = None) -> None:
        """Tells validation within fit from an ``evaluate`` of its own."""
        if self._recorder is not None:
            self._recorder.validation_begin()
        else:
            self._warn_not_training("evaluate")

    @harmless
    def on_test_end(self, logs: Any = None) -> None:
        """Passes the end of validation on."""
        if self._recorder is not None:
            self._recorder.validation_end()

    @harmless
    def on_predict_begin(self, logs: Any = None) -> None:
        """Says that there is nothing to see in ``predict``."""
        if self._recorder is None:
            self._warn_not_training("predict")

    @harmless
    def on_train_end(self, logs: Any = None) -> None:
        """Probes the held batch, stops the instruments and reports."""
        if self._recorder is not None:
            self._recorder.train_end()
            self._conclude(self._recorder)

    @harmless
    def _say_first_word(self, recorder: FitRecorder) -> None:
        """Says in one line what is known, once enough steady steps are in."""
        steps = recorder.executions * recorder.hook.steps_per_execution
        if self._looks_left <= 0 or steps < self._next_look:
            return
        began_s = time.perf_counter()
        self._looks_left -= 1
        self._next_look = steps + _STEPS_BETWEEN_LOOKS
        report = _report(recorder.freeze())
        if report.evidence.steady_steps >= FIRST_WORD_STEPS:
            self._looks_left = 0
            report.print_headline()
        recorder.report_s += time.perf_counter() - began_s

    @harmless
    def _conclude(self, recorder: FitRecorder) -> None:
        """Makes the report, saves the record and prints, also where fit was cut off."""
        if self._recorder is not recorder:
            return
        self._recorder = None
        began_s = time.perf_counter()
        recorder.unavailable.update(self.failures)
        record = recorder.freeze()
        analysis = analyse(record)
        recorder.report_s += time.perf_counter() - began_s
        record = self._save(replace(record, overhead=recorder.overhead()))
        report = Report(
            record=record,
            evidence=analysis.evidence,
            diagnosis=analysis.diagnosis,
            plan=analysis.plan,
        )
        self.reports.append(report)
        verdict = (report.verdict.kind, report.verdict.severity)
        if self._speaks() and verdict != self._printed_verdict:
            self._printed_verdict = verdict
            if recorder.ended != "completed":
                print()  # Keras' progress bar was left in the middle of its line
            report.print()
            if self.saved_to is not None:
                print(f"the record: {self.saved_to}")

    def _save(self, record: RunRecord) -> RunRecord:
        """Saves the record where there is a folder for it; what keeps it from that is in it."""
        if self._log_dir is None:
            return record
        try:
            self.saved_to = codec.save(record, _free_name(self._log_dir))
        except (OSError, TypeError, ValueError) as error:
            reason = f"{type(error).__name__}: {error}"
            logger.warning("bottleneck_kit: the record could not be saved (%s)", reason)
            return replace(record, unavailable={**record.unavailable, "saved record": reason})
        return record

    def _speaks(self) -> bool:
        return self._prints and is_first_process(self.model)

    def _warn_not_training(self, called: str) -> None:
        if not self._warned:
            self._warned = True
            logger.warning(
                "BottleneckCallback expected model.fit, received model.%s, which does not train: "
                "nothing is recorded. Pass the callback to fit.",
                called,
            )


def _report(record: RunRecord) -> Report:
    analysis = analyse(record)
    return Report(
        record=record,
        evidence=analysis.evidence,
        diagnosis=analysis.diagnosis,
        plan=analysis.plan,
    )


def _free_name(folder: Path) -> Path:
    """Gives the first of record.json, record-2.json, ... that is not there: none is replaced."""
    path, number = folder / "record.json", 1
    while path.exists():
        number += 1
        path = folder / f"record-{number}.json"
    return path


def _is_interval(value: Any) -> bool:
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        return False
    return LEAST_INTERVAL_S <= float(value) <= MOST_INTERVAL_S
