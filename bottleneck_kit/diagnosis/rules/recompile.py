"""RUN401: the train step is compiled again and again."""

from __future__ import annotations

from collections.abc import Iterable

from bottleneck_kit.diagnosis import thresholds
from bottleneck_kit.diagnosis.conditions import known
from bottleneck_kit.diagnosis.rule import Match, Rule
from bottleneck_kit.records.evidence import Evidence
from bottleneck_kit.records.measurement import Missing
from bottleneck_kit.units import format_seconds, format_share


class Recompile(Rule):
    """The train step is traced and compiled again and again.

    What it checks:
        Whether the train function was traced more than once after its first execution; high where
        the calls that did it took 20 % of the fit or more.

    Why it costs time:
        Tracing takes from a tenth of a second to half a minute, and nothing trains meanwhile.

    Evidence used:
        recompiles and recompile_s, from the tracing count around each execution.

    Example:
        Text batches padded each to its longest sentence: forty lengths, forty compilations.

    What to do:
        Pad to a few fixed lengths, or drop the shorter last batch.

    Known problems:
        One more trace is allowed: the shorter last batch of an epoch. With jit_compile=True, XLA
        compiles for a new shape without a trace, which is not seen here.
    """

    code = "RUN401"
    name = "recompile"
    needs = ("recompiles",)
    remedies = ("pad_shapes",)

    def matches(self, evidence: Evidence) -> Iterable[Match]:
        """Gives one match where it was traced more often than allowed."""
        count = known(evidence.recompiles)
        if count <= thresholds.RECOMPILES_ALLOWED:
            return
        spent = evidence.recompile_s
        spent_s = None if isinstance(spent, Missing) else spent.value
        share = spent_s / evidence.fit_s if spent_s is not None and evidence.fit_s > 0 else 0.0
        yield Match(
            "high" if share >= thresholds.RECOMPILE_HIGH_SHARE else "moderate",
            numbers={"recompiles": count, "recompile_s": spent_s, "fit_share": share},
        )

    def say(self, match: Match, evidence: Evidence) -> str:
        """Says how often and what it took."""
        numbers = match.numbers
        taken = ""
        if numbers["recompile_s"] is not None:
            taken = (
                f", which took {format_seconds(match.number('recompile_s'))} "
                f"({format_share(match.number('fit_share'))} of the fit)"
            )
        why = " The batches leave a dimension open." if evidence.job.dynamic_shapes else ""
        return (
            f"The train step was traced {numbers['recompiles']} times more after its first "
            f"execution{taken}.{why}"
        )
