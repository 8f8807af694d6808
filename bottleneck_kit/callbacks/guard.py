"""Keeps what fails in the kit's own hooks from reaching the training."""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable
from typing import Any, TypeVar

logger = logging.getLogger("bottleneck_kit")

Method = TypeVar("Method", bound=Callable[..., Any])


def harmless(method: Method) -> Method:
    """Makes a method of a callback log what it raises, and return None, instead of raising.

    The failure is kept in the callback's ``failures`` under the method's name, so that the
    report can name it.
    """

    @functools.wraps(method)
    def guarded(self: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            return method(self, *args, **kwargs)
        except Exception as error:
            self.failures[method.__name__] = f"{type(error).__name__}: {error}"
            logger.warning("bottleneck_kit: %s failed, training goes on", method.__name__)
            logger.debug("%s failed", method.__name__, exc_info=True)
            return None

    return guarded  # type: ignore[return-value]
