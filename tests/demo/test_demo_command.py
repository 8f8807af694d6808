"""The command ``bottleneck-kit demo``: options, wrong options, output for people and programs."""

from __future__ import annotations

import argparse
import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from rich.console import Console

from bottleneck_kit.demo import command
from bottleneck_kit.demo.progress import late_bar, no_progress
from bottleneck_kit.errors import InvalidArgumentError, MissingDependencyError


def parse(*options: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    command.add_arguments(parser)
    return parser.parse_args(options)


def run_python(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    inherited = {k: v for k, v in os.environ.items() if k != "TF_CPP_MIN_LOG_LEVEL"}
    return subprocess.run(
        [sys.executable, *arguments],
        capture_output=True,
        text=True,
        timeout=300,
        env={**inherited, **environment},
        stdin=subprocess.DEVNULL,
    )


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("--batch-size", "0"), "Expected --batch-size to be a whole number from 1, received 0"),
        (("--steps", "-1"), "--steps"),
        (("--epochs", "0"), "--epochs"),
        (("--accelerator-ms", "-5"), "--accelerator-ms to be milliseconds from 0"),
        (("--accelerator-ms", "nan"), "received nan"),
        (("--seed", "-1"), "--seed"),
        (("--log-dir", __file__), "--log-dir to be a folder"),
    ],
)
def test_an_option_that_is_off_is_named_before_anything_is_loaded(
    options: tuple[str, ...], says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(command, "load_tensorflow", lambda: pytest.fail("it went on"))
    with pytest.raises(InvalidArgumentError, match=says):
        command.run(parse(*options))


def test_a_missing_tensorflow_is_named_with_the_command_that_installs_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def absent() -> None:
        raise ImportError("No module named 'tensorflow'")

    monkeypatch.setattr(command, "load_tensorflow", absent)
    with pytest.raises(MissingDependencyError, match=r"bottleneck-kit\[tensorflow,demo\]"):
        command.run(parse())


def test_the_options_load_no_framework() -> None:
    code = (
        "import argparse, sys; from bottleneck_kit.demo import command; "
        "command.add_arguments(argparse.ArgumentParser()); "
        "print('tensorflow' in sys.modules, 'numpy' in sys.modules)"
    )
    assert run_python("-c", code).stdout.split() == ["False", "False"]


def test_loading_tensorflow_is_quiet_and_takes_its_back_end() -> None:
    code = (
        "from bottleneck_kit.demo.quiet_start import load_tensorflow; load_tensorflow(); "
        "import keras, sys; print(keras.backend.backend()); print('still here', file=sys.stderr)"
    )
    result = run_python("-c", code, KERAS_BACKEND="numpy")
    assert result.stdout.split() == ["tensorflow"]
    assert result.stderr.split("\n") == ["still here", ""]


def test_an_error_while_loading_is_not_swallowed() -> None:
    code = (
        "import os; from bottleneck_kit.demo import quiet_start\n"
        "def broken():\n"
        "    os.write(2, b'E0000 no driver\\nI0000 a notice\\n')\n"
        "    raise ImportError('x')\n"
        "quiet_start._import = broken; quiet_start.load_tensorflow()"
    )
    result = run_python("-c", code)
    assert result.returncode == 1
    assert "E0000 no driver" in result.stderr
    assert "I0000" not in result.stderr
    assert "ImportError: x" in result.stderr


@pytest.mark.parametrize("progress", [no_progress, late_bar])
def test_progress_passes_the_numbers_through(progress) -> None:
    assert list(progress(range(5), "Counting")) == [0, 1, 2, 3, 4]


def test_a_bar_shows_only_what_takes_long(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = io.StringIO()
    monkeypatch.setattr(
        "bottleneck_kit.demo.progress.Console",
        lambda stderr: Console(file=terminal, force_terminal=True),
    )
    list(late_bar(range(3), "Quick work"))
    assert "Quick work" not in terminal.getvalue()
    monkeypatch.setattr("bottleneck_kit.demo.progress.SHOWN_AFTER_S", -1.0)
    list(late_bar(range(3), "Long work"))
    assert "Long work" in terminal.getvalue()


@pytest.mark.slow
def test_the_demo_prints_the_report_and_the_cached_batch_figure(tmp_path: Path) -> None:
    result = run_python(
        *("-m", "bottleneck_kit", "demo", "--steps", "40", "--batch-size", "32"),
        *("--work-dir", str(tmp_path / "work"), "--log-dir", str(tmp_path / "logs")),
        COLUMNS="100",
    )
    assert result.returncode == 0, result.stderr
    assert result.stderr == ""
    out = " ".join(result.stdout.split())
    assert "8192 crops of 10 photographs that come with scikit-image" in out
    assert "demo/pipeline.py" in out
    assert "on one batch, cached and repeated" in out
    assert "ideal, by the kit" in out
    assert "emulated" not in out
    assert (tmp_path / "logs" / "record.json").is_file()


@pytest.mark.slow
def test_the_demo_as_json_is_one_object_and_calls_an_emulated_accelerator_emulated(
    tmp_path: Path,
) -> None:
    result = run_python(
        *("-m", "bottleneck_kit", "demo", "--json", "--steps", "40", "--batch-size", "8"),
        *("--accelerator-ms", "15", "--work-dir", str(tmp_path)),
    )
    assert result.returncode == 0, result.stderr
    content = json.loads(result.stdout)
    assert content["accelerator_emulated_ms"] == 15
    assert content["cached_batch"]["step_s"] >= 0.015
    assert content["report"]["verdict"]["ideal_step_s"] >= 0.015
    assert any("emulated" in note for note in content["report"]["notes"])


def test_the_closing_lines_compare_kit_and_run_and_say_emulated() -> None:
    from bottleneck_kit.demo.cached_batch_run import CachedBatchRun
    from bottleneck_kit.demo.job import Outcome

    cached = CachedBatchRun(step_s=0.020, low_s=0.019, high_s=0.022, steps=94)
    verdict = {"step_s": 0.0433, "ideal_step_s": 0.0204}
    text = Outcome({"verdict": verdict}, cached, "photographs", 15.0).closing_text()
    assert text == (
        "Check: a copy of the model was trained on one batch, cached and repeated; "
        "input is free there (accelerator emulated: 15 ms a step).\n"
        "  a step in this training    43.3 ms\n"
        "  ideal, by the kit          20.4 ms   102 % of that run's\n"
        "  ideal, by that run         20.0 ms   19.0 ms to 22.0 ms, 10th to 90th percentile "
        "of 94 steps"
    )
    unknown = {"step_s": 0.0433, "ideal_step_s": None}
    without = Outcome({"verdict": unknown}, cached, "photographs", 0.0).closing_text()
    assert "ideal, by the kit        not known   the report says why" in without
    assert "emulated" not in without
