"""Keeps Python's and NumPy's global random generators as they were."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np


@contextmanager
def python_randomness_kept() -> Iterator[None]:
    """Puts the state of both generators back; tracing a function may draw from them."""
    python_state, numpy_state = random.getstate(), np.random.get_state()
    try:
        yield
    finally:
        random.setstate(python_state)
        np.random.set_state(numpy_state)
