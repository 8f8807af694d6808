"""Samples NVIDIA GPUs through NVML; the only module that knows of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pynvml

from bottleneck_kit.instruments.weighted import WeightedSeries
from bottleneck_kit.records.measurement import Missing
from bottleneck_kit.records.utilization import GpuUtilization, Series

# NVML's clocks-event reasons that mean "held down", from nvml.h; idle and user settings are none.
_THROTTLE_REASONS = {
    0x0000000000000004: "power cap",
    0x0000000000000008: "hardware slowdown",
    0x0000000000000020: "heat (software limit)",
    0x0000000000000040: "heat (hardware limit)",
    0x0000000000000080: "power brake",
}

_KIB = 1024


class NvidiaSampler:
    """Takes one sample of every GPU a call. A quantity a GPU does not tell is Missing."""

    def __init__(self) -> None:
        self._devices: list[_Device] = []
        self._reason = ""
        self._open = False
        try:
            pynvml.nvmlInit()
            self._open = True
            self._devices = [_Device(index) for index in range(pynvml.nvmlDeviceGetCount())]
        except pynvml.NVMLError as error:
            self._reason = f"NVML: {_text(error)}"
        except (OSError, AttributeError) as error:  # a library of another driver
            self._reason = f"NVML cannot be used: {type(error).__name__}: {error}"
        if self._open and not self._devices and not self._reason:
            self._reason = "NVML sees no GPU"

    def sample(self, now_s: float) -> None:
        """Takes a sample of each GPU.

        Args:
            now_s: The time, seconds on any steady clock.
        """
        for device in self._devices:
            device.sample(now_s)

    def freeze(self) -> tuple[GpuUtilization, ...] | Missing:
        """Gives what was sampled so far, or why there is nothing."""
        if not self._devices:
            return Missing(self._reason or "closed")
        return tuple(device.freeze() for device in self._devices)

    def close(self) -> None:
        """Lets NVML go; its own count keeps it open for others in the process."""
        if self._open:
            self._open = False
            try:
                pynvml.nvmlShutdown()
            except pynvml.NVMLError as error:
                self._reason = f"NVML: {_text(error)}"


class _Device:
    """One GPU and what was read of it."""

    def __init__(self, index: int) -> None:
        self._index = index
        self._reasons: dict[str, str] = {}
        self._series: dict[str, WeightedSeries] = {}
        self._before_s: float | None = None
        self._idle_since_s: float | None = None
        self._longest_idle_s = 0.0
        self._busy_seen = False
        self._throttle_reasons: set[str] = set()
        self._memory_total: int | Missing = Missing("not read")
        self._handle = self._ask("handle", lambda: pynvml.nvmlDeviceGetHandleByIndex(index))
        name = self._ask("name", lambda: pynvml.nvmlDeviceGetName(self._handle))
        self._name = name.decode() if isinstance(name, bytes) else str(name or f"GPU {index}")

    def sample(self, now_s: float) -> None:
        if self._handle is None:
            return
        before_s, self._before_s = self._before_s, now_s
        if before_s is None:
            return
        elapsed_s = now_s - before_s
        handle = self._handle
        rates = self._ask("busy", lambda: pynvml.nvmlDeviceGetUtilizationRates(handle))
        if rates is not None:
            self._add("busy", rates.gpu / 100, elapsed_s)
            self._book_idle(rates.gpu == 0, before_s, now_s)
        memory = self._ask("memory", lambda: pynvml.nvmlDeviceGetMemoryInfo(handle))
        if memory is not None:
            self._add("memory", memory.used, elapsed_s)
            self._memory_total = int(memory.total)
        for name, counter in (
            ("pcie_received", pynvml.NVML_PCIE_UTIL_RX_BYTES),
            ("pcie_sent", pynvml.NVML_PCIE_UTIL_TX_BYTES),
        ):
            kib_per_s = self._ask(
                name,
                lambda counter=counter: pynvml.nvmlDeviceGetPcieThroughput(handle, counter),
            )
            if kib_per_s is not None:
                self._add(name, kib_per_s * _KIB, elapsed_s)
        milliwatts = self._ask("power", lambda: pynvml.nvmlDeviceGetPowerUsage(handle))
        if milliwatts is not None:
            self._add("power", milliwatts / 1000, elapsed_s)
        reasons = self._ask(
            "throttle", lambda: pynvml.nvmlDeviceGetCurrentClocksThrottleReasons(handle)
        )
        if reasons is not None:
            names = {name for bit, name in _THROTTLE_REASONS.items() if reasons & bit}
            self._throttle_reasons |= names
            self._add("throttle", float(bool(names)), elapsed_s)

    def freeze(self) -> GpuUtilization:
        throttled = self._frozen("throttle")
        return GpuUtilization(
            index=self._index,
            name=self._name,
            busy_share=self._frozen("busy"),
            longest_idle_s=(
                self._longest_idle_s if self._busy_seen else Missing(self._why("busy"))
            ),
            memory_used_bytes=self._frozen("memory"),
            memory_total_bytes=self._memory_total,
            pcie_received_bytes_per_s=self._frozen("pcie_received"),
            pcie_sent_bytes_per_s=self._frozen("pcie_sent"),
            power_w=self._frozen("power"),
            throttled_share=throttled.mean if isinstance(throttled, Series) else throttled,
            throttle_reasons=tuple(sorted(self._throttle_reasons)),
        )

    def _ask(self, quantity: str, call: Callable[[], Any]) -> Any:
        """Asks NVML; a refusal is kept as the reason, and a call not supported not repeated."""
        if self._reasons.get(quantity, "").startswith("not supported"):
            return None
        try:
            return call()
        except pynvml.NVMLError_NotSupported:
            self._reasons[quantity] = "not supported by this GPU or its driver"
        except pynvml.NVMLError as error:
            self._reasons[quantity] = f"NVML: {_text(error)}"
        except (OSError, AttributeError) as error:
            self._reasons[quantity] = f"NVML: {type(error).__name__}: {error}"
        return None

    def _book_idle(self, idle: bool, before_s: float, now_s: float) -> None:
        self._busy_seen = True
        if not idle:
            self._idle_since_s = None
            return
        if self._idle_since_s is None:
            self._idle_since_s = before_s
        self._longest_idle_s = max(self._longest_idle_s, now_s - self._idle_since_s)

    def _add(self, name: str, value: float, duration_s: float) -> None:
        self._series.setdefault(name, WeightedSeries()).add(value, duration_s)

    def _frozen(self, name: str) -> Series | Missing:
        series = self._series[name].freeze() if name in self._series else None
        return series or Missing(self._why(name))

    def _why(self, name: str) -> str:
        return (
            self._reasons.get("handle")
            or self._reasons.get(name)
            or "the fit was too short for two samples"
        )


def _text(error: Exception) -> str:
    return str(error) or type(error).__name__
