"""The report for people, compared whole with golden files at fixed widths.

After a wanted change: ``UPDATE_GOLDEN=1 pytest tests/report/test_console.py``, then read the diff.
"""

from __future__ import annotations

import dataclasses
import io
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import archetypes
import pytest
from archetypes import ARCHETYPES
from hypothesis import given, settings
from hypothesis import strategies as st

from bottleneck_kit.records.diagnosis import VERDICT_CLASSES
from bottleneck_kit.records.plan import SAFETY_CLASSES, Plan
from bottleneck_kit.report import console, layout
from bottleneck_kit.report.report import Report
from bottleneck_kit.report.wording import CLASS_WORDS, SAFETY_WORDS

GOLDEN = Path(__file__).parent / "golden"

CASES = [
    *((name, 80, False) for name in ARCHETYPES),
    *((name, 120, False) for name in ("branches", "input_bound", "unknown")),
    *((name, 100, True) for name in ("input_bound", "unknown")),
]


@pytest.fixture(autouse=True)
def in_the_users_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(layout, "current_folder", lambda: Path(archetypes.FOLDER))


def golden_name(name: str, width: int, full: bool) -> str:
    return f"{name}_{width}{'_full' if full else ''}.txt"


@pytest.mark.parametrize(("name", "width", "full"), CASES, ids=lambda value: str(value))
def test_the_whole_report_looks_as_it_should(name: str, width: int, full: bool) -> None:
    shown = console.render_text(ARCHETYPES[name](), width=width, full=full)
    path = GOLDEN / golden_name(name, width, full)
    if os.environ.get("UPDATE_GOLDEN"):
        path.parent.mkdir(exist_ok=True)
        path.write_text(shown, encoding="utf-8")

    assert shown == path.read_text(encoding="utf-8")


def test_no_golden_file_is_left_over() -> None:
    assert {path.name for path in GOLDEN.iterdir()} == {golden_name(*case) for case in CASES}


@pytest.mark.parametrize("name", ARCHETYPES)
@pytest.mark.parametrize("width", [60, 80, 100, 120])
def test_no_line_but_a_snippet_is_wider_than_asked_for(name: str, width: int) -> None:
    report = ARCHETYPES[name]()
    snippets = "\n".join(remedy.snippet for remedy in report.remedies)

    for line in console.render_text(report, width=width).splitlines():
        assert len(line) <= width or line.strip() in snippets, line


def test_the_first_lines_name_the_verdict_the_stage_and_the_first_cure() -> None:
    first = console.render_text(ARCHETYPES["input_bound"](), width=80).splitlines()[:5]

    assert first[0].startswith("input-bound: 58 %")
    assert any("map blur" in line and "train.py:58" in line for line in first)
    assert any("bake" in line and "31.5 ms" in line for line in first)


@pytest.mark.parametrize("name", ARCHETYPES)
def test_a_place_is_never_cut_inside_its_line_number(name: str) -> None:
    report = ARCHETYPES[name]()
    for width in (60, 80, 120):
        shown = console.render_text(report, width=width)
        for one in report.stages:
            if one.stage.line is not None:
                assert f".py:{one.stage.line}" in shown


def test_an_emulated_accelerator_is_said() -> None:
    assert "emulated" in console.render_text(ARCHETYPES["host_bound"](), width=80)


def test_a_snippet_stands_alone_in_its_lines_to_be_pasted() -> None:
    report = ARCHETYPES["input_bound"]()
    wide = "dataset = dataset.map(" + ", ".join(f"argument_{i}=None" for i in range(12)) + ")"
    first = dataclasses.replace(report.remedies[0], snippet=f"if True:\n    {wide}")
    report = dataclasses.replace(report, plan=Plan((first,)))

    lines = console.render_text(report, width=80).splitlines()

    place = next(i for i, line in enumerate(lines) if line.strip() == "if True:")
    assert lines[place + 1].strip() == wide
    assert lines[place + 1].index(wide) == lines[place].index("if True:") + 4


def test_the_full_report_shows_each_snippet() -> None:
    report = ARCHETYPES["input_bound"]()

    shown = console.render_text(report, width=100, full=True)

    for remedy in report.remedies:
        for line in remedy.snippet.splitlines():
            assert line in shown


def test_a_users_square_brackets_are_no_markup() -> None:
    report = ARCHETYPES["compute_bound"]()
    text = "compute-bound: [bold]float32[?,32][/bold] [/] \\[x]"
    verdict = dataclasses.replace(report.verdict, text=text)
    report = dataclasses.replace(
        report, diagnosis=dataclasses.replace(report.diagnosis, verdict=verdict)
    )

    assert console.render_text(report, width=100).splitlines()[0] == text


