"""Holds the sources to a table of what may import what, and to the shape of the tree."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent / "bottleneck_kit"

EVERYWHERE = {"errors", "units", "version"}
FRAMEWORKS = {"tensorflow", "keras", "psutil", "pynvml", "nvidia"}

# Folder or module -> what of ours it may import (itself and EVERYWHERE are always allowed).
OURS: dict[str, set[str]] = {
    "__init__": {"api", "callbacks", "records", "report"},
    "__main__": {"cli"},
    "errors": set(),
    "units": set(),
    "version": set(),
    "records": set(),
    "evidence": {"records"},
    "diagnosis": {"records"},
    "prescription": {"records"},
    "report": {"records"},
    "analysis": {"evidence", "diagnosis", "prescription", "records"},
    "pipeline": {"records"},
    "instruments": {"records", "pipeline"},
    "callbacks": {"instruments", "analysis", "report", "records"},
    "api": {"instruments", "callbacks", "analysis", "report", "records", "pipeline"},
    "demo": {"api", "callbacks", "instruments", "analysis", "report", "records", "pipeline"},
    "cli": {"api", "analysis", "callbacks", "demo", "diagnosis", "records", "report"},
}

# Folder or module -> third parties it may import; those not named may import none.
THIRD_PARTIES: dict[str, set[str]] = {
    "evidence": {"numpy"},
    "report": {"rich"},
    "pipeline": {"tensorflow", "numpy"},
    "instruments": {"tensorflow", "keras", "psutil", "numpy"},
    "callbacks": {"keras"},
    "api": {"tensorflow", "keras", "numpy"},
    "demo": {"tensorflow", "keras", "numpy", "skimage", "rich"},
    "cli": {"rich"},
}

# Single files with a third party of their own.
ONLY_THERE = {"pynvml": {"instruments/nvidia.py"}}

RICH_ONLY_IN = {"report/console.py", "report/layout.py"}


def sources() -> list[Path]:
    return sorted(PACKAGE.rglob("*.py"))


def part_of(path: Path) -> str:
    relative = path.relative_to(PACKAGE)
    return relative.parts[0] if len(relative.parts) > 1 else relative.stem


def imports_of(path: Path) -> list[tuple[str, int]]:
    """Every imported module of a file with its line, those inside functions included."""
    found = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found += [(alias.name, node.lineno) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno} imports relatively; write the whole name"
            found.append((node.module or "", node.lineno))
            if node.module == "bottleneck_kit":
                found += [(f"bottleneck_kit.{alias.name}", node.lineno) for alias in node.names]
    return found


@pytest.mark.parametrize("path", sources(), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_follow_the_table(path: Path) -> None:
    part = part_of(path)
    assert part in OURS, f"{part} is not in the import table: say what it may import"
    relative = str(path.relative_to(PACKAGE))
    for module, line in imports_of(path):
        top = module.split(".")[0]
        if top == "bottleneck_kit":
            target = module.split(".")[1] if "." in module else "__init__"
            if target == "__init__":
                continue
            allowed = OURS[part] | EVERYWHERE | {part}
            assert target in allowed, f"{relative}:{line} imports {module}"
        elif top not in sys.stdlib_module_names:
            special = relative in ONLY_THERE.get(top, set())
            allowed = THIRD_PARTIES.get(part, set())
            assert special or top in allowed, f"{relative}:{line} imports {module}"
            if top == "rich" and part == "report":
                assert relative in RICH_ONLY_IN, f"{relative}:{line}: rich is not for this file"


def test_no_module_shadows_the_standard_library_or_is_a_grab_bag() -> None:
    for path in sources():
        relative = path.relative_to(PACKAGE)
        stem = path.stem
        assert stem not in {"utils", "util", "helpers", "misc", "common"}, relative
        if len(relative.parts) == 1 and stem not in {"__init__", "__main__"}:
            assert stem not in sys.stdlib_module_names, relative


def test_every_module_says_its_purpose_in_its_first_sentence() -> None:
    for path in sources():
        doc = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))
        assert doc, f"{path} has no docstring"
        assert doc.splitlines()[0].endswith("."), f"{path}: the first line is not a sentence"


def test_no_file_has_outgrown_its_purpose() -> None:
    for path in sources():
        lines = len(path.read_text(encoding="utf-8").splitlines())
        assert lines <= 400, f"{path} has {lines} lines: find the wall in it"


def test_importing_the_kit_and_its_pure_half_loads_no_framework() -> None:
    pure = ["records.codec", "evidence", "diagnosis", "prescription", "report", "analysis", "cli"]
    modules = "; ".join(f"import bottleneck_kit.{name}" for name in pure)
    code = (
        f"import bottleneck_kit; {modules}; import sys; "
        f"print([m for m in {sorted(FRAMEWORKS)!r} if m in sys.modules])"
    )
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert result.stdout.strip() == "[]"


def test_the_public_names_are_there() -> None:
    import bottleneck_kit

    for name in bottleneck_kit.__all__:
        assert getattr(bottleneck_kit, name) is not None
