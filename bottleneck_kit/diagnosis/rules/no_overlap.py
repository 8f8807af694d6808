"""INP114: the next batch is not prepared while the step computes."""

from __future__ import annotations

from collections.abc import Iterable

from bottleneck_kit.diagnosis import thresholds
from bottleneck_kit.diagnosis.conditions import judge_input, known, stages_unjudged
from bottleneck_kit.diagnosis.rule import Match, Rule
from bottleneck_kit.diagnosis.stage_work import latency_s
from bottleneck_kit.records.evidence import Evidence
from bottleneck_kit.records.measurement import Missing
from bottleneck_kit.units import format_seconds


class NoOverlap(Rule):
    """The next batch is not prepared while the step computes.

    What it checks:
        Whether the step waits for input although preparing a batch takes less time than the rest
        of the step, and at least half of the preparation is not hidden behind it. A pipeline that
        ends in a prefetch, be it an injected one, or in a parallel stage, which works ahead by
        itself, is not named; nor is a wait that no work accounts for, which is INP113's.

    Why it costs time:
        Preparation and step take turns: each waits for the other.

    Evidence used:
        prepare_s (the stages' bounds together), wait_s, step_s, overlap_share,
        whether the running pipeline ends in a prefetch.

    Example:
        Preparing takes 10 ms and the step computes 12 ms: 23 ms without a prefetch, 13 with one.

    What to do:
        End the pipeline in prefetch(tf.data.AUTOTUNE).

    Known problems:
        tf.data adds a prefetch by itself unless autotune or that option is off, so a missing
        prefetch in the code is no sign by itself; only the measurement counts.
    """

    code = "INP114"
    name = "no-overlap"
    needs = ("input_share", "wait_s", "step_s", "overlap_share", "prepare_s")
    remedies = ("tune",)

    def why_not(self, evidence: Evidence) -> str:
        """Gives the reason where the wait is not known, or no stage's cost is."""
        return stages_unjudged(evidence)

    def matches(self, evidence: Evidence) -> Iterable[Match]:
        """Gives one match where preparation and step take turns."""
        wait, step = known(evidence.wait_s), known(evidence.step_s)
        overlap = known(evidence.overlap_share)
        part = judge_input(evidence)
        if not part.is_certain or evidence.prefetch_at_end or _runs_ahead(evidence):
            return
        if latency_s(evidence) is not None:
            return
        # Where they take turns the wait is the preparation: what it is longer by is a stage
        # whose cost is not known.
        prepare_s = max(known(evidence.prepare_s).value, wait.value)
        busy_s = step.value - wait.value
        if prepare_s >= busy_s or overlap.value >= thresholds.OVERLAP_SHARE:
            return
        yield Match(
            part.severity,
            numbers={
                "prepare_s": prepare_s,
                "busy_s": busy_s,
                "wait_s": wait.value,
                "overlap_share": overlap.value,
            },
        )

    def say(self, match: Match, evidence: Evidence) -> str:
        """Says the two times that could overlap."""
        return (
            f"Preparing a batch takes {format_seconds(match.number('prepare_s'))}, less "
            f"than the {format_seconds(match.number('busy_s'))} the step is busy, and yet "
            f"the step waits {format_seconds(match.number('wait_s'))}: they take turns."
        )


def _runs_ahead(evidence: Evidence) -> bool:
    """Whether the last stage with a cost is parallel: its calls fill a buffer of their own."""
    known = [one for one in evidence.stages if not isinstance(one.cost_s, Missing)]
    return bool(known) and known[-1].serial is False