def test_a_terminal_gets_colour_and_the_same_words() -> None:
    report = ARCHETYPES["input_bound"]()
    coloured = with_terminal(report, encoding="utf-8")

    assert "\x1b[1;31minput-bound" in coloured
    assert strip_colour(coloured) == console.render_text(report, width=80)


def test_no_color_is_respected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")

    assert "\x1b[1;31m" not in with_terminal(ARCHETYPES["input_bound"](), encoding="utf-8")


def with_terminal(report: Report, *, encoding: str) -> str:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    Terminal.encoding = encoding  # type: ignore[misc,assignment]
    terminal = Terminal()
    report.print(file=terminal, width=80)
    return terminal.getvalue()


def strip_colour(text: str) -> str:
    plain = re.sub(r"\x1b\[[0-9;]*m", "", text)
    return "".join(f"{line.rstrip()}\n" for line in plain.splitlines())


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "cp1252"])
def test_an_encoding_without_the_signs_is_no_failure(encoding: str) -> None:
    buffer = io.BytesIO()
    file = io.TextIOWrapper(buffer, encoding=encoding)

    ARCHETYPES["branches"]().print(file=file, width=80)
    file.flush()

    text = buffer.getvalue().decode(encoding)
    assert "| map decode" in text
    assert "wait for input    ####" in text


@pytest.mark.parametrize("encoding", ["ascii", "no-such-encoding"])
def test_a_terminal_of_another_encoding_gets_plain_signs(encoding: str) -> None:
    assert with_terminal(ARCHETYPES["branches"](), encoding=encoding).isascii()


def test_a_file_gets_plain_text_without_trailing_blanks() -> None:
    file = io.StringIO()

    ARCHETYPES["input_bound"]().print(file=file, width=80)

    assert file.getvalue() == console.render_text(ARCHETYPES["input_bound"](), width=80)
    assert not any(line != line.rstrip() for line in file.getvalue().splitlines())


def test_printing_without_a_width_keeps_lines_readable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "300")
    file = io.StringIO()

    ARCHETYPES["input_bound"]().print(file=file)

    assert max(map(len, file.getvalue().splitlines())) <= 120


def test_a_notebook_gets_html_with_the_users_names_escaped() -> None:
    report = ARCHETYPES["branches"]()
    verdict = dataclasses.replace(report.verdict, text="mixed: <lambda> & co")
    report = dataclasses.replace(
        report, diagnosis=dataclasses.replace(report.diagnosis, verdict=verdict)
    )

    html = report._repr_html_()

    assert html.startswith("<pre")
    assert "&lt;lambda&gt; &amp; co" in html
    assert "color:" in html


def test_a_removed_working_folder_is_no_failure(tmp_path: Path) -> None:
    code = (
        "import os, sys, shutil; sys.path[:0] = [p for p in sys.argv[2:]]; os.chdir(sys.argv[1]); "
        "shutil.rmtree(sys.argv[1]); import archetypes; archetypes.input_bound().print(width=80)"
    )
    folder = tmp_path / "gone"
    folder.mkdir()
    tests = Path(__file__).parent
    result = subprocess.run(
        [sys.executable, "-c", code, folder, tests, tests.parent, tests.parent.parent],
        capture_output=True,
        text=True,
        timeout=60,
        env={**os.environ, "PYTHONIOENCODING": "utf-8"},
    )

    assert result.returncode == 0, result.stderr
    assert "input-bound: 58 %" in result.stdout


def test_every_class_and_safety_has_words_and_a_style() -> None:
    assert set(CLASS_WORDS) == set(layout.CLASS_STYLES) == set(VERDICT_CLASSES)
    assert set(SAFETY_WORDS) == set(SAFETY_CLASSES)


@settings(max_examples=20, deadline=None)
@given(
    make=st.sampled_from(list(ARCHETYPES.values())),
    width=st.integers(1, 200),
    text=st.text(max_size=60),
)
def test_no_text_and_no_width_breaks_a_report(
    make: Callable[[], Report], width: int, text: str
) -> None:
    report = make()
    verdict = dataclasses.replace(report.verdict, text=text)
    remedies = tuple(dataclasses.replace(one, text=text, snippet=text) for one in report.remedies)
    report = dataclasses.replace(
        report,
        diagnosis=dataclasses.replace(report.diagnosis, verdict=verdict),
        plan=Plan(remedies),
    )

    assert console.render_text(report, width=width, full=True)
    assert console.render_html(report, width=width)


def test_square_brackets_in_a_path_are_no_markup() -> None:
    report = archetypes.input_bound()
    stages = tuple(
        dataclasses.replace(
            one, stage=dataclasses.replace(one.stage, file="/run [/bold] [red]/it's :smile:.py")
        )
        for one in report.evidence.stages
    )
    evidence = dataclasses.replace(report.evidence, stages=stages)
    text = console.render_text(dataclasses.replace(report, evidence=evidence), width=120)
    assert "[/bold] [red]/it's :smile:.py" in text
