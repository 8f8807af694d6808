"""``bottleneck-kit rules`` lists the rules and explains each from its docstring."""

from __future__ import annotations

import inspect

import pytest

from bottleneck_kit.cli.main import main
from bottleneck_kit.cli.rules import _sections
from bottleneck_kit.diagnosis.rules import ALL_RULES

HEADINGS = (
    "What it checks",
    "Why it costs time",
    "Evidence used",
    "Example",
    "What to do",
    "Known problems",
)


def words(text: str) -> str:
    return " ".join(text.split())


def test_every_rule_is_listed_once_in_the_order_of_codes(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "120")
    assert main(["rules"]) == 0

    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[:2] for line in lines] == sorted(
        [rule.code, rule.name] for rule in ALL_RULES
    )


@pytest.mark.parametrize("rule", ALL_RULES, ids=lambda rule: rule.code)
def test_a_rule_is_explained_in_its_own_words(
    rule: object, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["rules", rule.code]) == 0  # type: ignore[attr-defined]

    shown = capsys.readouterr().out
    lines = shown.splitlines()
    assert lines[0] == f"{rule.code} {rule.name}"  # type: ignore[attr-defined]
    for heading in HEADINGS:
        assert heading in lines
    for heading, text in _sections(inspect.getdoc(rule) or ""):
        assert heading in (*HEADINGS, "")
        assert words(text) in words(shown)
    assert all(line == line.rstrip() and len(line) <= 120 for line in lines)


def test_a_code_may_be_written_small(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rules", "inp111"]) == 0
    assert capsys.readouterr().out.startswith("INP111 ")


@pytest.mark.parametrize("code", ["INP000", "serial-stage", "", "x" * 200])
def test_an_unknown_code_names_those_there_are(
    code: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["rules", code]) == 2

    output = capsys.readouterr()
    assert output.out == ""
    assert output.err.count("\n") == 1
    for rule in ALL_RULES:
        assert rule.code in output.err


def test_a_docstring_is_cut_at_its_headings() -> None:
    text = "Sum up.\n\nWhat it checks:\n    One\n    two.\n\n    Three:\n\nExample:\n    Four."

    assert list(_sections(text)) == [
        ("", "Sum up."),
        ("What it checks", "One two.\n\nThree:"),
        ("Example", "Four."),
    ]
