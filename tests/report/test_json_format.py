"""The report for programs: the schema, and a reason for every null."""

from __future__ import annotations

import dataclasses
import json
import math
from pathlib import Path

import pytest
from archetypes import ARCHETYPES, NO_PROBE
from constructed import record
from nulls import nulls_without_reason

from bottleneck_kit.records.measurement import Missing
from bottleneck_kit.records.utilization import HostUtilization, Series, Utilization

KEYS = {
    "schema",
    "verdict",
    "where_time_goes",
    "stages",
    "findings",
    "not_evaluated",
    "remedies",
    "not_prescribed",
    "autotune",
    "measurements",
    "utilization",
    "unavailable",
    "overhead",
    "job",
    "environment",
    "notes",
}


@pytest.mark.parametrize("name", ARCHETYPES)
def test_the_keys_are_those_documented(name: str) -> None:
    content = ARCHETYPES[name]().to_dict()

    assert set(content) == KEYS
    assert content["schema"] == 1
    assert set(content["verdict"]) == {
        "class",
        "severity",
        "input_share",
        "step_s",
        "ideal_step_s",
        "reachable_step_s",
        "text",
    }
    for stage in content["stages"]:
        assert set(stage) >= {
            "index",
            "kind",
            "name",
            "file",
            "line",
            "cost_s",
            "share",
            "parallelism",
            "serial",
        }
    for finding in content["findings"]:
        assert set(finding) == {
            "code",
            "name",
            "severity",
            "stage",
            "evidence",
            "text",
            "remedies",
        }
    for remedy in content["remedies"]:
        assert set(remedy) >= {
            "name",
            "stage",
            "predicted_step_s",
            "low_s",
            "high_s",
            "safety",
            "snippet",
        }


def test_the_documentation_names_every_key() -> None:
    from bottleneck_kit.report.json_format import report_to_dict

    for key in KEYS:
        assert f"{key}:" in (report_to_dict.__doc__ or "") or f"{key}, " in report_to_dict.__doc__


@pytest.mark.parametrize("name", ARCHETYPES)
def test_it_is_strict_json_of_plain_values(name: str) -> None:
    report = ARCHETYPES[name]()

    assert json.loads(report.to_json()) == report.to_dict()


def test_values_are_those_of_the_report() -> None:
    report = ARCHETYPES["input_bound"]()
    content = report.to_dict()

    assert content["verdict"]["class"] == report.verdict.kind
    assert content["verdict"]["step_s"] == report.verdict.step_s
    assert content["stages"][3] == {
        "index": 3,
        "kind": "map",
        "name": "blur",
        "file": "/home/ada/flowers/train.py",
        "line": 58,
        "cost_s": 0.04,
        "share": pytest.approx(40 / 97.1),
        "parallelism": 2,
        "serial": False,
        "bound_s": 0.02,
        "feeds": None,
        "note": "",
    }
    assert [finding["code"] for finding in content["findings"]] == ["INP101", "INP110"]
    assert content["remedies"][0]["predicted_step_s"] == 0.0315
    assert content["autotune"] == {"map blur": 2.0}
    assert content["overhead"]["per_step_s"] == 40e-6
    assert content["measurements"]["step_s"]["low"] == 0.0821


def test_the_stages_of_a_branch_say_what_they_feed() -> None:
    stages = ARCHETYPES["branches"]().to_dict()["stages"]

    assert [stage["feeds"] for stage in stages] == [3, 3, 3, None, None, None]


@pytest.mark.parametrize("name", ARCHETYPES)
def test_every_null_has_its_reason(name: str) -> None:
    assert list(nulls_without_reason(ARCHETYPES[name]().to_dict())) == []


def test_reasons_are_the_instruments_own() -> None:
    reasons = ARCHETYPES["unknown"]().unavailable

    assert reasons["held_batch"] == NO_PROBE
    assert reasons["verdict.ideal_step_s"] == NO_PROBE
    assert reasons["stack"] == "the sampling thread could not be started"
    assert reasons["overhead"] == "the fit was interrupted"
    assert reasons["pipeline"].startswith("the dataset is distributed")


def test_nothing_is_unavailable_without_a_reason() -> None:
    for make in ARCHETYPES.values():
        for path, reason in make().unavailable.items():
            assert reason.strip(), path


def test_one_reason_for_all_stages_is_said_once() -> None:
    report = ARCHETYPES["input_bound"]()
    gone = Missing("autotune is off")
    stages = tuple(
        dataclasses.replace(one, cost_s=gone, share=gone, bound_s=gone) for one in report.stages
    )
    report = dataclasses.replace(
        report, evidence=dataclasses.replace(report.evidence, stages=stages)
    )

    about_stages = {p: r for p, r in report.unavailable.items() if p.startswith("stages")}

    assert about_stages == {"stages.cost_s": "autotune is off"}


def test_a_number_that_json_lacks_is_null_with_its_reason() -> None:
    report = ARCHETYPES["compute_bound"]()
    verdict = dataclasses.replace(report.verdict, step_s=math.inf)
    report = dataclasses.replace(
        report, diagnosis=dataclasses.replace(report.diagnosis, verdict=verdict)
    )

    assert report.to_dict()["verdict"]["step_s"] is None
    assert report.unavailable["verdict.step_s"] == "it came out as inf"


def test_an_instruments_own_failure_beats_not_recorded() -> None:
    report = ARCHETYPES["compute_bound"]()
    run = record(stack=Missing("not recorded"), unavailable={"stack": "its thread died"})

    assert dataclasses.replace(report, record=run).unavailable["stack"] == "its thread died"


def test_utilization_is_there_where_it_was_sampled() -> None:
    quiet = Series(0.0, 0.0, 0.0)
    host = HostUtilization(
        core_shares=(0.9, 0.8),
        machine_cores=Series(1.7, 1.0, 2.0),
        process_cores=Series(1.2, 0.9, 1.5),
        other_cores=Series(0.5, 0.1, 0.9),
        iowait_share=Missing("not told by this system"),
        process_memory_bytes=Series(2e9, 1e9, 3e9),
        memory_limit_bytes=8 * 2**30,
        disk_read_bytes_per_s=Series(3e7, 0.0, 9e7),
        disk_write_bytes_per_s=quiet,
        network_received_bytes_per_s=quiet,
        network_sent_bytes_per_s=quiet,
    )
    sampled = Utilization(0.25, 36, host, Missing("no NVIDIA driver"))
    report = dataclasses.replace(ARCHETYPES["input_bound"](), record=record(utilization=sampled))

    content = report.to_dict()

    assert content["utilization"]["host"]["other_cores"] == {"mean": 0.5, "p5": 0.1, "p95": 0.9}
    assert content["utilization"]["gpus"] is None
    assert content["unavailable"]["utilization.gpus"] == "no NVIDIA driver"
    assert content["unavailable"]["utilization.host.iowait_share"] == "not told by this system"


def test_json_is_written_where_it_is_wanted(tmp_path: Path) -> None:
    report = ARCHETYPES["unknown"]()

    text = report.to_json(tmp_path / "report.json")

    assert json.loads((tmp_path / "report.json").read_text(encoding="utf-8")) == json.loads(text)
