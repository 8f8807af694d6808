"""Remedy ``device``: run a stage's ops under ``tf.device`` on the GPU."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from bottleneck_kit.prescription import snippet
from bottleneck_kit.prescription.moved_work import predict_moved
from bottleneck_kit.prescription.remedy import Remedy, accelerator_of
from bottleneck_kit.prescription.stage_order import bytes_of, elements_per_step, main_line
from bottleneck_kit.records.diagnosis import Diagnosis
from bottleneck_kit.records.evidence import Evidence, StageEvidence
from bottleneck_kit.records.measurement import Missing
from bottleneck_kit.records.plan import Prescription

LAUNCH_S = 5e-6
"""Seconds to launch one kernel; an assumption of the usual size for CUDA."""

COPY_BYTES_PER_S = 6e9
"""Bytes a second over the bus from pageable memory; an assumption of the usual size for PCIe 3."""

HEAVY_SHARE = 0.1
"""Share of all stages' thread seconds from which a stage is worth moving."""

WORKS_ON_GPU = frozenset(
    {
        "Conv2D",
        "DepthwiseConv2dNative",
        "Dilation2D",
        "Erosion2D",
        "ResizeBilinear",
        "ResizeNearestNeighbor",
        "ImageProjectiveTransformV3",
        "AdjustContrastv2",
        "AdjustHue",
        "AdjustSaturation",
        "FFT2D",
        "MatMul",
        "BatchMatMulV2",
    }
)
"""Heavy ops that have a GPU kernel, so that a stage built on them is worth moving."""

CPU_ONLY = ("Decode", "Parse", "ReadFile", "String", "Regex", "PyFunc", "EagerPyFunc")
"""Beginnings of op types without a GPU kernel."""


class Device(Remedy):
    """Puts the heavy ops of one stage on the GPU and brings the result back.

    Every element pays two copies and a launch for each op, so that it pays for heavy ops only, and
    best behind the batch. There has to be a GPU.
    """

    name: ClassVar[str] = "device"
    safety: ClassVar[str] = "equivalent"
    effort: ClassVar[int] = 1
    needs_hardware: ClassVar[bool] = True

    def prescriptions(self, evidence: Evidence, diagnosis: Diagnosis) -> Iterable[Prescription]:
        """Gives one for each heavy stage whose ops have GPU kernels; none without a GPU."""
        if accelerator_of(evidence) != "gpu":
            return
        for one in main_line(evidence):
            if not _can_move(one):
                continue
            findings = self.asked_by(diagnosis, [one.stage.index])
            heavy = not isinstance(one.share, Missing) and one.share >= HEAVY_SHARE
            prediction = predict_moved(evidence, [one.stage.index], extra_s=_extra_seconds(one))
            if not (findings or heavy) or not self.worth_giving(evidence, prediction, findings):
                continue
            name = snippet.function_name(one.stage)
            inner = f"{name.replace('.', '_')}_on_gpu"
            yield self.give(
                prediction,
                stage=one.stage.index,
                cost="copies to the GPU and back; memory of the GPU; a longer step",
                text=f"{one.stage.name} is built on ops that the GPU does faster. Check the "
                "placement with tf.debugging.set_log_device_placement(True).",
                snippet=(
                    f"def {inner}(*element):\n"
                    '    with tf.device("/device:GPU:0"):\n'
                    f"        return {name}(*element)\n\n\n"
                    f"dataset = dataset{snippet.call(one.stage, function=inner)}"
                ),
                findings=findings,
            )

    def why_not(self, evidence: Evidence, diagnosis: Diagnosis) -> str:
        """Says that there is no GPU, or no op for it."""
        if accelerator_of(evidence) != "gpu":
            return "TensorFlow sees no GPU on this machine"
        return "no stage is built on heavy ops that have a GPU kernel"


def _can_move(one: StageEvidence) -> bool:
    traits = one.stage.traits
    return (
        one.stage.kind == "map"
        and not traits.python
        # Random state would live on the CPU and be fetched each time; head moves such layers.
        and not traits.stateful
        and bool(WORKS_ON_GPU & set(traits.op_types))
        and not any(op.startswith(CPU_ONLY) for op in traits.op_types)
    )


def _extra_seconds(one: StageEvidence) -> float:
    elements = elements_per_step(one) or 1.0
    copied = (one.stage.input_bytes or 0) + (bytes_of(one) or 0.0)
    return elements * (LAUNCH_S * one.stage.traits.ops + copied / COPY_BYTES_PER_S)
