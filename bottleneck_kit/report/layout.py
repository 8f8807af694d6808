"""A report laid out block by block, in so many columns; one of the two parts that use rich."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from bottleneck_kit.records.diagnosis import Finding
from bottleneck_kit.records.measurement import Measurement, Missing
from bottleneck_kit.records.plan import Prescription
from bottleneck_kit.report.machine import job_lines, machine_lines
from bottleneck_kit.report.places import current_folder, short_place
from bottleneck_kit.report.plain_text import wrap
from bottleneck_kit.report.stage_rows import stage_rows
from bottleneck_kit.report.summary import look_at, remedy_title, try_first, unjudged
from bottleneck_kit.report.time_split import TimePart, split_fit, split_step
from bottleneck_kit.report.wording import (
    CLASS_WORDS,
    SAFETY_WORDS,
    count,
    gain,
    interval,
    numbers,
    own_cost,
    prediction,
    stage_name,
)
from bottleneck_kit.units import format_seconds, format_share

if TYPE_CHECKING:
    from bottleneck_kit.report.report import Report

FEWEST_COLUMNS = 40
"""Narrower, tables fall apart."""

SNIPPETS_SHOWN = 3
REASONS_SHOWN = 4
BAR_COLUMNS = 24
INDENT = 2
MORE = "report.print(full=True), or --full on the command line"

CLASS_STYLES = {
    "input_bound": "bold red",
    "compute_bound": "bold green",
    "host_bound": "bold yellow",
    "mixed": "bold yellow",
    "unknown": "bold magenta",
}
SEVERITY_STYLES = {"high": "bold red", "moderate": "bold yellow"}
PART_STYLES = {"wait": "red", "train_function": "blue", "compute": "green", "callbacks": "yellow"}


class Layout:
    """Lays one report out in so many columns, block by block."""

    def __init__(self, report: Report, columns: int, full: bool) -> None:
        self.report = report
        self.columns = max(columns, FEWEST_COLUMNS)
        self.full = full
        self.folder = current_folder()

    def whole(self) -> Group:
        """Gives the blocks in the order a person asks: what, where, why, what to do."""
        return Group(
            *self.summary(),
            *self.time(),
            *self.pipeline(),
            *self.findings(),
            *self.unjudged(),
            *self.remedies(),
            *self.not_proposed(),
            *self.footer(),
        )

    def paragraph(self, text: str, indent: int = INDENT, style: str = "") -> Padding:
        """Wraps a text at good places, behind an indent."""
        wrapped = Text(wrap(text, self.columns - indent), style=style)
        return Padding(wrapped, (0, 0, 0, indent))

    def place_of(self, index: int | None) -> str:
        """Gives the place of a stage's function; "" without one."""
        for one in self.report.stages:
            if one.stage.index == index:
                file, line = one.stage.file, one.stage.line
                return short_place(file, line, width=self.columns // 2, folder=self.folder)
        return ""

    def with_short_places(self, text: str) -> str:
        """Gives a text in which the places of stages are as short as in the table."""
        for one in self.report.stages:
            if one.stage.place:
                text = text.replace(one.stage.place, self.place_of(one.stage.index))
        return text

    def summary(self) -> Iterator[RenderableType]:
        """The verdict, the stage and the first cure: enough for who reads no further."""
        verdict = self.report.verdict
        line = Text(wrap(self.report.headline(), self.columns))
        word = CLASS_WORDS.get(verdict.kind, verdict.kind)
        line.stylize(CLASS_STYLES.get(verdict.kind, "bold"), 0, len(word))
        yield line
        place_width = max(24, self.columns // 3)
        grid = Table.grid(padding=(0, 2))
        grid.add_column(no_wrap=True, style="dim")
        grid.add_column()
        for label, text in (
            ("look at", look_at(self.report, place_width=place_width, folder=self.folder)),
            ("try first", try_first(self.report)),
        ):
            if text:
                grid.add_row(label, wrap(text, self.columns - len("try first") - 2))
        if grid.row_count:
            yield grid

    def time(self) -> Iterator[RenderableType]:
        """Where a step goes, as bars, and where the fit goes, in a line."""
        evidence = self.report.evidence
        parts = split_step(evidence)
        if not parts or isinstance(evidence.step_s, Missing):
            return
        step = evidence.step_s
        known = format_seconds(step.value) + interval("step_s", step.low, step.high)
        yield _heading("Where a step goes", f"{known}, median of {evidence.steady_steps} steps")
        grid = Table.grid(padding=(0, 2))
        grid.add_column(no_wrap=True)
        grid.add_column(no_wrap=True, width=BAR_COLUMNS)
        grid.add_column(justify="right", no_wrap=True)
        grid.add_column(justify="right", no_wrap=True)
        for part in parts:
            bar = Text("━" * _bar_length(part), style=PART_STYLES.get(part.name, "cyan"))
            grid.add_row(part.label, bar, format_seconds(part.seconds_s), format_share(part.share))
        yield Padding(grid, (0, 0, 0, INDENT))
        whole = split_fit(evidence)
        if len(whole) > 1:
            shares = " · ".join(f"{part.label} {format_share(part.share)}" for part in whole)
            fit = format_seconds(evidence.fit_s)
            yield self.paragraph(f"of the fit's {fit}: {shares}", style="dim")

    def pipeline(self) -> Iterator[RenderableType]:
        """The stages with their places and what they cost."""
        evidence = self.report.evidence
        if not evidence.stages:
            return
        yield _heading("The pipeline", "work: thread time a step, each stage without its inputs")
        rows = stage_rows(evidence.stages, place_width=self.columns * 2 // 5, folder=self.folder)
        figures = max(len(row.work) for row in rows) + len("share") + len("at a time") + 4 * 2
        longest_place = max(len(row.place) for row in rows)
        name_columns = max(16, self.columns - INDENT - figures - longest_place)
        table = _plain_table()
        table.add_column("stage", no_wrap=True, max_width=name_columns, overflow="ellipsis")
        table.add_column("where", no_wrap=True, min_width=longest_place)
        table.add_column("work", justify="right", no_wrap=True)
        table.add_column("share", justify="right", no_wrap=True)
        table.add_column("at a time", no_wrap=True)
        for row in rows:
            table.add_row(
                *(row.name, row.place, row.work, row.share, row.at_a_time),
                style="bold" if row.costliest else "",
            )
        yield Padding(table, (0, 0, 0, INDENT))
        if self.full and evidence.autotune:
            chosen = " · ".join(f"{name} {count(v)}" for name, v in evidence.autotune.items())
            yield self.paragraph(f"AUTOTUNE chose: {chosen}", style="dim")
        reachable = evidence.reachable_step_s
        # Where input holds nothing back, the difference to the held batch is nothing to tune.
        input_holds_back = self.report.verdict.kind in ("input_bound", "mixed")
        if input_holds_back and isinstance(reachable, Measurement) and evidence.limited_by:
            yield self.paragraph(
                f"tuning this machine could reach {format_seconds(reachable.value)} a step; "
                f"what limits it then: {evidence.limited_by}",
                style="dim",
            )

    def findings(self) -> Iterator[RenderableType]:
        """What is wrong, worst first."""
        if self.report.findings:
            yield _heading("What is wrong")
        for finding in self.report.findings:
            yield from self.finding(finding)

    def finding(self, finding: Finding) -> Iterator[RenderableType]:
        """One finding with the numbers it rests on."""
        stage = stage_name(self.report.stages, finding.stage)
        if place := self.place_of(finding.stage):
            stage += f", {place}"
        title = Text(" " * INDENT).append("● ", style=SEVERITY_STYLES.get(finding.severity, ""))
        title.append(f"{finding.code} {finding.name}", style="bold")
        title.append(f"  {finding.severity}{f', {stage}' if stage else ''}", style="dim")
        yield title
        yield self.paragraph(self.with_short_places(finding.text), 2 * INDENT)
        if rests_on := numbers(finding):
            yield self.paragraph(rests_on, 2 * INDENT, "dim")

    def unjudged(self) -> Iterator[RenderableType]:
        """What could not be judged, by reason."""
        groups = unjudged(self.report, full=self.full)
        if not groups:
            return
        yield _heading("What could not be judged")
        shown = groups if self.full else groups[:REASONS_SHOWN]
        for reason, things in shown:
            yield self.paragraph(reason)
            yield self.paragraph(", ".join(things), 2 * INDENT, "dim")
        if left := len(groups) - len(shown):
            reasons = "reason" if left == 1 else "reasons"
            yield self.paragraph(f"and {left} more {reasons}: {MORE}", style="dim")

    def remedies(self) -> Iterator[RenderableType]:
        """What to do: the first at length, the others a line each."""
        remedies = self.report.remedies
        if not remedies:
            return
        shown = len(remedies) if self.full else self.worth_a_snippet()
        yield _heading("What to do", "by predicted gain; other hardware only for clearly more")
        for place, remedy in enumerate(remedies[:shown], start=1):
            if place > 1:
                yield Text("")
            yield from self.remedy(remedy, place)
        if remedies[shown:]:
            yield Text("")
            yield self.further(remedies[shown:], shown)
            yield self.paragraph(f"their snippets: {MORE}", style="dim")

    def worth_a_snippet(self) -> int:
        """How many of the first remedies are shown at length: one, and what gains beside it."""
        step_s = self.report.evidence.step_s
        gaining = [one for one in self.report.remedies[:SNIPPETS_SHOWN] if gain(one, step_s)]
        return max(1, len(gaining))

    def remedy(self, remedy: Prescription, place: int) -> Iterator[RenderableType]:
        """One remedy with prediction, reason, safety, cost and snippet."""
        name = remedy_title(remedy, self.report.stages)
        predicted = prediction(remedy)
        predicted += "" if isinstance(remedy.predicted_step_s, Missing) else " a step"
        faster = gain(remedy, self.report.evidence.step_s)
        line = f"{name}: {predicted}{f', {faster}' if faster else ''}"
        number = f"{' ' * INDENT}{place:<3}"
        title = Text(wrap(line, self.columns - len(number)))
        title.stylize("bold", 0, len(name))
        title.stylize("green", len(line) - len(faster), len(line))
        grid = Table.grid()
        grid.add_column(no_wrap=True)
        grid.add_column()
        grid.add_row(number, title)
        yield grid
        indent = len(number)
        yield self.paragraph(self.with_short_places(remedy.text), indent)
        safety = f"{remedy.safety}: {SAFETY_WORDS.get(remedy.safety, '')}".rstrip(": ")
        cost = f" · cost: {remedy.cost}" if remedy.cost else ""
        yield self.paragraph(f"{safety}{cost}", indent, "dim")
        if remedy.snippet:
            # Neither framed nor wrapped: it is there to be pasted.
            blank = " " * (indent + 2 * INDENT)
            code = "\n".join(f"{blank}{line}" for line in remedy.snippet.splitlines())
            yield Text(code, style="cyan", no_wrap=True, overflow="ignore")

    def further(self, remedies: tuple[Prescription, ...], shown: int) -> RenderableType:
        """One line each for the remedies whose snippets are not shown."""
        rows = [
            (
                str(place),
                remedy_title(remedy, self.report.stages),
                prediction(remedy, ends=False),
                remedy.safety,
                remedy.cost,
            )
            for place, remedy in enumerate(remedies, start=shown + 1)
        ]
        heads = ("", "also", "a step", "safety", "cost")
        widths = [
            max(len(head), *map(len, column))
            for head, column in zip(heads, zip(*rows, strict=True), strict=True)
        ]
        widths[1] = min(widths[1], self.columns * 2 // 5)
        room = self.columns - INDENT - sum(widths[:4]) - 2 * 4
        widths[4] = max(len("cost"), min(widths[4], room))
        table = _plain_table()
        for head, width in zip(heads, widths, strict=True):
            table.add_column(head, no_wrap=True, width=width, overflow="ellipsis")
        for row in rows:
            table.add_row(*row)
        return Padding(table, (0, 0, 0, INDENT))

    def not_proposed(self) -> Iterator[RenderableType]:
        """Why a finding's remedies are not in the list; for who asked for everything."""
        reasons = self.report.plan.unpredicted
        if not self.full or not reasons:
            return
        yield _heading("What is not proposed")
        for name, reason in reasons.items():
            yield self.paragraph(f"{name}: {reason}", style="dim")

    def footer(self) -> Iterator[RenderableType]:
        """What a reader has to know, the machine, and the kit's own cost."""
        yield Text("")
        for note in self.report.notes:
            yield Text(wrap(f"• {note}", self.columns - 2).replace("\n", "\n  "))
        record = self.report.record
        lines = [*machine_lines(record, self.report.evidence), own_cost(record)]
        if self.full:
            lines += job_lines(record)
        for line in filter(None, lines):
            yield self.paragraph(line, 0, "dim")


def _heading(words: str, aside: str = "") -> Text:
    text = Text(f"\n{words}", style="bold")
    return text.append(f"  {aside}", style="not bold dim") if aside else text


def _plain_table() -> Table:
    return Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")


def _bar_length(part: TimePart) -> int:
    return max(1, round(part.share * BAR_COLUMNS)) if part.seconds_s > 0 else 0
