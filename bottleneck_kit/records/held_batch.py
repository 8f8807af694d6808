"""What the cached-single-batch probe measured."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class HeldBatchRun:
    """Times of the train function on one batch used again and again: input for free.

    Attributes:
        call_s: Seconds inside the train function for each timed execution; the first third is
            cut as warm-up.
        cpu_s: CPU seconds of the whole process for each of them.
        steps_per_execution: Batches in each of them.
        function: "own" where the fit's own compiled function was timed, "fresh" where a
            function made anew was, because the own one keeps random state in its kernels.
        batch_bytes: Bytes of the held batch.
        cost_s: Seconds the whole probe took, saving and restoring included.
        restored_variables: How many variables were put back.
    """

    call_s: tuple[float, ...]
    cpu_s: tuple[float, ...]
    steps_per_execution: int
    function: str = "own"
    batch_bytes: int = 0
    cost_s: float = 0.0
    restored_variables: int = 0
