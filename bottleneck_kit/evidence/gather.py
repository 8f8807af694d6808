"""From a RunRecord to Evidence, one subject after another; never raises."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from bottleneck_kit.evidence.callbacks import add_callbacks
from bottleneck_kit.evidence.cpu import add_cpu
from bottleneck_kit.evidence.epochs import add_epochs
from bottleneck_kit.evidence.input_wait import add_input_wait
from bottleneck_kit.evidence.reach import add_reachable
from bottleneck_kit.evidence.stages import add_overlap, add_stages
from bottleneck_kit.evidence.steps import add_steps
from bottleneck_kit.evidence.warm_up import add_recompiles, add_warm_up
from bottleneck_kit.records.evidence import Evidence
from bottleneck_kit.records.measurement import Missing
from bottleneck_kit.records.run_record import RunRecord

Subject = Callable[[RunRecord, Evidence], Evidence]

SUBJECTS: tuple[tuple[str, Subject], ...] = (
    ("steps", add_steps),
    ("warm-up", add_warm_up),
    ("recompiles", add_recompiles),
    ("epochs", add_epochs),
    ("stages", add_stages),
    ("cpu", add_cpu),
    ("input wait", add_input_wait),
    ("overlap", add_overlap),
    ("reachable step", add_reachable),
    ("callbacks", add_callbacks),
)
"""In this order: the wait reads the stages' costs, overlap and reachable step read the wait."""


def gather(record: RunRecord) -> Evidence:
    """Computes all evidence that a record allows.

    Never raises for a record that could be decoded: a number that cannot be computed is Missing
    with the reason, and a subject that fails leaves its fields missing and an entry in
    ``unavailable``.
    """
    evidence = Evidence(
        environment=record.environment,
        job=record.job,
        emulated_ms=record.accelerator_emulated_ms,
        fit_s=record.fit_s,
        unavailable=_recorded_as_unavailable(record),
    )
    for name, add in SUBJECTS:
        try:
            # Damaged numbers overflow; that is dealt with here, not printed beside a training.
            with np.errstate(all="ignore"):
                evidence = add(record, evidence)
        # A damaged number can break any arithmetic; the other subjects must not be lost to it.
        except Exception as error:
            reason = f"could not be computed from this record ({type(error).__name__}: {error})"
            evidence = replace(evidence, unavailable={**evidence.unavailable, name: reason})
    return evidence


def _recorded_as_unavailable(record: RunRecord) -> dict[str, str]:
    found = dict(record.unavailable)
    for name in ("steps", "pipeline", "held_batch", "stack", "traces"):
        value = getattr(record, name)
        if isinstance(value, Missing):
            found.setdefault(name, value.reason)
    if not isinstance(record.pipeline, Missing) and isinstance(record.pipeline.live, Missing):
        found.setdefault("live pipeline", record.pipeline.live.reason)
    return found
