"""INP112: Python code in the pipeline holds the interpreter lock."""

from __future__ import annotations

from collections.abc import Iterable

from bottleneck_kit.diagnosis.conditions import (
    input_unjudged,
    judge_input,
    known,
    stages_unjudged,
)
from bottleneck_kit.diagnosis.python_lock import find_python_lock
from bottleneck_kit.diagnosis.rule import Match, Rule
from bottleneck_kit.diagnosis.stage_work import (
    limits_as_python,
    stage_name,
    thread_time,
    unspreadable_s,
)
from bottleneck_kit.records.evidence import Evidence
from bottleneck_kit.records.measurement import Missing
from bottleneck_kit.records.python_waits import python_waits, stage_waits
from bottleneck_kit.units import format_seconds

REMEDIES_OF_WAITING = ("tune", "vectorize", "bake", "service")
"""Where the Python waits: it frees the lock, so that threads do what processes would do dearer."""

PYTHON_INPUTS = {"generator": "a Python generator", "py_dataset": "a keras.utils.PyDataset"}
"""Values of ``Job.input_kind`` that are Python as a whole."""


class PythonStage(Rule):
    """Python code in the pipeline holds the interpreter lock.

    What it checks:
        Whether a stage that runs Python (py_function, numpy_function, from_generator) takes at
        least 40 % of the step, its time divided by its parallel calls, and the step either waits
        for input or is longer than on a held batch by that order (the training loop then waits for
        the lock); or whether the whole input is Python (a generator, a PyDataset) and the step
        waits.

    Why it costs time:
        Only one thread runs Python at a time. Parallel calls wait for each other, and for
        Keras' loop; AUTOTUNE cannot help.

    Evidence used:
        Cost and parallelism of the stages that run Python, step_s, ideal_step_s, input_share,
        input_kind.

    Example:
        A numpy_function with a Python loop: 20 ms a step with one call and with eight.

    What to do:
        Run it in processes, write it in TensorFlow ops (a batch at a time where that is
        possible), or write its result to records once. Where it uses little CPU time it waits:
        then more parallel calls (``workers`` of a PyDataset) come first.

    Known problems:
        Python that releases the lock while it computes (most of NumPy) would gain from parallel
        calls; from outside it looks like any other, so calls are among the remedies only of
        Python that waits. That uses little CPU time, and the text says so.
    """

    code = "INP112"
    name = "python-stage"
    needs = ("input_share", "step_s")
    remedies = ("processes", "vectorize", "bake", "service")

    def why_not(self, evidence: Evidence) -> str:
        """Gives the reason where the wait is not known, or no stage's cost is that has to be."""
        if find_python_lock(evidence) is not None:
            return ""
        if evidence.job.input_kind in PYTHON_INPUTS:
            return input_unjudged(evidence)
        return stages_unjudged(evidence)

    def matches(self, evidence: Evidence) -> Iterable[Match]:
        """Gives a match for each Python stage that limits the step, or one for a Python input."""
        part, step = judge_input(evidence), known(evidence.step_s)
        lock = find_python_lock(evidence)
        if not part.costs_time and lock is None:
            return
        severity = part.severity if lock is None or part.severity == "high" else lock.severity
        found = False
        for one in evidence.stages:
            if not limits_as_python(one, step.value):
                continue
            found = True
            numbers: dict[str, float | int | str | None] = {
                "stage": stage_name(one.stage),
                "python_s": unspreadable_s(one),
                "step_s": step.value,
                "parallelism": one.parallelism,
                "held_batch_step_s": None if lock is None else lock.ideal_step_s,
            }
            remedies = REMEDIES_OF_WAITING if stage_waits(one, evidence) else None
            yield Match(severity, stage=one.stage.index, numbers=numbers, remedies=remedies)
        if not found and evidence.job.input_kind in PYTHON_INPUTS and _costs_unknown(evidence):
            whole = PYTHON_INPUTS[evidence.job.input_kind]
            numbers = {"stage": whole, "python_s": None, "step_s": step.value}
            yield Match(severity, numbers=numbers)

    def say(self, match: Match, evidence: Evidence) -> str:
        """Names the stage, what it takes from the loop, and that parallel calls do not help."""
        taken = loop = ""
        if match.numbers["python_s"] is not None:
            python_s = match.number("python_s")
            taken = f" for {thread_time(python_s, match.number('step_s'))}"
            if python_waits(python_s, evidence):
                return _say_waiting(str(match.numbers["stage"]), taken, evidence)
        if match.numbers.get("held_batch_step_s") is not None:
            held = format_seconds(match.number("held_batch_step_s"))
            loop = f" The training loop needs the same lock: on a held batch a step takes {held}."
        return (
            f"{match.numbers['stage']} runs Python{taken}. One thread at a time can do that: "
            f"more parallel calls, prefetching and AUTOTUNE do not make it faster.{loop}"
        )


def _say_waiting(stage: str, taken: str, evidence: Evidence) -> str:
    """Says that it is no work of the processor's, and what that leaves to do."""
    cpu_s = known(evidence.cpu_pipe_s).value
    return (
        f"{stage} runs Python{taken}, and yet the pipeline uses only {format_seconds(cpu_s)} of "
        "CPU time: it waits for something (a file, the network, a sleep). Several at once help, "
        "in threads where the wait frees the interpreter lock, in processes in any case."
    )


def _costs_unknown(evidence: Evidence) -> bool:
    """Whether no Python stage has a cost, so that the input is judged as a whole."""
    return not any(
        one.stage.traits.python and not isinstance(one.cost_s, Missing) for one in evidence.stages
    )
