"""One shared, counted wrapper of a model's train function: what a running fit lets be seen."""

from __future__ import annotations

import atexit
import threading
import time
import weakref
from typing import Any

import tensorflow as tf

from bottleneck_kit.instruments import train_function
from bottleneck_kit.instruments.batch_taking import HeldBatch, train_on_taken
from bottleneck_kit.instruments.fit_listener import FitListener, OpenExecution
from bottleneck_kit.instruments.fit_watch import FitWatch
from bottleneck_kit.instruments.own_time import OwnTime
from bottleneck_kit.instruments.train_wrapper import TrainWrapper, how_it_ends
from bottleneck_kit.records.measurement import Missing

TAKE_AT = 1
"""Execution whose batches are taken: the second. The first traces and may be the only one."""

CONCLUDE_WITHIN_S = 10.0
"""Seconds a process that ends waits for a report that is being made."""

UNSEEN = "interrupted or failed outside the train function"


class FitHook:
    """Sees every call of ``model.train_function`` in one fit. Nothing in it raises into fit.

    Get it by ``FitHook.acquire(model)`` in ``on_train_begin``, when Keras has made the train
    function, and give it back by ``release()``. The wrapper is taken off when the last holder
    has released it, or when fit is found to be over without that.

    Attributes:
        failures: What failed or was given up, by name, with the reason.
        own_s: Seconds in the kit's own code, by execution.
        watch: The thread that notices fit's end and samples the training thread's stack.
        held: The held batch, or Missing with the reason.
        dataset: The dataset of the iterator in use; None where it names none.
        executions: How many executions have run.
        steps_per_execution: Batches in an execution, as the model has it.
        ended: How fit ended; None while it runs.
        train_function: The train function without the wrapper.
    """

    def __init__(self, model: Any) -> None:
        self.failures: dict[str, str] = {}
        self.own_s = OwnTime()
        self.held: HeldBatch | Missing = Missing("nobody asked for a held batch")
        self.dataset: Any = None
        self.executions = 0
        self.steps_per_execution = int(getattr(model, "steps_per_execution", 1) or 1)
        self.ended: str | None = None
        self.train_function = getattr(model, "train_function", None)
        self._model = model
        self._holders = 0
        self._listeners: list[FitListener] = []
        self._iterator: Any = _no_iterator
        self._left: int | None = None
        self._epoch = 0
        self._epoch_begun: int | None = None
        self._epoch_ended: int | None = None
        self._begun = 0
        self._open: OpenExecution | None = None
        self._wants_batch = False
        self._raised: str | None = None
        self._wrapper: TrainWrapper | None = None
        self._lock = threading.Lock()
        self._concluded = threading.Event()
        self._entered_cpu_s = 0.0
        self._functions: list[Any] = []
        try:
            self._functions = train_function.tf_functions(self.train_function)
        except Exception as error:
            self.failures["traces"] = f"{type(error).__name__}: {error}"
        self._traces_before = self._traces_seen = self._trace_count()
        self.watch = FitWatch(
            model,
            train_code=TrainWrapper.__call__.__code__,
            executions=lambda: self._begun,
            on_gone=self._on_gone,
        )

    @classmethod
    def acquire(cls, model: Any) -> FitHook:
        """Gives the model's hook, the same to all as long as one holds it."""
        hook = _HELD.get(id(model))
        if hook is not None and hook.watch.is_gone():
            hook._finish(hook._how_it_ended())
            hook = None
        if hook is None:
            hook = cls(model)
            hook._put_on()
        hook._holders += 1
        return hook

    def release(self) -> None:
        """Gives the hook back; the last holder's release ends it as "completed"."""
        self._holders = max(0, self._holders - 1)
        if self._holders == 0:
            self._finish("completed")

    def add(self, listener: FitListener) -> None:
        """Adds a listener; one that raises is dropped and noted in ``failures``."""
        self._listeners.append(listener)

    def want_held_batch(self) -> None:
        """Asks for the batches of the second execution; before the first one."""
        if not train_function.is_keras_own(self.train_function):
            self.held = Missing(
                "the model has a train function of its own: how many batches it takes a call, and "
                "what it does besides, is not known"
            )
        elif not self._wants_batch and self.executions <= TAKE_AT:
            self._wants_batch = True
            self.held = Missing("fewer than two executions were seen")

    def epoch_begin(self, epoch: int) -> None:
        """Keras begins an epoch; each holder says so, the first one counts."""
        if self._epoch_begun != epoch:
            self._epoch_begun = self._epoch = epoch
            self._epoch_ended = None
            self._look_after_wrapper()

    def epoch_end(self, epoch: int) -> None:
        """Keras has ended an epoch: its last execution is complete, too."""
        if self._epoch_ended != epoch:
            self._epoch_ended = epoch
            self._epoch_begun = None
            self._complete_last()
            self._look_after_wrapper()

    def validation_begin(self) -> None:
        """Keras begins ``evaluate`` within the epoch, whose last execution is complete."""
        self._complete_last()

    def validation_end(self) -> None:
        """Keras has ended ``evaluate``; nothing of it belongs to an execution."""

    @property
    def iterator(self) -> Any:
        """The iterator in use, as long as Keras keeps it; the hook does not keep it alive."""
        return self._iterator()

    @property
    def traces(self) -> int | Missing:
        """How often the train function was traced since fit began."""
        if not self._functions:
            return Missing(
                self.failures.get("traces", "the train function is not traced (eager mode)")
            )
        # The outermost function's: Keras' inner one is traced twice where it makes variables.
        return self._trace_count()[0] - self._traces_before[0]

    def _put_on(self) -> None:
        try:
            if callable(self.train_function):
                self._wrapper = TrainWrapper(self, self.train_function)
                self._model.train_function = self._wrapper
            else:
                self.failures["train function"] = (
                    "the model had no train function when fit began; no step is seen"
                )
            self.watch.start()
        except Exception as error:
            self._note_own_failure(error)
        if self.watch.failure:
            self.failures["fit watch"] = self.watch.failure
        _HELD[id(self._model)] = self
        # An uncaught exception may end the process before the watch has looked.
        atexit.register(self._at_exit)

    def _take_off(self) -> None:
        wrapper = self._wrapper
        if wrapper is None:
            return
        wrapper.hook = None
        try:
            self._look_after_wrapper()
            if self._model.train_function is wrapper:
                self._model.train_function = self.train_function
        except Exception as error:
            self._note_own_failure(error)

    def _finish(self, ended: str) -> None:
        """Takes the wrapper off and tells the listeners, once, on whichever thread comes first."""
        with self._lock:  # a new fit of the model waits here until the wrapper is off
            if self.ended is not None:
                return
            self.ended = ended
            self._take_off()
            _HELD.pop(id(self._model), None)
        try:
            self._complete_last()
            self._tell("on_fit_end", ended)
            self._listeners.clear()
        finally:
            self._concluded.set()
            atexit.unregister(self._at_exit)
        self.watch.stop()

    def _on_gone(self) -> None:
        self._finish(self._how_it_ended())

    def _at_exit(self) -> None:
        """Ends the hook, or lets the watch finish doing so: its thread dies with the process."""
        self._on_gone()
        self._concluded.wait(timeout=CONCLUDE_WITHIN_S)

    def _how_it_ended(self) -> str:
        return self._raised or UNSEEN

    def _look_after_wrapper(self) -> None:
        """Notes where somebody else has put another train function in; it is left alone."""
        wrapper = self._wrapper
        if wrapper is None or self._model.train_function is wrapper:
            return
        self.failures.setdefault(
            "train function",
            "model.train_function was replaced or made anew by somebody else during fit; steps "
            "since then may not have been seen, and the new one was left as it is",
        )

    def run(self, original: Any, iterator: Any) -> Any:
        """Runs one execution. All of the kit's work in it is guarded, the user's is not."""
        entered_s = time.perf_counter()
        try:
            self._before(iterator, entered_s)
        except Exception as error:
            self._note_own_failure(error)
        take = self._wants_batch and self.executions >= TAKE_AT
        traces = self._traces_seen
        self._begun = self.executions + 1
        steps: int | None = None
        called_s = time.perf_counter()
        try:
            if take:
                taken = train_on_taken(
                    original,
                    iterator,
                    steps=self.steps_per_execution,
                    takes_list=train_function.takes_list(original),
                )
                logs, steps = taken.logs, taken.steps
                self.held, self._wants_batch = taken.held, False
            else:
                logs = original(iterator)
        except BaseException as error:
            self._raised = how_it_ends(error)
            raise
        returned_s = time.perf_counter()
        self._traces_seen = self._trace_count()
        self._raised = None
        own_s = called_s - entered_s
        self._open = OpenExecution(
            index=self.executions,
            epoch=self._epoch,
            steps=self._steps_of(steps),
            entered_s=entered_s,
            call_s=returned_s - called_s,
            cpu_s=self._entered_cpu_s,
            traced=self._traces_seen != traces,
            taken=steps is not None,
        )
        self.executions += 1
        own_s += time.perf_counter() - returned_s
        self._open.own_s = own_s
        self.own_s.add(own_s)
        return logs

    def _steps_of(self, taken: int | None) -> int:
        """Gives the batches of the execution that has just returned.

        Of a dataset that does not know its cardinality, an execution cut short by the end of the
        data is counted as a whole one, unless its batches were taken.
        """
        left = self._left
        steps = self.steps_per_execution if taken is None else taken
        if left is None:
            return steps
        steps = max(1, min(steps, left))
        self._left = left - steps
        return steps

    def _before(self, iterator: Any, entered_s: float) -> None:
        self._entered_cpu_s = cpu_s = time.process_time()
        opened, self._open = self._open, None
        if opened is not None:
            self._tell("on_execution", opened.complete(now_s=entered_s, now_cpu_s=cpu_s))
        if self._iterator() is not iterator:
            self._meet(iterator)
        self._tell("before_execution", self.executions)

    def _meet(self, iterator: Any) -> None:
        self._iterator = weakref.ref(iterator)
        self.dataset = dataset_of(iterator)
        self._left = None
        if self.steps_per_execution > 1 and self.dataset is not None:
            cardinality = int(self.dataset.cardinality())
            self._left = cardinality if cardinality >= 0 else None
        self._tell("on_iterator", iterator, self.dataset)

    def _complete_last(self) -> None:
        """Completes the execution that no other one of the same epoch follows."""
        opened, self._open = self._open, None
        if opened is not None:
            self._tell("on_execution", opened.complete(now_s=None, now_cpu_s=None))

    def _tell(self, event: str, *arguments: Any) -> None:
        for listener in tuple(self._listeners):
            try:
                getattr(listener, event)(*arguments)
            except Exception as error:
                self.failures[type(listener).__name__] = (
                    f"{event} raised {type(error).__name__}: {error}"
                )
                if listener in self._listeners:
                    self._listeners.remove(listener)

    def _note_own_failure(self, error: Exception) -> None:
        self.failures["fit hook"] = f"{type(error).__name__}: {error}"

    def _trace_count(self) -> list[int]:
        try:
            return train_function.trace_counts(self._functions)
        except Exception as error:
            self._functions = []
            self.failures["traces"] = f"{type(error).__name__}: {error}"
            return []


_HELD: dict[int, FitHook] = {}
"""The hooks in use, by the id of their model, which they keep alive."""


def dataset_of(iterator: Any) -> Any:
    """Gives the tf.data.Dataset an iterator was made from; None where it does not name it."""
    return getattr(iterator, "_dataset", None)


def global_seed_variable() -> Any:
    """Gives the variable behind Keras' global seed generator; None where none was made yet."""
    from keras.src.backend.common import global_state  # private: where renamed, only this fails

    generator = global_state.get_global_attribute("global_seed_generator")
    return None if generator is None else generator.state


def python_parts(model: Any) -> list[Any]:
    """Gives every part of a model whose Python an eager train step may run."""
    metrics = list(model.metrics)
    return [
        *model._flatten_layers(include_self=True, recursive=True),
        model.optimizer,
        *metrics,
        *(getattr(metric, "_fn", None) for metric in metrics),
        *tf.nest.flatten(model.loss),
    ]


def _no_iterator() -> None:
    """Stands for an iterator that was not seen yet."""
