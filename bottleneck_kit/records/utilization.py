"""What the machine was doing while the training ran."""

from __future__ import annotations

from dataclasses import dataclass, field

from bottleneck_kit.records.measurement import Missing


@dataclass(frozen=True)
class Series:
    """A sampled quantity, in the unit that the field's name ends in.

    Attributes:
        mean: Time-weighted mean over the samples.
        p5: 5th percentile, by time.
        p95: 95th percentile, by time.
    """

    mean: float
    p5: float
    p95: float


@dataclass(frozen=True)
class HostUtilization:
    """Processors, memory, disks and network of the machine, and this process tree's part.

    Attributes:
        core_shares: Busy share (0 to 1) of each logical core, mean over the time.
        machine_cores: Cores busy on the whole machine.
        process_cores: Cores that this process and its children kept busy.
        other_cores: Cores busy with anything else: a neighbour's load is not ours.
        iowait_share: Share (0 to 1) of core time that waited for a disk.
        process_memory_bytes: Resident memory of this process and its children.
        memory_limit_bytes: Physical memory or the cgroup's limit, whichever is less.
        disk_read_bytes_per_s: Bytes read from disks, whole machine.
        disk_write_bytes_per_s: Bytes written to disks, whole machine.
        network_received_bytes_per_s: Bytes received, loopback apart.
        network_sent_bytes_per_s: Bytes sent, loopback apart.
    """

    core_shares: tuple[float, ...]
    machine_cores: Series
    process_cores: Series
    other_cores: Series
    iowait_share: Series | Missing
    process_memory_bytes: Series
    memory_limit_bytes: int
    disk_read_bytes_per_s: Series | Missing
    disk_write_bytes_per_s: Series | Missing
    network_received_bytes_per_s: Series | Missing
    network_sent_bytes_per_s: Series | Missing


@dataclass(frozen=True)
class GpuUtilization:
    """One GPU as NVML sees it, whole device: other processes on it are included.

    Attributes:
        index: NVML's index.
        name: The maker's name.
        busy_share: Share (0 to 1) of the time in which a kernel ran.
        longest_idle_s: Longest run of samples in which it read 0, seconds.
        memory_used_bytes: Memory in use.
        memory_total_bytes: Memory it has.
        pcie_received_bytes_per_s: Bytes from the host.
        pcie_sent_bytes_per_s: Bytes to the host.
        power_w: Power draw, watts.
        throttled_share: Share (0 to 1) of samples in which clocks were held down by heat or
            power, or Missing.
        throttle_reasons: Why, each once.
    """

    index: int
    name: str
    busy_share: Series | Missing
    longest_idle_s: float | Missing
    memory_used_bytes: Series | Missing
    memory_total_bytes: int | Missing
    pcie_received_bytes_per_s: Series | Missing
    pcie_sent_bytes_per_s: Series | Missing
    power_w: Series | Missing
    throttled_share: float | Missing
    throttle_reasons: tuple[str, ...] = ()


@dataclass(frozen=True)
class Utilization:
    """All that was sampled in one fit.

    Attributes:
        interval_s: Time between two samples, as asked for.
        samples: How many were taken.
        host: The machine, or Missing.
        gpus: One entry a GPU, or Missing with the reason (no NVIDIA driver, ...).
        sampler_cpu_s: CPU seconds that the sampling itself took.
        failures: What could not be sampled on the way: instrument -> reason.
    """

    interval_s: float
    samples: int
    host: HostUtilization | Missing
    gpus: tuple[GpuUtilization, ...] | Missing
    sampler_cpu_s: float = 0.0
    failures: dict[str, str] = field(default_factory=dict)
