"""Finds out what holds a Keras training job back, says what to do about it, and does it.

The public names are loaded when first used: importing the kit loads no framework.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from bottleneck_kit.version import __version__

if TYPE_CHECKING:
    from bottleneck_kit.api import diagnose
    from bottleneck_kit.callbacks.bottleneck import BottleneckCallback
    from bottleneck_kit.callbacks.cached_batch import CachedBatchProbe
    from bottleneck_kit.records.run_record import RunRecord
    from bottleneck_kit.report.report import Report

_PUBLIC = {
    "BottleneckCallback": "bottleneck_kit.callbacks.bottleneck",
    "CachedBatchProbe": "bottleneck_kit.callbacks.cached_batch",
    "Report": "bottleneck_kit.report.report",
    "RunRecord": "bottleneck_kit.records.run_record",
    "diagnose": "bottleneck_kit.api",
}

__all__ = [
    "BottleneckCallback",
    "CachedBatchProbe",
    "Report",
    "RunRecord",
    "__version__",
    "diagnose",
]


def __getattr__(name: str) -> Any:
    try:
        module = _PUBLIC[name]
    except KeyError:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}") from None
    value = getattr(importlib.import_module(module), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
