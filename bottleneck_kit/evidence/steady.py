"""Which executions of a fit count as its steady state, and where the warm-up ends."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from bottleneck_kit.evidence.limits import (
    KIT_SHARE,
    WARM_UP_SPREADS,
    WARM_UP_TOLERANCE,
    WARM_UP_WINDOW,
)
from bottleneck_kit.evidence.spread import Floats, Statistic, statistic_for
from bottleneck_kit.records.measurement import Missing
from bottleneck_kit.records.run_record import RunRecord
from bottleneck_kit.records.steps import Execution


@dataclass(frozen=True, eq=False)
class Steady:
    """The steady executions of a fit, in order, and the warm-up cut off before them.

    Attributes:
        executions: Those that tell the pace of the training.
        first: Index (within the fit) of the first of them.
        statistic: How their typical value is told; see ``spread.statistic_for``.
    """

    executions: tuple[Execution, ...]
    first: int
    statistic: Statistic

    def period_s(self) -> Floats:
        """Seconds a step from its start to the next one's, the kit's own work taken out."""
        return self.call_s() + self.host_s()

    def call_s(self) -> Floats:
        """Seconds a step inside the train function."""
        return np.array([one.call_s / one.steps for one in self.executions])

    def host_s(self) -> Floats:
        """Seconds a step between two calls, the kit's own work taken out."""
        return np.array([_host_s(one) / one.steps for one in self.executions])

    @property
    def steps(self) -> int:
        """Steps (batches) in them."""
        return sum(one.steps for one in self.executions)


def select_steady(record: RunRecord) -> Steady | Missing:
    """Selects the steady executions of a record, or says why there are none.

    Left out: the first call and all that traced (compilation), the one that took the held batch,
    the last of an epoch (its period holds the epoch's end), those with much work of the kit's
    own, and the warm-up.
    """
    if isinstance(record.steps, Missing):
        return record.steps
    usual = max((one.steps for one in record.steps.kept), default=0)
    candidates = [one for one in record.steps.kept if _is_representative(one, usual)]
    if not candidates:
        return Missing(
            f"none of the {record.steps.steps} steps seen was a steady one: the first step, the "
            "last of each epoch and those that compiled are not counted"
        )
    periods = np.array([(one.call_s + _host_s(one)) / one.steps for one in candidates])
    cut = warm_up_length(periods)
    return Steady(tuple(candidates[cut:]), candidates[cut].index, statistic_for(periods[cut:]))


def warm_up_length(periods: Floats) -> int:
    """Says how many periods at the start belong to the warm-up.

    Right after compilation the prefetch buffers are full, so that steps are faster than they
    will be; where a shuffle buffer fills or AUTOTUNE still searches they are slower. The steady
    state begins with the first running median within tolerance of the later half's median, and
    by the middle of the run at the latest.
    """
    half = len(periods) // 2
    if half < 2:
        return 0
    later = periods[half:]
    level = float(np.median(later))
    deviation = 1.4826 * float(np.median(np.abs(later - level)))
    tolerance = max(WARM_UP_TOLERANCE * level, WARM_UP_SPREADS * deviation)
    for start in range(half):
        window = periods[start : start + WARM_UP_WINDOW]
        if abs(float(np.median(window)) - level) <= tolerance:
            # The window may begin with a few steps of the old pace: they are the minority in it.
            while start < half and abs(periods[start] - level) > tolerance:
                start += 1
            return start
    return half


def _is_representative(one: Execution, usual_steps: int) -> bool:
    if one.index == 0 or one.traced or one.taken or one.host_s is None:
        return False
    # A shorter last execution of an epoch costs other than its share.
    if one.steps != usual_steps or one.steps < 1:
        return False
    numbers = (one.call_s, one.host_s, one.kit_s)
    if not all(math.isfinite(number) and number >= 0 for number in numbers):
        return False
    period_s = one.call_s + one.host_s
    return period_s > 0 and one.kit_s <= KIT_SHARE * period_s


def _host_s(one: Execution) -> float:
    return max(0.0, (one.host_s or 0.0) - one.kit_s)
