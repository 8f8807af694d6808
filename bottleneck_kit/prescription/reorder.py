"""Remedy ``reorder``: filter early, shuffle small things, cache before repeat."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from bottleneck_kit.prescription import snippet
from bottleneck_kit.prescription.change import Change
from bottleneck_kit.prescription.remedy import Remedy
from bottleneck_kit.prescription.stage_load import stage_seconds
from bottleneck_kit.prescription.stage_order import (
    bytes_of,
    elements_per_step,
    is_random,
    main_line,
    named,
    repeats_exactly,
)
from bottleneck_kit.prescription.what_if import predict
from bottleneck_kit.records.diagnosis import Diagnosis
from bottleneck_kit.records.evidence import Evidence, StageEvidence
from bottleneck_kit.records.measurement import Missing
from bottleneck_kit.records.plan import Prescription
from bottleneck_kit.units import format_bytes

SHUFFLE_GROWTH = 2.0
"""Growth of an element through maps from which shuffling before them is worth the move."""

SHUFFLE_MEMORY_SHARE = 0.1
"""Share of the memory limit saved from which the move is offered unasked."""

Line = tuple[StageEvidence, ...]


class Reorder(Remedy):
    """Swaps neighbours whose order does not change what is trained on, only what it costs."""

    name: ClassVar[str] = "reorder"
    safety: ClassVar[str] = "reorders"
    effort: ClassVar[int] = 1

    def prescriptions(self, evidence: Evidence, diagnosis: Diagnosis) -> Iterable[Prescription]:
        """Gives one for each filter, shuffle or cache that stands in the wrong place."""
        line = main_line(evidence)
        for position, one in enumerate(line):
            if one.stage.kind == "filter":
                yield from self._filter_early(evidence, diagnosis, line, position)
            elif one.stage.kind == "shuffle":
                yield from self._shuffle_early(evidence, diagnosis, line, position)
            elif one.stage.kind == "cache":
                yield from self._cache_before_repeat(evidence, diagnosis, line, position)

    def why_not(self, evidence: Evidence, diagnosis: Diagnosis) -> str:
        """Says that each of the three stands well."""
        return "filter, shuffle, cache and repeat stand in an order that costs nothing extra"

    def _filter_early(
        self, evidence: Evidence, diagnosis: Diagnosis, line: Line, position: int
    ) -> Iterable[Prescription]:
        filtering = line[position]
        maps = _maps_before(line, position)
        if not maps or not all(repeats_exactly(one) for one in (*maps, filtering)):
            return
        passed, taken = elements_per_step(filtering), elements_per_step(maps[-1])
        if passed is None or taken is None or not 0 < passed < taken:
            return
        findings = self.asked_by(diagnosis, [filtering.stage.index])
        kept = {one.stage.index: passed / taken for one in maps}
        prediction = predict(evidence, Change(kept=kept))
        if not self.worth_giving(evidence, prediction, findings):
            return
        name = snippet.function_name(filtering.stage)
        note = snippet.comment(
            f"{name} has to decide from what it gets there, in front of {maps[0].stage.name}"
        )
        calls = [snippet.call(filtering.stage), *(snippet.call(one.stage) for one in maps)]
        yield self.give(
            prediction,
            stage=filtering.stage.index,
            cost="lines moved, if the condition can be told earlier",
            text=f"{filtering.stage.name} throws away {1 - passed / taken:.0%} of what "
            f"{named(maps)} worked on. In front of them, that work is not done.",
            snippet=f"{note}\n{snippet.assignments(*calls)}",
            findings=findings,
            safety="exact",
        )

    def _shuffle_early(
        self, evidence: Evidence, diagnosis: Diagnosis, line: Line, position: int
    ) -> Iterable[Prescription]:
        shuffle = line[position]
        maps = _maps_before(line, position)
        if not maps or any(is_random(one) or one.stage.traits.stateful for one in maps):
            return
        small = maps[0].stage.input_bytes
        if small is None and position > len(maps):
            before = bytes_of(line[position - len(maps) - 1])
            small = None if before is None else int(before)
        large = bytes_of(maps[-1])
        if small is None or large is None or large < SHUFFLE_GROWTH * small:
            return
        size = shuffle.stage.options.get("buffer_size")
        if not isinstance(size, int) or size < 1:
            return
        saved = size * (large - small)
        limit = evidence.environment.memory_limit_bytes
        much = not isinstance(limit, Missing) and saved >= SHUFFLE_MEMORY_SHARE * limit
        findings = self.asked_by(diagnosis, [shuffle.stage.index])
        if not findings and not much:
            return
        calls = [snippet.call(shuffle.stage), *(snippet.call(one.stage) for one in maps)]
        yield self.give(
            predict(evidence, Change()),
            stage=shuffle.stage.index,
            cost="lines moved",
            text=f"The shuffle buffer holds {size} elements as {named(maps)} left them. Shuffled "
            f"before, it takes {format_bytes(saved)} less, and the first step of each pass does "
            "not wait for that many to be made; steps in between take as long as now.",
            snippet=snippet.assignments(*calls),
            findings=findings,
        )

    def _cache_before_repeat(
        self, evidence: Evidence, diagnosis: Diagnosis, line: Line, position: int
    ) -> Iterable[Prescription]:
        repeats = [one for one in line[:position] if one.stage.kind == "repeat"]
        if not repeats:
            return
        cache = line[position]
        findings = self.asked_by(diagnosis, [cache.stage.index])
        front = [
            one
            for one in line[:position]
            if one.stage.kind != "repeat" and one.stage.index in stage_seconds(evidence)
        ]
        if any(is_random(one) or not repeats_exactly(one) for one in line[:position]):
            return
        if not front:
            return
        prediction = predict(evidence, Change(kept={one.stage.index: 0.0 for one in front}))
        if not self.worth_giving(evidence, prediction, findings):
            return
        yield self.give(
            prediction,
            stage=cache.stage.index,
            cost="two lines swapped",
            text="The cache stands behind repeat, so that it never completes and keeps growing "
            "instead of being read. In front of repeat it serves every pass but the first.",
            snippet=snippet.assignments(snippet.call(cache.stage), snippet.call(repeats[-1].stage)),
            findings=findings,
            safety="exact",
        )


def _maps_before(line: Line, position: int) -> Line:
    start = position
    while start > 0 and line[start - 1].stage.kind == "map":
        start -= 1
    return line[start:position]
