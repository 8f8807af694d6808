"""Waits until the process rests, so that what is timed next has the cores to itself."""

from __future__ import annotations

import time
from collections.abc import Callable

LOOK_S = 0.010
"""Seconds between two looks; a kernel that ticks every 4 ms still shows work in one."""

RESTING_SHARE = 0.2
"""Cores in use, as a share of one core, below which the process rests: the kit's own threads and
waiting ones take some, a pipeline at work takes a whole core or more."""

RESTING_LOOKS = 2
"""Looks in a row that must find it resting, since a stage may sleep in between."""


def wait_for_quiet(
    limit_s: float,
    *,
    now_s: Callable[[], float] = time.perf_counter,
    cpu_s: Callable[[], float] = time.process_time,
    sleep: Callable[[float], None] = time.sleep,
) -> bool:
    """Waits until the process uses hardly any CPU.

    When training ends, its iterator is still open and the pipeline goes on preparing batches
    until its buffers are full. On two cores that made a step on the held batch look 1.7 times as
    long as it is.

    Args:
        limit_s: Seconds to wait at most.
        now_s: The clock.
        cpu_s: The clock of the CPU seconds of all threads.
        sleep: Lets time pass.

    Returns:
        Whether the process rests.
    """
    end_s = now_s() + limit_s
    looks = 0
    while looks < RESTING_LOOKS:
        began_s, began_cpu_s = now_s(), cpu_s()
        if began_s >= end_s:
            return False
        sleep(LOOK_S)
        resting = cpu_s() - began_cpu_s < RESTING_SHARE * (now_s() - began_s)
        looks = looks + 1 if resting else 0
    return True
