"""The times of steps and epochs, thinned so that a run of a million steps stays small."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Execution:
    """One call of the train function; it works through ``steps`` batches.

    The period of an execution is ``call_s + host_s``: from its start to the next one's start.

    Attributes:
        index: Its number within the fit, from 0.
        epoch: The epoch it belongs to, as Keras counts.
        steps: Batches in it; the last of an epoch may hold fewer than the others.
        call_s: Seconds inside the train function: fetch, copy and compute.
        host_s: Seconds from its return to the start of the next call in the same epoch (Keras'
            loop and callbacks); None for the last of an epoch.
        cpu_s: CPU seconds of the whole process (all threads) during the period; None where
            ``host_s`` is.
        gap_s: Seconds between the end of this execution's fetch and the start of the next
            fetch, from the live pipeline; None where not known. With one step an execution,
            ``call_s + host_s - gap_s`` is the time this execution waited for its input.
        traced: Whether the train function was traced (compiled) during the call.
        taken: Whether this call took the held batch, so that its time is not representative.
        kit_s: Seconds the kit's own work took inside the period (reading the live pipeline).
    """

    index: int
    epoch: int
    steps: int
    call_s: float
    host_s: float | None
    cpu_s: float | None = None
    gap_s: float | None = None
    traced: bool = False
    taken: bool = False
    kit_s: float = 0.0


@dataclass(frozen=True)
class StepTimes:
    """The executions of one fit.

    Attributes:
        executions: How many there were in all.
        steps: How many batches in all.
        kept: Those kept, in order: the first 64 of the fit, and from the rest an even choice of
            every ``stride``-th, at most 4096 in all. Medians from it are those of the whole.
        stride: See ``kept``; 1 means that every execution was kept.
        total_call_s: Sum of ``call_s`` over all executions.
    """

    executions: int
    steps: int
    kept: tuple[Execution, ...]
    stride: int = 1
    total_call_s: float = 0.0


@dataclass(frozen=True)
class Epoch:
    """One epoch of the fit.

    Attributes:
        index: Its number, as Keras counts.
        duration_s: From on_epoch_begin to on_epoch_end's call of the kit, validation included.
        executions: Calls of the train function in it.
        steps: Batches in it.
        first_call_s: Seconds of its first call (buffer fill shows here), None without a step.
        validation_s: Seconds in ``evaluate`` within it; 0 where there was none.
        end_s: Seconds from the end of its last call (and of validation) to the start of the
            next epoch's first call or the end of fit: callbacks at the epoch's end, such as
            checkpoints, and the restart of the iterator; None where not known.
    """

    index: int
    duration_s: float
    executions: int
    steps: int
    first_call_s: float | None
    validation_s: float = 0.0
    end_s: float | None = None
