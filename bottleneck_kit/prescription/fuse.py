"""Remedy ``fuse``: several small maps in one, so that each element is handed on once."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby
from typing import ClassVar

from bottleneck_kit.prescription import snippet
from bottleneck_kit.prescription.change import Change
from bottleneck_kit.prescription.remedy import Remedy
from bottleneck_kit.prescription.stage_load import stage_seconds
from bottleneck_kit.prescription.stage_order import (
    elements_per_step,
    is_random,
    main_line,
    named,
)
from bottleneck_kit.prescription.vectorize import CALL_S
from bottleneck_kit.prescription.what_if import predict
from bottleneck_kit.records.diagnosis import Diagnosis
from bottleneck_kit.records.evidence import Evidence, StageEvidence
from bottleneck_kit.records.plan import Prescription

FUSE_ERROR_SHARE = 0.5
"""Stated error: the cost of handing an element on is estimated, not measured in this run."""


class Fuse(Remedy):
    """Composes neighbouring maps; each one saved spares a call and a buffer an element.

    Random maps are left out: fused with a stateless one they would make it serial, too.
    """

    name: ClassVar[str] = "fuse"
    safety: ClassVar[str] = "exact"
    effort: ClassVar[int] = 1

    def prescriptions(self, evidence: Evidence, diagnosis: Diagnosis) -> Iterable[Prescription]:
        """Gives one for each run of two or more neighbouring maps."""
        seconds = stage_seconds(evidence)
        for fusible, group in groupby(main_line(evidence), key=_is_fusible):
            stages = tuple(group)
            if not fusible or len(stages) < 2:
                continue
            findings = self.asked_by(diagnosis, [one.stage.index for one in stages])
            kept = {}
            for one in stages[1:]:
                spent_s = seconds.get(one.stage.index, 0.0)
                saved_s = (elements_per_step(one) or 0.0) * CALL_S
                kept[one.stage.index] = 1 - min(1.0, saved_s / spent_s) if spent_s > 0 else 1.0
            prediction = predict(evidence, Change(kept=kept, error_share=FUSE_ERROR_SHARE))
            if not self.worth_giving(evidence, prediction, findings):
                continue
            yield self.give(
                prediction,
                stage=stages[0].stage.index,
                cost="a few lines",
                text=f"{named(stages)} are called one after the other for each element; as one "
                "map the element is handed on once.",
                snippet=_snippet(stages),
                findings=findings,
            )

    def why_not(self, evidence: Evidence, diagnosis: Diagnosis) -> str:
        """Says that there are no two such maps side by side."""
        return "no two maps without Python and random draws stand side by side"


def _is_fusible(one: StageEvidence) -> bool:
    traits = one.stage.traits
    return (
        one.stage.kind == "map" and not is_random(one) and not traits.stateful and not traits.python
    )


def _snippet(stages: tuple[StageEvidence, ...]) -> str:
    functions = ", ".join(snippet.function_name(one.stage) for one in stages)
    name = "in_one_go"
    return (
        f"def {name}(*element):\n"
        f"    for function in ({functions}):\n"
        "        result = function(*element)\n"
        "        element = result if isinstance(result, tuple) else (result,)\n"
        "    return result\n\n\n"
        f"dataset = dataset{snippet.call(stages[0].stage, function=name)}"
    )
