"""Loads TensorFlow without the notices it prints at every start."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager

LEVEL = "TF_CPP_MIN_LOG_LEVEL"

_NOTICES = ("I0000 ", "WARNING: All log messages before absl::InitializeLog()")
"""How the lines begin that TensorFlow 2.21 prints whatever its log level is."""


def load_tensorflow() -> None:
    """Imports TensorFlow and Keras; notices are left out unless the user has set a log level.

    The demo is about ``tf.data``, so Keras gets its TensorFlow back end whatever the user's
    settings for other work say.

    Raises:
        ImportError: TensorFlow is not installed, or not whole.
    """
    if "keras" not in sys.modules:
        os.environ["KERAS_BACKEND"] = "tensorflow"
    if LEVEL in os.environ or "tensorflow" in sys.modules:
        _import()
        return
    os.environ[LEVEL] = "2"  # warnings and notices off, errors stay
    with _without_notices():
        _import()


def _import() -> None:
    import keras  # noqa: F401
    import tensorflow  # noqa: F401


@contextmanager
def _without_notices() -> Iterator[None]:
    """Holds back what C++ writes to stderr meanwhile, and then passes on all but the notices."""
    sys.stderr.flush()
    kept = os.dup(2)
    with tempfile.TemporaryFile() as held:
        os.dup2(held.fileno(), 2)
        try:
            yield
        finally:
            sys.stderr.flush()
            os.dup2(kept, 2)
            os.close(kept)
            held.seek(0)
            for line in held.read().decode(errors="replace").splitlines(keepends=True):
                if not line.startswith(_NOTICES):
                    sys.stderr.write(line)
