"""The CPU quota and memory limit that a container sets on this process (cgroup v1 and v2)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

# A cgroup v1 without a memory limit shows a number near 2**63, rounded down to a page.
_UNLIMITED_BYTES = 1 << 60


def cpu_quota_cores(root: Path = Path("/")) -> float | None:
    """Gives the cores that the tightest quota on this process allows; None without a quota.

    Args:
        root: Where ``proc`` and ``sys`` are; replaced by tests.
    """
    quotas = []
    for folder in _folders(root, "cpu"):
        quota, period = _v2_cpu(folder) or _v1_cpu(folder) or (None, None)
        if quota is not None and period:
            quotas.append(quota / period)
    return min(quotas, default=None)


def memory_limit_bytes(root: Path = Path("/")) -> int | None:
    """Gives the tightest memory limit on this process in bytes; None without a limit.

    Args:
        root: Where ``proc`` and ``sys`` are; replaced by tests.
    """
    limits = []
    for folder in _folders(root, "memory"):
        for name in ("memory.max", "memory.limit_in_bytes"):
            limit = _number(folder / name)
            if limit is not None and limit < _UNLIMITED_BYTES:
                limits.append(limit)
    return min(limits, default=None)


def _folders(root: Path, controller: str) -> Iterator[Path]:
    """Gives the cgroup folders of this process from its own up to the root of the hierarchy.

    A limit of any of them holds. Inside a container the path may name a folder of the host
    that is not visible; the walk up reaches the visible root all the same.
    """
    try:
        lines = (root / "proc/self/cgroup").read_text(encoding="utf-8").splitlines()
    except OSError:
        return
    for line in lines:
        _, controllers, path = [*line.split(":", 2), "", ""][:3]
        if controllers == "":
            base = root / "sys/fs/cgroup"
        elif controller in controllers.split(","):
            base = root / "sys/fs/cgroup" / controllers
            if not base.exists():  # mounted under the single name
                base = root / "sys/fs/cgroup" / controller
        else:
            continue
        folder = base / path.lstrip("/")
        while True:
            yield folder
            if folder == base or base not in folder.parents:
                break
            folder = folder.parent


def _v2_cpu(folder: Path) -> tuple[int, int] | None:
    try:
        quota, period = (folder / "cpu.max").read_text(encoding="utf-8").split()[:2]
        return (int(quota), int(period)) if quota != "max" else None
    except (OSError, ValueError):
        return None


def _v1_cpu(folder: Path) -> tuple[int, int] | None:
    quota = _number(folder / "cpu.cfs_quota_us")
    period = _number(folder / "cpu.cfs_period_us")
    # -1 stands for "no quota".
    return (quota, period) if quota is not None and period is not None and quota > 0 else None


def _number(path: Path) -> int | None:
    try:
        return int(path.read_text(encoding="utf-8").strip())
    except (OSError, ValueError):
        return None
