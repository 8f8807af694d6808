"""Training with a callback of the kit gives the same bits as without, in this fit and the next."""

from __future__ import annotations

import inspect
import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf

from bottleneck_kit.callbacks import cached_batch
from bottleneck_kit.callbacks.bottleneck import BottleneckCallback
from bottleneck_kit.callbacks.cached_batch import CachedBatchProbe
from bottleneck_kit.instruments import fit_recorder
from bottleneck_kit.instruments.fit_hook import global_seed_variable
from bottleneck_kit.instruments.held_batch import time_held_batch
from bottleneck_kit.records.held_batch import HeldBatchRun

pytestmark = [
    pytest.mark.filterwarnings("ignore:.*shuffle=True. was passed"),
    pytest.mark.filterwarnings("ignore:.*input ran out of data"),
]

COUNT, BATCH = 80, 8
X = np.random.default_rng(0).random((COUNT, 4), dtype="float32")
Y = X[:, 0].copy()


@pytest.fixture
def whole_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    """Probes as long, and as dearly, as a fit of many minutes would be probed."""

    def probe(model: Any, hook: Any, *, fit_s: float, first_call_s: float) -> Any:
        return time_held_batch(model, hook, fit_s=1000.0, first_call_s=first_call_s)

    for module in (cached_batch, fit_recorder):
        monkeypatch.setattr(module, "time_held_batch", probe)


class KernelNoise(keras.layers.Layer):
    """Random state inside a kernel, which nothing can put back."""

    def call(self, x: Any, training: bool = False) -> Any:
        return x + tf.random.uniform(tf.shape(x)) * 0.1 if training else x


class GeneratorNoise(keras.layers.Layer):
    """Random state in a variable that ``model.variables`` does not have."""

    def __init__(self) -> None:
        super().__init__()
        self.generator = tf.random.Generator.from_seed(5)

    def call(self, x: Any, training: bool = False) -> Any:
        return x + self.generator.normal(tf.shape(x)) * 0.1 if training else x


class OwnTrainStep(keras.Model):
    """A train step of the user's own."""

    def __init__(self) -> None:
        super().__init__()
        self.dense = keras.layers.Dense(1)
        self.seen = self.add_weight(shape=(), initializer="zeros", trainable=False)

    def call(self, x: Any) -> Any:
        return self.dense(x)

    def train_step(self, data: Any) -> Any:
        x, y = data
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((self(x)[:, 0] - y) ** 2)
        variables = self.trainable_variables
        self.optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables, strict=True))
        self.seen.assign_add(1.0)
        return {"loss": loss}


def sequential(*layers: Any, **options: Any) -> Any:
    model = keras.Sequential([keras.Input((4,)), *layers, keras.layers.Dense(1)])
    model.compile("adam", "mse", **{"jit_compile": False, **options})
    return model


def dropout(**options: Any) -> Any:
    return sequential(keras.layers.Dropout(0.2), **options)


def own_train_step() -> Any:
    model = OwnTrainStep()
    model.compile("adam", jit_compile=False)
    return model


def ragged_model() -> Any:
    model = keras.Sequential([keras.layers.Lambda(_ragged_sum), keras.layers.Dense(1)])
    model.compile("adam", "mse", jit_compile=False)
    return model


def _ragged_sum(x: Any) -> Any:
    return tf.ensure_shape(tf.reduce_sum(x, axis=1, keepdims=True), (None, 1))


def dict_model() -> Any:
    a, b = keras.Input((4,), name="a"), keras.Input((4,), name="b")
    model = keras.Model({"a": a, "b": b}, keras.layers.Dense(1)(keras.layers.Dense(4)(a) + b))
    model.compile("adam", "mse", jit_compile=False)
    return model


def slices(*arrays: Any) -> tf.data.Dataset:
    return tf.data.Dataset.from_tensor_slices(arrays or (X, Y))


def seeded() -> tf.data.Dataset:
    return slices().shuffle(COUNT, seed=1).batch(BATCH)


def unseeded() -> tf.data.Dataset:
    return slices().shuffle(COUNT).batch(BATCH).prefetch(2)


