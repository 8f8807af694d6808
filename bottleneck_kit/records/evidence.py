"""The named numbers a diagnosis rests on, each with its spread or the reason it is missing."""

from __future__ import annotations

from dataclasses import dataclass, field

from bottleneck_kit.records.environment import Environment
from bottleneck_kit.records.job import Job
from bottleneck_kit.records.measurement import Measurement, Missing
from bottleneck_kit.records.stage import Stage

Number = Measurement | Missing


def _missing() -> Missing:
    return Missing("not computed")


@dataclass(frozen=True)
class StageEvidence:
    """A stage and what it costs, as rules and remedies read it.

    Attributes:
        stage: The stage itself.
        cost_s: Thread seconds a step, or Missing.
        share: Share (0 to 1) of the thread seconds of all stages with a cost, or Missing.
        bound_s: Seconds a step that this stage alone imposes: ``cost_s`` where it is serial,
            ``cost_s / min(parallelism, usable cores)`` where it is parallel; or Missing.
        parallelism: Parallel calls in use, or None where not known.
        serial: Whether it works on one element at a time; None where not known.
        behind_batch: Whether its input is already a batch.
        reads: Whether the data comes from it: it has no input of its own, or it opens files.
    """

    stage: Stage
    cost_s: float | Missing
    share: float | Missing
    bound_s: float | Missing
    parallelism: int | None = None
    serial: bool | None = None
    behind_batch: bool = False
    reads: bool = False


@dataclass(frozen=True)
class CallbackEvidence:
    """A callback of the user and the time it takes on the training thread.

    Attributes:
        name: Class name.
        hook: Hook it was found in.
        step_s: Seconds a step (time of the hook spread over all steps), with its interval.
        share: Share (0 to 1) of the fit's time.
        per_batch: Whether the hook is called for each batch (else at epochs' ends).
    """

    name: str
    hook: str
    step_s: Measurement
    share: float
    per_batch: bool


