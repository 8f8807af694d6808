"""Remedy ``cache``: keep what the deterministic front of the pipeline made, in memory."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from bottleneck_kit.prescription import snippet
from bottleneck_kit.prescription.change import Change
from bottleneck_kit.prescription.data_size import bytes_in_a_pass, size_clause
from bottleneck_kit.prescription.remedy import Remedy
from bottleneck_kit.prescription.stage_load import latency_left, stage_seconds
from bottleneck_kit.prescription.stage_order import (
    MOVES_DATA_ONLY,
    deterministic_front,
    in_memory,
    main_line,
    orders_at_random,
)
from bottleneck_kit.prescription.what_if import predict
from bottleneck_kit.records.diagnosis import Diagnosis
from bottleneck_kit.records.evidence import Evidence, StageEvidence
from bottleneck_kit.records.measurement import Missing
from bottleneck_kit.records.plan import Prescription
from bottleneck_kit.units import format_bytes

MEMORY_SHARE = 0.5
"""Share of the memory limit that a cache may take; the rest is for training itself."""


class Cache(Remedy):
    """Puts ``cache()`` behind the longest front that gives the same on every pass.

    Never behind a shuffle or a random stage (the draws and the order would be frozen), and in
    front of ``repeat``, where a pass ends and the cache is complete.
    """

    name: ClassVar[str] = "cache"
    safety: ClassVar[str] = "exact"
    effort: ClassVar[int] = 2

    def prescriptions(self, evidence: Evidence, diagnosis: Diagnosis) -> Iterable[Prescription]:
        """Gives one, at the last place of the front that fits into memory."""
        line = main_line(evidence)
        front = _front_that_fits(evidence, line)
        if not front:
            return
        place = front[-1]
        indices = [one.stage.index for one in front]
        findings = self.asked_by(diagnosis, indices)
        known = stage_seconds(evidence)
        kept = {index: 0.0 for index in indices if index in known}
        if not kept:
            return
        prediction = predict(
            evidence, Change(kept=kept, latency_left=latency_left(evidence, indices))
        )
        if not self.worth_giving(evidence, prediction, findings):
            return
        repeats = any(one.stage.kind == "repeat" for one in front)
        text = (
            f"Everything up to {place.stage.label} gives the same on every pass. Cached, it costs "
            "nothing from the second pass over the data on; the first pays in full and has to "
            "reach the end of the data."
        )
        mixed = any(orders_at_random(one) for one in front)
        if mixed:
            text += " The order of the files stays that of the first pass; shuffle behind it."
        if repeats:
            text += " The repeat has to move behind the cache, or no pass ever completes it."
        yield self.give(
            prediction,
            stage=place.stage.index,
            cost=size_clause(evidence, line, place, of="memory"),
            text=text,
            snippet=_snippet(front, repeats),
            findings=findings,
            safety="reorders" if mixed else None,
        )

    def why_not(self, evidence: Evidence, diagnosis: Diagnosis) -> str:
        """Says what stands in the way: randomness at the front, or memory."""
        line = main_line(evidence)
        if any(one.stage.kind == "cache" for one in line):
            return "the pipeline has a cache; what follows it is random or small"
        front = _front(line)
        if front and all(in_memory(one) or one.stage.kind in MOVES_DATA_ONLY for one in front):
            return "the part that may be cached is in memory already; behind it draws would freeze"
        if not front:
            return "a random, Python or unknown stage comes first; behind it a cache freezes draws"
        limit = evidence.environment.memory_limit_bytes
        amount = "" if isinstance(limit, Missing) else f" of {format_bytes(limit)}"
        return f"the data does not fit into half the memory{amount}"


def _front(line: tuple[StageEvidence, ...]) -> tuple[StageEvidence, ...]:
    if any(one.stage.kind == "cache" for one in line):
        return ()
    # A repeat before the batch lets batches cross passes: those have no end to cache.
    crosses = any(one.stage.kind == "repeat" for one in line)
    return deterministic_front(line, past_shuffle=False, into_batches=not crosses)


def _front_that_fits(
    evidence: Evidence, line: tuple[StageEvidence, ...]
) -> tuple[StageEvidence, ...]:
    limit = evidence.environment.memory_limit_bytes
    front = _front(line)
    # To keep what is in memory already brings nothing.
    while front and not all(in_memory(one) or one.stage.kind in MOVES_DATA_ONLY for one in front):
        needed = bytes_in_a_pass(evidence, line, front[-1])
        if needed is None or isinstance(limit, Missing) or needed <= MEMORY_SHARE * limit:
            return front
        front = front[:-1]
    return ()


def _snippet(front: tuple[StageEvidence, ...], repeats: bool) -> str:
    maps = [i for i, one in enumerate(front) if one.stage.kind == "map"]
    lines = []
    if repeats:
        lines.append("# without the .repeat() in front of these lines")
    if maps:
        shown = [one for one in front[maps[-1] :] if one.stage.kind != "repeat"]
        lines.append(snippet.assignments(*(snippet.call(one.stage) for one in shown)))
    else:
        lines.append(snippet.comment(f"directly behind the {front[-1].stage.kind}:"))
    lines.append("dataset = dataset.cache()")
    if repeats:
        lines.append("dataset = dataset.repeat()")
    return "\n".join(lines)
