"""What the machine was doing is said where it was sampled, noise apart."""

from __future__ import annotations

import dataclasses
from typing import Any

from constructed import environment, evidence, job, record

from bottleneck_kit.records.measurement import Missing
from bottleneck_kit.records.utilization import (
    GpuUtilization,
    HostUtilization,
    Series,
    Utilization,
)
from bottleneck_kit.report.machine import job_lines, machine_lines

NO_DRIVER = Missing("no NVIDIA driver")


def steady(value: float) -> Series:
    return Series(value, value, value)


def host(**fields: Any) -> HostUtilization:
    defaults: dict[str, Any] = {
        "core_shares": (0.5, 0.5),
        "machine_cores": steady(1.0),
        "process_cores": steady(1.0),
        "other_cores": steady(0.0),
        "iowait_share": steady(0.0),
        "process_memory_bytes": steady(2**30),
        "memory_limit_bytes": 8 * 2**30,
        "disk_read_bytes_per_s": steady(0.0),
        "disk_write_bytes_per_s": steady(0.0),
        "network_received_bytes_per_s": steady(0.0),
        "network_sent_bytes_per_s": steady(0.0),
    }
    return HostUtilization(**{**defaults, **fields})


def gpu(**fields: Any) -> GpuUtilization:
    defaults: dict[str, Any] = {
        "index": 0,
        "name": "A100",
        "busy_share": steady(0.34),
        "longest_idle_s": 1.0,
        "memory_used_bytes": steady(10 * 2**30),
        "memory_total_bytes": 40 * 2**30,
        "pcie_received_bytes_per_s": NO_DRIVER,
        "pcie_sent_bytes_per_s": NO_DRIVER,
        "power_w": NO_DRIVER,
        "throttled_share": 0.0,
    }
    return GpuUtilization(**{**defaults, **fields})


def lines(sampled: Utilization | Missing, **fields: Any) -> list[str]:
    return machine_lines(record(utilization=sampled), evidence(cpu_step_s=0.083, **fields))


def test_without_sampling_there_is_one_line() -> None:
    assert lines(Missing("switched off")) == ["2 cores, 50 % busy with this training · no GPU"]


def test_cores_that_are_not_known_to_be_busy_are_only_counted() -> None:
    run = record(environment=environment(gpus=2), utilization=Missing("switched off"))
    seen = evidence(usable_cores=1.0, cpu_share=Missing("not read"))

    assert machine_lines(run, seen) == ["1 core · 2 GPUs"]


def test_memory_is_named_and_a_quiet_machine_has_no_traffic() -> None:
    assert lines(Utilization(0.25, 9, host(), NO_DRIVER)) == [
        "2 cores, 50 % busy with this training · memory 1.00 GiB of 8.00 GiB · no GPU"
    ]


def test_a_neighbours_load_is_told_apart() -> None:
    first, *_ = lines(Utilization(0.25, 9, host(other_cores=steady(0.7)), NO_DRIVER))

    assert "50 % busy with this training, 0.7 more busy with other processes" in first


def test_traffic_that_is_more_than_noise_is_named() -> None:
    busy = host(disk_read_bytes_per_s=steady(50 * 2**20), iowait_share=steady(0.2))

    assert lines(Utilization(0.25, 9, busy, NO_DRIVER))[1] == (
        "disk read 50.0 MiB/s · 20 % of the cores' time waited for disks"
    )


def test_each_gpu_has_a_line() -> None:
    hot = gpu(index=1, throttled_share=0.25, throttle_reasons=("heat",))

    assert lines(Utilization(0.25, 9, NO_DRIVER, (gpu(), hot)))[1:] == [
        "GPU 0 A100: 34 % busy · memory 10.0 GiB of 40.0 GiB",
        "GPU 1 A100: 34 % busy · memory 10.0 GiB of 40.0 GiB"
        " · clocks held down 25 % of the time (heat)",
    ]


def test_a_gpu_that_tells_nothing_is_still_named() -> None:
    silent = dataclasses.replace(
        gpu(),
        busy_share=NO_DRIVER,
        memory_used_bytes=NO_DRIVER,
        memory_total_bytes=NO_DRIVER,
        throttled_share=NO_DRIVER,
    )

    assert lines(Utilization(0.25, 9, NO_DRIVER, (silent,)))[1] == "GPU 0 A100"


def test_what_was_trained_is_told_with_the_versions() -> None:
    run = record(job_fields={"steps_per_execution": 4})

    assert job_lines(run) == [
        "small_cnn · 100,000 weights · batches of 64 · 4 steps an execution",
        "TensorFlow 2.21.0 · Keras 3.15.1 · Python 3.11.9 · bottleneck-kit 0.1.0 · Linux-x86_64",
    ]


def test_what_is_not_known_of_the_job_is_left_out() -> None:
    gone = Missing("not built")
    run = record(
        job=job(parameters=gone, batch_size=gone),
        environment=environment(tensorflow=gone, keras=gone),
    )

    assert job_lines(run) == [
        "small_cnn",
        "Python 3.11.9 · bottleneck-kit 0.1.0 · Linux-x86_64",
    ]
