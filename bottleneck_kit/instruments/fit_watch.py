"""Watches the thread that trains: where it is found, and whether ``fit`` is still on its stack."""

from __future__ import annotations

import inspect
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from types import CodeType, FrameType
from typing import Any

from bottleneck_kit.instruments.sibling_hooks import OURS, Place, callback_list_in, hook_code
from bottleneck_kit.records.measurement import Missing
from bottleneck_kit.records.stack_samples import CallbackSamples, StackSamples

INTERVAL_S = 0.05

_TRAIN: Place = ("", "train")
_VALIDATION: Place = ("", "validation")
_OTHER: Place = ("", "other")


class FitWatch:
    """One daemon thread beside one fit; made and started on the thread that trains.

    Keras calls no hook when ``fit`` raises or is interrupted. The watch asks every
    ``interval_s`` whether fit's frame is still on the training thread's stack, and notes what
    it finds there on the way.

    Args:
        model: The model in fit.
        train_code: Code object whose frame means "inside the train function".
        executions: Gives how many executions have begun.
        on_gone: Called once, on the watch's thread, when fit's frame has left the stack.
        interval_s: Time between two looks.

    Attributes:
        cpu_s: CPU seconds of the watch's thread.
        failure: Why nothing is watched; "" while all is well.
    """

    def __init__(
        self,
        model: Any,
        *,
        train_code: CodeType,
        executions: Callable[[], int],
        on_gone: Callable[[], None],
        interval_s: float = INTERVAL_S,
    ) -> None:
        self.cpu_s = 0.0
        self.failure = ""
        self._interval_s = interval_s
        self._executions = executions
        self._on_gone = on_gone
        self._thread_id = threading.get_ident()
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self._fit_frame: FrameType | None = None
        self._places: dict[CodeType, Place] = {}
        self._counts: Counter[Place] = Counter()
        self._open: Counter[Place] = Counter()
        self._open_since = 0
        try:
            self._places = {
                **dict.fromkeys(_evaluate_code(model), _VALIDATION),
                train_code: _TRAIN,
            }
            siblings = callback_list_in(sys._getframe())
            if siblings is not None:
                self._places.update(hook_code(list(siblings.callbacks)))
            self._fit_frame = _fit_frame(sys._getframe())
            if self._fit_frame is None:
                self.failure = "no call of fit is on the stack"
        except Exception as error:
            self.failure = f"{type(error).__name__}: {error}"

    def start(self) -> None:
        """Starts the thread; does nothing where there is no frame to watch."""
        if self._fit_frame is None:
            return
        self._thread = threading.Thread(
            target=self._run, name="bottleneck_kit.fit_watch", daemon=True
        )
        self._thread.start()

    def stop(self) -> None:
        """Ends the thread and lets go of fit's frame. May be called more than once."""
        self._stop.set()
        thread = self._thread
        if thread is not None and thread is not threading.current_thread():
            thread.join(timeout=5)
        self._fit_frame = None

    def is_gone(self) -> bool:
        """Says whether fit has ended, as far as the calling thread can tell by its own stack."""
        fit = self._fit_frame
        if fit is None or threading.get_ident() != self._thread_id:
            return False
        return not _on_stack(fit, sys._getframe())

    def freeze(self) -> StackSamples | Missing:
        """Gives what was found so far, between the first and the last execution."""
        if self.failure:
            return Missing(self.failure)
        counts = self._counts.copy()
        # The last execution is over when it returns; what came after it is not counted.
        counts[_TRAIN] += self._open[_TRAIN]
        callbacks = sorted(
            (place for place in counts if place[0]), key=lambda place: (-counts[place], place)
        )
        return StackSamples(
            interval_s=self._interval_s,
            total=sum(counts.values()),
            in_train_function=counts[_TRAIN],
            in_validation=counts[_VALIDATION],
            callbacks=tuple(
                CallbackSamples(name, hook, counts[(name, hook)]) for name, hook in callbacks
            ),
            other=counts[_OTHER],
        )

    def _run(self) -> None:
        try:
            while not self._stop.wait(self._interval_s):
                if not self._look():
                    self._on_gone()
                    break
                self.cpu_s = time.thread_time()
        except Exception as error:
            self.failure = f"{type(error).__name__}: {error}"
        finally:
            self.cpu_s = time.thread_time()

    def _look(self) -> bool:
        """Notes where the training thread is; says whether fit is still on its stack."""
        fit = self._fit_frame
        frame = sys._current_frames().get(self._thread_id)
        # The outermost known frame tells: a fit of another model inside a callback is that
        # callback's time.
        place = _OTHER
        while frame is not None and frame is not fit:
            place = self._places.get(frame.f_code, place)
            frame = frame.f_back
        if frame is None:
            return self._stop.is_set()  # the frame was let go of: stopped, not gone
        executions = self._executions()
        if executions != self._open_since:
            if self._open_since:  # what was found before the first execution is not counted
                self._counts.update(self._open)
            self._open.clear()
            self._open_since = executions
        self._open[place] += 1
        return True


def _fit_frame(frame: FrameType | None) -> FrameType | None:
    """Gives the innermost frame of a ``fit`` that is not the kit's own, or None."""
    while frame is not None:
        module = frame.f_globals.get("__name__", "")
        if frame.f_code.co_name == "fit" and not module.startswith(OURS):
            return frame
        frame = frame.f_back
    return None


def _on_stack(wanted: FrameType, frame: FrameType | None) -> bool:
    while frame is not None:
        if frame is wanted:
            return True
        frame = frame.f_back
    return False


def _evaluate_code(model: Any) -> set[CodeType]:
    """Gives the code of every ``evaluate`` the model's class has or inherits."""
    found = set()
    for kind in type(model).__mro__:
        method = vars(kind).get("evaluate")
        code = getattr(inspect.unwrap(method), "__code__", None) if callable(method) else None
        if code is not None:
            found.add(code)
    return found
