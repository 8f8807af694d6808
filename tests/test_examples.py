"""Every example runs, and says what its page promises."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

EXAMPLES = Path(__file__).parent.parent / "examples"


def load(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_find_the_bottleneck_names_the_stage_that_costs_most(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    report = load("find_the_bottleneck").main(tmp_path, batch_size=64, steps=60)
    content = report.to_dict()
    assert content["verdict"]["class"] == "input_bound"
    costly = max(
        (stage for stage in content["stages"] if stage["cost_s"] is not None),
        key=lambda stage: stage["cost_s"],
    )
    assert costly["name"] in {"dilate", "blur", "augment"}
    assert costly["file"].endswith("demo/pipeline.py")
    printed = capsys.readouterr().out
    assert content["verdict"]["text"][:20] in " ".join(printed.split())
    assert "To try first:" in printed


def test_every_example_has_a_test() -> None:
    here = Path(__file__).read_text(encoding="utf-8")
    for path in EXAMPLES.glob("*.py"):
        assert f'load("{path.stem}")' in here, f"{path.name} is run by no test"
