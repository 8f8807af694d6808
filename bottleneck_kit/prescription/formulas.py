"""The formulas behind the advice that are not a predicted step: break-even, buffers, machines."""

from __future__ import annotations

import math


def share_of_gap_closed(base_s: float, fixed_s: float, ideal_s: float) -> float | None:
    """Gives ``(t_base - t_fix) / (t_base - t_ideal)``; None where there is no gap to close.

    Source: the article's table, which counts each step so; DS-Analyzer (Mohan et al., VLDB 2021)
    splits the stall the same way.
    """
    gap_s = base_s - ideal_s
    return (base_s - fixed_s) / gap_s if gap_s > 0 else None


def bake_break_even_epochs(bake_s: float, before_s: float, after_s: float) -> float:
    """Gives the epochs after which baking the data has paid, ``T_bake / (T_before - T_after)``.

    Args:
        bake_s: Seconds that preparing the data once takes.
        before_s: Seconds of an epoch now.
        after_s: Seconds of an epoch on the baked data.

    Returns:
        Epochs; infinity where an epoch gets no shorter. Source: equating both totals.
    """
    saved_s = before_s - after_s
    return bake_s / saved_s if saved_s > 0 else math.inf


def empty_buffer_probability(consumer_s: float, producer_s: float, buffer_size: int) -> float:
    """Gives how likely the consumer finds the buffer empty.

    ``P = (1 - r) / (1 - r ** (n + 1))`` with ``r = consumer / producer``: the probability of the
    empty state of an M/M/1/n queue, as tf.data's own model of an asynchronous iterator has it.

    Args:
        consumer_s: Seconds the consumer takes for an element; above 0.
        producer_s: Seconds the producer takes for one; above 0.
        buffer_size: Elements the buffer holds, n.
    """
    ratio = consumer_s / producer_s
    if math.isclose(ratio, 1.0, rel_tol=1e-9):
        return 1 / (buffer_size + 1)
    if ratio > 1:
        # The same with both sides divided by r ** (n + 1): large powers must not overflow.
        inverse = 1 / ratio
        return (1 - inverse) * inverse**buffer_size / (1 - inverse ** (buffer_size + 1))
    return (1 - ratio) / (1 - ratio ** (buffer_size + 1))


def buffer_that_hides(
    consumer_s: float, producer_s: float, *, at_most: float, largest: int = 64
) -> int | None:
    """Gives the smallest buffer with ``P(empty) <= at_most``; None where ``largest`` is too small.

    Source: ``empty_buffer_probability``.
    """
    for size in range(1, largest + 1):
        if empty_buffer_probability(consumer_s, producer_s, size) <= at_most:
            return size
    return None


def service_workers(moved_cpu_s: float, ideal_s: float, cores_per_worker: float) -> int:
    """Gives the tf.data service workers needed, ``ceil(moved CPU / (t_ideal * cores a worker))``.

    Source: the work of a step has to be done within an ideal step; FastFlow (Um et al., VLDB
    2023) sizes its offloading by the same balance.

    Args:
        moved_cpu_s: CPU seconds a step that move to the workers.
        ideal_s: Seconds of the ideal step; above 0.
        cores_per_worker: Cores of one worker; above 0.
    """
    return max(1, math.ceil(moved_cpu_s / (ideal_s * cores_per_worker) - 1e-9))


def cores_to_feed(cpu_s: float, ideal_s: float) -> int:
    """Gives the cores that would feed this accelerator, ``ceil(cpu_pipe / t_ideal)``.

    Source: the article's first thought; Plumber (MLSys 2022) for CPU seconds as the bound.
    """
    return max(1, math.ceil(cpu_s / ideal_s - 1e-9))
