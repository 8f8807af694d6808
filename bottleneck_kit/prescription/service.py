"""Remedy ``service``: other machines prepare the batches, through the tf.data service."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from bottleneck_kit.prescription import snippet
from bottleneck_kit.prescription.change import Change
from bottleneck_kit.prescription.formulas import service_workers
from bottleneck_kit.prescription.remedy import Remedy
from bottleneck_kit.prescription.stage_load import latency_left, pipeline_cpu_s, stage_seconds
from bottleneck_kit.prescription.stage_order import (
    BATCHING,
    PYTHON_SOURCES,
    bytes_of,
    elements_per_step,
    is_random,
    main_line,
    orders_at_random,
)
from bottleneck_kit.prescription.what_if import predict
from bottleneck_kit.records.diagnosis import Diagnosis
from bottleneck_kit.records.evidence import Evidence, StageEvidence
from bottleneck_kit.records.measurement import Missing
from bottleneck_kit.records.plan import Prescription
from bottleneck_kit.units import format_seconds

CORES_PER_WORKER = 8
"""Cores of the worker that the advice counts in; any other size scales."""

RECEIVE_BYTES_PER_S = 5e8
"""Bytes a second at which batches arrive and are unpacked; an assumption below a 10 Gbit/s line."""

RECEIVE_CALL_S = 1e-3
"""Seconds to ask for and take in one batch.

An assumption: small batches cost a call each, which is why one record an element took 143 to 177
ms a step where finished batches took 55.
"""

SERVICE_ERROR_SHARE = 0.5
"""Stated error: network and workers are not in the record."""


class Service(Remedy):
    """Moves everything up to the batch to workers on other machines.

    The cut is behind the batch: an element then is a whole batch, one call over the network.
    Workers on the same machine share its cores and bring nothing.
    """

    name: ClassVar[str] = "service"
    safety: ClassVar[str] = "reorders"
    effort: ClassVar[int] = 3
    needs_hardware: ClassVar[bool] = True

    def prescriptions(self, evidence: Evidence, diagnosis: Diagnosis) -> Iterable[Prescription]:
        """Gives one, cut behind the batch or behind what follows it without growing."""
        line = main_line(evidence)
        moved = _moved(line)
        if not moved:
            return
        cut = moved[-1]
        findings = self.asked_by(diagnosis, [one.stage.index for one in moved])
        seconds = stage_seconds(evidence)
        kept = {one.stage.index: 0.0 for one in moved if one.stage.index in seconds}
        if not kept:
            return
        prediction = predict(
            evidence,
            Change(
                kept=kept,
                arrival_s=_receive_s(evidence, cut),
                latency_left=latency_left(evidence, [one.stage.index for one in moved]),
                error_share=SERVICE_ERROR_SHARE,
            ),
        )
        if not self.worth_giving(evidence, prediction, findings):
            return
        share = sum(seconds[i] for i in kept) / max(sum(seconds.values()), 1e-12)
        cpu_s = pipeline_cpu_s(evidence, share)
        draws = any(
            (one.stage.traits.random or one.stage.traits.stateful) and not orders_at_random(one)
            for one in moved
        )
        text = (
            f"Everything up to {cut.stage.label} ({format_seconds(cpu_s)} of CPU a step) can be "
            f"done by other machines{_workers_clause(evidence, cpu_s)}. Cut there, behind the "
            "batch: one record at a time over the network is slower than no service."
        )
        if draws:
            text += " Each worker has its own copy of random state, so draws differ and may repeat."
        yield self.give(
            prediction,
            stage=cut.stage.index,
            cost="other machines, which need the files; no authentication: keep the ports inside "
            "your network; a worker that dies in a finite epoch stalls it",
            text=text,
            snippet=_snippet(evidence, cut),
            findings=findings,
            safety="redraws" if draws else None,
        )

    def why_not(self, evidence: Evidence, diagnosis: Diagnosis) -> str:
        """Says what cannot be sent to another machine."""
        if not any(one.stage.kind in BATCHING for one in main_line(evidence)):
            return "there is no batch to cut behind"
        return "what stands in front of the batch runs Python or cannot be read, so it cannot move"


def _moved(line: tuple[StageEvidence, ...]) -> tuple[StageEvidence, ...]:
    """Gives the stages that workers would run; none where they cannot."""
    position = next((i for i, one in enumerate(line) if one.stage.kind in BATCHING), None)
    if position is None:
        return ()
    front = line[: position + 1]
    stays = PYTHON_SOURCES | {"opaque"}
    if any(one.stage.traits.python or one.stage.kind in stays for one in front):
        return ()
    end = position + 1
    while end < len(line):
        one = line[end]
        before, after = bytes_of(line[end - 1]), bytes_of(one)
        grows = before is None or after is None or after > before
        fixed = one.stage.kind == "map" and not is_random(one) and not one.stage.traits.stateful
        if grows or not fixed or one.stage.traits.python:
            break
        end += 1
    return line[:end]


def _receive_s(evidence: Evidence, cut: StageEvidence) -> float:
    size = bytes_of(cut)
    if size is None:
        size = 0.0 if isinstance(evidence.job.batch_bytes, Missing) else evidence.job.batch_bytes
    batches = elements_per_step(cut) or 1.0
    return batches * RECEIVE_CALL_S + batches * size / RECEIVE_BYTES_PER_S


def _workers_clause(evidence: Evidence, cpu_s: float) -> str:
    ideal = evidence.ideal_step_s
    if isinstance(ideal, Missing) or ideal.value <= 0:
        return ""
    count = service_workers(cpu_s, ideal.value, CORES_PER_WORKER)
    workers = "worker" if count == 1 else "workers"
    return f": {count} {workers} of {CORES_PER_WORKER} cores would keep up with the ideal step"


def _snippet(evidence: Evidence, cut: StageEvidence) -> str:
    endless = not isinstance(evidence.job.cardinality, Missing) and evidence.job.cardinality == -1
    policy = "OFF" if endless else "DYNAMIC"
    return (
        "# On the dispatcher's machine (port 5000) and on each worker's (port 5001), as programs:\n"
        "#   import tensorflow as tf\n"
        "#   service = tf.data.experimental.service\n"
        "#   service.DispatchServer(service.DispatcherConfig(port=5000)).join()\n"
        "#   service.WorkerServer(service.WorkerConfig(\n"
        '#       dispatcher_address="dispatcher:5000", worker_address="this-host:5001",\n'
        "#       port=5001)).join()\n"
        f"dataset = dataset{snippet.call(cut.stage)}\n"
        "dataset = dataset.apply(\n"
        "    tf.data.experimental.service.distribute(\n"
        f"        processing_mode=tf.data.experimental.service.ShardingPolicy.{policy},\n"
        '        service="grpc://dispatcher:5000",\n'
        "    )\n"
        ")"
    )
