"""What the machine was doing while it trained, as lines of text."""

from __future__ import annotations

from bottleneck_kit.records.evidence import Evidence
from bottleneck_kit.records.measurement import Measurement, Missing
from bottleneck_kit.records.run_record import RunRecord
from bottleneck_kit.records.utilization import GpuUtilization, HostUtilization, Series
from bottleneck_kit.report.wording import count
from bottleneck_kit.units import format_bytes, format_share

QUIET_CORES = 0.1
"""Other processes below this many busy cores are the noise of any machine."""

QUIET_BYTES_PER_S = 1_000_000
"""Traffic below this is the noise of any machine; no input pipeline waits for it."""


def machine_lines(record: RunRecord, evidence: Evidence) -> list[str]:
    """Gives a line for the processors, and where they were sampled for traffic and each GPU."""
    utilization = record.utilization
    cores = f"{count(evidence.usable_cores)} core{'' if evidence.usable_cores == 1 else 's'}"
    if isinstance(evidence.cpu_share, Measurement):
        cores += f", {format_share(evidence.cpu_share.value)} busy with this training"
    gpus = len(record.environment.gpus)
    seen = f"{gpus} GPU{'' if gpus == 1 else 's'}" if gpus else "no GPU"
    lines = [f"{cores} · {seen}"]
    if isinstance(utilization, Missing):
        return lines
    if not isinstance(utilization.host, Missing):
        host = utilization.host
        others = host.other_cores.mean
        if others >= QUIET_CORES:
            cores += f", {others:.1f} more busy with other processes"
        lines = [f"{cores} · {_memory(host)} · {seen}"]
        if traffic := _traffic(host):
            lines.append(traffic)
    if not isinstance(utilization.gpus, Missing):
        lines += [_gpu(gpu) for gpu in utilization.gpus]
    return lines


def job_lines(record: RunRecord) -> list[str]:
    """Gives what was trained and with which versions, a line each."""
    job, environment = record.job, record.environment
    trained = [job.model]
    if not isinstance(job.parameters, Missing):
        trained.append(f"{job.parameters:,} weights")
    if not isinstance(job.batch_size, Missing):
        trained.append(f"batches of {job.batch_size}")
    if job.steps_per_execution > 1:
        trained.append(f"{job.steps_per_execution} steps an execution")
    versions = [
        f"{name} {version}"
        for name, version in (
            ("TensorFlow", environment.tensorflow),
            ("Keras", environment.keras),
            ("Python", environment.python),
            ("bottleneck-kit", environment.kit),
        )
        if not isinstance(version, Missing)
    ]
    return [" · ".join(trained), " · ".join([*versions, environment.platform])]


def _memory(host: HostUtilization) -> str:
    used = format_bytes(host.process_memory_bytes.p95)
    return f"memory {used} of {format_bytes(host.memory_limit_bytes)}"


def _traffic(host: HostUtilization) -> str:
    """Names the traffic that is more than noise; "" where there is none."""
    parts = []
    for label, series in (
        ("disk read", host.disk_read_bytes_per_s),
        ("disk written", host.disk_write_bytes_per_s),
        ("network received", host.network_received_bytes_per_s),
        ("network sent", host.network_sent_bytes_per_s),
    ):
        if isinstance(series, Series) and series.mean >= QUIET_BYTES_PER_S:
            parts.append(f"{label} {format_bytes(series.mean)}/s")
    waited = host.iowait_share
    if isinstance(waited, Series) and waited.mean >= 0.01:
        parts.append(f"{format_share(waited.mean)} of the cores' time waited for disks")
    return " · ".join(parts)


def _gpu(gpu: GpuUtilization) -> str:
    parts = [f"GPU {gpu.index} {gpu.name}"]
    if isinstance(gpu.busy_share, Series):
        parts[0] += f": {format_share(gpu.busy_share.mean)} busy"
    if isinstance(gpu.memory_used_bytes, Series):
        total = gpu.memory_total_bytes
        of_all = "" if isinstance(total, Missing) else f" of {format_bytes(total)}"
        parts.append(f"memory {format_bytes(gpu.memory_used_bytes.p95)}{of_all}")
    if isinstance(gpu.throttled_share, float) and gpu.throttled_share > 0:
        why = f" ({', '.join(gpu.throttle_reasons)})" if gpu.throttle_reasons else ""
        parts.append(f"clocks held down {format_share(gpu.throttled_share)} of the time{why}")
    return " · ".join(parts)
