"""What stands in the place of a model's train function while a fit is watched."""

from __future__ import annotations

import functools
from typing import Any

import tensorflow as tf

_ITERATORS = (tf.data.Iterator, tf.distribute.DistributedIterator)


class TrainWrapper:
    """Stands in the place of a train function; once its hook is gone it only passes through."""

    def __init__(self, hook: Any, original: Any) -> None:
        functools.update_wrapper(self, original, updated=())  # its name and documentation, too
        self.hook = hook

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        """Lets the hook run an execution of fit; everything else goes through untouched."""
        hook = self.hook
        # train_on_batch calls the train function, too, with a Python generator.
        watched = len(arguments) == 1 and not options and isinstance(arguments[0], _ITERATORS)
        if hook is None or not watched:
            return self.__wrapped__(*arguments, **options)
        return hook.run(self.__wrapped__, arguments[0])

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.__wrapped__, name)


def how_it_ends(error: BaseException) -> str | None:
    """Says how fit ends if this error leaves the train function; None for an end of data."""
    cause: BaseException | None = error
    while cause is not None:
        # From inside TensorFlow, Ctrl-C surfaces as a SystemError around it.
        if isinstance(cause, KeyboardInterrupt):
            return "interrupted"
        cause = cause.__cause__ or cause.__context__
    if isinstance(error, StopIteration) or type(error).__name__ == "OutOfRangeError":
        return None
    return f"exception {type(error).__name__}"
