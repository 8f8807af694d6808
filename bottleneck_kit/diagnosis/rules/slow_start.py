"""RUN402: the time until training has its pace is much of the fit."""

from __future__ import annotations

from collections.abc import Iterable

from bottleneck_kit.diagnosis import thresholds
from bottleneck_kit.diagnosis.conditions import known
from bottleneck_kit.diagnosis.rule import Match, Rule
from bottleneck_kit.records.evidence import Evidence
from bottleneck_kit.records.measurement import Missing
from bottleneck_kit.units import format_seconds, format_share

FILLING = frozenset({"shuffle", "list_files", "cache"})
"""Kinds of stage that take many elements before they give the first."""


class SlowStart(Rule):
    """The time until training has its pace is much of the fit.

    What it checks:
        Whether the seconds lost before the steady state (beyond what those steps take at pace),
        together with those lost at the first call of each later epoch, come to at least 10 s and
        10 % (moderate) or 40 % (high) of the fit.

    Why it costs time:
        Listing files, filling a shuffle buffer, tracing and compiling pass before the first step
        ends; what fills a buffer comes back with each epoch.

    Evidence used:
        warm_up_s, warm_up_steps, step_s, refill_s, epochs, fit_s.

    Example:
        A directory of a million files is listed for two minutes before a fit of five.

    What to do:
        Shuffle names or indices instead of decoded images, list the files once into records,
        repeat behind the shuffle so that it fills only once.

    Known problems:
        In a short trial run the start is always a large part; the 10 s keep most of them out.
        Compilation and filled buffers are told apart only by the later epochs.
    """

    code = "RUN402"
    name = "slow-start"
    needs = ("warm_up_s", "step_s")
    remedies = ("reorder", "bake")

    def matches(self, evidence: Evidence) -> Iterable[Match]:
        """Gives one match where the start costs much."""
        warm_up, step, refill = known(evidence.warm_up_s), known(evidence.step_s), evidence.refill_s
        if not evidence.fit_s > 0:
            return
        start_s = max(0.0, warm_up.value - evidence.warm_up_steps * step.value)
        refill_s = 0.0 if isinstance(refill, Missing) else refill.value
        lost_s = start_s + refill_s * max(0, evidence.epochs - 1)
        share = min(1.0, lost_s / evidence.fit_s)
        if lost_s < thresholds.SLOW_START_S or share < thresholds.SLOW_START_MODERATE_SHARE:
            return
        yield Match(
            "high" if share >= thresholds.SLOW_START_HIGH_SHARE else "moderate",
            numbers={
                "lost_s": lost_s,
                "start_s": start_s,
                "refill_s": refill_s,
                "fit_share": share,
                "epochs": evidence.epochs,
            },
            remedies=None if _fills_a_buffer(evidence) else (),
        )

    def say(self, match: Match, evidence: Evidence) -> str:
        """Says what is lost before the first step and before each epoch."""
        refill_s = match.number("refill_s")
        again = ""
        if refill_s >= thresholds.MODERATE_SHARE * match.number("lost_s"):
            again = f" and {format_seconds(refill_s)} before each later epoch"
        return (
            f"{format_seconds(match.number('start_s'))} pass before training has its "
            f"pace{again}: {format_share(match.number('fit_share'))} of the fit."
        )


def _fills_a_buffer(evidence: Evidence) -> bool:
    """Where no stage fills a buffer, the start is compilation, and no remedy here shortens it."""
    return any(one.stage.kind in FILLING for one in evidence.stages)