def random_map() -> tf.data.Dataset:
    return unseeded().map(lambda x, y: (x + tf.random.uniform([4]) * 0.1, y))


def keras_layers_in_map() -> tf.data.Dataset:
    noise = keras.layers.GaussianNoise(0.5)
    return seeded().map(lambda x, y: (noise(x, training=True), y)).prefetch(2)


def unknown_cardinality() -> tf.data.Dataset:
    return unseeded().filter(lambda x, y: True)


def infinite() -> dict[str, Any]:
    return {"x": slices().shuffle(COUNT).repeat().batch(BATCH), "steps_per_epoch": 7}


def weighted() -> tf.data.Dataset:
    return slices(X, Y, np.linspace(0, 1, COUNT, dtype="float32")).shuffle(COUNT).batch(BATCH)


def dictionary() -> tf.data.Dataset:
    return slices({"a": X, "b": X[::-1]}, Y).shuffle(COUNT).batch(BATCH)


def ragged() -> tf.data.Dataset:
    rows = tf.ragged.range(tf.range(COUNT) % 5 + 1)
    return slices(tf.cast(rows, tf.float32) / 8, Y).shuffle(COUNT).batch(BATCH)


def sparse() -> tf.data.Dataset:
    return slices(tf.sparse.from_dense(np.where(X > 0.5, X, 0)), Y).shuffle(COUNT).batch(BATCH)


def generator() -> dict[str, Any]:
    def batches() -> Any:
        random = np.random.default_rng(1)
        while True:
            x = random.random((BATCH, 4), dtype="float32")
            yield x, x[:, 0]

    return {"x": batches(), "steps_per_epoch": 7}


class Sequence(keras.utils.PyDataset):
    def __len__(self) -> int:
        return COUNT // BATCH

    def __getitem__(self, index: int) -> Any:
        part = slice(index * BATCH, (index + 1) * BATCH)
        return X[part], Y[part]


def arrays() -> dict[str, Any]:
    return {"x": X, "y": Y, "batch_size": BATCH}


def validated() -> dict[str, Any]:
    return {"x": unseeded(), "validation_data": seeded()}


class OwnTrainFunction(keras.Model):
    """Takes several batches a call, as models with a critic do, and counts its calls in Python."""

    def __init__(self) -> None:
        super().__init__()
        self.dense = keras.layers.Dense(1)
        self.calls = 0

    def call(self, x: Any) -> Any:
        return self.dense(x)

    def make_train_function(self, force: bool = False) -> None:
        @tf.function
        def several(iterator: Any) -> Any:
            for _ in range(3):
                logs = self.train_step(next(iterator))
            return logs

        def train(iterator: Any) -> Any:
            self.calls += 1
            if self.calls % 3 == 0:
                self.optimizer.learning_rate *= 0.5
            return several(iterator)

        self.train_function = train


class OwnLoss(keras.Model):
    """Needs no target: elements hold None in its place."""

    def __init__(self) -> None:
        super().__init__()
        self.dense = keras.layers.Dense(1)

    def call(self, x: Any) -> Any:
        y = self.dense(x)
        self.add_loss(tf.reduce_mean(y**2))
        return y


def compiled(kind: Callable[[], Any], **options: Any) -> Callable[[], Any]:
    def make() -> Any:
        model = kind()
        model.compile("adam", **options)
        return model

    return make


def drawing_activation() -> Any:
    return sequential(
        keras.layers.Dense(4, activation=lambda x: x + np.random.normal()), run_eagerly=True
    )


