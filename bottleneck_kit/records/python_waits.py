"""Whether Python of the input pipeline waits or computes: diagnosis and remedies both ask."""

from __future__ import annotations

from bottleneck_kit.records.evidence import Evidence, StageEvidence
from bottleneck_kit.records.measurement import Missing

WAITS_BELOW_CPU_SHARE = 0.60
"""CPU seconds of the pipeline, as a share of the Python's seconds, below which it waits.

A ``numpy_function`` that only sleeps for half a millisecond had 0.52, which is calling it. Python
that computes has 1, or 0.67 where three busy threads share two cores.
"""


def python_waits(python_s: float, evidence: Evidence) -> bool:
    """Says whether Python of the pipeline waits rather than computes, so that it frees the lock.

    All that the pipeline computes is in its CPU time; where that is not known, it computes.

    Args:
        python_s: Seconds a step that the Python takes.
        evidence: The numbers of the run.
    """
    pipe = evidence.cpu_pipe_s
    return not isinstance(pipe, Missing) and pipe.value < WAITS_BELOW_CPU_SHARE * python_s


def stage_waits(one: StageEvidence, evidence: Evidence) -> bool:
    """Says whether a stage runs Python that is known to wait.

    Calls that compute wait for each other's lock and count that: the work is cost through calls.
    """
    if one.stage.traits.python is not True or isinstance(one.cost_s, Missing):
        return False
    calls = 1 if one.serial else max(1, one.parallelism or 1)
    return python_waits(one.cost_s / calls, evidence)
