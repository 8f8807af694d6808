"""Where in the pipeline things stand: its random stages, its batch, its deterministic front."""

from __future__ import annotations

from bottleneck_kit.records.evidence import Evidence, StageEvidence
from bottleneck_kit.records.measurement import Missing

BATCHING = frozenset(
    {
        "batch",
        "bucket_by_sequence_length",
        "map_and_batch",
        "padded_batch",
        "ragged_batch",
        "sparse_batch",
    }
)
MOVES_DATA_ONLY = frozenset({"prefetch", "repeat", "options", "assert_cardinality"})
"""Kinds that neither change an element nor the set of elements of a pass."""

CHANGES_ORDER = frozenset({"shuffle", "shuffle_and_repeat", "global_shuffle"})
"""Kinds that give the same elements on every pass, in another order."""

IN_MEMORY = frozenset({"range", "from_tensors", "from_tensor_slices"})
"""Sources that neither read nor compute their elements."""

PYTHON_SOURCES = frozenset(
    {"from_generator", "keras_arrays", "keras_generator", "keras_py_dataset"}
)


def main_line(evidence: Evidence) -> tuple[StageEvidence, ...]:
    """Gives the user's own stages in data order, without the branches that feed them.

    What Keras added itself is left out: the user cannot change it.
    """
    in_branches = {
        inner.index for one in evidence.stages for branch in one.stage.branches for inner in branch
    }
    return tuple(
        one
        for one in evidence.stages
        if one.stage.index not in in_branches and not one.stage.injected_by
    )


def is_random(one: StageEvidence) -> bool:
    """Says whether a stage draws, or may draw, otherwise on each pass."""
    return one.stage.traits.random is True or one.stage.kind in CHANGES_ORDER


def orders_at_random(one: StageEvidence) -> bool:
    """Says whether a stage only mixes the order: a shuffle, or a list of files that is shuffled."""
    listed = one.stage.kind == "list_files" and one.stage.traits.random is not False
    return listed or one.stage.kind in CHANGES_ORDER


def repeats_exactly(one: StageEvidence) -> bool:
    """Says whether a stage is known to give the same for the same input on every pass.

    What could not be told counts as "no": a frozen draw is worse than a slow one.
    """
    traits = one.stage.traits
    if one.stage.kind in PYTHON_SOURCES or one.stage.kind == "opaque":
        return False
    if traits.random or traits.stateful or traits.python or traits.frozen_randomness:
        return False
    has_function = one.stage.name != one.stage.kind or traits.ops > 0
    return not has_function or traits.deterministic is True


def deterministic_front(
    line: tuple[StageEvidence, ...], *, past_shuffle: bool, into_batches: bool
) -> tuple[StageEvidence, ...]:
    """Gives the longest front of the pipeline that gives the same on every pass.

    Args:
        line: The main line.
        past_shuffle: Whether a shuffle is passed over, because only the set of elements counts;
            a shuffle of file names, in front of the stage that reads them, always is.
        into_batches: Whether the front may reach behind the batch.
    """
    front: list[StageEvidence] = []
    reading = [i for i, one in enumerate(line) if one.stage.traits.reads_files]
    for position, one in enumerate(line):
        kind = one.stage.kind
        if kind == "list_files":
            pass
        elif kind in CHANGES_ORDER:
            if not past_shuffle and not any(i > position for i in reading):
                break
        elif kind in BATCHING and not into_batches:
            break
        elif kind == "cache":
            # What stands in front of a cache costs nothing after the first pass.
            front.clear()
            break
        elif not repeats_exactly(one):
            break
        front.append(one)
    while front and front[-1].stage.kind in MOVES_DATA_ONLY | CHANGES_ORDER:
        front.pop()
    return tuple(front)


def behind_cache(line: tuple[StageEvidence, ...]) -> tuple[StageEvidence, ...]:
    """Gives the part of the main line that works on every pass: what follows the last cache."""
    last = max((i for i, one in enumerate(line) if one.stage.kind == "cache"), default=-1)
    return line[last + 1 :]


def maps_before_batch(line: tuple[StageEvidence, ...]) -> tuple[StageEvidence, ...]:
    """Gives the maps that directly precede a plain ``batch``, in order; none where none do."""
    for position, one in enumerate(line):
        if one.stage.kind == "batch":
            start = position
            while start > 0 and line[start - 1].stage.kind == "map":
                start -= 1
            return line[start:position]
    return ()


def batch_of(line: tuple[StageEvidence, ...]) -> StageEvidence | None:
    """Gives the first stage that makes batches, or None."""
    return next((one for one in line if one.stage.kind in BATCHING), None)


def in_memory(one: StageEvidence) -> bool:
    """Says whether a stage is a source with its elements at hand, which nothing waits for."""
    return one.stage.kind in IN_MEMORY


def bytes_of(one: StageEvidence) -> float | None:
    """Gives the bytes of one output element: from its spec, else as measured; None unknown."""
    if one.stage.element_bytes is not None:
        return float(one.stage.element_bytes)
    cost = one.stage.cost
    if isinstance(cost, Missing) or cost.bytes_per_element <= 0:
        return None
    return cost.bytes_per_element


def elements_per_step(one: StageEvidence) -> float | None:
    """Gives how many of its output elements a step uses; None where not measured."""
    return None if isinstance(one.stage.cost, Missing) else one.stage.cost.elements_per_step


def named(stages: tuple[StageEvidence, ...]) -> str:
    """Names stages as a sentence does: ``parse``, ``parse and dilate``, ``a, b and c``."""
    names = [one.stage.name for one in stages]
    if len(names) < 2:
        return "".join(names)
    return f"{', '.join(names[:-1])} and {names[-1]}"
