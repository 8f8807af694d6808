"""Remedy ``dali``: reading and preparing by NVIDIA DALI on the GPU."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from bottleneck_kit.prescription import snippet
from bottleneck_kit.prescription.moved_work import predict_moved
from bottleneck_kit.prescription.remedy import Remedy, accelerator_of
from bottleneck_kit.prescription.stage_load import stage_seconds
from bottleneck_kit.prescription.stage_order import BATCHING, MOVES_DATA_ONLY, main_line, named
from bottleneck_kit.records.diagnosis import Diagnosis
from bottleneck_kit.records.evidence import Evidence, StageEvidence
from bottleneck_kit.records.plan import Prescription

OPERATORS = {
    "Cast": "fn.cast",
    "DecodeImage": 'fn.decoders.image(device="mixed")',
    "DecodeJpeg": 'fn.decoders.image(device="mixed")',
    "DecodePng": 'fn.decoders.image(device="mixed")',
    "DepthwiseConv2dNative": "fn.filter (SAME) or fn.gaussian_blur (mirrored borders)",
    "Dilation2D": "fn.experimental.dilate",
    "ImageProjectiveTransformV3": "fn.warp_affine (no reflecting border)",
    "ParseExampleV2": "fn.readers.tfrecord",
    "ParseSingleExample": "fn.readers.tfrecord",
    "ResizeBilinear": "fn.resize",
    "ResizeNearestNeighbor": "fn.resize",
}
"""Op type -> what does it in DALI."""

LAYER_OPERATORS = {
    "RandomFlip": "fn.flip",
    "Rescaling": "arithmetic",
}
"""Keras layer -> what does it in DALI."""

PLAIN = frozenset(
    {
        "Add",
        "AddV2",
        "Cast",
        "Const",
        "ConcatV2",
        "DecodeRaw",
        "DepthwiseConv2dNative",
        "Equal",
        "ExpandDims",
        "Fill",
        "GatherV2",
        "Identity",
        "Maximum",
        "Minimum",
        "MirrorPad",
        "Mul",
        "NoOp",
        "Pack",
        "Pad",
        "PadV2",
        "Placeholder",
        "Range",
        "ReadVariableOp",
        "RealDiv",
        "Reshape",
        "Round",
        "Shape",
        "Slice",
        "Squeeze",
        "StridedSlice",
        "Sub",
        "Tile",
        "Transpose",
    }
)
"""Op types that shape, index or compute and stand in nobody's way."""

READS = frozenset({"from_tensor_slices", "list_files", "tfrecord"})


class Dali(Remedy):
    """Replaces the front of the pipeline by a DALI pipeline.

    Only NVIDIA GPUs, and only the front up to the first stage without a counterpart: what follows
    stays in tf.data or moves into the model.
    """

    name: ClassVar[str] = "dali"
    safety: ClassVar[str] = "redraws"
    effort: ClassVar[int] = 3
    needs_hardware: ClassVar[bool] = True

    def prescriptions(self, evidence: Evidence, diagnosis: Diagnosis) -> Iterable[Prescription]:
        """Gives one for the front that translates; none without a GPU."""
        if accelerator_of(evidence) != "gpu":
            return
        front, stopped_at = _translatable(main_line(evidence))
        working = [one for one in front if one.stage.kind == "map"]
        if not working:
            return
        indices = [one.stage.index for one in front]
        findings = self.asked_by(diagnosis, indices)
        known = stage_seconds(evidence)
        moved = [index for index in indices if index in known]
        prediction = predict_moved(evidence, moved)
        if not self.worth_giving(evidence, prediction, findings):
            return
        text = (
            f"{named(tuple(working))} {'have counterparts' if len(working) > 1 else 'has one'} in "
            "DALI, which then reads, too; what runs on the GPU shares it with the step."
        )
        if stopped_at is not None:
            text += f" {stopped_at.stage.name} has none that is known and stays behind."
        yield self.give(
            prediction,
            stage=working[0].stage.index,
            cost="rewriting these stages; nvidia-dali; an index of each TFRecord file",
            text=text,
            snippet=_snippet(working),
            findings=findings,
        )

    def why_not(self, evidence: Evidence, diagnosis: Diagnosis) -> str:
        """Says that there is no GPU, or nothing that translates."""
        if accelerator_of(evidence) != "gpu":
            return "DALI speeds up NVIDIA GPUs only, and TensorFlow sees none on this machine"
        return "the first stages have no counterpart in DALI"


def _translatable(
    line: tuple[StageEvidence, ...],
) -> tuple[tuple[StageEvidence, ...], StageEvidence | None]:
    front: list[StageEvidence] = []
    for one in line:
        kind = one.stage.kind
        if kind in READS | BATCHING | MOVES_DATA_ONLY | {"shuffle"} or (
            kind == "map" and _translates(one)
        ):
            front.append(one)
        else:
            return tuple(front), one
    while front and front[-1].stage.kind == "prefetch":
        front.pop()
    return tuple(front), None


def _translates(one: StageEvidence) -> bool:
    traits = one.stage.traits
    if traits.python or not (traits.op_types or traits.keras_layers):
        return False
    if traits.keras_layers:
        return all(layer in LAYER_OPERATORS for layer in traits.keras_layers)
    return all(op in OPERATORS or op in PLAIN for op in traits.op_types)


def _snippet(working: list[StageEvidence]) -> str:
    lines = ["# pip install nvidia-dali-cuda120 and its TensorFlow plugin; tfrecord2idx makes the"]
    lines.append("# index files. Stage by stage:")
    for one in working:
        traits = one.stage.traits
        used = [LAYER_OPERATORS[layer] for layer in traits.keras_layers] or [
            OPERATORS[op] for op in traits.op_types if op in OPERATORS
        ]
        counterparts = ", ".join(dict.fromkeys(used)) or "arithmetic and fn.reshape"
        lines.append(snippet.comment(f"{one.stage.name}{snippet.where(one.stage)}: {counterparts}"))
    return "\n".join(lines)
