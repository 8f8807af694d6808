"""Remedy ``jit_compile``: let XLA fuse the ops of the train step."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from bottleneck_kit.prescription.remedy import Remedy, accelerator_of, input_matters
from bottleneck_kit.records.diagnosis import Diagnosis
from bottleneck_kit.records.evidence import Evidence
from bottleneck_kit.records.measurement import Missing
from bottleneck_kit.records.plan import Prescription


class JitCompile(Remedy):
    """Compiles the train step by XLA, where a GPU computes it and its input allows.

    XLA lacks kernels for strings and ragged tensors and compiles anew for each shape, so that
    such inputs are left alone.
    """

    name: ClassVar[str] = "jit_compile"
    safety: ClassVar[str] = "equivalent"
    effort: ClassVar[int] = 0
    needs_stages: ClassVar[bool] = False

    def prescriptions(self, evidence: Evidence, diagnosis: Diagnosis) -> Iterable[Prescription]:
        """Gives one for a job with a GPU whose own computing is what takes the time."""
        if _reason_against(evidence):
            return
        findings = self.asked_by(diagnosis)
        computes = diagnosis.verdict.kind == "compute_bound" and not input_matters(evidence)
        if not findings and not computes:
            return
        yield self.give(
            Missing("what XLA gains on this model cannot be told from the record; try it"),
            stage=None,
            cost="a longer first step; ops that XLA lacks fail at once",
            text="The step's own computing takes the time. XLA fuses small ops into few kernels, "
            "which helps models of many small layers.",
            snippet="model.compile(\n    optimizer=model.optimizer,\n    loss=model.loss,\n"
            "    jit_compile=True,\n)  # and your other arguments",
            findings=findings,
        )

    def why_not(self, evidence: Evidence, diagnosis: Diagnosis) -> str:
        """Says what keeps XLA out."""
        return _reason_against(evidence) or "the time does not go into the model's computing"


def _reason_against(evidence: Evidence) -> str:
    job = evidence.job
    if accelerator_of(evidence) != "gpu":
        return "TensorFlow sees no GPU on this machine"
    if job.jit_compile:
        return "the train step is compiled by XLA already"
    if job.run_eagerly:
        return "the model runs eagerly"
    if job.string_input:
        return "strings reach the model, which XLA has no kernels for"
    if job.dynamic_shapes or "Ragged" in job.element_spec or "Sparse" in job.element_spec:
        return "shapes vary or are ragged, which XLA compiles anew each time or not at all"
    return ""