@dataclass(frozen=True)
class Evidence:
    """Numbers from one record. Times are seconds a step (batch) in steady state, unless said.

    Attributes:
        environment: Machine and software, as recorded.
        job: Model and call of fit, as recorded.
        steady_steps: How many steady steps the numbers rest on.
        step_s: Real time of a step, ``t_base`` (median of call + host; where slow steps recur,
            so that the median would hide them, the mean with the outermost 5 % pulled in).
        call_s: The part inside the train function.
        host_s: The part between two calls: Keras' loop and callbacks.
        callback_step_s: The part of ``host_s`` that is callbacks of the user called each batch.
        held_call_s: Time of the train function on the held batch.
        ideal_step_s: ``t_ideal``: ``held_call_s`` plus ``host_s``; without a held batch, the step
            less the wait that the gap told.
        wait_s: Time the step waits for its input.
        wait_source: "gap" (step less gap, exact) or "held batch" (``t_base - t_ideal``, an upper
            bound: the held batch is fast for other reasons, too), "" where wait_s is missing.
        input_share: ``wait_s / step_s``.
        unexplained_s: ``step_s - ideal_step_s - wait_s`` where the wait is from the gap: what
            the held batch is faster by for other reasons (contention, shapes); never input.
        cpu_step_s: CPU seconds of the whole process a step in training.
        cpu_held_s: ``cpu_step``: CPU seconds of the process a step on the held batch.
        cpu_pipe_s: ``cpu_pipe``: the difference.
        cpu_share: ``cpu_step_s / (usable cores * step_s)``: 1 is saturated.
        usable_cores: Cores the process may use.
        reachable_step_s: What tuning this machine could reach, see ``evidence/reach.py``.
        limited_by: What sets ``reachable_step_s``: "ideal step", "serial stage NAME", "python
            stage NAME", "cpu"; "" where missing.
        stages: Every stage, branches included, in data order.
        source_s: Thread seconds a step of the stages that read (files, generators), or Missing.
        overlap_share: Share (0 to 1) of the pipeline's own serial time that is hidden behind the
            step: 1 - wait / (time the pipeline needs for a batch); low means no overlap.
        callbacks: Callbacks of the user seen on the training thread.
        first_call_s: Seconds of the fit's first call (tracing, compilation, buffer fill).
        warm_up_s: Seconds from the first call until the steps were steady.
        warm_up_share: That, as a share of the fit.
        warm_up_steps: Steps cut as warm-up.
        validation_share: Share (0 to 1) of the fit inside ``evaluate``.
        validation_s: Seconds of it an epoch.
        epoch_end_share: Share of the fit between epochs, validation apart (checkpoints, ...).
        recompiles: Traces of the train function after the first execution.
        recompile_s: Seconds of the calls in which that happened, together.
        slow_call_share: Share of steady calls over four times the median.
        step_spread: Ratio of the 90th to the 10th percentile of steady steps.
        fit_s: Seconds of the whole fit.
        epochs: Epochs seen.
        pipeline_options: Speed-relevant options set on the dataset.
        has_pipeline: Whether stages are known, or Missing with the reason.
        prefetch_at_end: Whether the last stage (or an injected node) is a prefetch; None unknown.
        autotune: The values AUTOTUNE chose: stage label -> value.
        emulated_ms: Milliseconds of an emulated accelerator; 0 where real.
        unavailable: Instrument or field -> reason, for all that could not be had.
        refill_s: Seconds that the first call of a later epoch takes beyond a usual one (buffers
            filled anew); the first epoch, which compiles, is left out.
        supply_s: Seconds the pipeline alone needs for a batch with all stages overlapped: the most
            of the stages' bounds and of their thread seconds through the usable cores. Missing
            unless every stage's cost is known.
        prepare_s: Seconds to prepare a batch with nothing overlapped but a stage's own parallel
            calls: the sum of the stages' bounds that are known.
        other_cores: Of the cores this process may use, those that other processes kept busy, mean
            over the fit, between its 5th and its 95th percentile.
        pass_steps: Steps of one pass over data that do not know their number: those of an epoch
            that ended with the data; or Missing.
    """

    environment: Environment
    job: Job
    steady_steps: int = 0
    step_s: Number = field(default_factory=_missing)
    call_s: Number = field(default_factory=_missing)
    host_s: Number = field(default_factory=_missing)
    callback_step_s: Number = field(default_factory=_missing)
    held_call_s: Number = field(default_factory=_missing)
    ideal_step_s: Number = field(default_factory=_missing)
    wait_s: Number = field(default_factory=_missing)
    wait_source: str = ""
    input_share: Number = field(default_factory=_missing)
    unexplained_s: Number = field(default_factory=_missing)
    cpu_step_s: Number = field(default_factory=_missing)
    cpu_held_s: Number = field(default_factory=_missing)
    cpu_pipe_s: Number = field(default_factory=_missing)
    cpu_share: Number = field(default_factory=_missing)
    usable_cores: float = 1.0
    reachable_step_s: Number = field(default_factory=_missing)
    limited_by: str = ""
    stages: tuple[StageEvidence, ...] = ()
    source_s: Number = field(default_factory=_missing)
    overlap_share: Number = field(default_factory=_missing)
    callbacks: tuple[CallbackEvidence, ...] | Missing = field(default_factory=_missing)
    first_call_s: Number = field(default_factory=_missing)
    warm_up_s: Number = field(default_factory=_missing)
    warm_up_share: Number = field(default_factory=_missing)
    warm_up_steps: int = 0
    validation_share: Number = field(default_factory=_missing)
    validation_s: Number = field(default_factory=_missing)
    epoch_end_share: Number = field(default_factory=_missing)
    recompiles: int | Missing = field(default_factory=_missing)
    recompile_s: Number = field(default_factory=_missing)
    slow_call_share: Number = field(default_factory=_missing)
    step_spread: Number = field(default_factory=_missing)
    fit_s: float = 0.0
    epochs: int = 0
    pipeline_options: dict[str, bool | int | float | str | None] = field(default_factory=dict)
    has_pipeline: bool | Missing = False
    prefetch_at_end: bool | None = None
    autotune: dict[str, float] = field(default_factory=dict)
    emulated_ms: float = 0.0
    unavailable: dict[str, str] = field(default_factory=dict)
    refill_s: Number = field(default_factory=_missing)
    supply_s: Number = field(default_factory=_missing)
    prepare_s: Number = field(default_factory=_missing)
    other_cores: Number = field(default_factory=_missing)
    pass_steps: int | Missing = field(default_factory=_missing)
