"""Keeps the values of variables while a probe runs, and puts them back to the bit."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from typing import Any

import tensorflow as tf

from bottleneck_kit.instruments.memory import available_bytes
from bottleneck_kit.records.measurement import Missing
from bottleneck_kit.units import format_bytes

SHARE_OF_MEMORY = 0.5
"""Copies that would take more than this share of the memory still free are not made."""

logger = logging.getLogger("bottleneck_kit")


class SavedVariables:
    """Copies of variables, by ``SavedVariables.of``; ``restore`` puts them back."""

    def __init__(self) -> None:
        self._values: list[tuple[Any, Any]] = []
        self._known: set[int] = set()

    @classmethod
    def of(cls, variables: Iterable[Any]) -> SavedVariables | Missing:
        """Copies ``variables`` into the host's memory.

        Args:
            variables: tf.Variables; of distributed ones each component is kept for itself.
        """
        saved = cls()
        reason = saved.add(variables)
        return reason if isinstance(reason, Missing) else saved

    def __len__(self) -> int:
        return len(self._values)

    def add(self, variables: Iterable[Any]) -> Missing | None:
        """Copies those of ``variables`` that are not kept yet; Missing where memory is short."""
        new = [
            component
            for variable in variables
            for component in components(variable)
            if id(component) not in self._known
        ]
        needed = sum((v.shape.num_elements() or 0) * (v.dtype.size or 8) for v in new)
        if needed > available_bytes() * SHARE_OF_MEMORY:
            return Missing(
                f"a copy of the training's variables ({format_bytes(needed)}) does not fit into "
                "the memory that is free"
            )
        for variable in new:
            if id(variable) not in self._known:
                self._known.add(id(variable))
                self._values.append((variable, variable.numpy()))
        return None

    def restore(self) -> None:
        """Puts every value back, also where Ctrl-C comes in between (it is raised afterwards)."""
        interrupt: KeyboardInterrupt | None = None
        waiting = list(self._values)
        while waiting:
            variable, value = waiting[-1]
            try:
                variable.assign(value, read_value=False)
            except KeyboardInterrupt as pressed:
                interrupt = pressed
                continue
            except Exception:
                logger.exception("%s could not be put back after the probe", variable.name)
            waiting.pop()
        if interrupt is not None:
            raise interrupt


def components(variable: Any) -> list[Any]:
    """Gives the plain variables behind one; a distributed variable has one a replica."""
    if isinstance(variable, tf.distribute.DistributedValues):
        return list(variable.values)
    return [variable]


def keras_variables(model: Any) -> list[Any]:
    """Gives the tf.Variables behind the model, its optimizer and its metrics."""
    found = list(model.variables) + list(getattr(model.optimizer, "variables", []))
    for metric in model.metrics:
        found += list(metric.variables)
    return [variable.value for variable in found]
