"""Copies all that a training changes of a model, and puts it back to the bit."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import tensorflow as tf

from bottleneck_kit.instruments import train_function
from bottleneck_kit.instruments.fit_hook import FitHook, global_seed_variable, python_parts
from bottleneck_kit.instruments.fit_listener import FitListener
from bottleneck_kit.instruments.saved_variables import SavedVariables, keras_variables
from bottleneck_kit.pipeline import traced_functions
from bottleneck_kit.records.measurement import present


class ModelState(FitListener):
    """Listens to a fit whose changes are to be undone.

    Its copies are made before the first execution: the train function is traced then, and its
    graph names the variables that Keras does not (a ``tf.random.Generator`` inside a layer).
    The train function itself is one made for this fit, since ops may keep random state in it.

    Args:
        model: A compiled model.

    Attributes:
        reason: Why nothing could be copied; "" where all could.
        not_put_back: What the train step changes beside variables; "" where that is nothing.
    """

    def __init__(self, model: Any) -> None:
        self.reason = ""
        self.not_put_back = ""
        self._model = model
        self._kept = {
            name: getattr(model, name, None)
            for name in ("train_function", "history", "stop_training")
        }
        self._saved = SavedVariables()
        self._hook: FitHook | None = None
        model.train_function = None

    def listen(self, hook: FitHook) -> None:
        """Begins to listen, in ``on_train_begin``; ``reason`` says why fit must not go on."""
        self._hook = hook
        hook.add(self)
        if self._runs_eagerly():
            # Nothing can be traced: what the first step would make could not be copied before.
            if not self._model.built:
                self.reason = "a model whose weights only the first step will make"
                return
            if not self._model.optimizer.built:
                self._model.optimizer.build(self._model.trainable_variables)
            self._copy(_variables_of_parts(self._model))
            parts = python_parts(self._model)
            self.not_put_back = train_function.reason_against_eager(self._model, parts)
        elif self._model.built:
            # Told before the first step, while there is nothing to undo, where memory is short.
            self._copy(())

    def on_iterator(self, iterator: Any, dataset: Any) -> None:
        """Traces the train function before its first execution, to learn what it touches."""
        hook = self._hook
        if hook is None or hook.executions > 0 or self._runs_eagerly():
            return
        functions = train_function.tf_functions(hook.train_function)
        if functions:
            # Tracing also makes the weights of a model that is not built, as training would.
            functions[0].get_concrete_function(iterator)
        self._copy(
            variable
            for function in functions
            for concrete in traced_functions.concrete_functions(function)
            for variable in traced_functions.graph_variables(concrete)
        )
        graph = train_function.read_graph(functions)
        if not present(graph):
            self.not_put_back = graph.reason
        elif not train_function.is_keras_own(hook.train_function):
            self.not_put_back = "the model has a train function of its own"

    def _runs_eagerly(self) -> bool:
        return bool(self._model.run_eagerly) or tf.config.functions_run_eagerly()

    def _copy(self, variables: Iterable[Any]) -> None:
        seed = global_seed_variable()
        touched = [*keras_variables(self._model), *variables]
        missing = self._saved.add(touched if seed is None else [*touched, seed.value])
        if missing is not None:
            self.reason = missing.reason

    def restore(self) -> None:
        """Puts everything back."""
        self._saved.restore()
        for name, value in self._kept.items():
            setattr(self._model, name, value)
        self._hook = None


def _variables_of_parts(model: Any) -> list[Any]:
    """Gives the variables and generators that layers hold as plain attributes.

    In eager mode no graph names them.
    """
    found = []
    for part in python_parts(model):
        for value in _attributes(part):
            if isinstance(value, tf.random.Generator):
                found.append(value.state)
            elif isinstance(value, tf.Variable):
                found.append(value)
    return found


def _attributes(part: Any) -> Iterator[Any]:
    """Gives the attributes of an object, and what lists and dictionaries among them hold."""
    for value in vars(part).values() if hasattr(part, "__dict__") else ():
        if isinstance(value, dict):
            yield from value.values()
        elif isinstance(value, (list, tuple)):
            yield from value
        else:
            yield value
