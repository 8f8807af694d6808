"""Remedy ``steps_per_execution``: several steps for each turn of Keras' Python loop."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import ClassVar

from bottleneck_kit.prescription.remedy import Remedy
from bottleneck_kit.prescription.what_if import predict_shorter
from bottleneck_kit.records.diagnosis import Diagnosis
from bottleneck_kit.records.evidence import Evidence
from bottleneck_kit.records.measurement import Measurement, Missing
from bottleneck_kit.records.plan import Prescription
from bottleneck_kit.units import format_seconds, format_share

LOOP_SHARE = 0.1
"""Share of the step spent in Keras' loop from which several steps an execution are offered."""

LEFT_SHARE = 0.02
"""Share of the rest of the step that the loop may still cost; decides the number of steps."""

MOST_STEPS = 50
"""Steps an execution beyond which nothing is left to gain and metrics come late."""


class StepsPerExecution(Remedy):
    """Spreads the fixed cost of a turn of Keras' loop over several steps.

    For steps of a few milliseconds or less. While the step waits for its input, a shorter loop
    only lengthens the wait; the prediction counts that.
    """

    name: ClassVar[str] = "steps_per_execution"
    safety: ClassVar[str] = "exact"
    effort: ClassVar[int] = 0
    needs_stages: ClassVar[bool] = False

    def prescriptions(self, evidence: Evidence, diagnosis: Diagnosis) -> Iterable[Prescription]:
        """Gives one where the loop takes a noticeable share of each step."""
        if evidence.job.run_eagerly or evidence.job.steps_per_execution > 1:
            return
        loop = _loop_s(evidence)
        step = evidence.step_s
        findings = self.asked_by(diagnosis)
        if isinstance(loop, Missing) or isinstance(step, Missing) or step.value <= 0:
            return
        if not findings and loop.value < LOOP_SHARE * step.value:
            return
        count = _steps(loop.value, step.value, evidence.job.steps_per_epoch)
        if count < 2:
            return
        left = 1 - 1 / count
        saved = Measurement(loop.value * left, loop.low * left, loop.high * left)
        prediction = predict_shorter(evidence, saved)
        if not self.worth_giving(evidence, prediction, findings, of_input=False):
            return
        yield self.give(
            prediction,
            stage=None,
            cost="one argument; batch hooks of callbacks are called once an execution",
            text=f"Keras' loop takes {format_seconds(loop.value)} of each step "
            f"({format_share(loop.value / step.value)}); {count} steps an execution pay it once.",
            snippet=f"model.compile(\n    optimizer=model.optimizer,\n    loss=model.loss,\n"
            f"    steps_per_execution={count},\n)  # and your other arguments",
            findings=findings,
        )

    def why_not(self, evidence: Evidence, diagnosis: Diagnosis) -> str:
        """Says what is so already, or that the loop costs too little."""
        if evidence.job.run_eagerly:
            return "the model runs eagerly; compile it first"
        if evidence.job.steps_per_execution > 1:
            return "the model already works through several steps an execution"
        return "Keras' loop costs next to nothing beside the step, or was not measured"


def _loop_s(evidence: Evidence) -> Measurement | Missing:
    """Gives the seconds a step outside the train function, the user's callbacks apart."""
    host, own = evidence.host_s, evidence.callback_step_s
    if isinstance(host, Missing):
        return host
    if isinstance(own, Missing):
        return host
    return Measurement(
        max(0.0, host.value - own.value),
        max(0.0, host.low - own.high),
        max(0.0, host.high - own.low),
    )


def _steps(loop_s: float, step_s: float, steps_per_epoch: int | None) -> int:
    """Gives the smallest number that leaves LEFT_SHARE, a divisor of the epoch if one is near."""
    rest_s = max(step_s - loop_s, 1e-9)
    count = min(MOST_STEPS, max(2, math.ceil(loop_s / (LEFT_SHARE * rest_s))))
    if steps_per_epoch is None:
        return count
    count = min(count, steps_per_epoch)
    divisors = [n for n in range(count, 2 * count + 1) if n and steps_per_epoch % n == 0]
    return divisors[0] if divisors else count
