"""A report as plain dictionaries and lists: the JSON that other programs read."""

from __future__ import annotations

import math
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from bottleneck_kit.records.evidence import Evidence, StageEvidence
from bottleneck_kit.records.measurement import Measurement, Missing
from bottleneck_kit.records.overhead import Overhead
from bottleneck_kit.records.plan import Plan
from bottleneck_kit.records.run_record import RunRecord
from bottleneck_kit.report.absences import Absences
from bottleneck_kit.report.stage_rows import fed_stages
from bottleneck_kit.report.time_split import TimePart, split_fit, split_step

if TYPE_CHECKING:
    from bottleneck_kit.report.report import Report

SCHEMA = 1
"""Raised whenever a key changes its meaning or goes; new keys may come without that."""

_NOT_SAID = {"not computed", "not recorded", "not read", "not measured"}
"""Reasons of defaults: they say that nobody looked, which a user can do nothing with."""


def report_to_dict(report: Report) -> dict[str, Any]:
    """Gives the report in plain values, ready for ``json.dumps``.

    Times are seconds, shares run from 0 to 1, a stage is named by its ``index``. A value that
    could not be had is null, and ``unavailable`` holds the reason under its path, such as
    ``verdict.ideal_step_s``, ``stages.3.cost_s`` (``stages.cost_s`` where one reason holds for
    all) or ``remedies.machine.predicted_step_s``. Share and bound of a stage and the ends of a
    prediction are missing for the reason of the number they belong to, which is said once.

    Keys:
        schema: 1.
        verdict: class (input_bound, compute_bound, host_bound, mixed or unknown), severity
            (none, moderate or high), input_share, step_s, ideal_step_s, reachable_step_s, text.
        where_time_goes: step and fit, each a list of {name, label, seconds_s, share}.
        stages: {index, kind, name, file, line, cost_s, share, parallelism, serial, bound_s,
            feeds, note}; cost_s are thread seconds a step, bound_s what the stage alone imposes
            on a step, feeds the stage that a branch leads into (null on the main line).
        findings: {code, name, severity, stage, evidence, text, remedies}, worst first; a null
            in a finding's evidence is a number the rule did not have.
        not_evaluated: {code, name, reason}: rules that could not be asked.
        remedies: {name, stage, predicted_step_s, low_s, high_s, safety, snippet, cost, text,
            findings}, best first.
        not_prescribed: remedy -> why it is not proposed.
        autotune: stage -> the value AUTOTUNE chose.
        measurements: number -> {value, low, high, n}: all the diagnosis rests on, with the 95 %
            interval and the number of observations.
        utilization: what the machine was doing: {interval_s, samples, host, gpus, ...}, each
            sampled quantity as {mean, p5, p95}.
        unavailable: path or instrument -> reason.
        overhead: {per_step_s, share, probe_s, report_s}: what the kit itself cost.
        job, environment: what was trained, on what.
        notes: sentences a reader has to know, such as that the accelerator was emulated.
    """
    record, evidence, diagnosis = report.record, report.evidence, report.diagnosis
    absent = Absences(dict(_instruments(record, evidence)))
    verdict = diagnosis.verdict
    content = {
        "schema": SCHEMA,
        "verdict": {
            "class": verdict.kind,
            "severity": verdict.severity,
            "input_share": absent.value("verdict.input_share", verdict.input_share),
            "step_s": absent.value("verdict.step_s", verdict.step_s),
            "ideal_step_s": absent.value("verdict.ideal_step_s", verdict.ideal_step_s),
            "reachable_step_s": absent.value("verdict.reachable_step_s", verdict.reachable_step_s),
            "text": verdict.text,
        },
        "where_time_goes": {
            "step": [_time_part(part) for part in split_step(evidence)],
            "fit": [_time_part(part) for part in split_fit(evidence)],
        },
        "stages": _stages(evidence.stages, absent),
        "findings": [
            {
                "code": finding.code,
                "name": finding.name,
                "severity": finding.severity,
                "stage": finding.stage,
                "evidence": {
                    name: absent.value(f"findings.{finding.code}.{name}", value)
                    for name, value in finding.evidence.items()
                },
                "text": finding.text,
                "remedies": list(finding.remedies),
            }
            for finding in diagnosis.findings
        ],
        "not_evaluated": [
            {"code": rule.code, "name": rule.name, "reason": rule.reason}
            for rule in diagnosis.not_evaluated
        ],
        "remedies": _remedies(report.plan, absent),
        "not_prescribed": dict(report.plan.unpredicted),
        "autotune": _autotune(record, evidence, absent),
        "measurements": _measurements(evidence),
        "utilization": absent.tree("utilization", record.utilization),
        "overhead": _overhead(record.overhead, absent),
        "job": _job(record, absent),
        "environment": _environment(record, absent),
        "notes": list(report.notes),
    }
    content["unavailable"] = absent.reasons
    return content


