"""Times the train function on the held batch: what a step takes when input is free."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import tensorflow as tf

from bottleneck_kit.instruments import train_function
from bottleneck_kit.instruments.batch_taking import HeldBatch
from bottleneck_kit.instruments.fit_hook import FitHook, global_seed_variable, python_parts
from bottleneck_kit.instruments.python_randomness import python_randomness_kept
from bottleneck_kit.instruments.quiet import wait_for_quiet
from bottleneck_kit.instruments.saved_variables import SavedVariables, keras_variables
from bottleneck_kit.records.held_batch import HeldBatchRun
from bottleneck_kit.records.measurement import Missing
from bottleneck_kit.units import format_seconds

MOST_STEPS = 30
LEAST_STEPS = 3
MOST_S = 10.0
MOST_SHARE_OF_FIT = 0.02

WARM_UP_SHARE = 1 / 3
"""Share of the timed executions, the first ones, that are cut as warm-up."""

# The pipeline is given this long to fill its buffers and rest, before the probe takes the cores.
MOST_QUIET_S = 2.0
MOST_QUIET_SHARE_OF_FIT = 0.2


@dataclass(frozen=True)
class _Budget:
    """How long the probe may take; steps are batches."""

    steps_per_execution: int
    seconds: float
    quiet_s: float

    @property
    def least(self) -> int:
        """Executions that are timed whatever they take."""
        return -(-LEAST_STEPS // self.steps_per_execution)

    @property
    def most(self) -> int:
        """Executions that are timed at most."""
        return max(self.least, MOST_STEPS // self.steps_per_execution)


def time_held_batch(
    model: Any, hook: FitHook, *, fit_s: float, first_call_s: float
) -> HeldBatchRun | Missing:
    """Times the compiled train function on the batch that the fit itself has taken.

    At most 30 steps, 10 s or 2 % of the fit, whichever is least, but three steps; one execution
    before them warms up and is not counted. Before that the pipeline, which goes on filling its
    buffers, gets 2 s or a fifth of the fit at most to come to rest. Every variable that the train
    function touches is put back to the bit, whatever happens. Call it on the thread that trained,
    when training is over.

    Args:
        model: The model.
        hook: Its hook, which was asked to hold a batch.
        fit_s: Seconds the fit took.
        first_call_s: Seconds of the first execution: what making a function anew may cost.

    Returns:
        Missing with the reason where nothing was timed; it never raises an Exception.
    """
    began_s = time.perf_counter()
    held = hook.held
    if isinstance(held, Missing):
        return held
    budget = _Budget(
        hook.steps_per_execution,
        seconds=min(MOST_S, MOST_SHARE_OF_FIT * fit_s),
        quiet_s=min(MOST_QUIET_S, MOST_QUIET_SHARE_OF_FIT * fit_s),
    )
    try:
        return _probe(model, hook, held, budget=budget, first_call_s=first_call_s, began_s=began_s)
    except Exception as error:
        return Missing(f"the probe failed ({type(error).__name__}: {error})")


def _probe(
    model: Any,
    hook: FitHook,
    held: HeldBatch,
    *,
    budget: _Budget,
    first_call_s: float,
    began_s: float,
) -> HeldBatchRun | Missing:
    functions = train_function.tf_functions(hook.train_function)
    graph: train_function.TrainGraph | Missing
    if model.run_eagerly or tf.config.functions_run_eagerly():
        reason = train_function.reason_against_eager(model, python_parts(model))
        graph = Missing(reason) if reason else train_function.NOTHING_TRACED
        functions = []
    else:
        graph = train_function.read_graph(functions)
    if isinstance(graph, Missing):
        return graph
    if graph.random_in and first_call_s > budget.seconds:
        return Missing(
            "the train step keeps random state that cannot be put back (tf.random.*), and making "
            f"the train function anew would take up to {format_seconds(first_call_s)}, more than "
            f"the {format_seconds(budget.seconds)} a probe of this fit may take"
        )
    seed = global_seed_variable()
    touched = [*graph.variables, *keras_variables(model)]
    saved = SavedVariables.of(touched if seed is None else [*touched, seed.value])
    if isinstance(saved, Missing):
        return saved
    feed = _feed(held, hook.steps_per_execution)
    train = hook.train_function
    try:
        if graph.random_in:
            made = _make_anew(model, feed, graph, saved)
            if isinstance(made, Missing):
                return made
            train = made
            functions = train_function.tf_functions(train)
        traces = train_function.trace_counts(functions)
        wait_for_quiet(budget.quiet_s)
        with python_randomness_kept():
            call_s, cpu_s = _time(train, feed, budget)
        if train_function.trace_counts(functions) != traces:
            return Missing("the train function was traced again for the held batch")
    finally:
        saved.restore()
    return HeldBatchRun(
        call_s=tuple(call_s),
        cpu_s=tuple(cpu_s),
        steps_per_execution=hook.steps_per_execution,
        function="fresh" if graph.random_in else "own",
        batch_bytes=held.batch_bytes,
        cost_s=time.perf_counter() - began_s,
        restored_variables=len(saved),
    )


def _feed(held: HeldBatch, steps_per_execution: int) -> Any:
    """Gives what the train function is called with, every time."""
    if held.distributed:
        return list(held.batches) * steps_per_execution
    return iter(held.endless())


def _make_anew(
    model: Any, feed: Any, own: train_function.TrainGraph, saved: SavedVariables
) -> Callable[[Any], Any] | Missing:
    """Makes and traces another train function, whose kernels have a random state of their own."""
    current = model.train_function
    with python_randomness_kept():
        try:
            model.make_train_function(force=True)
            fresh = model.train_function
        finally:
            model.train_function = current
        functions = train_function.tf_functions(fresh)
        if not functions or isinstance(feed, list):
            return Missing("the train function could not be made anew to keep its random state")
        functions[0].get_concrete_function(feed)
    graph = train_function.read_graph(functions)
    if isinstance(graph, Missing):
        return graph
    # A tf.function that the model itself calls is not traced anew; its kernels are shared.
    if (graph.random_in & own.random_in) - {""} or graph.names & own.names:
        return Missing(
            "the train step keeps random state that cannot be put back, inside a tf.function of "
            "the model's own"
        )
    unsaved = saved.add(graph.variables)
    return unsaved if isinstance(unsaved, Missing) else fresh


def _time(
    train: Callable[[Any], Any], feed: Any, budget: _Budget
) -> tuple[list[float], list[float]]:
    """Runs and times executions; gives the seconds and the CPU seconds of each.

    An accelerator works behind the call that has returned. So each call is made before the one
    ahead of it is waited for, as in training, and the time from one end to the next counts. The
    first one warms up; its end is where nothing was timed yet.
    """
    call_s: list[float] = []
    cpu_s: list[float] = []
    logs = train(feed)
    began_s = last_s = time.perf_counter()
    last_cpu_s = time.process_time()
    while len(call_s) < budget.least or (
        len(call_s) < budget.most and last_s - began_s < budget.seconds
    ):
        following = train(feed)
        _wait_for(logs)
        now_s, now_cpu_s = time.perf_counter(), time.process_time()
        call_s.append(now_s - last_s)
        cpu_s.append(now_cpu_s - last_cpu_s)
        last_s, last_cpu_s, logs = now_s, now_cpu_s, following
    _wait_for(logs)
    # The first ones find cold caches and sleeping threads: they took up to a quarter longer.
    cut = max(0, min(round(WARM_UP_SHARE * len(call_s)), len(call_s) - budget.least))
    return call_s[cut:], cpu_s[cut:]


def _wait_for(logs: Any) -> None:
    for value in tf.nest.flatten(logs):
        if hasattr(value, "numpy"):
            value.numpy()
