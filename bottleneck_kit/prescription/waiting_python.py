"""Python that waits (for a file, the network, a sleep): how several calls of it wait at once."""

from __future__ import annotations

from bottleneck_kit.prescription import snippet
from bottleneck_kit.prescription.stage_order import PYTHON_SOURCES
from bottleneck_kit.records.evidence import Evidence, StageEvidence
from bottleneck_kit.records.python_waits import stage_waits

MAP_CALLS = 16
"""Calls of a map that wait at once: more than cores, since waiting needs none.

A numpy_function that sleeps took 55 ms a step on two cores with one call, 27 ms with eight (the
threads are as many as cores) and 12 ms with sixteen and threads of their own.
"""

WORKERS = 8
"""Threads of a PyDataset: one took 21 ms a step of sleeping, eight 2.4."""

WAITING_ERROR_SHARE = 0.5
"""Stated error: how many requests the other side serves at once is not in the record."""


def at_once(one: StageEvidence, evidence: Evidence) -> int | None:
    """Gives how many calls should wait at once; None where more would not help the stage."""
    takes_calls = one.stage.kind in {"map", *PYTHON_SOURCES} - {"keras_arrays"}
    if not takes_calls or not stage_waits(one, evidence):
        return None
    calls = WORKERS if one.stage.kind.startswith("keras_") else MAP_CALLS
    return calls if (one.parallelism or 1) < calls else None


def code(one: StageEvidence, calls: int) -> str:
    """Writes the change for the user's kind of stage."""
    kind = one.stage.kind
    name = snippet.function_name(one.stage)
    if kind == "keras_py_dataset":
        return (
            f"# {name}: the keras.utils.PyDataset you hand to fit; super().__init__(**kwargs) in "
            f"its __init__\ndataset = {name}(..., workers={calls})"
        )
    if kind == "keras_generator":
        note = snippet.comment(
            f"{name} as a keras.utils.PyDataset: __len__ gives the batches of an epoch, "
            "__getitem__(i) batch i"
        )
        return f"{note}\ndataset = YourDataset(..., workers={calls})"
    if kind == "map":
        changed = snippet.assignments(snippet.call(one.stage, num_parallel_calls=calls))
    else:
        note = snippet.comment(
            f"load_one(i): makes element i, what {name} yields as its i-th; number_of_elements: "
            "how many it yields"
        )
        types = snippet.output_types(one.stage)
        changed = (
            f"{note}\n"
            "dataset = tf.data.Dataset.range(number_of_elements)\n"
            "dataset = dataset.map(\n"
            f"    lambda i: tf.numpy_function(load_one, [i], {types or 'output_types'}),\n"
            f"    num_parallel_calls={calls},\n"
            ")"
        )
        shapes = snippet.ensured_shapes(one.stage)
        changed += f"\n{shapes}" if shapes else ""
    return (
        f"{changed}\n"
        "# Threads of its own: by default there are as many as cores, however many calls wait\n"
        "options = tf.data.Options()\n"
        f"options.threading.private_threadpool_size = {2 * calls}\n"
        "dataset = dataset.with_options(options)"
    )
