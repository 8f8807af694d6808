"""``diagnose``: a report without training, and a model as if nothing had been."""

from __future__ import annotations

import random

import keras
import numpy as np
import pytest
import tensorflow as tf

import bottleneck_kit as bk
from bottleneck_kit.errors import EmptyDatasetError, InvalidArgumentError, ModelNotReadyError
from bottleneck_kit.records.measurement import present


class DrawsFromGenerator(keras.layers.Layer):
    """Holds a generator that Keras does not count among the variables."""

    def __init__(self) -> None:
        super().__init__()
        self.generator = tf.random.Generator.from_seed(1)

    def call(self, inputs):
        return inputs + self.generator.uniform(tf.shape(inputs))


class DrawsFromKernel(keras.layers.Layer):
    def call(self, inputs):
        return inputs + tf.random.uniform(tf.shape(inputs))


JOBS = {
    "plain": ((), {}),
    "dropout": ((keras.layers.Dropout, 0.2), {}),
    "generator in a layer": ((DrawsFromGenerator,), {}),
    "random kernel": ((DrawsFromKernel,), {}),
    "several steps an execution": ((keras.layers.Dropout, 0.2), {"steps_per_execution": 4}),
    "jit": ((keras.layers.Dropout, 0.2), {"jit_compile": True}),
    "eager": ((DrawsFromGenerator,), {"run_eagerly": True}),
}


def state_of(model) -> list[np.ndarray]:
    optimizer = [np.asarray(v.value) for v in model.optimizer.variables]
    return [*(np.asarray(v.value) for v in model.variables), *optimizer]


@pytest.mark.parametrize("job", JOBS)
def test_the_next_fit_is_the_same_to_the_bit(tiny_model, tiny_dataset, job) -> None:
    (kind, *arguments), options = JOBS[job][0] or (None,), JOBS[job][1]

    def train(*, diagnosed: bool) -> list[np.ndarray]:
        keras.utils.set_random_seed(1)
        layers = () if kind is None else (kind(*arguments),)
        model = tiny_model(layers=layers, **options)
        if diagnosed:
            before = (random.getstate(), np.random.get_state()[1].tolist())
            report = bk.diagnose(model, tiny_dataset(), steps=12)
            assert report.record.steps.steps >= 10
            assert before == (random.getstate(), np.random.get_state()[1].tolist())
        model.fit(tiny_dataset(), epochs=2, verbose=0)
        return state_of(model)

    for left, right in zip(train(diagnosed=False), train(diagnosed=True), strict=True):
        np.testing.assert_array_equal(left, right)


def test_a_trained_model_keeps_its_state_and_history(tiny_model, tiny_dataset) -> None:
    model = tiny_model()
    history = model.fit(tiny_dataset(), verbose=0)
    train_function, before = model.train_function, state_of(model)
    bk.diagnose(model, tiny_dataset(), steps=10)
    for left, right in zip(before, state_of(model), strict=True):
        np.testing.assert_array_equal(left, right)
    assert model.train_function is train_function
    assert model.history is history


def test_the_report_has_the_ideal_and_says_what_moved_on(tiny_model, tiny_dataset, capsys) -> None:
    report = bk.diagnose(tiny_model(), tiny_dataset(count=64).repeat())
    assert capsys.readouterr().out == ""
    assert report.record.origin == "diagnose"
    assert len(report.record.held_batch.call_s) == 20  # of 30, the first third warms up
    assert present(report.evidence.ideal_step_s)
    assert any("shuffles" in note for note in report.notes)


def test_what_the_step_does_in_python_is_said_not_to_be_put_back(tiny_model, tiny_dataset) -> None:
    seen = []

    def count(x):
        seen.append(1)
        return x

    layer = keras.layers.Dense(4, activation=count)
    report = bk.diagnose(tiny_model(layers=(layer,), run_eagerly=True), tiny_dataset(), steps=10)
    assert any("Not put back" in note and "count" in note for note in report.notes)


def test_a_short_dataset_is_run_through_again(tiny_model, tiny_dataset, recwarn) -> None:
    report = bk.diagnose(tiny_model(), tiny_dataset(), steps=23)
    assert report.record.steps.steps == 25
    assert not [w for w in recwarn if "ran out of data" in str(w.message)]


def test_arrays_and_generators_are_taken_as_fit_takes_them(tiny_model, tiny_arrays) -> None:
    assert bk.diagnose(tiny_model(), tiny_arrays(400), steps=10).record.steps.steps == 10

    def batches():
        while True:
            yield tiny_arrays(8)

    report = bk.diagnose(tiny_model(), batches(), steps=10)
    assert report.record.job.input_kind == "generator"


def test_an_unbuilt_sequential_is_taken(tiny_dataset) -> None:
    model = keras.Sequential([keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    assert bk.diagnose(model, tiny_dataset(), steps=10).record.steps.steps == 10


class Subclassed(keras.Model):
    def __init__(self) -> None:
        super().__init__()
        self.dense = keras.layers.Dense(1)

    def call(self, inputs):
        return self.dense(inputs)


def test_a_model_without_weights_is_refused(tiny_dataset) -> None:
    model = Subclassed()
    model.compile("sgd", "mse", run_eagerly=True)
    with pytest.raises(ModelNotReadyError, match="on one batch first"):
        bk.diagnose(model, tiny_dataset())


def test_a_model_that_is_not_compiled_is_refused(tiny_dataset) -> None:
    with pytest.raises(ModelNotReadyError, match=r"model\.compile"):
        bk.diagnose(keras.Sequential([keras.layers.Dense(1)]), tiny_dataset())


@pytest.mark.parametrize("steps", [0, 9, -1, 10.0, "50", True, None])
def test_steps_that_are_off_are_refused(tiny_model, tiny_dataset, steps) -> None:
    with pytest.raises(InvalidArgumentError, match="steps"):
        bk.diagnose(tiny_model(), tiny_dataset(), steps=steps)


def test_what_is_no_model_is_refused(tiny_dataset) -> None:
    with pytest.raises(InvalidArgumentError, match=r"keras\.Model"):
        bk.diagnose("model", tiny_dataset())


def nothing():
    yield from ()


EMPTY = {
    "known": lambda d: d.take(0),
    "filtered": lambda d: d.filter(lambda x, y: False),
    "arrays": lambda d: (np.zeros((0, 4)), np.zeros(0)),
    "generator": lambda d: nothing(),
}


@pytest.mark.parametrize("kind", EMPTY)
def test_an_empty_dataset_is_refused(tiny_model, tiny_dataset, kind) -> None:
    model = tiny_model()
    before = state_of(model)
    with pytest.raises(EmptyDatasetError, match="batches"):
        bk.diagnose(model, EMPTY[kind](tiny_dataset()))
    for left, right in zip(before, state_of(model)[: len(before)], strict=True):
        np.testing.assert_array_equal(left, right)


def test_an_error_of_the_users_own_comes_through_and_the_model_is_put_back(
    tiny_model, tiny_dataset
) -> None:
    def burst(x, y):
        return tf.debugging.check_numerics(x / 0.0, "burst"), y

    model = tiny_model()
    model.fit(tiny_dataset(), verbose=0)
    before = state_of(model)
    with pytest.raises(tf.errors.InvalidArgumentError, match="burst"):
        bk.diagnose(model, tiny_dataset().map(burst))
    for left, right in zip(before, state_of(model), strict=True):
        np.testing.assert_array_equal(left, right)
