"""Remedy ``vectorize``: batch first, then run the function once a batch."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from bottleneck_kit.prescription import snippet
from bottleneck_kit.prescription.change import Change
from bottleneck_kit.prescription.remedy import Remedy
from bottleneck_kit.prescription.stage_load import stage_seconds
from bottleneck_kit.prescription.stage_order import (
    batch_of,
    elements_per_step,
    is_random,
    main_line,
    maps_before_batch,
    named,
)
from bottleneck_kit.prescription.what_if import predict
from bottleneck_kit.records.diagnosis import Diagnosis
from bottleneck_kit.records.evidence import Evidence, StageEvidence
from bottleneck_kit.records.plan import Prescription

CALL_S = 12e-6
"""Thread seconds of calling a map's function once, apart from its ops.

Measured with a map of one cheap op on a two-core machine: 12 µs an element in front of the batch,
0.1 µs behind it.
"""

OP_S = 0.3e-6
"""Thread seconds of dispatching one small op, from maps of 1, 10 and 40 ops on that machine."""

BATCH_PARSERS = {
    "ParseSingleExample": ("parse_single_example", "parse_example", 10.0),
    "ParseExampleV2": ("parse_single_example", "parse_example", 10.0),
    "DecodeCSV": ("decode_csv", "decode_csv", 4.0),
}
"""Op -> call for one, call for a batch, times cheaper: 28 to 2.8 ms and 9.1 to 2.1 ms measured."""

VECTORIZE_ERROR_SHARE = 0.5
"""Stated error: how much of a function's time is dispatch is estimated from its number of ops."""

ADDS_A_DIMENSION = frozenset(
    {"Conv2D", "DepthwiseConv2dNative", "Dilation2D", "Erosion2D", "MaxPool", "AvgPool"}
)
"""Ops that want a batch: in front of the batch their function adds the dimension by itself."""

ONE_AT_A_TIME = frozenset(
    {
        "DecodeJpeg",
        "DecodePng",
        "DecodeImage",
        "DecodeBmp",
        "DecodeGif",
        "DecodeWebP",
        "DecodeAndCropJpeg",
        "DecodeWav",
        "DecodeCompressed",
        "ReadFile",
    }
)
"""Ops that take one string only, so that their function cannot run on a batch."""


class Vectorize(Remedy):
    """Moves the batch in front of the cheap maps, so that each is called once a batch.

    Only maps that directly precede ``batch`` and run neither Python nor random draws: behind the
    batch one draw would serve all its elements.
    """

    name: ClassVar[str] = "vectorize"
    safety: ClassVar[str] = "equivalent"
    effort: ClassVar[int] = 2

    def prescriptions(self, evidence: Evidence, diagnosis: Diagnosis) -> Iterable[Prescription]:
        """Gives one for the trailing run of maps in front of the batch."""
        line = main_line(evidence)
        batch = batch_of(line)
        stages = _vectorizable(line)
        if not stages or batch is None:
            return
        findings = self.asked_by(diagnosis, [one.stage.index for one in stages])
        seconds = stage_seconds(evidence)
        kept = {
            one.stage.index: _kept_share(one, seconds[one.stage.index])
            for one in stages
            if one.stage.index in seconds
        }
        change = Change(
            kept=kept or {one.stage.index: 1.0 for one in stages},
            error_share=VECTORIZE_ERROR_SHARE,
        )
        prediction = predict(evidence, change)
        if not self.worth_giving(evidence, prediction, findings):
            return
        yield self.give(
            prediction,
            stage=stages[0].stage.index,
            cost="the function has to take a batch (one more leading dimension)",
            text=f"{named(stages)} {'run' if len(stages) > 1 else 'runs'} once an element, where "
            "calling and dispatch cost more than small work; behind the batch once a batch. Check "
            "reductions, indexing and reversals: they need the leading dimension counted in.",
            snippet=_snippet(stages, batch),
            findings=findings,
        )

    def why_not(self, evidence: Evidence, diagnosis: Diagnosis) -> str:
        """Says what stands directly in front of the batch."""
        line = main_line(evidence)
        if batch_of(line) is None:
            return "the pipeline has no batch to put in front"
        if not maps_before_batch(line):
            return "no map stands directly in front of a plain batch; behind it all runs a batch"
        return (
            "the map in front of the batch takes one element only: it decodes or reads files, "
            "draws at random (one draw would serve a whole batch) or runs Python"
        )


def _vectorizable(line: tuple[StageEvidence, ...]) -> tuple[StageEvidence, ...]:
    """Gives the longest run of maps up to the batch that may all run behind it."""
    run: list[StageEvidence] = []
    for one in reversed(maps_before_batch(line)):
        traits = one.stage.traits
        if is_random(one) or traits.stateful or traits.python:
            break
        if ONE_AT_A_TIME & set(traits.op_types):
            break
        run.insert(0, one)
    return tuple(run)


def _kept_share(one: StageEvidence, seconds: float) -> float:
    """Gives the share of the stage's work that is left behind the batch.

    What goes is the call and the dispatch of its ops, once an element but for one a batch; for
    parsers that have a batched form, what they were measured to save.
    """
    elements = elements_per_step(one)
    if elements is None or elements <= 1 or seconds <= 0:
        return 1.0
    for op in one.stage.traits.op_types:
        if op in BATCH_PARSERS:
            return 1 / BATCH_PARSERS[op][2]
    overhead_s = elements * (CALL_S + OP_S * one.stage.traits.ops)
    return 1 - min(overhead_s / seconds, 1.0) * (1 - 1 / elements)


def _snippet(stages: tuple[StageEvidence, ...], batch: StageEvidence) -> str:
    lines = []
    for one in stages:
        for op in one.stage.traits.op_types:
            if op in BATCH_PARSERS and BATCH_PARSERS[op][0] != BATCH_PARSERS[op][1]:
                single, batched, _ = BATCH_PARSERS[op]
                lines.append(
                    snippet.comment(
                        f"in {one.stage.name}{snippet.where(one.stage)}: tf.io.{batched} in the "
                        f"place of tf.io.{single}; shapes get a leading batch dimension"
                    )
                )
                break
        if ADDS_A_DIMENSION & set(one.stage.traits.op_types):
            lines.append(
                snippet.comment(
                    f"in {one.stage.name}{snippet.where(one.stage)}: without the dimension that it "
                    "adds in front and takes off again"
                )
            )
    calls = [snippet.call(batch.stage), *(snippet.call(one.stage) for one in stages)]
    lines.append(snippet.assignments(*calls))
    return "\n".join(lines)
