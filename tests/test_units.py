"""Numbers as a person reads them."""

from __future__ import annotations

import math
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bottleneck_kit.units import format_bytes, format_seconds, format_share

SECONDS = {"µs": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0}
BYTES = {unit: 1024.0**power for power, unit in enumerate(("B", "KiB", "MiB", "GiB", "TiB"))}


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0 s"),
        (1.5e-6, "1.50 µs"),
        (999.4e-6, "999 µs"),
        (999.6e-6, "1.00 ms"),
        (0.0831, "83.1 ms"),
        (0.9994, "999 ms"),
        (0.9996, "1.00 s"),
        (9.999, "10.0 s"),
        (599, "599 s"),
        (600, "10.0 min"),
        (7199, "120 min"),
        (7200, "2.00 h"),
        (-0.25, "-250 ms"),
        (math.inf, "inf"),
        (math.nan, "nan"),
    ],
)
def test_seconds(seconds: float, text: str) -> None:
    assert format_seconds(seconds) == text


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (0, "0 B"),
        (1023, "1023 B"),
        (1024, "1.00 KiB"),
        (1023.9 * 1024, "1.00 MiB"),
        (3 * 2**30, "3.00 GiB"),
        (5000 * 2**40, "5000 TiB"),
        (-2048, "-2.00 KiB"),
        (math.inf, "inf"),
        (math.nan, "nan"),
    ],
)
def test_bytes(count: float, text: str) -> None:
    assert format_bytes(count) == text


@pytest.mark.parametrize(
    ("share", "text"),
    [
        (0, "0 %"),
        (0.0004, "<0.1 %"),
        (0.001, "0.1 %"),
        (0.0994, "9.9 %"),
        (0.0996, "10 %"),
        (0.58, "58 %"),
        (1, "100 %"),
        (-0.0004, "<0.1 %"),
        (-0.05, "-5.0 %"),
        (math.nan, "nan"),
    ],
)
def test_shares(share: float, text: str) -> None:
    assert format_share(share) == text


def read(text: str, units: dict[str, float]) -> float:
    match = re.fullmatch(r"(-?[0-9.]+) (\S+)", text)
    assert match, text
    return float(match[1]) * units[match[2]]


@given(st.floats(1e-7, 1e9))
def test_seconds_read_back_within_three_figures(seconds: float) -> None:
    assert read(format_seconds(seconds), SECONDS) == pytest.approx(seconds, rel=5.1e-3)


@given(st.floats(1e-7, 1e9), st.floats(1e-7, 1e9))
def test_longer_never_reads_shorter(one: float, other: float) -> None:
    shorter, longer = sorted((one, other))
    assert read(format_seconds(shorter), SECONDS) <= read(format_seconds(longer), SECONDS) * 1.01


@given(st.floats(0, 2.0**60))
def test_bytes_read_back_within_three_figures(count: float) -> None:
    assert read(format_bytes(count), BYTES) == pytest.approx(count, rel=5.1e-3, abs=0.5)


@given(st.floats(allow_nan=True, allow_infinity=True))
def test_no_number_breaks_a_report(value: float) -> None:
    for formatter in (format_seconds, format_bytes, format_share):
        assert formatter(value)


@given(st.floats(-1e9, 1e9).filter(bool))
def test_only_nothing_is_shown_as_nothing(value: float) -> None:
    assert format_seconds(value) != "0 s"
    assert format_share(value) != "0 %"
