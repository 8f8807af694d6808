"""Remedy ``bake``: do the deterministic front once, ahead of training, and store the result."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import ClassVar

from bottleneck_kit.prescription import snippet
from bottleneck_kit.prescription.change import Change
from bottleneck_kit.prescription.data_size import size_clause
from bottleneck_kit.prescription.formulas import bake_break_even_epochs
from bottleneck_kit.prescription.remedy import Remedy
from bottleneck_kit.prescription.stage_load import latency_left, stage_seconds
from bottleneck_kit.prescription.stage_order import (
    behind_cache,
    bytes_of,
    deterministic_front,
    main_line,
    named,
)
from bottleneck_kit.prescription.what_if import Prediction, predict
from bottleneck_kit.records.diagnosis import Diagnosis
from bottleneck_kit.records.evidence import Evidence, StageEvidence
from bottleneck_kit.records.measurement import Missing
from bottleneck_kit.records.plan import Prescription

PARSERS = frozenset({"ParseSingleExample", "ParseExampleV2", "ParseExample"})
SMALL = 1.05
"""Growth of the stored bytes up to which nothing is said about it."""


class Bake(Remedy):
    """Stores the elements as the last deterministic stage leaves them.

    What remains in training is reading (more bytes, where the stages blow the data up) and
    parsing the new records. A choice that is baked in is no longer a hyper-parameter.
    """

    name: ClassVar[str] = "bake"
    safety: ClassVar[str] = "equivalent"
    effort: ClassVar[int] = 2

    def prescriptions(self, evidence: Evidence, diagnosis: Diagnosis) -> Iterable[Prescription]:
        """Gives one, for the longest deterministic front that holds a function to spare."""
        line = behind_cache(main_line(evidence))
        front = deterministic_front(line, past_shuffle=True, into_batches=False)
        baked = tuple(one for one in front if _is_spared(one))
        if not baked:
            return
        findings = self.asked_by(diagnosis, [one.stage.index for one in baked])
        known = stage_seconds(evidence)
        growth = _growth(front)
        kept = {one.stage.index: 0.0 for one in baked if one.stage.index in known}
        if not kept:
            return
        source = front[0].stage.index
        if source in known and source not in kept:
            kept[source] = max(1.0, growth or 1.0)
        gone = latency_left(evidence, [one.stage.index for one in front])
        prediction = predict(evidence, Change(kept=kept, latency_left=gone))
        if not self.worth_giving(evidence, prediction, findings):
            return
        text = (
            f"{named(baked)} {'give' if len(baked) > 1 else 'gives'} the same for each element on "
            "every pass: do it once, store the result, and read that in training."
            f"{_break_even_clause(evidence, prediction, sum(known.get(i, 0.0) for i in kept))}"
        )
        if any(PARSERS & set(one.stage.traits.op_types) for one in front):
            text += " Parsing stays counted: reading stored elements costs about as much."
        if growth is not None and growth > SMALL:
            text += f" The stored elements are {growth:.1f} times the bytes read now."
        yield self.give(
            prediction,
            stage=baked[0].stage.index,
            cost=size_clause(evidence, main_line(evidence), front[-1], of="disk"),
            text=text,
            snippet=_snippet(front, baked),
            findings=findings,
        )

    def why_not(self, evidence: Evidence, diagnosis: Diagnosis) -> str:
        """Says that nothing deterministic stands in front."""
        return (
            "no function in front of the first random, Python or unknown stage repeats exactly; "
            "what comes behind one must not be baked"
        )


def _is_spared(one: StageEvidence) -> bool:
    """Says whether the stage runs a function that baked data does not need any more."""
    has_function = one.stage.name != one.stage.kind or one.stage.traits.ops > 0
    parses = bool(PARSERS & set(one.stage.traits.op_types))
    return has_function and not parses and one.stage.kind in {"map", "filter"}


def _break_even_clause(evidence: Evidence, prediction: Prediction | Missing, work_s: float) -> str:
    """Says after how many epochs it pays; baking is one pass of that work over the cores."""
    step = evidence.step_s
    if isinstance(prediction, Missing) or isinstance(step, Missing) or prediction.gain_s <= 0:
        return ""
    # Both sides grow with the steps of an epoch, so that a step stands for it.
    bake_s = work_s / max(1.0, evidence.usable_cores)
    epochs = math.ceil(bake_break_even_epochs(bake_s, step.value, prediction.step_s))
    return f" It pays after about {epochs} {'epoch' if epochs == 1 else 'epochs'}."


def _growth(front: tuple[StageEvidence, ...]) -> float | None:
    before, after = bytes_of(front[0]), bytes_of(front[-1])
    return after / before if before and after else None


def _snippet(front: tuple[StageEvidence, ...], baked: tuple[StageEvidence, ...]) -> str:
    """Writes the job that bakes and the line that reads; both with plain tf.data."""
    steps = [snippet.call(one.stage) for one in front if one.stage.kind in {"map", "filter"}]
    before = snippet.comment(
        "Once, ahead of training: the pipeline up to the stages below, one pass, without shuffle "
        "and repeat."
    )
    after = snippet.comment(
        f"In training, in the place of everything up to {baked[-1].stage.name}; shuffle and "
        "repeat stay:"
    )
    return (
        f"{before}\n"
        f"{snippet.assignments(*steps)}\n"
        'dataset.save("baked")\n\n'
        f"{after}\n"
        'dataset = tf.data.Dataset.load("baked")'
    )
