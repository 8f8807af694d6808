"""Shows a report on a terminal, in a file or in a notebook, in any encoding."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TextIO

from rich.console import Console, RenderableType

from bottleneck_kit.report.layout import Layout
from bottleneck_kit.report.plain_text import to_encoding

if TYPE_CHECKING:
    from bottleneck_kit.report.report import Report

_LITERAL: dict[str, Any] = {"highlight": False, "markup": False, "emoji": False}
"""Paths and names are the user's: square brackets and colons in them are no markup."""

MOST_COLUMNS = 120
"""Wider lines are hard to read back to their beginning."""


def print_report(
    report: Report, *, file: TextIO | None = None, width: int | None = None, full: bool = False
) -> None:
    """Prints the report; see ``show`` for how."""
    show(lambda columns: Layout(report, columns, full).whole(), file=file, width=width)


def show(
    lay_out: Callable[[int], RenderableType],
    *,
    file: TextIO | None = None,
    width: int | None = None,
) -> None:
    """Shows what ``lay_out`` gives for a number of columns.

    On a terminal or in a notebook it is coloured; elsewhere it is plain text without trailing
    blanks, in whatever encoding the file has.
    """
    console = Console(file=file, width=width, **_LITERAL)
    columns = width or min(console.width, MOST_COLUMNS)
    if console.is_jupyter or (console.is_terminal and console.encoding.startswith("utf")):
        console.width = columns
        console.print(lay_out(columns), crop=False)
        return
    target = sys.stdout if file is None else file
    target.write(to_encoding(_as_text(lay_out(columns), columns), console.encoding))


def render_text(report: Report, *, width: int, full: bool = False) -> str:
    """Gives the report as plain text without colour or trailing blanks."""
    return _as_text(Layout(report, width, full).whole(), width)


def render_html(report: Report, *, width: int, full: bool = False) -> str:
    """Gives the report as a block of HTML for a notebook, on the notebook's own background."""
    console = Console(file=io.StringIO(), width=width, record=True, force_jupyter=False, **_LITERAL)
    console.print(Layout(report, width, full).whole(), crop=False)
    frame = '<pre style="overflow-x:auto;line-height:1.35;font-family:monospace">{code}</pre>'
    return console.export_html(inline_styles=True, code_format=frame)


def _as_text(renderable: RenderableType, columns: int) -> str:
    console = Console(
        file=io.StringIO(), width=columns, color_system=None, force_jupyter=False, **_LITERAL
    )
    with console.capture() as capture:
        console.print(renderable, crop=False)
    return "".join(f"{line.rstrip()}\n" for line in capture.get().splitlines())