CASES: dict[str, tuple[Callable[..., Any], Callable[[], Any], bool]] = {
    # name -> model, data, whether the probe gives a figure
    "seeded shuffle": (dropout, seeded, True),
    "unseeded shuffle": (dropout, unseeded, True),
    "random map": (dropout, random_map, True),
    "keras layers in map": (dropout, keras_layers_in_map, True),
    "unknown cardinality": (dropout, unknown_cardinality, True),
    "infinite": (dropout, infinite, True),
    "weighted": (dropout, weighted, True),
    "dictionary": (dict_model, dictionary, True),
    "ragged": (ragged_model, ragged, True),
    "sparse": (dropout, sparse, True),
    "generator": (dropout, generator, True),
    "py dataset": (dropout, Sequence, True),
    "arrays": (dropout, arrays, True),
    "validated": (dropout, validated, True),
    "several steps": (lambda: dropout(steps_per_execution=4), unseeded, True),
    "several steps, unknown": (
        lambda: dropout(steps_per_execution=4),
        unknown_cardinality,
        True,
    ),
    "a short second execution": (lambda: dropout(steps_per_execution=7), unseeded, True),
    "a short second execution, unknown": (
        lambda: dropout(steps_per_execution=7),
        unknown_cardinality,
        True,
    ),
    "jit": (lambda: dropout(jit_compile=True), unseeded, True),
    "eager": (lambda: dropout(run_eagerly=True), unseeded, True),
    "eager with the user's layer": (
        lambda: sequential(GeneratorNoise(), run_eagerly=True),
        unseeded,
        False,
    ),
    "eager with the user's activation": (drawing_activation, unseeded, False),
    "own train step": (own_train_step, unseeded, True),
    "own train function": (compiled(OwnTrainFunction, loss="mse"), infinite, False),
    "no target": (compiled(OwnLoss), lambda: unseeded().map(lambda x, y: (x, None)), True),
    "kernel noise": (lambda: sequential(KernelNoise()), unseeded, True),
    "generator noise": (lambda: sequential(GeneratorNoise()), unseeded, True),
    "batch normalization": (
        lambda: sequential(keras.layers.BatchNormalization()),
        unseeded,
        True,
    ),
}


def train(model_of: Callable[..., Any], data_of: Callable[[], Any], callbacks: list[Any]) -> Any:
    """Trains twice; gives all that can be compared, and an eager draw after it."""
    keras.random.uniform((1,))  # makes the global seed, which older Keras leaves as it is
    seed = global_seed_variable()
    seed.assign(keras.ops.zeros_like(seed))
    # Up to Keras 3.8, setting the seed does not put Keras' own global generator back.
    keras.utils.clear_session()
    keras.utils.set_random_seed(7)
    model, data = model_of(), data_of()
    data = data if isinstance(data, dict) else {"x": data}
    first = model.fit(**data, epochs=2, verbose=0, callbacks=callbacks)
    if inspect.isgenerator(data["x"]):  # Keras pulls one more or one less, from run to run
        data = data_of()
    second = model.fit(**data, epochs=1, verbose=0)
    return [
        *(variable.numpy() for variable in model.weights),
        *(variable.numpy() for variable in model.optimizer.variables),
        *first.history.values(),
        *second.history.values(),
        tf.random.uniform([3]).numpy(),
        np.random.rand(3),
        keras.random.uniform((3,)).numpy(),
    ]


@pytest.mark.usefixtures("whole_budget")
@pytest.mark.parametrize("case", list(CASES))
def test_training_with_a_callback_is_equal_to_the_bit(case: str) -> None:
    model_of, data_of, measured = CASES[case]
    probe, whole = CachedBatchProbe(verbose=0), BottleneckCallback(report=None)

    without = train(model_of, data_of, [])
    with_probe = train(model_of, data_of, [probe])
    with_all = train(model_of, data_of, [whole])

    assert isinstance(probe.result, HeldBatchRun) is measured, probe.result
    held = whole.record.held_batch
    assert isinstance(held, HeldBatchRun) is measured, held
    assert whole.failures == {}
    for with_callback in (with_probe, with_all):
        for ours, theirs in zip(with_callback, without, strict=True):
            np.testing.assert_array_equal(ours, theirs)


def test_the_probe_changes_the_weights_before_it_puts_them_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Guards the test above: a probe that does nothing would pass it.
    from bottleneck_kit.instruments.saved_variables import SavedVariables

    monkeypatch.setattr(SavedVariables, "restore", lambda self: None)

    without = train(dropout, seeded, [])
    with_probe = train(dropout, seeded, [CachedBatchProbe(verbose=0)])

    assert not all(map(np.array_equal, without, with_probe))


