"""Seconds, bytes and shares as a person reads them; open to every stage of the flow."""

from __future__ import annotations

import math


def format_seconds(seconds: float) -> str:
    """Gives ``seconds`` three significant figures and the unit that fits (µs, ms, s, min, h)."""
    if not math.isfinite(seconds):
        return str(seconds)
    size = abs(seconds)
    if size == 0:
        return "0 s"
    if size < 999.5e-6:
        return f"{_three(seconds * 1e6)} µs"
    if size < 999.5e-3:
        return f"{_three(seconds * 1e3)} ms"
    if size < 600:
        return f"{_three(seconds)} s"
    if size < 7200:
        return f"{_three(seconds / 60)} min"
    return f"{_three(seconds / 3600)} h"


def format_bytes(count: float) -> str:
    """Gives a number of bytes with its binary unit (B, KiB, MiB, GiB, TiB)."""
    size = float(count)
    if not math.isfinite(size):
        return str(size)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if abs(size) < 1023.5:
            return f"{size:.0f} B" if unit == "B" else f"{_three(size)} {unit}"
        size /= 1024
    return f"{_three(size)} TiB"


def format_share(share: float) -> str:
    """Gives a share (0 to 1) as a percentage; tiny shares keep one digit, none is rounded to 0."""
    percent = share * 100
    if not math.isfinite(percent):
        return str(percent)
    if percent == 0:
        return "0 %"
    if abs(percent) < 0.1:
        return "<0.1 %"
    if abs(percent) < 9.95:
        return f"{percent:.1f} %"
    return f"{percent:.0f} %"


def _three(value: float) -> str:
    """Formats ``value`` with three significant figures and without an exponent."""
    # Rounded first: 9.999 has one digit before the point, what is shown of it has two.
    rounded = float(f"{value:.3g}")
    if rounded == 0 or not math.isfinite(rounded):
        return f"{value:.0f}"
    digits = max(0, 2 - math.floor(math.log10(abs(rounded))))
    return f"{value:.{digits}f}"
