"""What the benchmarks share: targets with pass and fail lines, and the machine they ran on."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np


@dataclass
class Judge:
    """Prints each figure beside its target and remembers whether one was missed.

    Attributes:
        missed: Names of the figures that missed their target.
    """

    missed: list[str] = field(default_factory=list)

    def at_most(self, name: str, value: float, target: float, unit: str, remark: str = "") -> None:
        """Judges a figure that must not exceed its target."""
        self._judge(name, value <= target, f"{value:.4g} {unit}", f"<= {target:g} {unit}", remark)

    def within(self, name: str, value: float, low: float, high: float, remark: str = "") -> None:
        """Judges a figure that must lie between two others."""
        self._judge(name, low <= value <= high, f"{value:.3f}", f"{low:g} to {high:g}", remark)

    def exit_code(self) -> int:
        """Says how it ended, and gives 0 or, where a target was missed, 1."""
        print("all targets met" if not self.missed else f"missed: {', '.join(self.missed)}")
        return 1 if self.missed else 0

    def _judge(self, name: str, met: bool, value: str, target: str, remark: str) -> None:
        if not met:
            self.missed.append(name)
        end = f"   {remark}" if remark else ""
        print(f"{'pass' if met else 'FAIL'}  {name}: {value} (target {target}){end}", flush=True)


def spread(values: Sequence[float]) -> str:
    """Gives the median with the least and the greatest."""
    return f"{np.median(values):.3f} [{min(values):.3f} to {max(values):.3f}, n={len(values)}]"


def print_machine() -> None:
    """Prints what the figures depend on."""
    import keras
    import tensorflow as tf

    from bottleneck_kit import __version__

    cores = len(os.sched_getaffinity(0))
    print(
        f"bottleneck-kit {__version__}, TensorFlow {tf.__version__}, Keras {keras.__version__}, "
        f"Python {sys.version.split()[0]}, {cores} cores, {platform.machine()}, "
        f"{len(tf.config.list_physical_devices('GPU'))} GPUs, load {os.getloadavg()[0]:.1f}",
        flush=True,
    )
