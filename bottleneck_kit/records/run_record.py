"""The record of one run: all that was observed, nothing that was concluded."""

from __future__ import annotations

from dataclasses import dataclass, field

from bottleneck_kit.records.environment import Environment
from bottleneck_kit.records.held_batch import HeldBatchRun
from bottleneck_kit.records.job import Job
from bottleneck_kit.records.measurement import Missing
from bottleneck_kit.records.overhead import Overhead
from bottleneck_kit.records.pipeline import Pipeline
from bottleneck_kit.records.stack_samples import StackSamples
from bottleneck_kit.records.steps import Epoch, StepTimes
from bottleneck_kit.records.utilization import Utilization

SCHEMA = 1
"""Raised whenever a field changes its meaning. Older records load, with defaults."""


def _not_recorded() -> Missing:
    return Missing("not recorded")


@dataclass(frozen=True)
class RunRecord:
    """What was observed during one fit (or one ``diagnose``), before any judgement.

    Attributes:
        environment: Machine and software.
        job: Model and call of fit.
        steps: Times of the executions, or Missing where none was seen.
        epochs: The epochs, at most 1024: the first and the last 512 of a longer run.
        pipeline: The dataset as stages with their costs, or Missing with the reason.
        held_batch: The probe's result, or Missing with the reason.
        stack: Where the training thread was found, or Missing with the reason.
        traces: How often the train function was traced during the fit, or Missing.
        overhead: What the kit cost, or Missing.
        accelerator_emulated_ms: Milliseconds of an emulated accelerator; 0 where it is real.
        origin: "fit", "diagnose" or "capture".
        ended: "completed", "interrupted" or "exception <class>"; "running" for a look midway.
        created_at: ISO 8601 time, UTC.
        fit_s: Seconds from begin to end of fit.
        unavailable: What failed beside these fields: instrument -> reason.
        notes: Sentences the report repeats as they are (e.g. that shuffles moved on).
        schema: See SCHEMA.
        utilization: What the machine was doing, or Missing with the reason.
    """

    environment: Environment
    job: Job
    steps: StepTimes | Missing = field(default_factory=_not_recorded)
    epochs: tuple[Epoch, ...] = ()
    pipeline: Pipeline | Missing = field(default_factory=_not_recorded)
    held_batch: HeldBatchRun | Missing = field(default_factory=_not_recorded)
    stack: StackSamples | Missing = field(default_factory=_not_recorded)
    traces: int | Missing = field(default_factory=_not_recorded)
    overhead: Overhead | Missing = field(default_factory=_not_recorded)
    accelerator_emulated_ms: float = 0.0
    origin: str = "fit"
    ended: str = "completed"
    created_at: str = ""
    fit_s: float = 0.0
    unavailable: dict[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    schema: int = SCHEMA
    utilization: Utilization | Missing = field(default_factory=_not_recorded)
