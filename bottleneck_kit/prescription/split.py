"""Remedy ``split``: take the deterministic part out of a map that also draws at random."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from bottleneck_kit.prescription import snippet
from bottleneck_kit.prescription.remedy import Remedy, input_matters
from bottleneck_kit.records.diagnosis import Diagnosis
from bottleneck_kit.records.evidence import Evidence, StageEvidence
from bottleneck_kit.records.measurement import Missing
from bottleneck_kit.records.plan import Prescription

HEAVY_SHARE = 0.2
"""Share of all stages' thread seconds from which a stage is worth taking apart."""

DETERMINISTIC_WORK = (
    "Conv2D",
    "Decode",
    "DepthwiseConv",
    "Dilation",
    "Parse",
    "ReadFile",
    "Resize",
)
"""Beginnings of op types that do heavy work without drawing."""


class Split(Remedy):
    """Makes two maps of one that decodes and augments at once.

    The random part keeps the whole map serial and out of any cache; the other half can then run
    in parallel, be cached or be baked.
    """

    name: ClassVar[str] = "split"
    safety: ClassVar[str] = "exact"
    effort: ClassVar[int] = 2

    def prescriptions(self, evidence: Evidence, diagnosis: Diagnosis) -> Iterable[Prescription]:
        """Gives one for each heavy random map that also does deterministic work."""
        for one in evidence.stages:
            if not _mixes(one):
                continue
            findings = self.asked_by(diagnosis, [one.stage.index])
            heavy = not isinstance(one.share, Missing) and one.share >= HEAVY_SHARE
            if not findings and not (heavy and input_matters(evidence)):
                continue
            name = snippet.function_name(one.stage)
            work = sorted(
                op for op in one.stage.traits.op_types if op.startswith(DETERMINISTIC_WORK)
            )
            yield self.give(
                Missing("how much of the function is deterministic was not measured"),
                stage=one.stage.index,
                cost="a function made two",
                text=f"{one.stage.name} draws at random and does fixed work ({', '.join(work)}) in "
                "one function, so that nothing of it can be cached or run in parallel "
                "reproducibly. Take the fixed work out; then tune, cache or bake it.",
                snippet=_snippet(one, name),
                findings=findings,
            )

    def why_not(self, evidence: Evidence, diagnosis: Diagnosis) -> str:
        """Says that no map mixes the two."""
        return "no map does fixed work and random draws in one function"


def _mixes(one: StageEvidence) -> bool:
    traits = one.stage.traits
    return (
        one.stage.kind == "map"
        and traits.random is True
        and not traits.python
        and any(op.startswith(DETERMINISTIC_WORK) for op in traits.op_types)
    )


def _snippet(one: StageEvidence, name: str) -> str:
    plain = name.replace(".", "_")
    parallel = snippet.call(one.stage, function=f"{plain}_fixed", num_parallel_calls="AUTOTUNE")
    rest = snippet.call(one.stage, function=f"{plain}_random")
    note = snippet.comment(
        f"{plain}_fixed: the lines of {name}{snippet.where(one.stage)} up to the first random "
        f"call; {plain}_random: the others"
    )
    return f"{note}\n{snippet.assignments(parallel, rest)}"
