"""The machine and the software, read from this process."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from bottleneck_kit.instruments import environment
from bottleneck_kit.records.measurement import Missing


def test_reads_this_machine() -> None:
    import keras
    import tensorflow as tf

    record = environment.read_environment()
    assert record.tensorflow == tf.__version__
    assert record.keras == keras.__version__
    assert 0 < record.usable_cores <= record.cores
    assert isinstance(record.memory_limit_bytes, int)
    assert record.memory_limit_bytes > 0
    assert set(record.optional_parts) == set(environment.OPTIONAL_PARTS)


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="no scheduler affinity here")
def test_affinity_limits_the_usable_cores() -> None:
    before = os.sched_getaffinity(0)
    if len(before) < 2:
        pytest.skip("one core only: affinity cannot take one away")
    os.sched_setaffinity(0, {min(before)})
    try:
        assert environment.usable_cpu_cores() == (1.0, "affinity")
    finally:
        os.sched_setaffinity(0, before)


def test_cgroup_quota_limits_the_usable_cores(tmp_path: Path) -> None:
    (tmp_path / "proc/self").mkdir(parents=True)
    (tmp_path / "proc/self/cgroup").write_text("0::/\n")
    (tmp_path / "sys/fs/cgroup").mkdir(parents=True)
    (tmp_path / "sys/fs/cgroup/cpu.max").write_text("50000 100000\n")
    assert environment.usable_cpu_cores(tmp_path) == (0.5, "cgroup quota")


def test_cgroup_limits_the_memory(tmp_path: Path) -> None:
    (tmp_path / "proc/self").mkdir(parents=True)
    (tmp_path / "proc/self/cgroup").write_text("0::/\n")
    (tmp_path / "sys/fs/cgroup").mkdir(parents=True)
    (tmp_path / "sys/fs/cgroup/memory.max").write_text("1048576\n")
    assert environment.memory_limit_bytes(tmp_path) == 1048576


def test_a_processor_that_cannot_be_read_is_missing(tmp_path: Path) -> None:
    record = environment.read_environment(tmp_path)
    assert isinstance(record.cpu_model, Missing)
    assert isinstance(record.cpu_extensions, Missing)


@pytest.mark.parametrize(("setting", "expected"), [("0", False), ("1", True)])
def test_onednn_follows_its_variable(
    monkeypatch: pytest.MonkeyPatch, setting: str, expected: bool
) -> None:
    monkeypatch.setenv("TF_ENABLE_ONEDNN_OPTS", setting)
    assert environment.read_environment().onednn is expected
