"""Remedy ``head``: the Keras layers at the pipeline's end become the first layers of the model."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from bottleneck_kit.prescription import snippet
from bottleneck_kit.prescription.moved_work import predict_moved
from bottleneck_kit.prescription.remedy import Remedy, accelerator_of
from bottleneck_kit.prescription.stage_order import (
    MOVES_DATA_ONLY,
    is_random,
    main_line,
    named,
)
from bottleneck_kit.prescription.what_if import Prediction
from bottleneck_kit.records.diagnosis import Diagnosis
from bottleneck_kit.records.evidence import Evidence, StageEvidence
from bottleneck_kit.records.measurement import Missing
from bottleneck_kit.records.plan import Prescription

NOT_UNDER_XLA = frozenset({"RandomRotation", "RandomZoom"})
"""Layers that do not compile under XLA, which Keras turns on by itself where there is a GPU."""

Run = tuple[StageEvidence, ...]


class Head(Remedy):
    """Moves the last stages onto the accelerator: no extra copy, since the batch goes there anyway.

    The step itself grows. Where the model runs on the CPU, the work stays on the same cores, so
    that nothing is gained.
    """

    name: ClassVar[str] = "head"
    safety: ClassVar[str] = "equivalent"
    effort: ClassVar[int] = 2

    def prescriptions(self, evidence: Evidence, diagnosis: Diagnosis) -> Iterable[Prescription]:
        """Gives one, for the run of last stages whose move gains most."""
        run = _layers_at_the_end(main_line(evidence))
        choices = [
            (chosen, predict_moved(evidence, [one.stage.index for one in chosen]))
            for chosen in (run[start:] for start in reversed(range(len(run))))
        ]
        if not choices:
            return
        stages, prediction = max(choices, key=lambda choice: _gain(choice[1]))
        findings = self.asked_by(diagnosis, [one.stage.index for one in stages])
        if not self.worth_giving(evidence, prediction, findings):
            return
        kind = accelerator_of(evidence)
        if kind == "":
            effect = (
                "This model runs on the CPU: there the work stays on the same cores, and moving it "
                "brings nothing. It pays with an accelerator."
            )
        elif kind == "emulated":
            effect = (
                "As the model's head they run in the step. The accelerator is emulated here, so "
                "that they still use this machine's cores; a real one would take them off."
            )
        else:
            effect = "As the model's head they run on the accelerator, and the step grows by them."
        layers = _layers(stages)
        if NOT_UNDER_XLA & set(layers):
            refused = " and ".join(sorted(NOT_UNDER_XLA & set(layers)))
            effect += f" {refused} do not compile under XLA: compile with jit_compile=False."
        yield self.give(
            prediction,
            stage=stages[0].stage.index,
            cost="the model gains layers; memory of the accelerator",
            text=f"{named(stages)} {'are the last stages' if len(stages) > 1 else 'is the last'} "
            f"of the pipeline and made of Keras layers. {effect}",
            snippet=_snippet(stages, layers),
            findings=findings,
            safety="redraws" if any(is_random(one) for one in stages) else None,
        )

    def why_not(self, evidence: Evidence, diagnosis: Diagnosis) -> str:
        """Says that the pipeline does not end in Keras layers."""
        return "the pipeline does not end in Keras layers behind the batch"


def _layers_at_the_end(line: Run) -> Run:
    run: list[StageEvidence] = []
    for one in reversed(line):
        if not run and one.stage.kind in MOVES_DATA_ONLY:
            continue
        movable = one.stage.kind == "map" and one.behind_batch and one.stage.traits.keras_layers
        if not movable or one.stage.traits.python:
            break
        run.insert(0, one)
    return tuple(run)


def _gain(prediction: Prediction | Missing) -> float:
    return float("-inf") if isinstance(prediction, Missing) else prediction.gain_s


def _layers(stages: Run) -> list[str]:
    return [layer for one in stages for layer in one.stage.traits.keras_layers]


def _snippet(stages: Run, layers: list[str]) -> str:
    note = snippet.comment(
        f"Without {named(stages)} in the pipeline. The layers with the arguments you gave them:"
    )
    made = "".join(f"        keras.layers.{layer}(...),\n" for layer in layers)
    jit = ", jit_compile=False" if NOT_UNDER_XLA & set(layers) else ""
    return (
        f"{note}\n"
        f"head = keras.Sequential(\n    [\n{made}    ]\n)\n"
        "inputs = keras.Input(model.input_shape[1:])\n"
        "model_with_head = keras.Model(inputs, model(head(inputs)))\n"
        f"model_with_head.compile(optimizer=model.optimizer, loss=model.loss{jit})\n"
        "# model itself shares the weights: save it and predict with it as before"
    )
