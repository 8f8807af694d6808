"""The machine's load, and this process tree's part of it."""

from __future__ import annotations

import subprocess
import sys
import time

import pytest

from bottleneck_kit.instruments.host import HostSampler, descendants
from bottleneck_kit.records.measurement import Missing
from bottleneck_kit.records.utilization import HostUtilization


def burn(seconds: float) -> None:
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass


def test_one_sample_is_not_enough() -> None:
    sampler = HostSampler()
    sampler.sample(time.perf_counter())
    assert isinstance(sampler.freeze(), Missing)


def test_the_load_of_this_process_is_told_from_the_machines() -> None:
    sampler = HostSampler()
    began_s, cpu_s = time.perf_counter(), time.process_time()
    sampler.sample(began_s)
    burn(0.5)
    now_s = time.perf_counter()
    sampler.sample(now_s)
    frozen = sampler.freeze()
    assert isinstance(frozen, HostUtilization)
    expected = (time.process_time() - cpu_s) / (now_s - began_s)
    # The kernel books in ticks of 10 ms.
    assert frozen.process_cores.mean == pytest.approx(expected, abs=0.1)
    assert 0 < sum(frozen.core_shares) <= len(frozen.core_shares)
    assert frozen.machine_cores.mean >= frozen.process_cores.mean - 0.15
    assert frozen.process_memory_bytes.mean > 10 << 20
    assert frozen.memory_limit_bytes > frozen.process_memory_bytes.mean


@pytest.mark.skipif(sys.platform != "linux", reason="descendants are read from Linux' /proc")
def test_children_count_for_this_process_tree() -> None:
    import os

    child = subprocess.Popen(
        [sys.executable, "-c", "import subprocess, sys; "
         "p = subprocess.Popen([sys.executable, '-c', 'import time; print(1, flush=True); "
         "time.sleep(30)']); p.wait()"],
        stdout=subprocess.PIPE,
    )  # fmt: skip
    try:
        child.stdout.readline()  # the grandchild is up
        found = descendants(os.getpid())
        assert child.pid in found
        assert len(found) >= 2
    finally:
        for pid in descendants(os.getpid()):
            os.kill(pid, 9)
        child.wait(timeout=10)
        child.stdout.close()


def test_a_process_that_is_gone_has_no_descendants(tmp_path) -> None:
    assert descendants(1, proc=tmp_path) == []
