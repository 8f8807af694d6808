"""What rules and the verdict ask of the wait: how much it is, how sure, who cannot be judged."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

from bottleneck_kit.diagnosis import thresholds
from bottleneck_kit.diagnosis.cores import is_saturated, others_take, trains_on_cpu
from bottleneck_kit.records.evidence import Evidence
from bottleneck_kit.records.measurement import Missing
from bottleneck_kit.units import format_seconds, format_share

T = TypeVar("T")


@dataclass(frozen=True)
class InputPart:
    """How much of the step input takes, and how sure that is.

    Attributes:
        severity: "none", "moderate" or "high" by the cautious end of the interval; "unknown".
        reason: Why it is unknown, or why the wait may be something else; "" without either.
        shared_cores: Whether the doubt is only that the pipeline and the model share saturated
            cores: the pipeline does cost the step that time, by waiting or by contention.
    """

    severity: str
    reason: str = ""
    shared_cores: bool = False

    @property
    def is_certain(self) -> bool:
        """Whether a wait was found and nothing else can explain it."""
        return self.severity in {"moderate", "high"} and not self.reason

    @property
    def costs_time(self) -> bool:
        """Whether the pipeline costs the step time, be it by waiting or by contention."""
        return self.is_certain or self.shared_cores


def known(value: T | Missing) -> T:
    """Gives a value that a rule's ``needs`` promise to be there.

    Raises:
        LookupError: It is missing: the rule reads a field that it does not name in ``needs``.
    """
    if isinstance(value, Missing):
        raise LookupError(f"a field that the rule does not need is missing: {value.reason}")
    return value


def judge_input(evidence: Evidence) -> InputPart:
    """Judges the wait for input: bands on the interval's low end, and doubts about its source."""
    share, wait = evidence.input_share, evidence.wait_s
    if isinstance(evidence.step_s, Missing):
        return InputPart("unknown", evidence.step_s.reason)
    if evidence.steady_steps < thresholds.FEWEST_STEPS:
        return InputPart(
            "unknown",
            f"expected at least {thresholds.FEWEST_STEPS} steady steps, saw "
            f"{evidence.steady_steps}; train for more steps",
        )
    if isinstance(share, Missing) or isinstance(wait, Missing):
        most_s = most_wait_s(evidence)
        if most_s is not None and most_s < thresholds.MODERATE_SHARE * evidence.step_s.low:
            return InputPart("none")
        reasons = [one.reason for one in (share, wait) if isinstance(one, Missing)]
        return InputPart("unknown", reasons[0])
    if max(share.value, share.high) < thresholds.MODERATE_SHARE:
        return InputPart("none")
    if wait.high < thresholds.SMALLEST_WAIT_S:
        return InputPart("none")
    doubtful = share.low < thresholds.MODERATE_SHARE or wait.low < thresholds.SMALLEST_WAIT_S
    if doubtful and share.high >= thresholds.HIGH_SHARE:
        return InputPart(
            "unknown",
            f"the times vary too much to tell: between {format_share(share.low)} and "
            f"{format_share(share.high)} of a step may be waiting; train for more steps",
        )
    if doubtful:
        return InputPart("none")
    high = (
        share.low >= thresholds.HIGH_SHARE
        and evidence.steady_steps >= thresholds.FEWEST_STEPS_FOR_HIGH
    )
    severity = "high" if high else "moderate"
    return _with_doubts(evidence, severity, wait.value)


def most_wait_s(evidence: Evidence) -> float | None:
    """Gives the thread seconds of all stages for one batch; None unless every cost is known.

    However badly stages overlap, a step cannot wait longer for its batch than all the work on it
    takes: so a light pipeline is cleared even where the wait itself could not be measured.
    """
    if isinstance(evidence.supply_s, Missing) or not evidence.stages:
        return None
    return sum(one.cost_s for one in evidence.stages if not isinstance(one.cost_s, Missing))


def input_unjudged(evidence: Evidence) -> str:
    """Says why it is not known whether the pipeline costs the step time; "" where it is."""
    part = judge_input(evidence)
    return "" if part.shared_cores else part.reason


def stages_unjudged(evidence: Evidence) -> str:
    """Says why the stages cannot be blamed or cleared; "" where they can."""
    return input_unjudged(evidence) or stage_costs_missing(evidence)


def stage_costs_missing(evidence: Evidence) -> str:
    """Says why no stage can be judged; "" where at least one has a cost."""
    if isinstance(evidence.has_pipeline, Missing):
        return evidence.has_pipeline.reason
    if not evidence.stages:
        return "the stages of the pipeline are not known"
    reasons = [one.cost_s.reason for one in evidence.stages if isinstance(one.cost_s, Missing)]
    if len(reasons) < len(evidence.stages):
        return ""
    return f"no stage's cost is known: {reasons[0]}"


def _with_doubts(evidence: Evidence, severity: str, wait_s: float) -> InputPart:
    """Asks what else than input the held batch may be faster for."""
    if evidence.wait_source != "held batch":
        return InputPart(severity)
    doubts = []
    if evidence.job.dynamic_shapes:
        doubts.append("batches differ in shape and the held batch has only one")
    if isinstance(evidence.recompiles, Missing):
        doubts.append("it is not known whether the train step was compiled again in training")
    elif evidence.recompiles > 0:
        doubts.append("the train step was compiled again in training, on the held batch it was not")
    pipe = evidence.cpu_pipe_s
    pipe_s = None if isinstance(pipe, Missing) else pipe.value / max(evidence.usable_cores, 1e-9)
    on_cpu = trains_on_cpu(evidence)
    saturated = on_cpu and is_saturated(evidence)
    if on_cpu and isinstance(evidence.cpu_share, Missing):
        doubts.append("it is not known whether the cores are full")
    elif saturated:
        others = others_take(evidence)
        doubts.append(
            "the cores are full and the held batch has them for itself"
            + (f" ({others})" if others else "")
        )
    elif on_cpu and stage_costs_missing(evidence) and _uses_little_cpu(evidence):
        doubts.append(
            "the pipeline's own cost is not known and it uses little CPU: something else may have "
            "slowed the training, such as another process"
        )
    if _supplies_enough(evidence):
        doubts.append(
            "with its prefetch the pipeline alone is faster than the step on the held batch"
        )
    if not doubts:
        return InputPart(severity)
    reason = (
        f"a step on the held batch is {format_seconds(wait_s)} shorter, but that need not be "
        f"input: {'; '.join(doubts)}"
    )
    explained = pipe_s is not None and pipe_s >= thresholds.EXPLAINED_BY_CPU_SHARE * wait_s
    return InputPart("moderate", reason, shared_cores=saturated and len(doubts) == 1 and explained)


def _uses_little_cpu(evidence: Evidence) -> bool:
    pipe, wait = evidence.cpu_pipe_s, evidence.wait_s
    if isinstance(pipe, Missing) or isinstance(wait, Missing):
        return True
    return pipe.value < thresholds.EXPLAINED_BY_CPU_SHARE * wait.value


def _supplies_enough(evidence: Evidence) -> bool:
    """Says whether the pipeline could keep up; costs are rather too high, where cores are full."""
    supply, ideal = evidence.supply_s, evidence.ideal_step_s
    if isinstance(supply, Missing) or isinstance(ideal, Missing) or not evidence.prefetch_at_end:
        return False
    return supply.value < thresholds.KEEPS_UP_SHARE * ideal.value
