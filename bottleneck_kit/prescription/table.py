"""The table of all remedies; a test holds it to the files of this folder."""

from __future__ import annotations

from dataclasses import dataclass

from bottleneck_kit.prescription.bake import Bake
from bottleneck_kit.prescription.cache import Cache
from bottleneck_kit.prescription.callback import Callback
from bottleneck_kit.prescription.dali import Dali
from bottleneck_kit.prescription.device import Device
from bottleneck_kit.prescription.drop_eager import DropEager
from bottleneck_kit.prescription.fuse import Fuse
from bottleneck_kit.prescription.head import Head
from bottleneck_kit.prescription.jit_compile import JitCompile
from bottleneck_kit.prescription.late_cast import LateCast
from bottleneck_kit.prescription.machine import Machine
from bottleneck_kit.prescription.pad_shapes import PadShapes
from bottleneck_kit.prescription.processes import Processes
from bottleneck_kit.prescription.remedy import Remedy
from bottleneck_kit.prescription.reorder import Reorder
from bottleneck_kit.prescription.service import Service
from bottleneck_kit.prescription.split import Split
from bottleneck_kit.prescription.steps_per_execution import StepsPerExecution
from bottleneck_kit.prescription.tune import Tune
from bottleneck_kit.prescription.validation import Validation
from bottleneck_kit.prescription.vectorize import Vectorize


@dataclass(frozen=True)
class Row:
    """One remedy's line in the table.

    Attributes:
        judge: Says where the remedy applies and what it would bring.
    """

    judge: Remedy


ALL_REMEDIES: dict[str, Row] = {
    "bake": Row(Bake()),
    "cache": Row(Cache()),
    "callback": Row(Callback()),
    "dali": Row(Dali()),
    "device": Row(Device()),
    "drop_eager": Row(DropEager()),
    "fuse": Row(Fuse()),
    "head": Row(Head()),
    "jit_compile": Row(JitCompile()),
    "late_cast": Row(LateCast()),
    "machine": Row(Machine()),
    "pad_shapes": Row(PadShapes()),
    "processes": Row(Processes()),
    "reorder": Row(Reorder()),
    "service": Row(Service()),
    "split": Row(Split()),
    "steps_per_execution": Row(StepsPerExecution()),
    "tune": Row(Tune()),
    "validation": Row(Validation()),
    "vectorize": Row(Vectorize()),
}
"""Remedy name -> its row, sorted by name."""