KINDS = {
    "probe": lambda: CachedBatchProbe(verbose=0),
    "whole": lambda: BottleneckCallback(report=None),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("steps_per_execution", [1, 4])
@pytest.mark.parametrize("known", [True, False])
def test_the_same_batches_are_trained_on(steps_per_execution: int, known: bool, kind: str) -> None:
    def sums(callbacks: list[Any]) -> list[float]:
        seen: list[float] = []

        class Recorder(keras.layers.Layer):
            def call(self, x: Any) -> Any:
                done = tf.numpy_function(
                    lambda v: (seen.append(float(v.sum())), np.float32(0))[1], [x], tf.float32
                )
                with tf.control_dependencies([done]):
                    return tf.identity(x)

        keras.utils.set_random_seed(3)
        model = sequential(Recorder(), steps_per_execution=steps_per_execution)
        data = unseeded() if known else unknown_cardinality()
        model.fit(data, epochs=2, verbose=0, callbacks=callbacks)
        return seen

    callback = KINDS[kind]()
    without = sums([])
    assert sums([callback]) == without
    assert len(without) == 2 * COUNT // BATCH
    result = callback.result if kind == "probe" else callback.record.held_batch
    assert "bottleneck_kit_stateless" in result.reason  # it stood back


def pulls_of(model: Any, callbacks: list[Any], *, runs_ahead: bool) -> int:
    """Gives how many batches a fit of five steps pulls from a Python generator."""
    pulled = 0

    def batches() -> Any:
        nonlocal pulled
        while True:
            pulled += 1
            yield X[:BATCH], Y[:BATCH]

    data: Any = batches()
    if not runs_ahead:
        specs = (tf.TensorSpec((BATCH, 4), tf.float32), tf.TensorSpec((BATCH,), tf.float32))
        options = tf.data.Options()
        options.autotune.enabled = False
        options.experimental_optimization.inject_prefetch = False
        data = tf.data.Dataset.from_generator(batches, output_signature=specs)
        data = data.with_options(options)
    model.fit(data, steps_per_epoch=5, verbose=0, callbacks=callbacks)
    return pulled


@pytest.mark.parametrize("kind", KINDS)
def test_exactly_the_trained_batches_are_pulled_where_nothing_runs_ahead(kind: str) -> None:
    model = dropout()
    assert pulls_of(model, [], runs_ahead=False) == 5
    assert pulls_of(model, [KINDS[kind]()], runs_ahead=False) == 5


@pytest.mark.parametrize("kind", KINDS)
def test_no_more_is_pulled_from_a_generator_that_keras_prefetches(kind: str) -> None:
    # How far the prefetch has come when fit ends is a race, so runs alternate and their sums are
    # compared: one pull more in each run would show, a lost race or two do not.
    model = dropout()
    without = with_kit = 0
    for _ in range(20):
        without += pulls_of(model, [], runs_ahead=True)
        with_kit += pulls_of(model, [KINDS[kind]()], runs_ahead=True)
    assert with_kit < without + 20


MIRRORED = """
import sys
import keras, numpy as np, tensorflow as tf
sys.path.insert(0, sys.argv[1])
import test_do_no_harm as shared
from bottleneck_kit.callbacks import bottleneck, cached_batch
cpu = tf.config.list_physical_devices("CPU")[0]
tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
strategy = tf.distribute.MirroredStrategy(["/cpu:0", "/cpu:1"])
def model():
    with strategy.scope():
        return shared.dropout()
# 77 of 80: the last batch is short and is divided unevenly.
def data():
    return shared.slices(shared.X[:77], shared.Y[:77]).shuffle(77).batch(8)
probe = cached_batch.CachedBatchProbe(verbose=0)
without = shared.train(model, data, [])
with_probe = shared.train(model, data, [probe])
print("result", probe.result)
for ours, theirs in zip(with_probe, without, strict=True):
    np.testing.assert_array_equal(ours, theirs)
print("equal")
"""


@pytest.mark.slow
def test_training_on_mirrored_devices_is_equal_to_the_bit() -> None:
    folder = os.path.dirname(__file__)
    result = subprocess.run(
        [sys.executable, "-c", MIRRORED, folder],
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"},
        cwd=os.path.dirname(folder),
    )
    assert result.stdout.endswith("equal\n"), result.stderr[-3000:]
    assert "HeldBatchRun" in result.stdout or "takes no batches of a distr" in result.stdout
