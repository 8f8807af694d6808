"""Jobs to prescribe for: the article's pipeline as it is really read, and findings about it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from constructed import environment, evidence, job, stage, stages_evidence

from bottleneck_kit.prescription import ALL_REMEDIES
from bottleneck_kit.records.diagnosis import Diagnosis, Finding, Verdict
from bottleneck_kit.records.evidence import Evidence
from bottleneck_kit.records.plan import Prescription
from bottleneck_kit.records.stage import Stage

DETERMINISTIC = {"random": False, "stateful": False, "deterministic": True}
RANDOM = {"random": True, "stateful": True, "deterministic": False}
TUNED = {"num_parallel_calls": "AUTOTUNE"}

PARSE_OPS = ("Cast", "Const", "DecodeRaw", "Identity", "ParseExampleV2", "Placeholder", "Reshape")
DILATE_OPS = ("Const", "Dilation2D", "Identity", "Placeholder", "StridedSlice")
BLUR_OPS = ("Cast", "Const", "DepthwiseConv2dNative", "Identity", "MirrorPad", "StridedSlice")


def mapped(index: int, name: str, cost_ms: float | None, **fields: Any) -> Stage:
    """Makes a parallel, deterministic map over 128 images of 3 KiB a step."""
    traits = {**DETERMINISTIC, "ops": 14, **fields.pop("traits", {})}
    defaults: dict[str, Any] = {
        "parallelism": 2,
        "elements_per_step": 128.0,
        "bytes_per_element": 3076.0,
        "element_bytes": 3076,
        "input_bytes": 3076,
        "options": TUNED,
    }
    return stage(index, "map", name, cost_ms=cost_ms, traits=traits, **{**defaults, **fields})


def serial_map(index: int, name: str, cost_ms: float | None, **fields: Any) -> Stage:
    """Makes a map that works on one element at a time."""
    return mapped(index, name, cost_ms, **{"parallelism": 1, "options": {}, **fields})


def python_map(index: int, name: str, cost_ms: float | None, **fields: Any) -> Stage:
    """Makes a map over a numpy_function."""
    traits = {
        "random": None,
        "stateful": True,
        "deterministic": False,
        **fields.pop("traits", {}),
    }
    return serial_map(index, name, cost_ms, python=True, traits=traits, **fields)


def source(index: int = 0, cost_ms: float | None = 2.0, **fields: Any) -> Stage:
    """Makes a parallel reader of TFRecord files."""
    defaults: dict[str, Any] = {
        "parallelism": 2,
        "elements_per_step": 128.0,
        "bytes_per_element": 3150.0,
        "options": {"num_parallel_reads": "AUTOTUNE"},
        "traits": {"reads_files": True, **DETERMINISTIC},
    }
    return stage(index, "tfrecord", cost_ms=cost_ms, **{**defaults, **fields})


def batch(index: int, cost_ms: float | None = 1.0, **fields: Any) -> Stage:
    """Makes a batch of 128 images."""
    defaults: dict[str, Any] = {
        "elements_per_step": 1.0,
        "bytes_per_element": 393_728.0,
        "input_bytes": 3076,
        "element_bytes": 393_728,
        "options": {"batch_size": 128, "drop_remainder": False},
        "traits": DETERMINISTIC,
    }
    return stage(index, "batch", cost_ms=cost_ms, **{**defaults, **fields})


def augment(index: int, cost_ms: float | None = 30.0, **fields: Any) -> Stage:
    """Makes the article's random layers behind the batch."""
    layers = ("RandomFlip", "RandomRotation", "RandomZoom")
    traits = {**RANDOM, "keras_layers": layers, "op_types": ("ImageProjectiveTransformV3",)}
    size = {"elements_per_step": 1.0, "input_bytes": 1_573_376, "element_bytes": 1_573_376}
    return mapped(index, "augment", cost_ms, **{**size, "traits": traits, **fields})


def rescale(index: int, cost_ms: float | None = 2.0) -> Stage:
    """Makes the article's cast to float, a Keras layer behind the batch."""
    return mapped(
        index,
        "rescale",
        cost_ms,
        elements_per_step=1.0,
        input_bytes=393_728,
        element_bytes=1_573_376,
        traits={"keras_layers": ("Rescaling",), "op_types": ("Cast", "Mul")},
    )


def prefetch(index: int) -> Stage:
    """Makes the prefetch at the end, always found empty."""
    return stage(index, "prefetch", cost_ms=0.1, elements_per_step=1.0, buffer_fill_share=0.0)


def article() -> tuple[Stage, ...]:
    """Makes the article's pipeline: eight stages between its list of files and the step."""
    return (
        stage(0, "list_files", cost_ms=0.0, elements_per_step=0.01, traits=RANDOM),
        source(1),
        stage(2, "repeat", cost_ms=0.1, elements_per_step=128.0, options={"count": -1}),
        mapped(3, "parse", 6.0, input_bytes=None, traits={"op_types": PARSE_OPS}),
        mapped(4, "dilate", 20.0, traits={"op_types": DILATE_OPS}),
        mapped(5, "blur", 40.0, traits={"op_types": BLUR_OPS, "ops": 20}),
        batch(6),
        rescale(7),
        augment(8),
        prefetch(9),
    )


def finding(*remedies: str, stage: int | None = None, code: str = "INP999") -> Finding:
    """Makes a finding that asks for ``remedies``."""
    return Finding(code, "a-finding", "high", stage, {}, "Something is wrong.", remedies)


def diagnosis(*findings: Finding, kind: str = "input_bound") -> Diagnosis:
    """Makes a diagnosis of those findings."""
    return Diagnosis(Verdict(kind, "high", 0.58, 0.083, 0.0315, 0.06, "A verdict."), findings)


def run(stages: Sequence[Stage] | None = None, **fields: Any) -> Evidence:
    """Makes the evidence of a job that waits 48 of 83 ms; ``gpus``, ``cores`` as the machine."""
    cores = float(fields.pop("usable_cores", 2.0))
    defaults: dict[str, Any] = {
        "stages": stages_evidence(article() if stages is None else stages, cores=cores),
        "environment": environment(cores=cores, gpus=fields.pop("gpus", 0)),
        "job": job(batch_size=128),
        "usable_cores": cores,
        "cpu_step_s": 0.150,
    }
    return evidence(**{**defaults, **fields})


def compute_bound(stages: Sequence[Stage] | None = None, **fields: Any) -> Evidence:
    """Makes the evidence of a job that does not wait for its input."""
    defaults: dict[str, Any] = {"step_s": 0.083, "held_call_s": 0.0825, "wait_s": 0.0}
    return run(stages, **{**defaults, **fields})


def ask(name: str, evidence: Evidence, *findings: Finding, **fields: Any) -> list[Prescription]:
    """Asks one remedy."""
    return list(ALL_REMEDIES[name].judge.prescriptions(evidence, diagnosis(*findings, **fields)))


def why_not(name: str, evidence: Evidence, *findings: Finding) -> str:
    """Asks one remedy why it does not apply."""
    return ALL_REMEDIES[name].judge.why_not(evidence, diagnosis(*findings))
