"""``bottleneck-kit report`` judges a saved record anew, without a framework."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from constructed import record

from bottleneck_kit.cli.main import main
from bottleneck_kit.records import codec


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    return codec.save(record(noise=0.02), tmp_path / "record.json")


def test_it_prints_the_report(saved: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", str(saved)]) == 0

    shown = capsys.readouterr().out
    assert shown.startswith("input-bound: ")
    assert "map blur" in shown


def test_json_is_one_object_and_nothing_else(
    saved: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["report", "--json", str(saved)]) == 0

    assert json.loads(capsys.readouterr().out)["verdict"]["class"] == "input_bound"


def test_full_shows_more(saved: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", str(saved)]) == 0
    short = capsys.readouterr().out
    assert main(["report", "--full", str(saved)]) == 0
    full = capsys.readouterr().out

    assert len(full) > len(short)


def test_an_absent_record_is_one_clear_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["report", str(tmp_path / "nowhere.json")]) == 2

    message = capsys.readouterr().err
    assert message.count("\n") == 1
    assert "nowhere.json, which cannot be read (No such file or directory)" in message


@pytest.mark.parametrize("content", ["", "{", "[]", '{"record": "bottleneck_kit.RunRecord"}'])
def test_a_damaged_record_is_one_clear_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], content: str
) -> None:
    path = tmp_path / "record.json"
    path.write_text(content)

    assert main(["report", str(path)]) == 2
    message = capsys.readouterr().err
    assert message.count("\n") == 1
    assert "record.json" in message


@pytest.mark.parametrize(
    ("part", "field", "value"),
    [
        ("job", "steps_per_execution", 0),
        ("held_batch", "steps_per_execution", 0),
        ("environment", "usable_cores", 0.0),
        ("environment", "usable_cores", {"number": "nan"}),
        ("steps", "kept", []),
        ("pipeline", "stages", []),
    ],
)
def test_numbers_that_no_run_gives_are_no_crash(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    part: str,
    field: str,
    value: object,
) -> None:
    content = json.loads(codec.dumps(record()))
    content[part][field] = value
    path = tmp_path / "record.json"
    path.write_text(json.dumps(content))

    for options in ([], ["--json"], ["--full"]):
        code = main(["report", *options, str(path)])
        output = capsys.readouterr()
        assert code in (0, 2)
        assert (code == 0) == bool(output.out), output


def test_it_loads_no_framework(saved: Path) -> None:
    code = (
        "import sys; from bottleneck_kit.cli.main import main; main(sys.argv[1:]); "
        "print([m for m in ('tensorflow', 'keras', 'psutil') if m in sys.modules])"
    )
    process = subprocess.run(
        [sys.executable, "-c", code, "report", str(saved)],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )

    assert process.stdout.splitlines()[-1] == "[]"
