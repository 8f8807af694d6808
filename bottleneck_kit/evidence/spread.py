"""Estimates with their spread: medians, clipped means and bootstrap intervals of what was timed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from bottleneck_kit.evidence.limits import BURST_SHARE, CLIP_SHARE, RESAMPLES, SEED
from bottleneck_kit.records.measurement import Measurement

Floats = npt.NDArray[np.float64]
Statistic = Callable[[Floats], Any]


@dataclass(frozen=True, eq=False)
class Estimate:
    """A number and what it would have been on resampled observations.

    Attributes:
        value: The estimate itself.
        replicates: The estimate on each of RESAMPLES resamples.
        n: Observations it rests on.
    """

    value: float
    replicates: Floats
    n: int

    def measurement(self, *, least: float | None = None) -> Measurement:
        """Gives value and 95 % interval (percentile bootstrap), nothing of it below ``least``."""
        low, high = np.percentile(self.replicates, [2.5, 97.5])
        low, value, high = min(low, self.value), self.value, max(high, self.value)
        if least is not None:
            low, value, high = max(low, least), max(value, least), max(high, least)
        return Measurement(float(value), float(low), float(high), self.n)


def median(values: Floats) -> Any:
    """Gives the median along the last axis."""
    return np.median(values, axis=-1)


def mean(values: Floats) -> Any:
    """Gives the mean along the last axis."""
    return np.mean(values, axis=-1)


def clipped_mean(values: Floats) -> Any:
    """Gives the mean with the outermost CLIP_SHARE at either end pulled in (winsorised)."""
    ordered = np.sort(values, axis=-1)
    cut = int(np.ceil(CLIP_SHARE * ordered.shape[-1])) if ordered.shape[-1] > 2 else 0
    if cut:
        ordered[..., :cut] = ordered[..., cut, np.newaxis]
        ordered[..., -cut:] = ordered[..., -cut - 1, np.newaxis]
    return np.mean(ordered, axis=-1)


def statistic_for(values: Floats) -> Statistic:
    """Chooses how a typical value is told: by the median, or where that hides bursts, the mean.

    See BURST_SHARE for the reason. The choice is made on the periods and then used for all that
    was timed in them, so that the parts of a step add up to it.
    """
    middle = float(median(values))
    return clipped_mean if float(clipped_mean(values)) > (1 + BURST_SHARE) * middle else median


def estimate(values: Sequence[float] | Floats, statistic: Statistic = median) -> Estimate:
    """Estimates a statistic of values in the order of time.

    Steps are not independent, because buffers make fast and slow ones come in runs. So blocks
    of n^(1/3) neighbours are resampled, in a circle (Politis and Romano 1992). Series of equal
    length are resampled alike: the parts of a step keep their correlation in ``combine``.

    Raises:
        ValueError: There is no value.
    """
    data = np.asarray(values, dtype=np.float64)
    if data.size == 0:
        raise ValueError("no observation")
    replicates = [np.atleast_1d(statistic(data[places])) for places in _resamples(data.size)]
    return Estimate(float(statistic(data)), np.concatenate(replicates), data.size)


def combine(rule: Callable[..., Any], *estimates: Estimate) -> Estimate:
    """Computes an estimate from others; its spread is that of the rule over their replicates."""
    with np.errstate(divide="ignore", invalid="ignore"):
        value = float(rule(*(np.float64(one.value) for one in estimates)))
        replicates = np.asarray(rule(*(one.replicates for one in estimates)), dtype=np.float64)
    usable = replicates[np.isfinite(replicates)]
    if not np.isfinite(value) or usable.size == 0:
        raise ValueError("the numbers do not allow it to be computed")
    return Estimate(value, usable, min(one.n for one in estimates))


def _resamples(n: int) -> Iterator[npt.NDArray[np.int64]]:
    """Gives RESAMPLES rows of n places in a series of n, drawn in blocks; some rows at a time.

    Not all at once: for 4096 steps that would take 10 MB beside a training.
    """
    block = max(1, round(n ** (1 / 3)))
    blocks = -(-n // block)
    dice = np.random.default_rng(SEED + n)
    starts = dice.integers(0, n, size=(RESAMPLES, blocks, 1))
    for few in np.array_split(starts, max(1, RESAMPLES * n // 100_000)):
        places = (few + np.arange(block)) % n
        yield places.reshape(len(few), blocks * block)[:, :n]
