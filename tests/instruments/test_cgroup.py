"""What a container allows, read from folders laid out as the kernel does."""

from __future__ import annotations

from pathlib import Path

import pytest

from bottleneck_kit.instruments import cgroup


def lay(root: Path, files: dict[str, str]) -> Path:
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    return root


@pytest.mark.parametrize(
    ("files", "cores"),
    [
        ({}, None),
        ({"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/cpu.max": "max 100000\n"}, None),
        ({"proc/self/cgroup": "0::/job\n", "sys/fs/cgroup/job/cpu.max": "150000 100000\n"}, 1.5),
        # A limit of a parent holds as well.
        (
            {
                "proc/self/cgroup": "0::/pod/job\n",
                "sys/fs/cgroup/pod/cpu.max": "50000 100000\n",
                "sys/fs/cgroup/pod/job/cpu.max": "max 100000\n",
            },
            0.5,
        ),
        # Inside a container the path of the host is not visible.
        ({"proc/self/cgroup": "0::/host/only\n", "sys/fs/cgroup/cpu.max": "200000 100000\n"}, 2.0),
        (
            {
                "proc/self/cgroup": "4:cpu,cpuacct:/job\n",
                "sys/fs/cgroup/cpu/job/cpu.cfs_quota_us": "300000\n",
                "sys/fs/cgroup/cpu/job/cpu.cfs_period_us": "100000\n",
            },
            3.0,
        ),
        (
            {
                "proc/self/cgroup": "4:cpu,cpuacct:/job\n",
                "sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_quota_us": "-1\n",
                "sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_period_us": "100000\n",
            },
            None,
        ),
        ({"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/cpu.max": "damaged\n"}, None),
        ({"proc/self/cgroup": "nonsense\n"}, None),
    ],
)
def test_cpu_quota(tmp_path: Path, files: dict[str, str], cores: float | None) -> None:
    assert cgroup.cpu_quota_cores(lay(tmp_path, files)) == cores


@pytest.mark.parametrize(
    ("files", "limit"),
    [
        ({}, None),
        ({"proc/self/cgroup": "0::/job\n", "sys/fs/cgroup/job/memory.max": "max\n"}, None),
        ({"proc/self/cgroup": "0::/job\n", "sys/fs/cgroup/job/memory.max": "4096\n"}, 4096),
        (
            {
                "proc/self/cgroup": "9:memory:/job\n",
                "sys/fs/cgroup/memory/job/memory.limit_in_bytes": "8192\n",
                "sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n",
            },
            8192,
        ),
        (
            {
                "proc/self/cgroup": "9:memory:/\n",
                "sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n",
            },
            None,
        ),
    ],
)
def test_memory_limit(tmp_path: Path, files: dict[str, str], limit: int | None) -> None:
    assert cgroup.memory_limit_bytes(lay(tmp_path, files)) == limit
