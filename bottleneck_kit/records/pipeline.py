"""The pipeline of one fit: its stages and the model they were measured with."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from bottleneck_kit.records.live_model import LiveModel
from bottleneck_kit.records.measurement import Missing
from bottleneck_kit.records.stage import Stage


@dataclass(frozen=True)
class Pipeline:
    """The dataset that ``fit`` iterates, as stages.

    Attributes:
        stages: The main line, source first. Branches hang on the stage they feed.
        live: AUTOTUNE's model, or Missing with the reason.
        options: Options of the dataset that matter for speed, as plain values
            (``autotune.enabled``, ``deterministic``, ``threading.private_threadpool_size``, ...),
            only those that were set.
        unmatched_nodes: Live nodes that no stage of the user explains (injected prefetch, ...).
    """

    stages: tuple[Stage, ...]
    live: LiveModel | Missing = field(default_factory=lambda: Missing("not read"))
    options: dict[str, bool | int | float | str | None] = field(default_factory=dict)
    unmatched_nodes: tuple[str, ...] = ()

    def walk(self) -> Iterator[Stage]:
        """Gives every stage, those of branches before the stage they feed."""

        def visit(stages: tuple[Stage, ...]) -> Iterator[Stage]:
            for stage in stages:
                for branch in stage.branches:
                    yield from visit(branch)
                yield stage

        yield from visit(self.stages)
