"""Finds what is null in a report for programs without a reason in ``unavailable``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

NULL_BY_NATURE = {"file", "line", "parallelism", "serial", "feeds", "stage", "steps_per_epoch"}
"""Keys that are null where there is nothing to name, which is no absence of a number."""


def nulls(value: Any, path: str = "") -> Iterator[str]:
    if isinstance(value, dict):
        for key, item in value.items():
            if key not in NULL_BY_NATURE:
                yield from nulls(item, f"{path}.{key}" if path else key)
    elif isinstance(value, list):
        for item in value:
            yield from nulls(item, f"{path}{name_in(path, item)}")
    elif value is None:
        yield path


def name_in(path: str, item: Any) -> str:
    """Gives what follows the list's path where ``unavailable`` speaks of one item of it."""
    if path == "stages":
        return f".{item['index']}"
    if path == "remedies":
        return f".{item['name']}" + ("" if item["stage"] is None else f".{item['stage']}")
    return f".{item['code']}" if path == "findings" else ""


def nulls_without_reason(content: dict[str, Any]) -> Iterator[str]:
    """Gives the paths of such nulls; a finding's own evidence may hold None, by its record."""
    reasons = content["unavailable"]
    for path in nulls(content):
        head = path.rpartition(".")[0]
        # Share and bound follow the cost, the ends of a prediction follow the prediction.
        leaders = {path, f"{head}.cost_s", f"{head}.predicted_step_s", "stages.cost_s"}
        if not path.startswith("findings.") and leaders.isdisjoint(reasons):
            yield path
