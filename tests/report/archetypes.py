"""Reports of typical jobs, built by hand so that only the rendering decides how they look."""

from __future__ import annotations

from typing import Any

from constructed import article_stages, callback_evidence, evidence, record, stage, stages_evidence

from bottleneck_kit.records.diagnosis import Diagnosis, Finding, NotEvaluated, Verdict
from bottleneck_kit.records.evidence import Evidence
from bottleneck_kit.records.live_model import LiveModel, LiveNode
from bottleneck_kit.records.measurement import Measurement, Missing
from bottleneck_kit.records.overhead import Overhead
from bottleneck_kit.records.pipeline import Pipeline
from bottleneck_kit.records.plan import Plan, Prescription
from bottleneck_kit.records.run_record import RunRecord
from bottleneck_kit.report.report import Report

FOLDER = "/home/ada/flowers"
SOURCE = f"{FOLDER}/train.py"
NO_PROBE = "the probe was switched off"
LIVE = LiveModel(LiveNode("Root", 100, 0.1, 0), readings=3, passes=1)


def remedy(name: str, stage_index: int | None, ms: float | None, **fields: Any) -> Prescription:
    """Makes a prescription; its interval is a tenth to either side."""
    absent = Missing("needs the CPU time of the held batch")
    defaults: dict[str, Any] = {
        "predicted_step_s": absent if ms is None else ms / 1e3,
        "low_s": absent if ms is None else ms * 0.9 / 1e3,
        "high_s": absent if ms is None else ms * 1.1 / 1e3,
        "safety": "exact",
        "cost": "a line of code",
        "text": f"What {name} does and why it helps here, in a sentence or two of usual length.",
        "snippet": f"dataset = dataset.{name}()",
    }
    return Prescription(name=name, stage=stage_index, **{**defaults, **fields})


def report(
    evidence: Evidence,
    verdict: Verdict,
    *,
    record: RunRecord,
    findings: tuple[Finding, ...] = (),
    not_evaluated: tuple[NotEvaluated, ...] = (),
    remedies: tuple[Prescription, ...] = (),
    unpredicted: dict[str, str] | None = None,
) -> Report:
    return Report(
        record=record,
        evidence=evidence,
        diagnosis=Diagnosis(verdict, findings, not_evaluated),
        plan=Plan(remedies, unpredicted or {}),
    )


def input_bound() -> Report:
    """The article's job: maps that keep both cores busy, and a step that waits for them."""
    stages = tuple(
        stage(
            one.index,
            one.kind,
            one.name,
            cost_ms=one.cost.cost_s * 1e3,  # type: ignore[union-attr]
            parallelism=2 if one.kind == "map" else 1,
            file=SOURCE if one.kind == "map" else None,
            line=31 + 9 * one.index if one.kind == "map" else None,
        )
        for one in article_stages()
    )
    return report(
        evidence(
            step_s=Measurement(0.083, 0.0821, 0.0844, 90),
            stages=stages_evidence(stages),
            cpu_step_s=0.156,
            autotune={"map blur": 2.0},
        ),
        Verdict(
            "input_bound",
            "high",
            0.58,
            0.083,
            0.0315,
            0.060,
            "input-bound: 58 % of each step waits for data; ideal 31.5 ms, now 83.0 ms; an epoch "
            "of 100 steps would take 3.2 s, not 8.3 s.",
        ),
        record=record(pipeline=Pipeline(stages, live=LIVE)),
        findings=(
            Finding(
                "INP101",
                "input-bound",
                "high",
                None,
                {"wait_s": 0.048, "step_s": 0.083, "input_share": 0.58, "steps": 90},
                "Each step of 83.0 ms waits 48.0 ms for its batch.",
                ("bake",),
            ),
            Finding(
                "INP110",
                "cpu-saturated",
                "high",
                3,
                {
                    "stage": "map blur",
                    "place": f"{SOURCE}:58",
                    "cpu_share": 0.94,
                    "usable_cores": 2.0,
                    "cpu_step_s": 0.156,
                    "note": None,
                },
                "Both cores are busy: more parallel calls cannot help. map blur "
                f"({SOURCE}:58) is the largest part of the work, with 40.0 ms of it a step.",
                ("machine", "bake", "head"),
            ),
        ),
        remedies=(
            remedy(
                "bake",
                3,
                31.5,
                cost="312 MiB of disk, and one pass of 8.1 s",
                text="Write what map blur gives to disk once, and read it from there in every "
                "epoch: the stages before it give the same values on each pass.",
                snippet="dataset = bk.remedies.bake(dataset, stage='blur', folder='baked')\n"
                "model.fit(dataset, epochs=10)",
            ),
            remedy("head", 5, 52.0, safety="redraws", cost="the augmentation runs in the step"),
            remedy("service", None, 55.0, safety="reorders", cost="a second machine"),
            remedy("vectorize", 2, 64.0, safety="equivalent"),
            remedy(
                "machine", None, 40.0, safety="advice", cost="5 cores in place of 2", snippet=""
            ),
            remedy(
                "device", None, None, safety="redraws", cost="an accelerator with room to spare"
            ),
        ),
        unpredicted={"dali": "no GPU is there to take the work"},
    )


