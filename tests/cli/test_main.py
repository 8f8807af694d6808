"""The command line: one command a module, one clear message where the input is off."""

from __future__ import annotations

import inspect
import os
import subprocess
import sys
from pathlib import Path

import pytest

from bottleneck_kit import cli
from bottleneck_kit.cli import main as main_module
from bottleneck_kit.cli.main import COMMANDS, main
from bottleneck_kit.errors import InvalidArgumentError
from bottleneck_kit.version import __version__

FOLDER = Path(next(iter(cli.__path__)))

FRAMEWORKS = ("tensorflow", "keras", "psutil", "pynvml")


def test_the_table_is_the_folder_sorted() -> None:
    files = {path.stem for path in FOLDER.glob("*.py")} - {"__init__", "main"}

    assert set(COMMANDS) == files
    assert list(COMMANDS) == sorted(COMMANDS)


@pytest.mark.parametrize("name", COMMANDS)
def test_a_commands_help_is_its_docstring(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([name, "--help"]) == 0

    shown = capsys.readouterr().out
    assert (inspect.getdoc(COMMANDS[name]) or "missing") in shown


def test_the_help_lists_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0

    shown = " ".join(capsys.readouterr().out.split())
    for command in COMMANDS.values():
        assert (inspect.getdoc(command) or "missing").splitlines()[0].rstrip(".") in shown


def test_the_version_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"bottleneck-kit {__version__}\n"


def test_without_arguments_the_help_goes_to_standard_error(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main([]) == 2

    output = capsys.readouterr()
    assert output.out == ""
    assert output.err.startswith("usage: bottleneck-kit")


@pytest.mark.parametrize("arguments", [["bogus"], ["report"], ["rules", "INP111", "INP112"]])
def test_arguments_that_cannot_be_read_give_the_usage_and_exit_code_2(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 2
    assert "usage: bottleneck-kit" in capsys.readouterr().err


class Raising:
    """A command that raises what it is given."""

    def __init__(self, error: BaseException) -> None:
        self.error = error

    def add_arguments(self, parser: object) -> None:
        pass

    def run(self, arguments: object) -> int:
        raise self.error


def run_raising(error: BaseException, monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setitem(main_module.COMMANDS, "rules", Raising(error))
    return main(["rules"])


def test_an_error_of_the_kit_is_one_line_and_exit_code_2(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    error = InvalidArgumentError(expected="three", received="four", do="Pass three.")

    assert run_raising(error, monkeypatch) == 2
    assert capsys.readouterr().err == (
        "bottleneck-kit: Expected three, received four. Pass three.\n"
    )


def test_an_interruption_is_exit_code_130_without_a_traceback(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_raising(KeyboardInterrupt(), monkeypatch) == 130
    assert "Traceback" not in capsys.readouterr().err


def test_a_bug_of_the_kit_is_not_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(RuntimeError, match="a bug"):
        run_raising(RuntimeError("a bug"), monkeypatch)


def run_module(*arguments: str, **fields: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "bottleneck_kit", *arguments],
        capture_output=True,
        text=True,
        timeout=60,
        **fields,  # type: ignore[call-overload]
    )


def test_it_runs_as_a_module_with_its_exit_code() -> None:
    good, bad = run_module("--version"), run_module("rules", "INP000")

    assert (good.returncode, bad.returncode) == (0, 2)
    assert "Traceback" not in bad.stderr


def test_a_reader_that_leaves_is_no_error() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    process = subprocess.run(
        [sys.executable, "-m", "bottleneck_kit", "rules", "INP111"],
        stdout=writing,
        stderr=subprocess.PIPE,
        text=True,
        timeout=60,
    )
    os.close(writing)

    assert process.returncode == 141
    assert process.stderr == ""


@pytest.mark.parametrize("arguments", [["rules"], ["rules", "INP111"], ["--help"]])
def test_no_framework_is_loaded(arguments: list[str]) -> None:
    code = (
        "import sys; from bottleneck_kit.cli.main import main; code = main(sys.argv[1:]); "
        f"print([m for m in {FRAMEWORKS!r} if m in sys.modules], file=sys.stderr); sys.exit(code)"
    )
    process = subprocess.run(
        [sys.executable, "-c", code, *arguments], capture_output=True, text=True, timeout=60
    )

    assert process.returncode == 0
    assert process.stderr.strip() == "[]"


def test_ascii_output_is_no_failure() -> None:
    process = run_module("rules", "INP111", env={**os.environ, "PYTHONIOENCODING": "ascii"})

    assert process.returncode == 0, process.stderr
    assert process.stdout.isascii()


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full on this system")
def test_a_full_disk_behind_the_output_is_one_message() -> None:
    with open("/dev/full", "w") as full:
        result = subprocess.run(
            [sys.executable, "-m", "bottleneck_kit", "rules"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            timeout=60,
        )
    assert result.returncode == 2
    assert result.stderr.startswith("bottleneck-kit: the output could not be written")
    assert "Traceback" not in result.stderr
