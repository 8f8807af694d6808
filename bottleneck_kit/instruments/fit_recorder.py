"""Runs all instruments beside one ``fit`` and freezes what they saw into a RunRecord."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime, timezone
from typing import Any

from bottleneck_kit.instruments.environment import bare_environment, read_environment
from bottleneck_kit.instruments.fit_hook import FitHook, FitListener
from bottleneck_kit.instruments.held_batch import time_held_batch
from bottleneck_kit.instruments.job_reader import read_job
from bottleneck_kit.instruments.live_pipeline import LivePipeline
from bottleneck_kit.instruments.sampler import UtilizationSampler
from bottleneck_kit.instruments.step_times import EpochsRecorder, OpenEpoch, StepTimesRecorder
from bottleneck_kit.pipeline.costs import fit_costs
from bottleneck_kit.pipeline.stages import read_options, read_stages
from bottleneck_kit.records.job import Job
from bottleneck_kit.records.measurement import Missing, present
from bottleneck_kit.records.overhead import Overhead
from bottleneck_kit.records.pipeline import Pipeline
from bottleneck_kit.records.run_record import RunRecord
from bottleneck_kit.records.steps import Execution

# Executions between two readings of the live pipeline. It keeps the last 100 gaps, so that no
# interval may be over 99; a reading costs 0.2 to 1.3 ms. Young iterators are read more often:
# many jobs have short epochs, and the first verdict is wanted soon.
READ_EVERY = 50
READ_EVERY_YOUNG = 20
YOUNG = 200


class FitRecorder(FitListener):
    """Listens to one fit. Nothing in here may raise into it.

    Args:
        model: The model in fit.
        probe: Whether to time the held batch at the end of training.
        epochs: Epochs asked for.
        steps_per_epoch: Batches an epoch where Keras knows it, else None.
        sample_interval_s: Seconds between two samples of the machine.
        origin: "fit" or "diagnose".
        notes: Sentences that the report repeats.
        on_step: Called on the training thread after each execution, with this recorder.
        on_abort: Called with this recorder when fit ended without on_train_end, from
            another thread.
    """

    def __init__(
        self,
        model: Any,
        *,
        probe: bool,
        epochs: int,
        steps_per_epoch: int | None,
        sample_interval_s: float = 0.25,
        origin: str = "fit",
        notes: tuple[str, ...] = (),
        on_step: Callable[[FitRecorder], None] | None = None,
        on_abort: Callable[[FitRecorder], None] | None = None,
    ) -> None:
        self.unavailable: dict[str, str] = {}
        self.notes = notes
        self.ended = "running"
        self._model = model
        self._probe = probe
        self._epochs_asked = epochs
        self._steps_per_epoch = steps_per_epoch
        self._origin = origin
        self._on_step = on_step
        self._on_abort = on_abort
        self._steps = StepTimesRecorder()
        self._epochs = EpochsRecorder()
        self._live = LivePipeline()
        self._held_batch: Any = Missing("probe=False" if not probe else "training still runs")
        self._stages: tuple[Any, ...] | Missing | None = None
        self._options: dict[str, Any] = {}
        self._first_call_s: float | None = None
        self._probe_s = 0.0
        self._job_at_end: Job | None = None
        self.report_s = 0.0
        self._created_at = datetime.now(timezone.utc).isoformat(timespec="seconds")
        with self._guarded("environment", bare_environment()) as environment:
            environment.value = read_environment()
        self._environment = environment.value
        self._begin_s = time.perf_counter()
        self._end_s: float | None = None
        self._iterator_first_index = 0
        self._next_read = READ_EVERY_YOUNG
        self._epoch: OpenEpoch | None = None
        self._epoch_end_s: float | None = None
        self._call_start_s = self._begin_s
        self._call_end_s: float | None = None
        self._emulated_ms = sum(
            float(getattr(layer, "emulated_ms", 0) or 0) for layer in _layers(model)
        )
        self.hook = FitHook.acquire(model)
        if probe:
            self.hook.want_held_batch()
        self.hook.add(self)
        self._sampler = UtilizationSampler(sample_interval_s)
        with self._guarded("utilization"):
            self._sampler.start()

    # What the callback passes on from Keras' hooks.

    def epoch_begin(self, epoch: int) -> None:
        """Keras begins an epoch."""
        self.hook.epoch_begin(epoch)
        self._epoch = OpenEpoch(epoch, time.perf_counter())

    def epoch_end(self, epoch: int) -> None:
        """Keras has ended an epoch, validation included."""
        self.hook.epoch_end(epoch)  # gives the last execution
        now_s = time.perf_counter()
        with self._guarded("live pipeline"):
            self._read_live(last=True)
        self._steps.settle()
        open_epoch, self._epoch = self._epoch, None
        if open_epoch is not None:
            self._epochs.add(open_epoch.close(now_s))
            self._epoch_end_s = (self._call_end_s or now_s) + open_epoch.validation_s

    def validation_begin(self) -> None:
        """Keras begins ``evaluate`` within fit."""
        self.hook.validation_begin()
        if self._epoch is not None:
            self._epoch.validation_began_s = time.perf_counter()

    def validation_end(self) -> None:
        """Keras has ended ``evaluate`` within fit."""
        self.hook.validation_end()
        if self._epoch is not None and self._epoch.validation_began_s is not None:
            self._epoch.validation_s += time.perf_counter() - self._epoch.validation_began_s
            self._epoch.validation_began_s = None

    def train_end(self) -> None:
        """Keras ends the training: the probe runs now, then everything is let go."""
        self.ended = "completed"
        self._finish(probe=self._probe)

    # What the hook tells, on the training thread.

    def on_iterator(self, iterator: Any, dataset: Any) -> None:
        """A new iterator is in use."""
        self._iterator_first_index = self.hook.executions
        self._next_read = self.hook.executions + min(READ_EVERY_YOUNG, 8)
        with self._guarded("live pipeline"):
            self._live.start(iterator, dataset)

    def before_execution(self, index: int) -> None:
        """The train function is about to be called."""
        if index >= self._next_read:
            young = index - self._iterator_first_index < YOUNG
            self._next_read = index + (READ_EVERY_YOUNG if young else READ_EVERY)
            self._read_live()
            self._steps.settle(keep_last=2)
        now_s = time.perf_counter()
        if self._epoch_end_s is not None:
            self._epochs.amend_last(end_s=max(0.0, now_s - self._epoch_end_s))
            self._epoch_end_s = None
        self._call_start_s = now_s

    def on_execution(self, execution: Execution) -> None:
        """An execution is complete."""
        self._call_end_s = self._call_start_s + execution.call_s
        if self._first_call_s is None:
            self._first_call_s = execution.call_s
        self._steps.add(execution)
        if self._epoch is not None:
            self._epoch.add(execution)
        if self._on_step is not None:
            self._on_step(self)

    def on_fit_end(self, ended: str) -> None:
        """The hook noticed the end of fit; unless train_end came first, fit was cut off."""
        if self.ended != "running":
            return
        self.ended = ended
        self._held_batch = Missing(f"fit did not complete ({ended})")
        self._finish(probe=False)
        if self._on_abort is not None:
            self._on_abort(self)

    # The record.

    @property
    def executions(self) -> int:
        """How many executions were seen."""
        return self._steps.executions

    def is_in_fit(self) -> bool:
        """Says whether the fit it listens to is still on the calling thread's stack."""
        return self.hook.ended is None and not self.hook.watch.is_gone()

    def freeze(self) -> RunRecord:
        """Gives the record of what was seen so far."""
        pipeline = self._pipeline()
        with self._guarded("stack samples", Missing("the samples could not be read")) as stack:
            stack.value = self.hook.watch.freeze()
        with self._guarded("utilization", Missing("the samples could not be read")) as sampled:
            sampled.value = self._sampler.freeze()
        return RunRecord(
            environment=self._environment,
            job=self._job_at_end or self._job(),
            steps=self._steps.freeze() if self._steps.executions else _no_step(self.hook),
            epochs=self._epochs.freeze(),
            pipeline=pipeline,
            held_batch=self._held_batch,
            stack=stack.value,
            traces=self.hook.traces,
            overhead=self.overhead(),
            accelerator_emulated_ms=self._emulated_ms,
            origin=self._origin,
            ended=self.ended,
            created_at=self._created_at,
            fit_s=self._fit_s(),
            unavailable={**self.hook.failures, **self.unavailable},
            notes=self.notes,
            utilization=sampled.value,
        )

    def _finish(self, *, probe: bool) -> None:
        self._end_s = time.perf_counter()
        with self._guarded("utilization"):
            self._sampler.stop()
        with self._guarded("pipeline"):
            self._read_stages()
        if probe:
            began_s = time.perf_counter()
            with self._guarded("held batch", Missing("the probe failed")) as held:
                held.value = time_held_batch(
                    self._model,
                    self.hook,
                    # The probe's budget is a share of the fit; a diagnosis is there to measure.
                    fit_s=math.inf if self._origin == "diagnose" else self._end_s - self._begin_s,
                    first_call_s=self._first_call_s or 0.0,
                )
            self._held_batch = held.value
            self._probe_s = time.perf_counter() - began_s
        # The job is read while model and held batch are still there.
        self._job_at_end = self._job()
        self._steps.settle()
        self.hook.release()

    def _read_live(self, *, last: bool = False) -> None:
        gaps = self._live.read()
        if not present(gaps) or self.hook.steps_per_execution != 1:
            # With several steps an execution the gap is not the time of the step (FACTS).
            return
        in_iterator = self._steps.executions - self._iterator_first_index
        if last and len(gaps) != in_iterator - 1:
            # The end of data may have been asked for once more: which gap is whose is open.
            return
        # Execution i's gap is complete when execution i + 1 has asked for its batch. At this
        # moment all executions counted have returned and none has asked again.
        self._steps.assign_gaps(gaps, self._steps.executions - 2)

    def _read_stages(self) -> None:
        if self._stages is not None:
            return
        dataset = self.hook.dataset
        if dataset is None:
            self._stages = Missing("the iterator in use names no tf.data.Dataset")
            return
        self._stages = Missing("the dataset could not be read")
        self._stages = read_stages(dataset)
        self._options = read_options(dataset)

    def _pipeline(self) -> Pipeline | Missing:
        with self._guarded("pipeline"):
            self._read_stages()
        stages = self._stages
        if stages is None or not present(stages):
            return stages or Missing("no iterator was seen")
        with self._guarded("live pipeline", Missing("the live pipeline failed")) as live:
            live.value = self._live.freeze()
        if not present(live.value):
            return Pipeline(stages=stages, live=live.value, options=self._options)
        fitted: tuple[tuple[Any, ...], tuple[str, ...]] = (stages, ())
        with self._guarded("stage costs", fitted) as costs:
            costs.value = fit_costs(stages, live.value)
        return Pipeline(
            stages=costs.value[0],
            live=live.value,
            options=self._options,
            unmatched_nodes=costs.value[1],
        )

    def _job(self) -> Job:
        with self._guarded("job", self._bare_job()) as job:
            job.value = self._read_job()
        return job.value

    def _read_job(self) -> Job:
        held = self.hook.held
        stages = self._stages
        return read_job(
            self._model,
            epochs=self._epochs_asked,
            steps_per_epoch=self._steps_per_epoch,
            iterator=self.hook.iterator,
            dataset=self.hook.dataset,
            stages=stages if stages is not None and present(stages) else (),
            held=held if present(held) else None,
        )

    def _bare_job(self) -> Job:
        return Job(
            model="",
            parameters=Missing("the model could not be read"),
            epochs=self._epochs_asked,
            steps_per_epoch=self._steps_per_epoch,
            steps_per_execution=1,
            batch_size=Missing("the model could not be read"),
            jit_compile=False,
            run_eagerly=False,
        )

    def _fit_s(self) -> float:
        return (time.perf_counter() if self._end_s is None else self._end_s) - self._begin_s

    def overhead(self) -> Overhead:
        """Gives what the kit has cost so far; ``report_s`` grows after the record is frozen."""
        return Overhead(
            per_step_s=self.hook.own_s.median_s,
            hooks_s=self.hook.own_s.total_s,
            threads_cpu_s=self.hook.watch.cpu_s + self._sampler.cpu_s,
            probe_s=self._probe_s,
            report_s=self.report_s,
            fit_s=self._fit_s(),
        )

    @contextmanager
    def _guarded(self, instrument: str, default: Any = None) -> Iterator[_Value]:
        """Keeps what fails inside from reaching the training; the record names it."""
        value = _Value(default)
        try:
            yield value
        except Exception as error:
            reason = f"{type(error).__name__}: {error}"
            self.unavailable[instrument] = reason
            if isinstance(default, Missing):
                value.value = Missing(f"{default.reason} ({reason})")


class _Value:
    """A value that stays at its default where the block that sets it fails."""

    def __init__(self, value: Any) -> None:
        self.value = value


def _layers(model: Any) -> list[Any]:
    """Gives the layers of a model; none where a subclassed model does not tell."""
    try:
        return list(model.layers)
    except (AttributeError, ValueError):
        return []


def _no_step(hook: FitHook) -> Missing:
    return Missing(hook.failures.get("train function", "no step was trained"))
