"""Remedy ``pad_shapes``: one shape for all batches, so that the train function is traced once."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from bottleneck_kit.prescription import snippet
from bottleneck_kit.prescription.remedy import Remedy
from bottleneck_kit.prescription.stage_order import batch_of, main_line
from bottleneck_kit.records.diagnosis import Diagnosis
from bottleneck_kit.records.evidence import Evidence
from bottleneck_kit.records.measurement import Missing
from bottleneck_kit.records.plan import Prescription
from bottleneck_kit.units import format_seconds


class PadShapes(Remedy):
    """Pads elements to one shape, or drops the short last batch.

    A new shape makes TensorFlow trace, and XLA compile, the train function again.
    """

    name: ClassVar[str] = "pad_shapes"
    safety: ClassVar[str] = "advice"
    effort: ClassVar[int] = 1
    needs_stages: ClassVar[bool] = False

    def prescriptions(self, evidence: Evidence, diagnosis: Diagnosis) -> Iterable[Prescription]:
        """Gives one where the train function was traced again and again."""
        findings = self.asked_by(diagnosis)
        traced = not isinstance(evidence.recompiles, Missing) and evidence.recompiles > 0
        varies = evidence.job.dynamic_shapes and traced and evidence.job.jit_compile
        if not findings and not varies:
            return
        times = "" if isinstance(evidence.recompiles, Missing) else f" {evidence.recompiles} times"
        lost = evidence.recompile_s
        spent = "" if isinstance(lost, Missing) else f", {format_seconds(lost.value)} together"
        if evidence.job.dynamic_shapes:
            advice = "Pad to one length, or to a few (bucket_by_sequence_length)."
        else:
            advice = "Leave the short last batch out; with repeat in front of batch none is lost."
        yield self.give(
            Missing("tracing is apart from the steady step; what goes is its time a fit"),
            stage=None,
            cost="padding to compute, or the elements of the last batch",
            text=f"The train function was traced again{times}{spent}. {advice}",
            snippet=_snippet(evidence),
            findings=findings,
        )

    def why_not(self, evidence: Evidence, diagnosis: Diagnosis) -> str:
        """Says that nothing was traced again."""
        return "the train function was not traced again"


def _snippet(evidence: Evidence) -> str:
    batch = batch_of(main_line(evidence))
    size = None if batch is None else batch.stage.options.get("batch_size")
    if size is None and not isinstance(evidence.job.batch_size, Missing):
        size = evidence.job.batch_size
    written = "batch_size" if size is None else size
    if evidence.job.dynamic_shapes:
        return (
            "# longest: the longest sequence you want to train on; one shape for each component\n"
            f"dataset = dataset.padded_batch(\n    {written}, padded_shapes=([longest], []), "
            "drop_remainder=True\n)"
        )
    if batch is not None and batch.stage.kind == "batch":
        return f"dataset = dataset{snippet.call(batch.stage, drop_remainder=True)}"
    return f"dataset = dataset.batch({written}, drop_remainder=True)"
