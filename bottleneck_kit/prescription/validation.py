"""Remedy ``validation``: validate less often, on cached data, or on fewer batches."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from bottleneck_kit.prescription.remedy import Remedy
from bottleneck_kit.records.diagnosis import Diagnosis
from bottleneck_kit.records.evidence import Evidence
from bottleneck_kit.records.measurement import Missing
from bottleneck_kit.records.plan import Prescription
from bottleneck_kit.units import format_seconds, format_share

LARGE_SHARE = 0.2
"""Share of the fit inside ``evaluate`` from which it is offered unasked."""

EVERY = 5
"""Epochs between two validations that the advice puts in."""


class Validation(Remedy):
    """Shortens the time the training stands still for validation."""

    name: ClassVar[str] = "validation"
    safety: ClassVar[str] = "advice"
    effort: ClassVar[int] = 0
    needs_stages: ClassVar[bool] = False

    def prescriptions(self, evidence: Evidence, diagnosis: Diagnosis) -> Iterable[Prescription]:
        """Gives one where validation takes a large share of the fit."""
        findings = self.asked_by(diagnosis)
        share = evidence.validation_share
        if isinstance(share, Missing) or share.value <= 0:
            return
        if not findings and share.value < LARGE_SHARE:
            return
        each = evidence.validation_s
        spent = "" if isinstance(each, Missing) else f", {format_seconds(each.value)} an epoch"
        yield self.give(
            Missing("validation is apart from the training step; what goes is its time an epoch"),
            stage=None,
            cost="fewer validation results, or memory for the validation data",
            text=f"Validation takes {format_share(share.value)} of the fit{spent}. It needs no "
            "augmentation and no shuffle, so that its data can be cached whole.",
            snippet="validation_dataset = validation_dataset.cache().prefetch(tf.data.AUTOTUNE)\n"
            "model.fit(\n    dataset,\n    validation_data=validation_dataset,\n"
            f"    validation_freq={EVERY},\n)  # and your other arguments",
            findings=findings,
        )

    def why_not(self, evidence: Evidence, diagnosis: Diagnosis) -> str:
        """Says that there is none to shorten."""
        return "the fit has no validation, or its time is not known"
