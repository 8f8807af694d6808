"""The command line ``bottleneck-kit``: finds the command, runs it, turns errors into messages."""

from __future__ import annotations

import argparse
import contextlib
import inspect
import os
import sys
from collections.abc import Sequence
from typing import Protocol

from bottleneck_kit.cli import demo, report, rules
from bottleneck_kit.errors import BottleneckKitError
from bottleneck_kit.version import __version__

EXIT_BAD_INPUT = 2
"""As argparse has it for arguments it cannot read."""

EXIT_INTERRUPTED = 130
"""128 + SIGINT, as shells have it."""

EXIT_PIPE_CLOSED = 141
"""128 + SIGPIPE, as shells have it."""


class Command(Protocol):
    """A module of this folder; its docstring is the command's help."""

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Adds the command's own arguments."""

    def run(self, arguments: argparse.Namespace) -> int:
        """Carries the command out and gives the exit code."""


COMMANDS: dict[str, Command] = {
    "demo": demo,
    "report": report,
    "rules": rules,
}


def main(argv: Sequence[str] | None = None) -> int:
    """Runs one command.

    Args:
        argv: The arguments; those of the process by default.

    Returns:
        0 where it was done, 2 where the input was off (with one message on standard error),
        130 after Ctrl-C, 141 where the reader of a pipe left.
    """
    if sys.stdout is None:  # closed by the shell: there is nobody to read
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
    try:
        code = _run(argv)
        sys.stdout.flush()
        return code
    except BottleneckKitError as error:
        print(f"bottleneck-kit: {error}", file=sys.stderr)
        return EXIT_BAD_INPUT
    except KeyboardInterrupt:
        print("bottleneck-kit: interrupted", file=sys.stderr)
        return EXIT_INTERRUPTED
    except BrokenPipeError:
        _forget_standard_output()
        return EXIT_PIPE_CLOSED
    except OSError as error:  # a full disk behind standard output, mostly
        _forget_standard_output()
        print(f"bottleneck-kit: the output could not be written ({error})", file=sys.stderr)
        return EXIT_BAD_INPUT


def _run(argv: Sequence[str] | None) -> int:
    parser = _parser()
    try:
        arguments = parser.parse_args(argv)
    except SystemExit as request:  # argparse has printed its help or its message
        return request.code if isinstance(request.code, int) else EXIT_BAD_INPUT
    if arguments.command is None:
        parser.print_help(sys.stderr)
        return EXIT_BAD_INPUT
    return COMMANDS[arguments.command].run(arguments)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="bottleneck-kit",
        description="Finds out what holds a Keras training job back, and says what to do about it.",
    )
    parser.add_argument("--version", action="version", version=f"bottleneck-kit {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", title="commands")
    for name, command in COMMANDS.items():
        text = inspect.getdoc(command) or ""
        one = commands.add_parser(
            name,
            help=text.splitlines()[0].rstrip("."),
            description=text,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        command.add_arguments(one)
    return parser


def _forget_standard_output() -> None:
    """Keeps the interpreter from failing once more when it flushes at exit.

    See https://docs.python.org/3/library/signal.html#note-on-sigpipe.
    """
    with contextlib.suppress(OSError, ValueError):  # a stand-in without a descriptor
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
