"""HST301: a callback takes much of the training's time."""

from __future__ import annotations

from collections.abc import Iterable

from bottleneck_kit.diagnosis import thresholds
from bottleneck_kit.diagnosis.conditions import known
from bottleneck_kit.diagnosis.rule import Match, Rule
from bottleneck_kit.records.evidence import CallbackEvidence, Evidence
from bottleneck_kit.units import format_seconds, format_share

KERAS_OWN = {
    "History": "It is Keras' own and collects the metrics of each epoch.",
    "ProgbarLogger": "It is Keras' own progress bar: verbose=2 prints once an epoch.",
}
"""Callbacks that Keras adds by itself, and what is to be known of them."""


class SlowCallback(Rule):
    """A callback takes much of the training's time.

    What it checks:
        Whether the training thread is inside one callback for at least 5 % (moderate) or 20 %
        (high) of the fit, by the low end of the interval that so many looks allow.

    Why it costs time:
        Callbacks run on the training thread; the accelerator is idle until they return.

    Evidence used:
        Looks at the training thread's stack, scaled by the exact time between two calls of the
        train function.

    Example:
        A logger that writes a file after each batch: 10 of each 40 ms.

    What to do:
        Do it every so many batches or at the epoch's end, or in a thread of its own.

    Known problems:
        A callback that runs rarely and briefly is not found within a short fit: its interval
        reaches down to nothing. A callback that reads a device tensor waits for the step to end;
        that wait is booked on it.
    """

    code = "HST301"
    name = "slow-callback"
    needs = ("callbacks",)
    remedies = ("callback",)

    def matches(self, evidence: Evidence) -> Iterable[Match]:
        """Gives a match for each callback that surely takes its share."""
        for one in known(evidence.callbacks):
            low_share = _low_share(one)
            if low_share < thresholds.MODERATE_SHARE:
                continue
            if one.step_s.low < thresholds.SMALLEST_CALLBACK_S:
                continue
            yield Match(
                "high" if low_share >= thresholds.HIGH_SHARE else "moderate",
                numbers={
                    "callback": one.name,
                    "hook": one.hook,
                    "step_s": one.step_s.value,
                    "share": one.share,
                    "share_low": low_share,
                    "looks": one.step_s.n,
                },
                remedies=("steps_per_execution",) if one.name in KERAS_OWN else None,
            )

    def say(self, match: Match, evidence: Evidence) -> str:
        """Names class and hook with its time."""
        numbers = match.numbers
        known = KERAS_OWN.get(str(numbers["callback"]), "")
        return (
            f"{numbers['callback']}.{numbers['hook']} takes "
            f"{format_seconds(match.number('step_s'))} a step, "
            f"{format_share(match.number('share'))} of the fit (at least "
            f"{format_share(match.number('share_low'))}, from {numbers['looks']} looks). "
            f"{known}"
        ).rstrip()


def _low_share(one: CallbackEvidence) -> float:
    """Gives the low end of the share: it has the relative spread of the seconds a step."""
    return one.share * one.step_s.low / one.step_s.value if one.step_s.value > 0 else 0.0
