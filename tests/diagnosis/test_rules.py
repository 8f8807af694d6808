"""Every rule on its cases, and what all rules have in common."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Iterator

import constructed
import pytest
from rule_cases import CASES, Case

from bottleneck_kit.diagnosis import rules, thresholds
from bottleneck_kit.diagnosis.engine import diagnose
from bottleneck_kit.diagnosis.rule import Match, Rule
from bottleneck_kit.diagnosis.rules import ALL_RULES, rule_by_code
from bottleneck_kit.errors import UnknownRuleError
from bottleneck_kit.records.evidence import Evidence
from bottleneck_kit.records.run_record import RunRecord

REMEDIES = {
    "machine",
    "tune",
    "vectorize",
    "fuse",
    "split",
    "late_cast",
    "reorder",
    "cache",
    "bake",
    "processes",
    "head",
    "device",
    "dali",
    "service",
    "steps_per_execution",
    "jit_compile",
    "pad_shapes",
    "drop_eager",
    "callback",
    "validation",
}

HEADINGS = (
    "What it checks:",
    "Why it costs time:",
    "Evidence used:",
    "Example:",
    "What to do:",
    "Known problems:",
)


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.code} {case.name}")
def test_rule_holds_where_it_should_and_only_there(case: Case) -> None:
    diagnosis = diagnose(constructed.evidence(**case.fields), [rule_by_code(case.code)])

    assert tuple((one.severity, one.stage) for one in diagnosis.findings) == case.expected
    reasons = [one.reason for one in diagnosis.not_evaluated]
    if case.reason:
        assert len(reasons) == 1
        assert case.reason in reasons[0]
    else:
        assert reasons == []


@pytest.mark.parametrize(
    "case", [one for one in CASES if one.expected], ids=lambda case: f"{case.code} {case.name}"
)
def test_finding_speaks_with_known_numbers_and_remedies(case: Case) -> None:
    diagnosis = diagnose(constructed.evidence(**case.fields), [rule_by_code(case.code)])

    for finding in diagnosis.findings:
        assert finding.text.endswith(".")
        assert not {"None", "nan"} & set(finding.text.replace(",", " ").split())
        assert set(finding.remedies) <= REMEDIES
        assert len(set(finding.remedies)) == len(finding.remedies)
        assert finding.evidence


@pytest.mark.parametrize("rule", ALL_RULES, ids=lambda rule: rule.code)
def test_rule_has_cases_for_holding_not_holding_and_not_asked(rule: Rule) -> None:
    mine = [case for case in CASES if case.code == rule.code]

    assert any(case.expected for case in mine)
    assert any(not case.expected and not case.reason for case in mine)
    assert any(case.reason for case in mine)


@pytest.mark.parametrize("rule", ALL_RULES, ids=lambda rule: rule.code)
def test_rule_documents_itself_under_every_heading(rule: Rule) -> None:
    text = inspect.getdoc(rule) or ""
    places = [text.find(heading) for heading in HEADINGS]

    assert -1 not in places
    assert places == sorted(places)


@pytest.mark.parametrize("rule", ALL_RULES, ids=lambda rule: rule.code)
def test_rule_needs_fields_that_evidence_has_and_names_remedies_that_exist(rule: Rule) -> None:
    assert set(rule.needs) <= set(inspect.get_annotations(Evidence))
    assert rule.remedies
    assert set(rule.remedies) <= REMEDIES


def test_table_is_sorted_and_whole() -> None:
    codes = [rule.code for rule in ALL_RULES]
    modules = {name for _, name, _ in pkgutil.iter_modules(rules.__path__)}

    assert codes == sorted(set(codes))
    assert {type(rule).__module__.rpartition(".")[2] for rule in ALL_RULES} == modules
    for rule in ALL_RULES:
        assert type(rule).__module__.endswith("." + rule.name.replace("-", "_"))
        module = importlib.import_module(type(rule).__module__)
        assert (module.__doc__ or "").startswith(rule.code)


def test_rules_are_found_by_code_in_any_case() -> None:
    assert rule_by_code(" inp111 ").name == "serial-stage"


def test_unknown_code_lists_those_there_are() -> None:
    with pytest.raises(UnknownRuleError, match=r"received 'INP999'.*INP101, INP110"):
        rule_by_code("INP999")


def test_python_stage_never_brings_advice_to_add_calls() -> None:
    slow_python = constructed.stage(1, "map", "work", cost_ms=400, parallelism=8, python=True)
    stages = (constructed.stage(0, "range", cost_ms=0.1), slow_python)
    evidence = constructed.evidence(stages=constructed.stages_evidence(stages))

    findings = diagnose(evidence).findings

    assert "INP112" in {one.code for one in findings}
    assert not any("tune" in one.remedies for one in findings)


def test_numpy_input_is_named_as_the_array_adapter_of_keras() -> None:
    adapter = constructed.stage(0, "keras_arrays", cost_ms=60, injected_by="keras")
    evidence = constructed.evidence(
        job=constructed.job(input_kind="arrays"),
        stages=constructed.stages_evidence((adapter,)),
        source_s=0.060,
        cpu_share=0.5,
    )

    diagnosis = diagnose(evidence)

    assert "Keras' array adapter (NumPy input)" in diagnosis.verdict.text
    by_code = {one.code: one for one in diagnosis.findings}
    for code in ("INP101", "INP113"):
        assert "Keras' array adapter (NumPy input)" in by_code[code].text
        assert not {"tune", "cache", "bake"} & set(by_code[code].remedies)


def test_serial_stage_offers_calls_and_records_only_where_they_can_be() -> None:
    def remedies(kind: str, *, deterministic: bool) -> tuple[str, ...]:
        one = constructed.stage(
            1, kind, "work", cost_ms=70, traits={"deterministic": deterministic}
        )
        stages = (constructed.stage(0, "range", cost_ms=0.1), one)
        evidence = constructed.evidence(stages=constructed.stages_evidence(stages), cpu_share=0.5)
        return diagnose(evidence, [rule_by_code("INP111")]).findings[0].remedies

    assert {"tune", "bake", "cache"} <= set(remedies("map", deterministic=True))
    assert not {"bake", "cache"} & set(remedies("map", deterministic=False))
    assert "tune" not in remedies("filter", deterministic=True)


def test_progress_bar_of_keras_is_named_with_its_cure() -> None:
    one = constructed.callback_evidence("ProgbarLogger", share=0.4)

    (finding,) = diagnose(constructed.evidence(callbacks=(one,)), [rule_by_code("HST301")]).findings

    assert "verbose=2" in finding.text
    assert finding.remedies == ("steps_per_execution",)


def test_slow_start_offers_reordering_only_behind_a_buffer() -> None:
    shuffle = constructed.stage(0, "shuffle", cost_ms=1.0)
    fields = {"warm_up_s": 50.0, "fit_s": 100.0}

    def remedies(**more: object) -> tuple[str, ...]:
        evidence = constructed.evidence(**fields, **more)
        return diagnose(evidence, [rule_by_code("RUN402")]).findings[0].remedies

    assert remedies(stages=constructed.stages_evidence((shuffle,))) == ("reorder", "bake")
    assert remedies() == ()


class _Broken(Rule):
    """Raises when it is asked."""

    code, name, needs, remedies = "ZZZ999", "broken", (), ()

    def matches(self, evidence: Evidence) -> Iterator[Match]:
        raise RuntimeError("a bug in a rule")

    def say(self, match: Match, evidence: Evidence) -> str:
        return ""


def test_broken_rule_is_reported_and_loses_nothing_of_the_others() -> None:
    evidence = constructed.evidence(cpu_share=0.95)

    whole = diagnose(evidence)
    with_broken = diagnose(evidence, [_Broken(), *ALL_RULES])

    assert whole.findings
    assert with_broken.findings == whole.findings
    assert [(one.code, one.reason) for one in with_broken.not_evaluated] == [
        ("ZZZ999", "the rule failed (RuntimeError: a bug in a rule)")
    ]


def test_broken_verdict_loses_no_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(evidence: Evidence) -> None:
        raise RuntimeError("a bug in the verdict")

    monkeypatch.setattr("bottleneck_kit.diagnosis.engine.judge", fail)

    diagnosis = diagnose(constructed.evidence())

    assert diagnosis.verdict.kind == "unknown"
    assert "a bug in the verdict" in diagnosis.verdict.text
    assert diagnosis.findings


def test_findings_come_worst_first() -> None:
    mild = constructed.callback_evidence(share=0.1)
    diagnosis = diagnose(constructed.evidence(callbacks=(mild,), cpu_share=0.95))

    assert [one.severity for one in diagnosis.findings] == ["high", "high", "moderate"]
    assert [one.code for one in diagnosis.findings] == ["INP101", "INP110", "HST301"]


def test_match_refuses_to_give_text_as_a_number() -> None:
    match = Match("high", numbers={"stage": "map blur", "pipe_s": None, "calls": 2})

    assert match.number("calls") == 2.0
    for name in ("stage", "pipe_s", "nothing"):
        with pytest.raises(KeyError):
            match.number(name)


def test_every_threshold_says_unit_and_reason() -> None:
    source = inspect.getsource(thresholds)
    names = [name for name in vars(thresholds) if name.isupper()]

    assert len(names) >= 20
    for name in names:
        _, _, after = source.partition(f"\n{name} = ")
        assert after.split("\n")[1].startswith('"""'), name


def test_rules_never_see_the_record() -> None:
    for rule in ALL_RULES:
        module = importlib.import_module(type(rule).__module__)
        assert RunRecord not in vars(module).values()