def compute_bound() -> Report:
    """A job whose input is ready in time."""
    return report(
        evidence(step_s=0.031, wait_s=0.0004, held_call_s=0.0302, cpu_step_s=0.050, stages=()),
        Verdict(
            "compute_bound",
            "none",
            0.013,
            0.031,
            0.0307,
            0.0307,
            "compute-bound: input costs 1.3 % of each step of 31.0 ms; nothing to gain there.",
        ),
        record=record(),
        remedies=(remedy("jit_compile", None, None, safety="equivalent", text="Try XLA."),),
    )


def unknown() -> Report:
    """A fit too short to judge, of which little could be had."""
    short = Missing("only 4 steady steps, at least 20 are needed")
    no_probe = Missing(NO_PROBE)
    no_pipeline = Missing("the dataset is distributed: its stages cannot be read")
    return report(
        evidence(
            steady_steps=4,
            step_s=short,
            wait_s=short,
            wait_source="",
            host_s=short,
            held_call_s=no_probe,
            cpu_step_s=short,
            reachable_step_s=no_probe,
            limited_by="",
            stages=(),
            has_pipeline=no_pipeline,
            warm_up_s=0.0,
            fit_s=1.3,
        ),
        Verdict("unknown", "none", short, short, no_probe, no_probe, short.reason),
        record=record(
            steps=4,
            held_ms=None,
            pipeline=no_pipeline,
            overhead=Missing("the fit was interrupted"),
            ended="interrupted",
            unavailable={"stack": "the sampling thread could not be started"},
        ),
        not_evaluated=(
            NotEvaluated("INP101", "input-bound", short.reason),
            NotEvaluated("INP110", "cpu-saturated", short.reason),
            NotEvaluated("INP111", "serial-stage", no_pipeline.reason),
            NotEvaluated("HST301", "slow-callback", "the sampling thread could not be started"),
            NotEvaluated("RUN401", "recompile", "the rule failed (ZeroDivisionError)"),
        ),
    )


def host_bound() -> Report:
    """A job that a callback holds back, on an emulated accelerator."""
    return report(
        evidence(
            step_s=0.050,
            wait_s=0.0005,
            host_s=0.022,
            callback_step_s=0.020,
            held_call_s=0.0275,
            cpu_step_s=0.060,
            callbacks=(callback_evidence("ImageLogger", step_ms=20.0, share=0.4),),
            validation_share=0.12,
            emulated_ms=20.0,
        ),
        Verdict(
            "host_bound",
            "none",
            0.01,
            0.050,
            0.0495,
            0.0495,
            "host-bound: 44 % of each step is spent outside the train function, 20.0 ms of it in "
            "ImageLogger.",
        ),
        record=record(emulated_ms=20.0, overhead=Overhead(31e-6, 0.003, 0.01, 0.5, 0.06, 5.6)),
        findings=(
            Finding(
                "HST301",
                "slow-callback",
                "high",
                None,
                {"callback_step_s": 0.020, "share": 0.4, "callback": "ImageLogger"},
                "ImageLogger takes 20.0 ms of each step in on_train_batch_end.",
                ("callback",),
            ),
        ),
        remedies=(remedy("callback", None, 30.0, safety="advice"),),
    )


def numpy_input() -> Report:
    """Arrays handed to fit: one stage, Keras' own, whose cost nobody can read."""
    stages = (stage(0, "keras_arrays", injected_by="keras"),)
    return report(
        evidence(
            step_s=0.012,
            wait_s=0.0031,
            wait_source="held batch",
            held_call_s=0.0084,
            cpu_step_s=0.018,
            stages=stages_evidence(stages),
        ),
        Verdict(
            "input_bound",
            "moderate",
            0.26,
            0.012,
            0.0089,
            Missing("no stage has a cost"),
            "input-bound: up to 26 % of each step waits for Keras' array adapter.",
        ),
        record=record(
            pipeline=Pipeline(stages, live=Missing("Keras' array adapter turns autotune off"))
        ),
        remedies=(remedy("tune", 0, 9.0),),
    )


def branches() -> Report:
    """Two files zipped, one of them mapped by a function deep in a library; map and batch fused."""
    left = (
        stage(0, "tfrecord", cost_ms=1.2),
        stage(
            1,
            "map",
            "decode_and_standardise_the_left_image",
            cost_ms=22.0,
            file="/opt/python/lib/site-packages/a_rather_long_library/images/decode_the_images.py",
            line=1204,
        ),
    )
    right = (stage(2, "from_generator", "labels", cost_ms=3.0, python=True, file=SOURCE),)
    zipped = stage(3, "zip", cost_ms=0.2, branches=(left, right))
    fused = stage(4, "map", "pair", cost_ms=5.0, file=SOURCE, line=77, shared_with=(5,))
    batch = stage(5, "batch")
    flat = (*left, *right, zipped, fused, batch)
    return report(
        evidence(stages=stages_evidence(flat), limited_by="serial stage decode"),
        Verdict("mixed", "moderate", 0.58, 0.083, 0.0315, 0.06, "mixed: input and callbacks."),
        record=record(pipeline=Pipeline((zipped, fused, batch), live=LIVE)),
        findings=(
            Finding(
                "INP111",
                "serial-stage",
                "moderate",
                1,
                {"cost_s": 0.022, "bound_s": 0.022},
                "It works on one element at a time.",
                ("tune",),
            ),
        ),
        remedies=(remedy("tune", 1, 60.0),),
    )


ARCHETYPES = {
    "branches": branches,
    "compute_bound": compute_bound,
    "host_bound": host_bound,
    "input_bound": input_bound,
    "numpy_input": numpy_input,
    "unknown": unknown,
}
