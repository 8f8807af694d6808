"""INP101: the step waits for its input."""

from __future__ import annotations

from collections.abc import Iterable

from bottleneck_kit.diagnosis.conditions import judge_input, known, limits_as_python
from bottleneck_kit.diagnosis.rule import Match, Rule
from bottleneck_kit.records.evidence import Evidence
from bottleneck_kit.units import format_seconds, format_share

PYTHON_REMEDIES = ("vectorize", "processes", "bake", "service")
"""Where Python limits the pipeline: settings and more cores cannot help, see INP112."""


class InputBound(Rule):
    """The step waits for its input.

    What it checks:
        Whether the wait for input takes at least 5 % (moderate) or 20 % (high, with 20 steady
        steps or more) of a step, by the low end of its 95 % interval, and more than 0.2 ms.

    Why it costs time:
        The accelerator is idle while the train function waits for the next batch.

    Evidence used:
        wait_s from the gaps between two fetches (exact), or else the difference to the step on a
        held batch (an upper bound); input_share, steady_steps.

    Example:
        A step of 83 ms of which 48 ms pass in GetNext: 58 %, high.

    What to do:
        See the findings INP110 to INP115, which name the cause, and the remedies in order of
        their predicted gain.

    Known problems:
        Without gaps (steps_per_execution above 1, PyDataset with workers, autotune off) the wait
        comes from the held batch, which is fast for other reasons, too. Where one of them is seen
        (full cores, batches of several shapes, compilations) the rule is not evaluated.
    """

    code = "INP101"
    name = "input-bound"
    needs = ("input_share", "wait_s", "step_s")
    remedies = ("tune", "cache", "bake", "head", "service", "machine")

    def why_not(self, evidence: Evidence) -> str:
        """Gives the reason for which the wait is not known or may be something else."""
        return judge_input(evidence).reason

    def matches(self, evidence: Evidence) -> Iterable[Match]:
        """Gives one match where the job waits."""
        part = judge_input(evidence)
        share, wait, step = map(known, (evidence.input_share, evidence.wait_s, evidence.step_s))
        if not part.is_certain:
            return
        numbers: dict[str, float | int | str | None] = {
            "input_share": share.value,
            "input_share_low": share.low,
            "input_share_high": share.high,
            "wait_s": wait.value,
            "step_s": step.value,
            "wait_source": evidence.wait_source,
            "steady_steps": evidence.steady_steps,
        }
        yield Match(part.severity, numbers=numbers, remedies=_remedies(evidence))

    def say(self, match: Match, evidence: Evidence) -> str:
        """Says share and seconds, and for arrays that Keras' adapter makes the batches."""
        bound = "at most " if evidence.wait_source == "held batch" else ""
        adapter = ""
        if evidence.job.input_kind == "arrays":
            adapter = " The batches come from Keras' array adapter (NumPy input)."
        return (
            f"A step waits {bound}{format_seconds(match.number('wait_s'))} of its "
            f"{format_seconds(match.number('step_s'))} for input: "
            f"{format_share(match.number('input_share'))} (95 % interval "
            f"{format_share(match.number('input_share_low'))} to "
            f"{format_share(match.number('input_share_high'))}).{adapter}"
        )


def _remedies(evidence: Evidence) -> tuple[str, ...] | None:
    """Without stages of the user there is nothing of theirs to tune, cache or bake."""
    if evidence.job.input_kind == "arrays":
        return ("steps_per_execution", "machine")
    if evidence.job.input_kind in {"generator", "py_dataset"}:
        return PYTHON_REMEDIES
    step_s = known(evidence.step_s).value
    if any(limits_as_python(one, step_s) for one in evidence.stages):
        return PYTHON_REMEDIES
    return None
