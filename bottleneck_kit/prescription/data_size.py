"""How many elements a pass has and what they weigh, for remedies that keep data."""

from __future__ import annotations

from bottleneck_kit.prescription.stage_order import BATCHING, bytes_of, elements_per_step
from bottleneck_kit.records.evidence import Evidence, StageEvidence
from bottleneck_kit.records.measurement import Missing
from bottleneck_kit.units import format_bytes


def elements_in_a_pass(
    evidence: Evidence, line: tuple[StageEvidence, ...], place: StageEvidence
) -> float | None:
    """Gives how many elements ``place`` puts out in a pass over the data; None where not told.

    The dataset's cardinality counts batches; in front of the batch there are as many times more
    as a step uses. Of a dataset that does not know its own, a whole epoch tells. One that repeats
    without end tells nothing.
    """
    job = evidence.job
    counted = not isinstance(job.cardinality, Missing) and job.cardinality >= 0
    batches = job.cardinality if counted else evidence.pass_steps
    if isinstance(batches, Missing):
        return None
    batches_at = next((i for i, one in enumerate(line) if one.stage.kind in BATCHING), len(line))
    position = next(i for i, one in enumerate(line) if one.stage.index == place.stage.index)
    if position >= batches_at or batches_at == len(line):
        return float(batches)
    if not counted:
        # A filter may stand behind it, so that a batch is made of more than its own elements.
        used = elements_per_step(place)
        return None if used is None else used * batches
    if isinstance(job.batch_size, Missing):
        return None
    return float(batches) * job.batch_size


def bytes_in_a_pass(
    evidence: Evidence, line: tuple[StageEvidence, ...], place: StageEvidence
) -> float | None:
    """Gives the bytes of all that ``place`` puts out in a pass; None where not told."""
    elements, size = elements_in_a_pass(evidence, line, place), bytes_of(place)
    return None if elements is None or size is None else elements * size


def size_clause(
    evidence: Evidence, line: tuple[StageEvidence, ...], place: StageEvidence, *, of: str
) -> str:
    """Says what keeping the output of ``place`` takes, as far as it can be told.

    Args:
        evidence: The numbers of the run.
        line: The main line.
        place: The stage whose output is kept.
        of: ``"memory"`` or ``"disk"``.
    """
    total = bytes_in_a_pass(evidence, line, place)
    if total is not None:
        return f"{of}: {format_bytes(total)}"
    size = bytes_of(place)
    if size is not None:
        return f"{of}: {format_bytes(size)} for each element; how many there are is not known"
    return f"{of}: the whole data set as it stands there; its size is not known"
