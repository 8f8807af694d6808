"""Lists the rules a diagnosis asks, or explains one of them.

Without a code: every rule with its name and what it is about. With one, such as INP111: what it
checks, why that costs time, on which evidence it rests, an example and what to do.
"""

from __future__ import annotations

import argparse
import inspect
from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from bottleneck_kit.diagnosis.rule import Rule
from bottleneck_kit.diagnosis.rules import ALL_RULES, rule_by_code
from bottleneck_kit.report.console import show


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the code of the rule to explain."""
    parser.add_argument("code", metavar="CODE", nargs="?", help="a rule's code, such as INP111")


def run(arguments: argparse.Namespace) -> int:
    """Prints the list, or one rule's documentation."""
    shown = _list() if arguments.code is None else _explanation(rule_by_code(arguments.code))
    show(lambda columns: shown)
    return 0


def _list() -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), show_header=False)
    table.add_column(style="bold", no_wrap=True)
    table.add_column(no_wrap=True)
    table.add_column()
    for rule in sorted(ALL_RULES, key=lambda rule: rule.code):
        summary = (inspect.getdoc(rule) or "").splitlines()[0]
        table.add_row(rule.code, rule.name, summary)
    return table


def _explanation(rule: Rule) -> Group:
    """Lays a rule's docstring out: its first sentence, then heading and text by turns."""
    title = Text(f"{rule.code} {rule.name}", style="bold")
    remedies = [("Remedies", ", ".join(rule.remedies))] if rule.remedies else []
    blocks: list[RenderableType] = [title]
    for heading, text in [*_sections(inspect.getdoc(rule) or ""), *remedies]:
        if heading:
            blocks.append(Text(f"\n{heading}", style="bold"))
        blocks.append(Padding(Text(text), (0, 0, 0, 2)) if heading else Text(text))
    return Group(*blocks)


def _sections(documentation: str) -> Iterator[tuple[str, str]]:
    """Gives heading and text of each section of a docstring; the first has no heading.

    A heading is a line at the margin that ends in a colon and has indented lines below it.
    Paragraphs stay apart, lines within them are joined.
    """
    lines = documentation.splitlines()
    heading, body = "", list[str]()
    for line, following in zip(lines, [*lines[1:], ""], strict=True):
        if line.endswith(":") and line[:1].strip() and following[:1] == " ":
            yield heading, _joined(body)
            heading, body = line[:-1], []
        else:
            body.append(line)
    yield heading, _joined(body)


def _joined(lines: list[str]) -> str:
    paragraphs = "\n".join(lines).strip("\n").split("\n\n")
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in paragraphs)
