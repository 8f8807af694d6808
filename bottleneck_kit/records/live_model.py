"""AUTOTUNE's model of the running iterator, joined over passes."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class LiveNode:
    """One node of the optimised graph, with what it did while it was watched.

    Attributes:
        name: Its name in the optimised graph, such as ``ParallelMapV2``.
        elements: Elements it produced.
        processing_s: Thread seconds it spent (wall time inside its own threads, inputs apart;
            inflated where cores are contended), for ``elements``.
        bytes_produced: Bytes of those elements.
        ratio: Input elements it takes for one of its own, as the model states it (64 for a
            batch of 64); 0 where it does not.
        parallelism: Parallel calls in use; None where it is serial by kind.
        parallelism_tunable: Whether AUTOTUNE sets it.
        buffer_size: Elements its buffer holds; None where it has none.
        buffered_elements: Mean of the elements found in its buffer over the readings.
        inputs: The nodes it reads from.
    """

    name: str
    elements: int
    processing_s: float
    bytes_produced: int
    ratio: float = 0.0
    parallelism: int | None = None
    parallelism_tunable: bool = False
    buffer_size: int | None = None
    buffered_elements: float = 0.0
    inputs: tuple[LiveNode, ...] = field(default=())


@dataclass(frozen=True)
class LiveModel:
    """The joined model of a fit's iterators.

    Attributes:
        root: The last node before the consumer.
        readings: How often it was read.
        passes: How many iterators were watched.
        cpu_budget: Threads AUTOTUNE may plan with.
        ram_budget_bytes: Memory AUTOTUNE may plan with.
    """

    root: LiveNode
    readings: int
    passes: int
    cpu_budget: int = 0
    ram_budget_bytes: int = 0
