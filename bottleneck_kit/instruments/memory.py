"""How much memory this process may still take, for the instruments that have to keep copies."""

from __future__ import annotations

import psutil

from bottleneck_kit.instruments.cgroup import memory_limit_bytes


def available_bytes() -> int:
    """Gives the bytes this process may still take: the machine's or the container's, if less."""
    available = int(psutil.virtual_memory().available)
    limit = memory_limit_bytes()
    if limit is not None:
        available = min(available, max(0, limit - int(psutil.Process().memory_info().rss)))
    return available
