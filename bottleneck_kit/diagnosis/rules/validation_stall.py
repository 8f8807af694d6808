"""HST305: validation takes much of the fit."""

from __future__ import annotations

from collections.abc import Iterable

from bottleneck_kit.diagnosis import thresholds
from bottleneck_kit.diagnosis.conditions import known
from bottleneck_kit.diagnosis.rule import Match, Rule
from bottleneck_kit.records.evidence import Evidence
from bottleneck_kit.units import format_seconds, format_share


class ValidationStall(Rule):
    """Validation takes much of the fit.

    What it checks:
        Whether at least 20 % (moderate) or 40 % (high) of the fit passes inside ``evaluate``.

    Why it costs time:
        Training stands still meanwhile. With a fifth of the data and no gradients it should take
        about 7 %; much more often means that the validation data is prepared slowly.

    Evidence used:
        validation_share and validation_s, from the begin and the end of each ``evaluate``.

    Example:
        12 s of validation behind each 20 s of training.

    What to do:
        Validate every few epochs (validation_freq), on fewer batches (validation_steps), with a
        larger batch, or cache the validation data, which is the same each time.

    Known problems:
        It does not say why ``evaluate`` is slow: the pipeline of the validation data is not read.
    """

    code = "HST305"
    name = "validation-stall"
    needs = ("validation_share", "validation_s")
    remedies = ("validation",)

    def matches(self, evidence: Evidence) -> Iterable[Match]:
        """Gives one match where validation takes its share."""
        share, seconds = known(evidence.validation_share), known(evidence.validation_s)
        if share.value >= thresholds.VALIDATION_MODERATE_SHARE:
            high = share.value >= thresholds.VALIDATION_HIGH_SHARE
            yield Match(
                "high" if high else "moderate",
                numbers={"validation_share": share.value, "validation_s": seconds.value},
            )

    def say(self, match: Match, evidence: Evidence) -> str:
        """Says seconds an epoch and share of the fit."""
        return (
            f"Validation takes {format_seconds(match.number('validation_s'))} each time, "
            f"{format_share(match.number('validation_share'))} of the fit."
        )