def _instruments(record: RunRecord, evidence: Evidence) -> dict[str, str]:
    """Gives what failed as a whole, instrument -> reason; what follows from it is not repeated."""
    pipeline = record.pipeline
    wholes = {
        "steps": record.steps,
        "pipeline": pipeline,
        "live_pipeline": None if isinstance(pipeline, Missing) else pipeline.live,
        "held_batch": record.held_batch,
        "stack": record.stack,
        "traces": record.traces,
    }
    found = {name: whole.reason for name, whole in wholes.items() if isinstance(whole, Missing)}
    for name, reason in {**evidence.unavailable, **record.unavailable}.items():
        # An instrument's own words beat the record's "not recorded".
        if found.get(name, "not recorded") in _NOT_SAID or name in record.unavailable:
            found[name] = reason
    return found


def _time_part(part: TimePart) -> dict[str, Any]:
    return {
        "name": part.name,
        "label": part.label,
        "seconds_s": part.seconds_s,
        "share": part.share,
    }


def _stages(stages: tuple[StageEvidence, ...], absent: Absences) -> list[dict[str, Any]]:
    feeds = fed_stages(stages)
    reasons = {one.cost_s.reason if isinstance(one.cost_s, Missing) else "" for one in stages}
    common = len(stages) > 1 and len(reasons) == 1
    found = []
    for one in stages:
        path = "stages" if common else f"stages.{one.stage.index}"
        leader = f"{path}.cost_s"
        found.append(
            {
                "index": one.stage.index,
                "kind": one.stage.kind,
                "name": one.stage.name,
                "file": one.stage.file,
                "line": one.stage.line,
                "cost_s": absent.value(leader, one.cost_s),
                "share": absent.follower(leader, f"{path}.share", one.share),
                "parallelism": one.parallelism,
                "serial": one.serial,
                "bound_s": absent.follower(leader, f"{path}.bound_s", one.bound_s),
                "feeds": feeds.get(one.stage.index),
                "note": one.stage.note,
            }
        )
    return found


def _remedies(plan: Plan, absent: Absences) -> list[dict[str, Any]]:
    found = []
    for remedy in plan.remedies:
        at = "" if remedy.stage is None else f".{remedy.stage}"
        path = f"remedies.{remedy.name}{at}"
        leader = f"{path}.predicted_step_s"
        found.append(
            {
                "name": remedy.name,
                "stage": remedy.stage,
                "predicted_step_s": absent.value(leader, remedy.predicted_step_s),
                "low_s": absent.follower(leader, f"{path}.low_s", remedy.low_s),
                "high_s": absent.follower(leader, f"{path}.high_s", remedy.high_s),
                "safety": remedy.safety,
                "snippet": remedy.snippet,
                "cost": remedy.cost,
                "text": remedy.text,
                "findings": list(remedy.findings),
            }
        )
    return found


def _autotune(record: RunRecord, evidence: Evidence, absent: Absences) -> dict[str, Any] | None:
    live = record.pipeline if isinstance(record.pipeline, Missing) else record.pipeline.live
    if isinstance(live, Missing) and not evidence.autotune:
        absent.value("autotune", live)
        return None
    return {name: absent.value(f"autotune.{name}", v) for name, v in evidence.autotune.items()}


def _measurements(evidence: Evidence) -> dict[str, dict[str, Any]]:
    found = {}
    for one in fields(evidence):
        number = getattr(evidence, one.name)
        if isinstance(number, Measurement):
            ends = (number.value, number.low, number.high)
            if all(math.isfinite(end) for end in ends):
                found[one.name] = {
                    "value": number.value,
                    "low": number.low,
                    "high": number.high,
                    "n": number.n,
                }
    return found


def _overhead(overhead: Overhead | Missing, absent: Absences) -> dict[str, Any] | None:
    if isinstance(overhead, Missing):
        absent.value("overhead", overhead)
        return None
    return {
        "per_step_s": absent.value("overhead.per_step_s", overhead.per_step_s),
        "share": absent.value("overhead.share", overhead.share),
        "probe_s": absent.value("overhead.probe_s", overhead.probe_s),
        "report_s": absent.value("overhead.report_s", overhead.report_s),
    }


def _job(record: RunRecord, absent: Absences) -> dict[str, Any]:
    job = record.job
    return {
        "model": job.model,
        "parameters": absent.value("job.parameters", job.parameters),
        "batch_size": absent.value("job.batch_size", job.batch_size),
        "epochs": job.epochs,
        "steps_per_epoch": job.steps_per_epoch,
        "steps_per_execution": job.steps_per_execution,
        "input_kind": job.input_kind,
        "ended": record.ended,
        "fit_s": absent.value("job.fit_s", record.fit_s),
        "created_at": record.created_at,
    }


def _environment(record: RunRecord, absent: Absences) -> dict[str, Any]:
    environment = record.environment
    return {
        "python": environment.python,
        "tensorflow": absent.value("environment.tensorflow", environment.tensorflow),
        "keras": absent.value("environment.keras", environment.keras),
        "kit": environment.kit,
        "platform": environment.platform,
        "cpu_model": absent.value("environment.cpu_model", environment.cpu_model),
        "cores": environment.cores,
        "usable_cores": absent.value("environment.usable_cores", environment.usable_cores),
        "cores_limited_by": environment.cores_limited_by,
        "gpus": [gpu.name for gpu in environment.gpus],
    }
