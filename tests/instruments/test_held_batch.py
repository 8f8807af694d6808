"""The probe: what it times, what it puts back, and where it stands back with a reason."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf

from bottleneck_kit.instruments import batch_taking, held_batch, saved_variables
from bottleneck_kit.instruments.fit_hook import FitHook
from bottleneck_kit.instruments.held_batch import time_held_batch
from bottleneck_kit.instruments.train_function import takes_list
from bottleneck_kit.records.held_batch import HeldBatchRun
from bottleneck_kit.records.measurement import Missing

pytestmark = [
    pytest.mark.filterwarnings("ignore:.*shuffle=True. was passed"),
    pytest.mark.filterwarnings("ignore:.*input ran out of data"),
]

Make = Callable[..., Any]


class Probe(keras.callbacks.Callback):
    """Probes at the end of training, as if the fit had taken ``fit_s``."""

    def __init__(self, *, fit_s: float = 1000.0, first_call_s: float = 1.0) -> None:
        super().__init__()
        self.fit_s, self.first_call_s = fit_s, first_call_s
        self.before: Any = None
        self.after: Any = None

    def on_train_begin(self, logs: Any = None) -> None:
        self.hook = FitHook.acquire(self.model)
        self.hook.want_held_batch()

    def on_train_end(self, logs: Any = None) -> None:
        try:
            self.before = values(self.model)
            self.result = time_held_batch(
                self.model, self.hook, fit_s=self.fit_s, first_call_s=self.first_call_s
            )
            self.after = values(self.model)
        finally:
            self.hook.release()


def values(model: Any) -> list[Any]:
    found = [*model.variables, *model.optimizer.variables]
    found += [variable for metric in model.metrics for variable in metric.variables]
    return [variable.numpy() for variable in found]


def assert_put_back(probe: Probe) -> None:
    for before, after in zip(probe.before, probe.after, strict=True):
        np.testing.assert_array_equal(before, after)


def in_step(function: Callable[[Any], Any]) -> Any:
    """A layer that runs ``function`` on its input; what it returns is used up but not shown."""

    class InStep(keras.layers.Layer):
        def call(self, x: Any) -> Any:
            with tf.control_dependencies(tf.nest.flatten(function(x))):
                return tf.identity(x)

    return InStep()


def probe(model: Any, dataset: Any, **options: float) -> Probe:
    callback = Probe(**options)
    model.fit(dataset, verbose=0, callbacks=[callback])
    assert_put_back(callback)
    return callback


def test_the_train_function_is_timed_thirty_steps_at_most(
    tiny_model: Make, tiny_dataset: Make
) -> None:
    result = probe(tiny_model(), tiny_dataset(24)).result
    assert len(result.call_s) == len(result.cpu_s) == 20  # of 30, the first third warms up
    assert min(result.call_s) > 0
    assert result.function == "own"
    assert result.batch_bytes == 8 * 5 * 4
    assert result.restored_variables >= 10
    assert result.cost_s >= sum(result.call_s)


def test_a_short_fit_is_probed_for_three_steps(tiny_model: Make, tiny_dataset: Make) -> None:
    result = probe(tiny_model(), tiny_dataset(24), fit_s=1e-6).result
    assert len(result.call_s) == 3


def test_the_budget_of_time_ends_the_probe(tiny_model: Make, tiny_dataset: Make) -> None:
    def sleep(x: Any) -> Any:
        time.sleep(0.02)
        return np.float32(0)

    sleep.bottleneck_kit_stateless = True
    layer = in_step(lambda x: tf.numpy_function(sleep, [x], tf.float32))
    result = probe(tiny_model(layers=(layer,)), tiny_dataset(24), fit_s=5.0).result
    assert 3 <= len(result.call_s) <= 6  # 2 % of 5 s, 20 ms each
    assert min(result.call_s) >= 0.02


def test_an_execution_of_several_steps_is_one_entry(tiny_model: Make, tiny_dataset: Make) -> None:
    result = probe(tiny_model(steps_per_execution=4), tiny_dataset(80)).result
    assert result.steps_per_execution == 4
    assert len(result.call_s) == 5  # of 7


def test_a_fit_of_one_execution_has_no_held_batch(tiny_model: Make, tiny_dataset: Make) -> None:
    result = probe(tiny_model(), tiny_dataset(8)).result
    assert result == Missing("fewer than two executions were seen")


def test_state_of_a_generator_inside_a_layer_is_put_back(
    tiny_model: Make, tiny_dataset: Make
) -> None:
    generator = tf.random.Generator.from_seed(3)
    states: list[Any] = []

    class Look(keras.callbacks.Callback):
        def on_train_end(self, logs: Any = None) -> None:
            states.append(generator.state.numpy())

    callback = Probe()
    model = tiny_model(layers=(in_step(lambda x: generator.normal([])),))
    model.fit(tiny_dataset(24), verbose=0, callbacks=[Look(), callback, Look()])
    assert isinstance(callback.result, HeldBatchRun)
    np.testing.assert_array_equal(states[0], states[1])


def test_kernel_state_is_probed_on_a_function_made_anew(
    tiny_model: Make, tiny_dataset: Make
) -> None:
    keras.utils.set_random_seed(3)
    model = tiny_model(layers=(in_step(lambda x: tf.random.uniform([])),))
    original: list[Any] = []

    class Look(keras.callbacks.Callback):
        def on_train_end(self, logs: Any = None) -> None:
            original.append((self.model.train_function, random.getstate()))

    callback = Probe()
    model.fit(tiny_dataset(24), verbose=0, callbacks=[Look(), callback, Look()])
    assert callback.result.function == "fresh"
    assert original[0][1] == original[1][1]
    assert model.train_function is callback.hook.train_function


def test_kernel_state_is_left_alone_where_tracing_is_too_dear(
    tiny_model: Make, tiny_dataset: Make
) -> None:
    model = tiny_model(layers=(in_step(lambda x: tf.random.uniform([])),))
    result = probe(model, tiny_dataset(24), fit_s=100.0, first_call_s=3.0).result
    assert "3.00 s" in result.reason
    assert "2.00 s" in result.reason


def test_kernel_state_in_a_function_of_the_models_own_is_left_alone(
    tiny_model: Make, tiny_dataset: Make
) -> None:
    draw = tf.function(lambda: tf.random.uniform([]))
    result = probe(tiny_model(layers=(in_step(lambda x: draw()),)), tiny_dataset(24)).result
    assert "inside a tf.function" in result.reason


def test_an_op_with_other_state_is_named(tiny_model: Make, tiny_dataset: Make) -> None:
    table = tf.lookup.experimental.MutableHashTable(tf.int64, tf.int64, -1)

    def insert(x: Any) -> Any:
        with tf.control_dependencies([table.insert(tf.constant([1], tf.int64), [2])]):
            return tf.constant(0)

    result = probe(tiny_model(layers=(in_step(insert),)), tiny_dataset(24)).result
    assert "LookupTableInsertV2" in result.reason


def test_a_static_table_is_no_obstacle(tiny_model: Make, tiny_dataset: Make) -> None:
    table = tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer([0, 1], [5, 6]), -1)
    layer = in_step(lambda x: table.lookup(tf.constant([1])))
    assert isinstance(probe(tiny_model(layers=(layer,)), tiny_dataset(24)).result, HeldBatchRun)


@pytest.mark.parametrize("call", [tf.numpy_function, tf.py_function])
def test_python_in_the_step_has_to_say_that_it_is_stateless(
    call: Any, tiny_model: Make, tiny_dataset: Make
) -> None:
    def count(x: Any) -> Any:
        return np.float32(0)

    layer = in_step(lambda x: call(count, [x], tf.float32))
    reason = probe(tiny_model(layers=(layer,)), tiny_dataset(24)).result.reason
    assert "count" in reason
    assert "bottleneck_kit_stateless = True" in reason

    count.bottleneck_kit_stateless = True
    assert isinstance(probe(tiny_model(layers=(layer,)), tiny_dataset(24)).result, HeldBatchRun)


def test_an_eager_step_is_probed_where_all_of_it_is_keras_own(
    tiny_model: Make, tiny_dataset: Make
) -> None:
    own = tiny_model(layers=(keras.layers.Dropout(0.5),), run_eagerly=True)
    theirs = tiny_model(layers=(in_step(lambda x: x),), run_eagerly=True)
    with_lambda = tiny_model(layers=(keras.layers.Lambda(lambda x: x),), run_eagerly=True)
    their_loss = tiny_model(run_eagerly=True)
    their_loss.compile("adam", lambda y, p: keras.ops.mean((y - p) ** 2), run_eagerly=True)
    assert isinstance(probe(own, tiny_dataset(24)).result, HeldBatchRun)
    assert "InStep" in probe(theirs, tiny_dataset(24)).result.reason
    assert "Lambda" in probe(with_lambda, tiny_dataset(24)).result.reason
    assert "run_eagerly" in probe(their_loss, tiny_dataset(24)).result.reason


def test_a_probe_that_fails_in_the_middle_puts_everything_back(
    monkeypatch: pytest.MonkeyPatch, tiny_model: Make, tiny_dataset: Make
) -> None:
    calls = 0

    def fail_later(logs: Any) -> None:
        nonlocal calls
        calls += 1
        if calls == 3:
            raise RuntimeError("cut")

    monkeypatch.setattr(held_batch, "_wait_for", fail_later)
    callback = probe(tiny_model(), tiny_dataset(24))
    assert callback.result == Missing("the probe failed (RuntimeError: cut)")


def test_ctrl_c_in_the_probe_puts_everything_back(
    monkeypatch: pytest.MonkeyPatch, tiny_model: Make, tiny_dataset: Make
) -> None:
    def press(logs: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(held_batch, "_wait_for", press)
    model, callback = tiny_model(), Probe()
    with pytest.raises(KeyboardInterrupt):
        model.fit(tiny_dataset(24), verbose=0, callbacks=[callback])
    for before, after in zip(callback.before, values(model), strict=True):
        np.testing.assert_array_equal(before, after)


def test_ctrl_c_while_values_are_put_back_waits_for_the_rest() -> None:
    class Pressed(tf.Variable):  # stands for a variable in whose assign the interrupt arrives
        pass

    variables = [tf.Variable(float(n)) for n in range(3)]
    saved = saved_variables.SavedVariables.of(variables)
    for variable in variables:
        variable.assign(-1.0)
    pressed: list[int] = []

    class Interrupted:
        name = "interrupted"

        def assign(self, value: Any, read_value: bool) -> None:
            if not pressed:
                pressed.append(1)
                raise KeyboardInterrupt
            variables[1].assign(value)

    saved._values[1] = (Interrupted(), saved._values[1][1])
    with pytest.raises(KeyboardInterrupt):
        saved.restore()
    assert [float(variable.numpy()) for variable in variables] == [0.0, 1.0, 2.0]


def test_values_come_back_to_the_bit() -> None:
    bits = np.array([0x7FC00123, 0x80000000, 0x00000001, 0x7F800000], np.uint32)
    variable = tf.Variable(bits.view(np.float32))
    saved = saved_variables.SavedVariables.of([variable])
    variable.assign(tf.zeros(4))
    saved.restore()
    np.testing.assert_array_equal(variable.numpy().view(np.uint32), bits)


def test_variables_too_large_for_a_copy_are_not_touched(
    monkeypatch: pytest.MonkeyPatch, tiny_model: Make, tiny_dataset: Make
) -> None:
    monkeypatch.setattr(saved_variables, "available_bytes", lambda: 100)
    assert "does not fit" in probe(tiny_model(), tiny_dataset(24)).result.reason


@pytest.mark.parametrize("steps_per_execution", [1, 4])
def test_batches_too_large_to_keep_are_trained_on_all_the_same(
    steps_per_execution: int,
    monkeypatch: pytest.MonkeyPatch,
    tiny_model: Make,
    tiny_dataset: Make,
) -> None:
    def weights(*callbacks: Any) -> Any:
        keras.utils.set_random_seed(5)
        model = tiny_model(steps_per_execution=steps_per_execution)
        history = model.fit(tiny_dataset(80), epochs=2, verbose=0, callbacks=list(callbacks))
        return [*values(model), *history.history.values()]

    without = weights()
    # 160 bytes a batch: one is under a quarter of 800, four are over it; none fits 400.
    monkeypatch.setattr(batch_taking, "available_bytes", lambda: 400 * steps_per_execution // 2)
    callback = Probe()
    with_probe = weights(callback)
    if steps_per_execution == 1 or takes_list(callback.hook.train_function):
        assert "large" in callback.result.reason
    for ours, theirs in zip(with_probe, without, strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_what_keeps_a_batch_from_being_taken_is_no_obstacle_to_training(
    monkeypatch: pytest.MonkeyPatch, tiny_model: Make, tiny_dataset: Make
) -> None:
    def broken() -> int:
        raise OSError("no /proc")

    monkeypatch.setattr(batch_taking, "available_bytes", broken)
    callback = probe(tiny_model(), tiny_dataset(24))
    assert callback.result == Missing("OSError: no /proc")
    assert callback.hook.executions == 3


def test_a_retraced_function_gives_no_figure(
    monkeypatch: pytest.MonkeyPatch, tiny_model: Make, tiny_dataset: Make
) -> None:
    # A batch of another spec, as a renamed part of TensorFlow might hand over.
    other = tf.data.Dataset.from_tensors((tf.ones((3, 4), tf.float64), tf.ones((3,)))).repeat()
    monkeypatch.setattr(held_batch, "_feed", lambda held, steps: iter(other))
    assert "traced again" in probe(tiny_model(), tiny_dataset(24)).result.reason


def test_composite_elements_keep_their_type() -> None:
    ragged = tf.ragged.constant([[1.0], [2.0, 3.0]])
    sparse = tf.sparse.from_dense([[0.0, 1.0], [2.0, 0.0]])
    optional = tf.experimental.Optional.from_value(tf.constant(3))
    element = {"r": ragged, "s": (sparse, tf.constant(["a", "b"])), "o": optional}
    source = tf.data.Dataset.from_tensors(element).repeat(3)
    iterator = iter(source)
    seen: list[Any] = []

    def train(given: Any) -> str:
        seen.append((given.element_spec, list(given)))
        return "logs"

    taken = batch_taking.train_on_taken(train, iterator, steps=2, takes_list=True)

    assert (taken.logs, taken.steps) == ("logs", 2)
    spec, batches = seen[0]
    assert spec == source.element_spec
    assert len(batches) == 2
    assert isinstance(batches[1]["r"], tf.RaggedTensor)
    assert isinstance(batches[1]["s"][0], tf.SparseTensor)
    assert int(batches[1]["o"].get_value()) == 3
    assert next(iter(taken.held.endless()))["r"].to_list() == [[1.0], [2.0, 3.0]]
    assert taken.held.batch_bytes == batch_taking.bytes_of(batches[0])
    assert len(list(iterator)) == 1


def test_an_error_in_the_middle_comes_after_the_batches_ahead_of_it() -> None:
    def check(index: Any) -> Any:
        with tf.control_dependencies([tf.debugging.assert_less(index, tf.constant(2, tf.int64))]):
            return tf.identity(index)

    trained: list[int] = []

    def train(given: Any) -> None:
        trained.extend(int(value) for value in given)

    with pytest.raises(tf.errors.InvalidArgumentError):
        batch_taking.train_on_taken(
            train, iter(tf.data.Dataset.range(5).map(check)), steps=4, takes_list=True
        )
    assert trained == [0, 1]


def test_a_distributed_batch_is_not_taken_where_keras_takes_no_list(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(tf.distribute, "DistributedIterator", type(iter([])))
    given = iter([1, 2])
    taken = batch_taking.train_on_taken(list, given, steps=1, takes_list=False)
    assert taken.logs == [1, 2]
    assert "distributed" in taken.held.reason
    assert taken.steps is None
