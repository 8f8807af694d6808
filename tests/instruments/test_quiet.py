"""Waiting for the process to rest, on clocks that the test moves."""

from __future__ import annotations

import threading
import time

from bottleneck_kit.instruments.quiet import LOOK_S, RESTING_LOOKS, wait_for_quiet


class Clocks:
    """A process that uses ``cores`` cores until ``busy_until_s``, and a little after that."""

    def __init__(self, *, busy_until_s: float, cores: float = 1.0) -> None:
        self.now, self.cpu, self.busy_until_s, self.cores = 0.0, 0.0, busy_until_s, cores

    def sleep(self, seconds: float) -> None:
        self.cpu += seconds * (self.cores if self.now < self.busy_until_s else 0.05)
        self.now += seconds

    def wait(self, limit_s: float) -> bool:
        return wait_for_quiet(
            limit_s, now_s=lambda: self.now, cpu_s=lambda: self.cpu, sleep=self.sleep
        )


def test_a_resting_process_costs_two_looks() -> None:
    clocks = Clocks(busy_until_s=0)
    assert clocks.wait(1.0)
    assert clocks.now <= RESTING_LOOKS * LOOK_S * 1.01


def test_it_waits_until_the_buffers_are_full() -> None:
    clocks = Clocks(busy_until_s=0.3, cores=2)
    assert clocks.wait(1.0)
    assert 0.3 <= clocks.now < 0.3 + (RESTING_LOOKS + 1) * LOOK_S


def test_a_process_that_never_rests_is_waited_for_no_longer_than_the_limit() -> None:
    clocks = Clocks(busy_until_s=1e9, cores=0.5)
    assert not clocks.wait(0.25)
    assert clocks.now <= 0.25 + LOOK_S


def test_without_time_to_wait_nothing_is_waited_for() -> None:
    clocks = Clocks(busy_until_s=1e9)
    assert not clocks.wait(0.0)
    assert clocks.now == 0


def test_a_real_busy_thread_is_noticed() -> None:
    stop = threading.Event()

    def work() -> None:
        while not stop.is_set():
            sum(range(1000))

    thread = threading.Thread(target=work)
    thread.start()
    try:
        assert not wait_for_quiet(0.1)
    finally:
        stop.set()
        thread.join()
    began_s = time.perf_counter()
    assert wait_for_quiet(20.0)
    assert time.perf_counter() - began_s < 20
