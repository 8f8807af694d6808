"""INP115: many small calls for elements where one for the batch would do."""

from __future__ import annotations

from collections.abc import Iterable

from bottleneck_kit.diagnosis import thresholds
from bottleneck_kit.diagnosis.conditions import judge_input, stages_unjudged
from bottleneck_kit.diagnosis.rule import Match, Rule
from bottleneck_kit.diagnosis.stage_work import is_part_of_the_wait, stage_name
from bottleneck_kit.records.evidence import Evidence, StageEvidence
from bottleneck_kit.records.measurement import Missing
from bottleneck_kit.units import format_seconds, format_share


class WorkPerElement(Rule):
    """Many small calls, one an element, where one call for the batch would do.

    What it checks:
        Whether a map in front of the batch costs under 150 µs an element, is called at least
        eight times a step, its elements are small, it takes at least 20 % of all stages' thread
        seconds, and its time through its calls is at least 20 % of the wait, while the pipeline
        costs the step time.

    Why it costs time:
        The cost of calling each op is paid for each element, and is more than the work.

    Evidence used:
        Cost of each stage, for a step and for an element; elements a step; bytes an element;
        wait_s.

    Example:
        Parsing Examples one by one takes 28 ms a batch of 256, parsing the batch 2.8 ms.

    What to do:
        Batch first and work on the batch (parse_example instead of parse_single_example).

    Known problems:
        A cheap function may do real work, too: the gain is known only once it was measured. A
        function with random draws or one that fits no batch must be rewritten with care.
    """

    code = "INP115"
    name = "work-per-element"
    needs = ("input_share",)
    remedies = ("vectorize",)

    def why_not(self, evidence: Evidence) -> str:
        """Gives the reason where the wait is not known, or no stage's cost is."""
        return stages_unjudged(evidence)

    def matches(self, evidence: Evidence) -> Iterable[Match]:
        """Gives a match for each map whose many small calls cost much."""
        part = judge_input(evidence)
        if not part.costs_time:
            return
        for one in evidence.stages:
            cost = one.stage.cost
            if isinstance(cost, Missing) or isinstance(one.share, Missing):
                continue
            if isinstance(one.bound_s, Missing) or not is_part_of_the_wait(one.bound_s, evidence):
                continue
            if not _is_candidate(one) or one.share < thresholds.ELEMENT_WORK_SHARE:
                continue
            if (
                cost.per_element_s <= thresholds.PER_ELEMENT_S
                and cost.elements_per_step >= thresholds.FEWEST_ELEMENTS
                and cost.bytes_per_element <= thresholds.LARGEST_ELEMENT_BYTES
            ):
                yield Match(
                    part.severity,
                    stage=one.stage.index,
                    numbers={
                        "stage": stage_name(one.stage),
                        "per_element_s": cost.per_element_s,
                        "elements_per_step": cost.elements_per_step,
                        "cost_s": cost.cost_s,
                        "share": one.share,
                    },
                )

    def say(self, match: Match, evidence: Evidence) -> str:
        """Names the stage, its calls and what they add up to."""
        return (
            f"{match.numbers['stage']} is called {match.number('elements_per_step'):.0f} "
            f"times a step for {format_seconds(match.number('per_element_s'))} each, "
            f"{format_seconds(match.number('cost_s'))} together and "
            f"{format_share(match.number('share'))} of the pipeline's work. Much of that is the "
            "calling: a batch at a time it is paid once."
        )


def _is_candidate(one: StageEvidence) -> bool:
    """A map of elements in TensorFlow ops that does not read: Python is INP112's."""
    return (
        one.stage.kind == "map"
        and not one.behind_batch
        and not one.reads
        and not one.stage.traits.python
    )
