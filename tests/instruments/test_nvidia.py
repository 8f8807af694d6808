"""NVML through the real binding and a stand-in library with the real C interface."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

SCRIPT = """
import json
from bottleneck_kit.instruments.nvidia import NvidiaSampler
from bottleneck_kit.records.codec import to_jsonable
sampler = NvidiaSampler()
for now in range(8):
    sampler.sample(float(now))
frozen = to_jsonable(sampler.freeze())
sampler.close()
sampler.close()
print(json.dumps(frozen))
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        pytest.skip("no C compiler to build the stand-in library with")
    folder = tmp_path_factory.mktemp("nvml")
    source = Path(__file__).with_name("nvml_standin.c")
    subprocess.run(
        [compiler, "-shared", "-fPIC", "-o", str(folder / "libnvidia-ml.so.1"), str(source)],
        check=True,
        timeout=60,
    )
    return folder


def sampled(role: str, folder: Path) -> Any:
    environment = {**os.environ, "STANDIN_NVML": role, "LD_LIBRARY_PATH": str(folder)}
    result = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    return json.loads(result.stdout)


def test_two_gpus_are_read(library: Path) -> None:
    first, second = sampled("two", library)
    assert first["name"] == "Stand-in 0"
    assert first["busy_share"] == pytest.approx({"mean": 0.8, "p5": 0.8, "p95": 0.8})
    assert first["longest_idle_s"] == 0.0
    assert first["memory_used_bytes"]["mean"] == 4 << 30
    assert first["memory_total_bytes"] == 16 << 30
    assert first["pcie_received_bytes_per_s"]["mean"] == 2048 * 1024
    assert first["pcie_sent_bytes_per_s"]["mean"] == 1024 * 1024
    assert first["power_w"]["mean"] == 150
    assert first["throttled_share"] == 1.0
    assert first["throttle_reasons"] == ["power cap"]
    assert second["busy_share"]["mean"] == 0.0
    assert second["longest_idle_s"] == 7.0
    assert second["throttled_share"] == 0.0
    assert second["power_w"] == {"missing": "not supported by this GPU or its driver"}


def test_a_gpu_lost_in_the_middle_keeps_what_was_read(library: Path) -> None:
    first, second = sampled("lost", library)
    assert first["busy_share"]["mean"] == pytest.approx(0.8)
    assert second["busy_share"]["mean"] == 0.0
    assert second["longest_idle_s"] == 3.0


def test_a_machine_without_gpus_says_so(library: Path) -> None:
    assert sampled("none", library) == {"missing": "NVML sees no GPU"}


def test_a_machine_without_a_driver_says_so(library: Path) -> None:
    assert sampled("no_driver", library) == {"missing": "NVML: Driver Not Loaded"}


def test_a_library_of_another_kind_says_so(tmp_path: Path) -> None:
    (tmp_path / "libnvidia-ml.so.1").write_text("no library")
    frozen = sampled("two", tmp_path)
    assert frozen["missing"].startswith("NVML")
