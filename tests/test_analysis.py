from __future__ import annotations

from typing import Any

import pytest
from constructed import record

from bottleneck_kit import analysis
from bottleneck_kit.analysis import analyse
from bottleneck_kit.records import codec
from bottleneck_kit.records.measurement import Missing
from bottleneck_kit.records.run_record import RunRecord

NOTHING = Missing("not recorded")


def fail(*_: Any) -> Any:
    raise ValueError("no such number")


def test_a_record_becomes_evidence_diagnosis_and_plan() -> None:
    result = analyse(record())
    assert result.diagnosis.verdict.kind == "input_bound"
    assert result.evidence.stages
    assert result.plan.remedies


def test_a_record_gives_the_same_analysis_after_json() -> None:
    one = record(noise=0.02)
    assert analyse(codec.loads(codec.dumps(one))) == analyse(one)


def test_a_compute_bound_record_gives_an_empty_plan() -> None:
    result = analyse(record(step_ms=83.0, wait_ms=0.1, held_ms=82.4, cpu_ms=120.0))
    assert result.diagnosis.verdict.kind == "compute_bound"
    assert result.plan.remedies == ()


@pytest.mark.parametrize(
    "fields",
    [
        {"steps": 1},
        {"stages": NOTHING},
        {"held_ms": None, "wait_ms": None},
        {"cpu_ms": None},
        {"stages": ()},
        {"stack": NOTHING, "overhead": NOTHING, "traces": NOTHING},
    ],
)
def test_a_record_that_lacks_something_is_analysed_all_the_same(fields: dict[str, Any]) -> None:
    result = analyse(record(**fields))
    assert result.diagnosis.verdict.text


def test_a_record_of_nothing_but_its_machine_is_unknown() -> None:
    full = record()
    result = analyse(RunRecord(full.environment, full.job))
    assert result.diagnosis.verdict.kind == "unknown"
    assert result.plan.remedies == ()


def test_evidence_that_fails_leaves_its_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(analysis, "gather", fail)
    result = analyse(record())
    assert "no such number" in result.evidence.unavailable["evidence"]
    assert result.diagnosis.verdict.kind == "unknown"


def test_a_diagnosis_that_fails_leaves_its_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(analysis, "diagnose", fail)
    result = analyse(record())
    assert result.diagnosis.verdict.kind == "unknown"
    assert "no such number" in result.diagnosis.verdict.text
    assert result.evidence.stages


def test_a_plan_that_fails_leaves_its_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(analysis, "prescribe", fail)
    result = analyse(record())
    assert "no such number" in result.plan.unpredicted["all"]
    assert result.diagnosis.findings
