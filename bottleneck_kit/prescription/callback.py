"""Remedy ``callback``: call a slow callback of the user less often."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from bottleneck_kit.prescription.remedy import Remedy
from bottleneck_kit.prescription.what_if import Prediction, predict_shorter
from bottleneck_kit.records.diagnosis import Diagnosis
from bottleneck_kit.records.evidence import CallbackEvidence, Evidence
from bottleneck_kit.records.measurement import Measurement, Missing
from bottleneck_kit.records.plan import Prescription
from bottleneck_kit.units import format_seconds, format_share

EVERY = 100
"""Batches between two calls that the advice puts in; leaves a hundredth of the time."""

SLOW_SHARE = 0.05
"""Share of the fit in one callback from which it is offered unasked."""


class Callback(Remedy):
    """Names the callback whose hook holds up the training thread, and thins it out."""

    name: ClassVar[str] = "callback"
    safety: ClassVar[str] = "advice"
    effort: ClassVar[int] = 1
    needs_stages: ClassVar[bool] = False

    def prescriptions(self, evidence: Evidence, diagnosis: Diagnosis) -> Iterable[Prescription]:
        """Gives one for each callback that takes a noticeable share of the fit."""
        if isinstance(evidence.callbacks, Missing):
            return
        for one in evidence.callbacks:
            findings = self._asking(diagnosis, one)
            if not findings and one.share < SLOW_SHARE:
                continue
            prediction = _prediction(evidence, one)
            yield self.give(
                prediction,
                stage=None,
                cost="it sees fewer batches" if one.per_batch else "it runs less often",
                text=f"{one.name}.{one.hook} takes {format_share(one.share)} of the fit "
                f"({format_seconds(one.step_s.value)} a step) while training stands still. Do "
                "its work less often, or in a thread of its own.",
                snippet=_snippet(one),
                findings=findings,
            )

    def why_not(self, evidence: Evidence, diagnosis: Diagnosis) -> str:
        """Says why no callback is named."""
        if isinstance(evidence.callbacks, Missing):
            return f"which callback is slow is not known: {evidence.callbacks.reason}"
        return "no callback was found that takes a noticeable share of the fit"

    def _asking(self, diagnosis: Diagnosis, one: CallbackEvidence) -> tuple[str, ...]:
        """Gives the codes of findings that name this callback, or name none."""
        codes = [
            finding.code
            for finding in diagnosis.findings
            if self.name in finding.remedies
            and (
                one.name in finding.evidence.values()
                or not any(isinstance(value, str) for value in finding.evidence.values())
            )
        ]
        return tuple(dict.fromkeys(codes))


def _prediction(evidence: Evidence, one: CallbackEvidence) -> Prediction | Missing:
    if not one.per_batch:
        return Missing("it runs between epochs, apart from the steady step")
    left = 1 - 1 / EVERY
    saved = Measurement(
        one.step_s.value * left, one.step_s.low * left, one.step_s.high * left, one.step_s.n
    )
    return predict_shorter(evidence, saved)


def _snippet(one: CallbackEvidence) -> str:
    if one.name == "ModelCheckpoint" and one.per_batch:
        return "# in ModelCheckpoint(...): save by the epoch\nsave_freq = 'epoch'"
    if one.name == "TensorBoard" and one.per_batch:
        return (
            "tensorboard = keras.callbacks.TensorBoard(\n"
            "    log_dir, update_freq='epoch', profile_batch=0\n)"
        )
    known = one.name.isidentifier()
    base = one.name if known else "YourCallback"
    note = "" if known else f"# YourCallback: {one.name}, as a class\n"
    if one.per_batch:
        arguments, condition = "self, batch, logs=None", f"batch % {EVERY} == 0"
        call = "batch, logs"
    else:
        arguments, condition, call = "self, epoch, logs=None", "epoch % 5 == 4", "epoch, logs"
    return (
        f"{note}class Sparing{base}({base}):\n"
        f"    def {one.hook}({arguments}):\n"
        f"        if {condition}:\n"
        f"            super().{one.hook}({call})"
    )
