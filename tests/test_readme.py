"""What the pages say is what the code is: commands, rule table, snippets, tree."""

from __future__ import annotations

import inspect
import re
import subprocess
from pathlib import Path

import pytest

from bottleneck_kit.diagnosis.rules import ALL_RULES

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")


def blocks(text: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", text, flags=re.MULTILINE | re.DOTALL)


def between(text: str, begin: str, end: str) -> str:
    found = re.search(rf"<!-- {begin}.*?-->\n(.*?)<!-- {end} -->", text, flags=re.DOTALL)
    assert found, f"README.md has lost its marks '{begin}' and '{end}'"
    return found.group(1)


def test_the_rule_table_is_the_registry() -> None:
    table = between(README, "rules", "end of rules")
    rows = re.findall(r"^\| ([A-Z]+\d+) \| ([\w-]+) \| (.+) \|$", table, re.M)
    assert rows == [(r.code, r.name, inspect.getdoc(r).splitlines()[0]) for r in ALL_RULES]


@pytest.mark.parametrize("snippet", blocks(README, "python"))
def test_python_in_the_readme_compiles_and_names_what_is_there(snippet: str) -> None:
    compile(snippet, "README.md", "exec")
    import bottleneck_kit

    for name in re.findall(r"\bbk\.(\w+)", snippet):
        assert name in bottleneck_kit.__all__


def test_each_of_the_two_commands_is_one_line_that_the_gate_runs() -> None:
    lines = [line for block in blocks(README, "bash") for line in block.splitlines()]
    commands = [line for line in lines if line.startswith("python3 -m venv")]
    gate = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    used = re.findall(r"\$\(readme_command (\w+)\)", gate)
    assert sorted(used) == ["demo", "pytest"]
    for ending in used:
        assert sum(line.endswith(f" {ending}") for line in commands) == 1
    assert len(commands) == 2


def test_the_gate_is_executable_and_sound_bash() -> None:
    gate = ROOT / ".ci" / "run"
    assert gate.stat().st_mode & 0o111
    subprocess.run(["bash", "-n", str(gate)], check=True, timeout=60)


def test_extras_in_the_commands_exist() -> None:
    setup = (ROOT / "setup.cfg").read_text(encoding="utf-8")
    extras = set(re.findall(r"^(\w+) =$", setup.split("[options.extras_require]")[1], re.M))
    for text in (README, (ROOT / ".ci" / "run").read_text(encoding="utf-8")):
        for group in re.findall(r'"\.\[([\w,]+)\]"', text):
            assert set(group.split(",")) <= extras


def test_the_tree_in_contributing_is_the_tree() -> None:
    package = ROOT / "bottleneck_kit"
    folders = {f"bottleneck_kit/{path.parent.name}/" for path in package.glob("*/__init__.py")}
    modules = {
        f"bottleneck_kit/{path.name}"
        for path in package.glob("*.py")
        if path.name not in {"__init__.py", "__main__.py"}
    }
    around = {"benchmarks/", "examples/", "tests/"}
    listed = re.findall(r"^\| `([\w/.]+)` \| (.+) \|$", CONTRIBUTING, re.M)
    assert {name for name, _ in listed} == folders | modules | around
    assert len(listed) == len(folders | modules | around)


def test_the_report_in_the_readme_is_one_of_the_demo() -> None:
    shown = between(README, "report", "end of report")
    for stage in ("parse", "dilate", "blur", "augment"):
        assert stage in shown
    assert "demo/pipeline.py" in shown
    assert "on one batch, cached and repeated" in shown


def test_links_between_the_pages_lead_somewhere() -> None:
    for page in (README, CONTRIBUTING):
        for target in re.findall(r"\]\(([^)#:]+)\)", page):
            assert (ROOT / target).exists(), target


def test_the_changelog_has_the_four_kinds_of_change() -> None:
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    kinds = re.findall(r"^### (\w+)$", changelog.split("\n## ")[1], re.M)
    assert kinds == ["Added", "Changed", "Fixed", "Removed"]
