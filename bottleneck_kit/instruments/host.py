"""Samples processors, memory, disks and network through psutil."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import psutil

from bottleneck_kit.instruments.environment import memory_limit_bytes
from bottleneck_kit.instruments.weighted import WeightedSeries
from bottleneck_kit.records.measurement import Missing
from bottleneck_kit.records.utilization import HostUtilization, Series

LOOK_FOR_CHILDREN_EVERY_S = 1.0
"""Finding them costs a file for each thread of the process; TensorFlow has many."""


class HostSampler:
    """Takes one sample a call; the first only sets the starting point."""

    def __init__(self) -> None:
        self._process = psutil.Process()
        self._series: dict[str, WeightedSeries] = {}
        self._core_busy_s: list[float] = []
        self._core_total_s: list[float] = []
        self._before: dict[str, Any] | None = None
        self._memory_limit_bytes = memory_limit_bytes()
        self._children: list[int] = []
        self._children_at_s: float | None = None

    def sample(self, now_s: float) -> None:
        """Takes a sample.

        Args:
            now_s: The time, seconds on any steady clock.
        """
        now = self._read(now_s)
        before, self._before = self._before, now
        if before is None:
            return
        elapsed_s = now["time_s"] - before["time_s"]
        if elapsed_s <= 0:
            return
        machine_s = self._book_cores(before["cores"], now["cores"], elapsed_s)
        # A child that has ended takes its seconds out of the sum: never below zero.
        process_cores = max(0.0, now["process_s"] - before["process_s"]) / elapsed_s
        self._add("machine_cores", machine_s / elapsed_s, elapsed_s)
        self._add("process_cores", process_cores, elapsed_s)
        self._add("other_cores", max(0.0, machine_s / elapsed_s - process_cores), elapsed_s)
        self._add("process_memory", now["memory_bytes"], elapsed_s)
        for name in ("disk_read", "disk_write", "network_received", "network_sent"):
            if now[name] is not None and before[name] is not None:
                rate = max(0, now[name] - before[name]) / elapsed_s
                self._add(name, rate, elapsed_s)

    def freeze(self) -> HostUtilization | Missing:
        """Gives what was sampled so far."""
        if self._series.get("machine_cores") is None:
            return Missing("the fit was too short for two samples")

        def series(name: str) -> Series:
            return self._series[name].freeze() or Series(0.0, 0.0, 0.0)

        def optional(name: str, reason: str) -> Series | Missing:
            return series(name) if name in self._series else Missing(reason)

        no_disks = "the system counts no disk traffic"
        no_network = "the system counts no network traffic"
        return HostUtilization(
            core_shares=tuple(
                busy / total if total else 0.0
                for busy, total in zip(self._core_busy_s, self._core_total_s, strict=True)
            ),
            machine_cores=series("machine_cores"),
            process_cores=series("process_cores"),
            other_cores=series("other_cores"),
            iowait_share=optional("iowait", "the system does not count iowait"),
            process_memory_bytes=series("process_memory"),
            memory_limit_bytes=self._memory_limit_bytes,
            disk_read_bytes_per_s=optional("disk_read", no_disks),
            disk_write_bytes_per_s=optional("disk_write", no_disks),
            network_received_bytes_per_s=optional("network_received", no_network),
            network_sent_bytes_per_s=optional("network_sent", no_network),
        )

    def _read(self, now_s: float) -> dict[str, Any]:
        disks = psutil.disk_io_counters()
        received = sent = None
        networks = psutil.net_io_counters(pernic=True)
        for name, counters in networks.items():
            if name != "lo":
                received = (received or 0) + counters.bytes_recv
                sent = (sent or 0) + counters.bytes_sent
        if self._children_at_s is None or now_s - self._children_at_s >= LOOK_FOR_CHILDREN_EVERY_S:
            self._children, self._children_at_s = descendants(self._process.pid), now_s
        process_s, memory = self._process_tree()
        return {
            "time_s": now_s,
            "cores": psutil.cpu_times(percpu=True),
            "process_s": process_s,
            "memory_bytes": memory,
            "disk_read": getattr(disks, "read_bytes", None),
            "disk_write": getattr(disks, "write_bytes", None),
            "network_received": received,
            "network_sent": sent,
        }

    def _process_tree(self) -> tuple[float, int]:
        """Gives CPU seconds and resident bytes of this process and its known descendants."""
        seconds, memory = 0.0, 0
        for pid in (self._process.pid, *self._children):
            try:
                process = self._process if pid == self._process.pid else psutil.Process(pid)
                with process.oneshot():
                    times = process.cpu_times()
                    memory += process.memory_info().rss
                seconds += times.user + times.system
                # Children that have ended and were waited for still count for this process.
                if pid == self._process.pid:
                    seconds += times.children_user + times.children_system
            except psutil.Error:
                continue
        return seconds, memory

    def _book_cores(self, before: Any, now: Any, elapsed_s: float) -> float:
        """Adds the cores' times of one interval and gives the core seconds spent busy."""
        if len(self._core_busy_s) != len(now):
            self._core_busy_s = [0.0] * len(now)
            self._core_total_s = [0.0] * len(now)
        busy_all = iowait_all = total_all = 0.0
        for core, (old, new) in enumerate(zip(before, now, strict=False)):
            # Guest time is part of user time already.
            total = sum(new) - sum(old) - (_guest(new) - _guest(old))
            iowait = getattr(new, "iowait", 0.0) - getattr(old, "iowait", 0.0)
            stolen = getattr(new, "steal", 0.0) - getattr(old, "steal", 0.0)
            busy = max(0.0, total - (new.idle - old.idle) - iowait - stolen)
            self._core_busy_s[core] += busy
            self._core_total_s[core] += max(0.0, total)
            busy_all += busy
            iowait_all += max(0.0, iowait)
            total_all += total
        if hasattr(now[0], "iowait") and total_all > 0:
            self._add("iowait", iowait_all / total_all, elapsed_s)
        return busy_all

    def _add(self, name: str, value: float, duration_s: float) -> None:
        self._series.setdefault(name, WeightedSeries()).add(value, duration_s)


def descendants(pid: int, proc: Path = Path("/proc")) -> list[int]:
    """Gives the living descendants of a process.

    Reads ``task/*/children`` of the processes concerned alone: psutil's own walk looks at every
    process of the machine, which costs milliseconds on a busy one.
    """
    found: list[int] = []
    pending = [pid]
    while pending:
        folder = proc / str(pending.pop()) / "task"
        try:
            tasks = os.listdir(folder)
        except OSError:
            continue
        for task in tasks:
            try:
                children = (folder / task / "children").read_text(encoding="ascii").split()
            except OSError:
                continue
            found += [int(child) for child in children]
            pending += [int(child) for child in children]
    return found


def _guest(times: Any) -> float:
    return float(getattr(times, "guest", 0.0) + getattr(times, "guest_nice", 0.0))
