"""INP101: the step waits for its input."""

from __future__ import annotations

from collections.abc import Iterable

from bottleneck_kit.diagnosis.conditions import judge_input, known
from bottleneck_kit.diagnosis.rule import Match, Rule
from bottleneck_kit.diagnosis.rules.cpu_saturated import CpuSaturated
from bottleneck_kit.diagnosis.rules.no_overlap import NoOverlap
from bottleneck_kit.diagnosis.rules.python_stage import REMEDIES_OF_WAITING, PythonStage
from bottleneck_kit.diagnosis.rules.serial_stage import SerialStage
from bottleneck_kit.diagnosis.rules.slow_source import SlowSource
from bottleneck_kit.diagnosis.rules.work_per_element import WorkPerElement
from bottleneck_kit.diagnosis.stage_work import cost_s, limits_as_python, stage_name
from bottleneck_kit.diagnosis.wording import beside_the_wait
from bottleneck_kit.records.evidence import Evidence
from bottleneck_kit.records.python_waits import stage_waits
from bottleneck_kit.units import format_seconds, format_share

CAUSES: tuple[Rule, ...] = (
    CpuSaturated(),
    SerialStage(),
    PythonStage(),
    SlowSource(),
    NoOverlap(),
    WorkPerElement(),
)
"""The rules that name what a step waits for; where none of them holds, this one says so."""

PYTHON_REMEDIES = ("processes", "vectorize", "bake", "service")
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
        """Says share and seconds, what is not the wait, and the dearest stage without a cause."""
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
            f"{beside_the_wait(evidence)}{_without_a_cause(evidence)}"
        )


def _without_a_cause(evidence: Evidence) -> str:
    """Says that no cause stands out, and the stage to look at first; "" where a rule names one."""
    for rule in CAUSES:
        if not rule.missing(evidence) and any(True for _ in rule.matches(evidence)):
            return ""
    dearest = max(evidence.stages, key=cost_s, default=None)
    if dearest is None or not cost_s(dearest) > 0:
        return " The cause cannot be named: what the pipeline's stages cost is not known."
    return (
        f" No single cause stands out; the dearest stage is {stage_name(dearest.stage)}, with "
        f"{format_seconds(cost_s(dearest))} of thread time a step."
    )


def _remedies(evidence: Evidence) -> tuple[str, ...] | None:
    """Without stages of the user there is nothing of theirs to tune, cache or bake."""
    if evidence.job.input_kind == "arrays":
        return ("steps_per_execution", "machine")
    step_s = known(evidence.step_s).value
    limiting = [one for one in evidence.stages if limits_as_python(one, step_s)]
    if limiting and all(stage_waits(one, evidence) for one in limiting):
        return REMEDIES_OF_WAITING
    if limiting or evidence.job.input_kind in {"generator", "py_dataset"}:
        return PYTHON_REMEDIES
    return None
