"""Remedy ``processes``: run Python work in several processes, each with a lock of its own."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import ClassVar

from bottleneck_kit.prescription import snippet
from bottleneck_kit.prescription.change import Change
from bottleneck_kit.prescription.remedy import Remedy
from bottleneck_kit.prescription.stage_load import taken_clause
from bottleneck_kit.prescription.stage_order import (
    PYTHON_SOURCES,
    bytes_of,
    elements_per_step,
    main_line,
    maps_before_batch,
)
from bottleneck_kit.prescription.what_if import Prediction, predict
from bottleneck_kit.records.diagnosis import Diagnosis
from bottleneck_kit.records.evidence import Evidence, StageEvidence
from bottleneck_kit.records.measurement import Missing
from bottleneck_kit.records.plan import Prescription
from bottleneck_kit.records.python_waits import stage_waits
from bottleneck_kit.units import format_seconds

PROCESS_ERROR_SHARE = 0.5
"""Stated error: what handing elements between processes costs depends on their size and type."""

HANDING_S = 4.5e-4
"""Seconds to hand one element to a process and take back what it gives, waiting for it.

Measured in pipelines of 32 elements a step on two cores: Python of 7.4 ms a step became 18 ms,
23 ms became 25, where half of it and 32 such times are 18 and 26.
"""

CHUNK_HANDING_S = 2e-5
"""The same where elements travel in chunks: 7.4 ms became 3.8, 22 became 11 on idle cores."""

HANDING_BYTES_PER_S = 5e8
"""Bytes a second through the pipe between processes, pickled; an assumption on the safe side."""


_GUARD = (
    'the script\'s own lines under if __name__ == "__main__": each new process runs the script '
    "again, and without that line it hangs."
)

LITTLE_SHARE = 0.1
"""Gain, as a share of the step, below which the text says why it is little."""


class Processes(Remedy):
    """Moves the Python stages out of the training process.

    One lock lets one thread of a process run Python at a time. Processes do not share it, but
    they do share the cores: where those are busy, they bring nothing, and the arithmetic says so.
    """

    name: ClassVar[str] = "processes"
    safety: ClassVar[str] = "redraws"
    effort: ClassVar[int] = 3

    def prescriptions(self, evidence: Evidence, diagnosis: Diagnosis) -> Iterable[Prescription]:
        """Gives one for each stage that runs Python."""
        count = max(1, math.floor(evidence.usable_cores))
        for one in evidence.stages:
            stage = one.stage
            if stage.traits.python is not True or stage.kind == "keras_arrays":
                continue
            if stage_waits(one, evidence):
                # It holds no lock: threads do the same without handing elements over.
                continue
            findings = self.asked_by(diagnosis, [stage.index])
            before_batch = _is_before_batch(one, main_line(evidence))
            in_chunks = before_batch or stage.kind in PYTHON_SOURCES
            change = Change(
                calls={stage.index: float(count)},
                python_processes=count,
                handing_s=_handing_s(one, in_chunks),
                error_share=PROCESS_ERROR_SHARE,
            )
            prediction = predict(evidence, change)
            if not self.worth_giving(evidence, prediction, findings):
                continue
            spent = "" if isinstance(one.cost_s, float) is False else _spent(one)
            yield self.give(
                prediction,
                stage=stage.index,
                cost=f"{count} processes with their memory; elements and the function must pickle",
                text=f"{stage.name} runs Python{spent}, one call at a time however many threads "
                "ask, because of the interpreter's lock. Each process has a lock of its own; "
                "TensorFlow ops in its place would need none. Random draws differ, and each "
                "process needs a seed of its own."
                f"{_little_clause(evidence, prediction, in_chunks)}",
                snippet=_snippet(one, count, before_batch),
                findings=findings,
            )

    def why_not(self, evidence: Evidence, diagnosis: Diagnosis) -> str:
        """Says that no stage runs Python, or that threads do."""
        if any(stage_waits(one, evidence) for one in evidence.stages):
            return "its Python waits and frees the lock; more calls in threads do the same"
        return "no stage is known to run Python while training"


def _is_before_batch(one: StageEvidence, line: tuple[StageEvidence, ...]) -> bool:
    """Says whether nothing stands between the stage and the batch, so that whole batches can go."""
    return one.stage.kind == "map" and maps_before_batch(line)[-1:] == (one,)


def _handing_s(one: StageEvidence, in_chunks: bool) -> float:
    elements = elements_per_step(one) or 1.0
    each_s = CHUNK_HANDING_S if in_chunks else HANDING_S
    return elements * (each_s + (bytes_of(one) or 0.0) / HANDING_BYTES_PER_S)


def _little_clause(evidence: Evidence, prediction: Prediction | Missing, in_chunks: bool) -> str:
    """Says why it brings little where it does: the cores, or the handing over."""
    step = evidence.step_s
    if isinstance(prediction, Missing) or isinstance(step, Missing):
        return ""
    if prediction.gain_s >= LITTLE_SHARE * step.value:
        return ""
    clause = f" With {evidence.usable_cores:g} cores{taken_clause(evidence)} it brings little"
    return clause + ("." if in_chunks else ": handing over one element at a time costs as much.")


def _spent(one: StageEvidence) -> str:
    return f" for {format_seconds(one.cost_s)} a step" if isinstance(one.cost_s, float) else ""


def _snippet(one: StageEvidence, count: int, before_batch: bool) -> str:
    name = snippet.function_name(one.stage)
    if one.stage.kind in {"keras_py_dataset", "keras_generator"}:
        return (
            "# YourDataset: the keras.utils.PyDataset you hand to fit (make one of a generator)\n"
            f"dataset = YourDataset(..., workers={count}, use_multiprocessing=True)"
        )
    pool = (
        "import multiprocessing\n"
        "from concurrent.futures import ProcessPoolExecutor\n\n"
        "# spawn: a forked child of a process that uses TensorFlow hangs\n"
        'context = multiprocessing.get_context("spawn")\n'
        f"pool = ProcessPoolExecutor(max_workers={count}, mp_context=context)\n\n\n"
    )
    if one.stage.kind in PYTHON_SOURCES:
        note = snippet.comment(
            f"load_one(i): makes element i, what {name} yields as its i-th; number_of_elements "
            "and output_signature: as you have them. load_one stands at the top level of a module "
            f"of its own, and {_GUARD}"
        )
        return (
            f"{note}\n{pool}"
            "def elements():\n"
            "    yield from pool.map(load_one, range(number_of_elements), chunksize=8)\n\n\n"
            "dataset = tf.data.Dataset.from_generator(elements, "
            "output_signature=output_signature)"
        )
    return _of_a_map(one, count, before_batch, pool)


def _of_a_map(one: StageEvidence, count: int, before_batch: bool, pool: str) -> str:
    """Writes the change of a map, within its own function where that calls the Python one."""
    stage = one.stage
    name, place = snippet.python_function(stage)
    handing = "in_processes" if before_batch else "in_process"
    note = f"{name}{place} has to stand at the top level of a module of its own, and {_GUARD}"
    if "EagerPyFunc" in stage.traits.op_types:
        note += f" It gets NumPy arrays: take .numpy() out of {name}."
    types = snippet.output_types(stage)
    function = f"lambda *element: tf.numpy_function({handing}, element, {types or 'output_types'})"
    shapes = snippet.ensured_shapes(stage, batched=before_batch)
    after = ""
    if stage.python_functions:
        # Its own call hands over what the Python takes, and knows types and shapes.
        function, shapes = snippet.function_name(stage), ""
        after = (
            f"In {function}{snippet.where(stage)}: tf.numpy_function({handing}, ...) in the place "
            f"of the call that hands over {name}, inputs and types as they are"
        )
        after += "; set_shape with None in front." if before_batch else "."
    elif not types:
        note += " output_types: the dtypes it gives, as a list."
    if before_batch:
        after += " Behind the batch, in the place of the map in front of it:"
    call = snippet.call(stage, function=function, num_parallel_calls=count)
    return "\n".join(
        part
        for part in (
            snippet.comment(note),
            "import numpy" if before_batch else "",
            f"{pool}{_in_processes(name, count) if before_batch else _in_process(name)}",
            snippet.comment(after.strip()) if after else "",
            f"dataset = dataset{call}",
            shapes,
        )
        if part
    )


def _in_processes(name: str, count: int) -> str:
    return (
        "def in_processes(*batch):\n"
        "    # whole batches: handing over one element at a time costs more than small work\n"
        f"    size = -(-len(batch[0]) // {2 * count})\n"
        f"    rows = list(pool.map({name}, *batch, chunksize=max(1, size)))\n"
        "    rows = [row if isinstance(row, tuple) else (row,) for row in rows]\n"
        "    return [numpy.stack(column) for column in zip(*rows)]\n\n"
    )


def _in_process(name: str) -> str:
    return (
        "def in_process(*element):\n"
        "    # waiting for the result releases the lock\n"
        f"    return pool.submit({name}, *element).result()\n\n"
    )
