"""One thread that samples the machine while a fit runs."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Protocol

from bottleneck_kit.instruments.host import HostSampler
from bottleneck_kit.records.measurement import Missing
from bottleneck_kit.records.utilization import Utilization


class _Samples(Protocol):
    def sample(self, now_s: float) -> None: ...


def _gpu_sampler() -> _Samples:
    """Makes the sampler of the GPUs; a binding that does not import costs the GPUs alone."""
    from bottleneck_kit.instruments.nvidia import NvidiaSampler

    return NvidiaSampler()


class UtilizationSampler:
    """Samples host and GPUs every ``interval_s`` from start to stop.

    Args:
        interval_s: Seconds between two samples.
        host: Makes the sampler of the host; replaced by tests.
        gpus: Makes the sampler of the GPUs; replaced by tests.
        clock: Steady clock in seconds; replaced by tests.
    """

    def __init__(
        self,
        interval_s: float,
        *,
        host: Callable[[], HostSampler] = HostSampler,
        gpus: Callable[[], _Samples] = _gpu_sampler,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        self.interval_s = interval_s
        self.cpu_s = 0.0
        self.samples = 0
        self.failures: dict[str, str] = {}
        self._clock = clock
        self._stopping = threading.Event()
        self._lock = threading.Lock()
        self._host = self._make("host", host)
        self._gpus = self._make("gpus", gpus)
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Starts the thread; the first sample is taken at once."""
        self._thread = threading.Thread(
            target=self._run, name="bottleneck_kit utilization", daemon=True
        )
        self._thread.start()

    def stop(self) -> None:
        """Takes a last sample, so that a short fit has one, and ends the thread."""
        thread, self._thread = self._thread, None
        if thread is None:
            return
        self._stopping.set()
        if thread is not threading.current_thread():
            thread.join(timeout=5)
        with self._lock:
            if self._gpus is not None:
                self._gpus.close()

    def freeze(self) -> Utilization:
        """Gives what was sampled so far."""
        with self._lock:
            return Utilization(
                interval_s=self.interval_s,
                samples=self.samples,
                host=(
                    self._host.freeze()
                    if self._host is not None
                    else Missing(self.failures["host"])
                ),
                gpus=(
                    self._gpus.freeze()
                    if self._gpus is not None
                    else Missing(self.failures["gpus"])
                ),
                sampler_cpu_s=self.cpu_s,
                failures=dict(self.failures),
            )

    def _make(self, name: str, factory: Callable[[], _Samples]) -> _Samples | None:
        try:
            return factory()
        except Exception as error:
            self.failures[name] = f"{type(error).__name__}: {error}"
            return None

    def _run(self) -> None:
        while True:
            last = self._stopping.wait(0.0 if self.samples == 0 else self.interval_s)
            self._sample()
            self.cpu_s = time.thread_time()
            if last:
                return

    def _sample(self) -> None:
        with self._lock:
            now_s = self._clock()
            for name, sampler in (("host", self._host), ("gpus", self._gpus)):
                if sampler is None:
                    continue
                try:
                    sampler.sample(now_s)
                except Exception as error:
                    # What was sampled before stays; the next sample is tried all the same.
                    self.failures[name] = f"{type(error).__name__}: {error}"
            self.samples += 1
