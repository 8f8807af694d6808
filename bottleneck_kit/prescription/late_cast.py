"""Remedy ``late_cast``: keep elements small for as long as possible, cast to float last."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from bottleneck_kit.prescription import snippet
from bottleneck_kit.prescription.change import Change
from bottleneck_kit.prescription.remedy import Remedy, accelerator_of, input_matters
from bottleneck_kit.prescription.stage_load import stage_seconds
from bottleneck_kit.prescription.stage_order import BATCHING, elements_per_step, main_line
from bottleneck_kit.prescription.what_if import predict
from bottleneck_kit.records.diagnosis import Diagnosis
from bottleneck_kit.records.evidence import Evidence, StageEvidence
from bottleneck_kit.records.plan import Prescription
from bottleneck_kit.units import format_bytes

WIDENS_BY = 2.0
"""Growth of an element's bytes from which a cast counts as widening (uint8 to float16 is 2)."""

COPIERS = BATCHING | {"shuffle", "cache", "unbatch"}
"""Kinds whose work is copying, so that it shrinks as the bytes do."""


class LateCast(Remedy):
    """Moves the cast to float behind what only copies, or into the model.

    A float32 image is four times a uint8 one: shuffle buffers, batches and the copy to the
    accelerator carry it for nothing.
    """

    name: ClassVar[str] = "late_cast"
    safety: ClassVar[str] = "equivalent"
    effort: ClassVar[int] = 1

    def prescriptions(self, evidence: Evidence, diagnosis: Diagnosis) -> Iterable[Prescription]:
        """Gives one for the first stage that widens its elements."""
        line = main_line(evidence)
        position = next((i for i, one in enumerate(line) if _widens(one)), None)
        if position is None:
            return
        caster = line[position]
        wide, narrow = caster.stage.element_bytes, caster.stage.input_bytes
        assert wide is not None
        assert narrow is not None
        findings = self.asked_by(diagnosis, [caster.stage.index])
        seconds = stage_seconds(evidence)
        copiers = {
            one.stage.index: narrow / wide
            for one in line[position + 1 :]
            if one.stage.kind in COPIERS and one.stage.index in seconds
        }
        prediction = predict(evidence, Change(kept=copiers))
        # To a real accelerator the saved bytes are a saved copy, too, which is not in the record.
        copies = accelerator_of(evidence) == "gpu" and input_matters(evidence)
        if not copies and not self.worth_giving(evidence, prediction, findings):
            return
        elements = elements_per_step(caster)
        saved = format_bytes((wide - narrow) * (elements or 1.0))
        unit = "a step" if elements is not None else "an element"
        yield self.give(
            prediction,
            stage=caster.stage.index,
            cost="a few lines moved; the model, if the layer goes there",
            text=f"{caster.stage.name} casts to a wider type first: from {format_bytes(narrow)} to "
            f"{format_bytes(wide)}. Cast later, the stages behind it and the copy to the "
            f"accelerator carry {saved} {unit} less. The time of that copy is not recorded, so "
            "the prediction leaves it out.",
            snippet=_snippet(caster),
            findings=findings,
        )

    def why_not(self, evidence: Evidence, diagnosis: Diagnosis) -> str:
        """Says that no stage widens what it gets."""
        return "no stage is known to cast its elements to a wider type"


def _widens(one: StageEvidence) -> bool:
    stage = one.stage
    if stage.kind != "map" or not stage.element_bytes or not stage.input_bytes:
        return False
    casts = "Cast" in stage.traits.op_types or "Rescaling" in stage.traits.keras_layers
    fixed = not stage.traits.random and not stage.traits.python
    return casts and fixed and stage.element_bytes >= WIDENS_BY * stage.input_bytes


def _snippet(caster: StageEvidence) -> str:
    name = snippet.function_name(caster.stage)
    note = snippet.comment(
        f"Without {name}{snippet.where(caster.stage)} in the pipeline; put what it does at the "
        "head of the model, with its own scale:"
    )
    return (
        f"{note}\n"
        "inputs = keras.Input(model.input_shape[1:], dtype=dataset.element_spec[0].dtype)\n"
        "outputs = model(keras.layers.Rescaling(1 / 255)(inputs))\n"
        "model = keras.Model(inputs, outputs)\n"
        "# compile the new model as you compiled the old one"
    )
