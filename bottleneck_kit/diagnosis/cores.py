"""Questions of the diagnosis about the cores: full or idle, and who keeps them busy."""

from __future__ import annotations

from bottleneck_kit.diagnosis import thresholds
from bottleneck_kit.records.evidence import Evidence
from bottleneck_kit.records.measurement import Missing
from bottleneck_kit.units import format_share


def available_cores(evidence: Evidence) -> float:
    """Gives the usable cores less those that other processes keep busy.

    Of the latter no more than a share counts: a process that wants the cores gets its part of
    them from the scheduler, however much the others want.
    """
    usable = evidence.usable_cores
    return usable - min(other_cores(evidence), thresholds.NEIGHBOURS_SHARE * usable)


def other_cores(evidence: Evidence) -> float:
    """Gives the cores that other processes keep busy; 0 where that was not sampled."""
    others = evidence.other_cores
    return 0.0 if isinstance(others, Missing) else others.value


def filled_share(evidence: Evidence) -> float | None:
    """Gives the share (0 to 1) of the available cores that this process fills; None if unknown."""
    share, available = evidence.cpu_share, available_cores(evidence)
    if isinstance(share, Missing) or not available > 0:
        return None
    return min(1.0, share.value * evidence.usable_cores / available)


def is_saturated(evidence: Evidence) -> bool:
    """Says whether the cores that are left to this process are full; False if unknown."""
    filled = filled_share(evidence)
    return filled is not None and filled >= thresholds.SATURATED_SHARE


def is_nearly_saturated(evidence: Evidence) -> bool:
    """Says whether most of the cores' time is used and no whole core is left for another call."""
    filled = filled_share(evidence)
    if filled is None or filled < thresholds.MOSTLY_BUSY_SHARE:
        return False
    return (1 - filled) * available_cores(evidence) < thresholds.SPARE_CORES


def has_idle_cores(evidence: Evidence) -> bool:
    """Says whether a further parallel call would find a core; False if unknown."""
    filled = filled_share(evidence)
    return filled is not None and filled < thresholds.SATURATED_SHARE


def trains_on_cpu(evidence: Evidence) -> bool:
    """Says whether the model computes on the cores that the pipeline uses, too."""
    return not evidence.environment.gpus and evidence.emulated_ms == 0


def cores_used(evidence: Evidence) -> str:
    """Says what this process uses of the cores, and others where that is worth a word."""
    share = evidence.cpu_share
    used = "an unknown share" if isinstance(share, Missing) else format_share(share.value)
    others = others_take(evidence)
    return f"{used} of the {evidence.usable_cores:g} cores{f'; {others}' if others else ''}"


def others_take(evidence: Evidence) -> str:
    """Says, as a clause, how many cores other processes keep busy.

    "" where it is few, unless just these fill the cores: the numbers of a text have to agree.
    """
    others, share = other_cores(evidence), evidence.cpu_share
    alone = isinstance(share, Missing) or share.value >= thresholds.SATURATED_SHARE
    if others < thresholds.OTHER_CORES and (alone or not is_saturated(evidence)):
        return ""
    return f"other processes keep {others:.1f} busy"
