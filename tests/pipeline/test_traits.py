"""Stages are judged random, stateful or Python from what was traced."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf

from bottleneck_kit.pipeline.stages import read_stages
from bottleneck_kit.records.stage import Traits

layers = keras.layers
rng = np.random.default_rng(0)


def traits(function: Any) -> Traits:
    images = np.zeros((4, 8, 8, 3), "uint8")
    dataset = tf.data.Dataset.from_tensor_slices((images, np.zeros(4, "int32"))).batch(2)
    return read_stages(dataset.map(function))[-1].traits


def floats(image: Any) -> Any:
    return tf.cast(image, tf.float32)


def flip_layer() -> Any:
    flip = layers.RandomFlip("horizontal", seed=3)
    return lambda a, b: (flip(a, training=True), b)


def generator() -> Any:
    draws = tf.random.Generator.from_seed(1)
    return lambda a, b: (floats(a) + draws.uniform(tf.shape(a)), b)


def nested_random(a: Any, b: Any) -> Any:
    def noisy() -> Any:
        return tf.map_fn(lambda item: item + tf.random.uniform([]), floats(a))

    return tf.cond(tf.reduce_mean(floats(a)) > 0, noisy, lambda: floats(a)), b


RANDOM = {
    "tf.random": lambda: lambda a, b: (floats(a) + tf.random.uniform([]), b),
    "tf.random with a seed": lambda: lambda a, b: (floats(a) + tf.random.uniform([], seed=3), b),
    "tf.image": lambda: lambda a, b: (tf.image.random_flip_left_right(a), b),
    "shuffled": lambda: lambda a, b: (tf.random.shuffle(a), b),
    "inside cond and map_fn": lambda: nested_random,
    "Keras layer with a seed": flip_layer,
    "Generator": generator,
}


@pytest.mark.parametrize("what", RANDOM)
def test_a_map_that_draws_anew_is_random(what: str) -> None:
    found = traits(RANDOM[what]())
    assert (found.random, found.stateful, found.deterministic) == (True, True, False)


def dropout() -> Any:
    layer = layers.Dropout(0.5)
    return lambda a, b: (layer(floats(a)), b)


def rescaling() -> Any:
    layer = layers.Rescaling(1 / 255)
    return lambda a, b: (layer(a), b)


def table() -> Any:
    pairs = tf.lookup.KeyValueTensorInitializer([0, 1], [5, 6])
    lookup = tf.lookup.StaticHashTable(pairs, -1)
    return lambda a, b: (a, lookup.lookup(b))


DETERMINISTIC = {
    "cast": lambda: lambda a, b: (floats(a), b),
    "stateless with a constant seed": lambda: (
        lambda a, b: (
            floats(a) + tf.random.stateless_uniform(tf.shape(a), (1, 2)),
            b,
        )
    ),
    "stateless seeded by the element": lambda: (
        lambda a, b: (
            floats(a) + tf.random.stateless_uniform(tf.shape(a), b[:2]),
            b,
        )
    ),
    "a dropout at rest": dropout,
    "rescaling": rescaling,
    "hash table": table,
    "cond": lambda: lambda a, b: (tf.cond(b[0] > 0, lambda: a, lambda: a + 1), b),
}


@pytest.mark.parametrize("what", DETERMINISTIC)
def test_a_map_that_repeats_itself_is_deterministic(what: str) -> None:
    found = traits(DETERMINISTIC[what]())
    assert (found.random, found.stateful, found.python) == (False, False, False)
    assert found.deterministic is True


def test_reading_a_variable_is_neither_random_nor_deterministic() -> None:
    strength = tf.Variable(1.0, name="strength")
    found = traits(lambda a, b: (floats(a) * strength, b))
    assert (found.random, found.stateful, found.deterministic) == (False, False, False)
    assert found.captures == ("strength: float32[] (variable)",)


def test_counting_in_a_variable_is_stateful_but_not_random() -> None:
    counter = tf.Variable(0)
    found = traits(lambda a, b: (a, b + counter.assign_add(1)))
    assert (found.random, found.stateful, found.deterministic) == (False, True, False)


def test_python_while_training_is_seen_and_leaves_randomness_open() -> None:
    def noise(x: Any) -> Any:
        return (x + np.random.rand()).astype("float32")

    found = traits(lambda a, b: (tf.numpy_function(noise, [a], tf.float32), b))
    assert (found.python, found.random, found.deterministic) == (True, None, False)
    assert found.frozen_randomness == ()


def draw_in_helper(a: Any) -> Any:
    return floats(a) + rng.normal()


FROZEN = {
    "np.random.rand": lambda a, b: (floats(a) + np.random.rand(), b),
    "random.random": lambda a, b: (floats(a) + random.random(), b),
    "rng.normal": lambda a, b: (draw_in_helper(a), b),
}


@pytest.mark.parametrize("name", FROZEN)
def test_numpy_and_python_draws_are_frozen_at_tracing_and_named(name: str) -> None:
    assert traits(FROZEN[name]).frozen_randomness == (name,)


def test_keras_layers_are_named_those_inside_a_model_too() -> None:
    augment = keras.Sequential([layers.RandomFlip(), layers.RandomZoom(0.1)])
    found = traits(lambda a, b: (augment(a, training=True), b))
    assert found.keras_layers == ("RandomFlip", "RandomZoom")
    assert len(found.captures) == 2
    assert found.ops > len(found.op_types) > 10


def test_reading_files_inside_a_map_is_seen(tmp_path: Path) -> None:
    dataset = tf.data.Dataset.from_tensor_slices([str(tmp_path)]).map(tf.io.read_file)
    assert read_stages(dataset)[-1].traits.reads_files is True


@pytest.mark.parametrize(
    ("options", "is_random"),
    [
        ({}, True),
        ({"seed": 1}, True),
        ({"reshuffle_each_iteration": False}, True),
        ({"seed": 1, "reshuffle_each_iteration": False}, False),
    ],
)
def test_a_shuffle_is_random_unless_seeded_and_not_reshuffled(
    options: dict[str, Any], is_random: bool
) -> None:
    found = read_stages(tf.data.Dataset.range(4).shuffle(4, **options))[-1].traits
    assert (found.random, found.deterministic) == (is_random, not is_random)


@pytest.mark.parametrize(
    ("options", "is_random"),
    [({}, True), ({"seed": 1}, False), ({"seed": 1, "rerandomize_each_iteration": True}, True)],
)
def test_a_random_source_is_random_unless_its_seed_repeats(
    options: dict[str, Any], is_random: bool
) -> None:
    assert read_stages(tf.data.Dataset.random(**options))[0].traits.random is is_random


def test_sampling_is_random_unless_seeded() -> None:
    pair = [tf.data.Dataset.range(2), tf.data.Dataset.range(2)]
    sample = tf.data.Dataset.sample_from_datasets
    assert read_stages(sample(pair))[-1].traits.random is True
    assert read_stages(sample(pair, seed=1))[-1].traits.random is False
    anew = sample(pair, seed=1, rerandomize_each_iteration=True)
    assert read_stages(anew)[-1].traits.random is True


def test_a_generator_runs_python_and_promises_nothing() -> None:
    dataset = tf.data.Dataset.from_generator(
        lambda: iter([1]), output_signature=tf.TensorSpec((), tf.int32)
    )
    found = read_stages(dataset)[-1].traits
    assert (found.python, found.deterministic, found.random) == (True, False, None)


def test_a_filter_is_judged_by_its_predicate_and_changes_the_count() -> None:
    dataset = tf.data.Dataset.range(4).filter(lambda x: tf.random.uniform([]) > 0.5)
    found = read_stages(dataset)[-1].traits
    assert (found.random, found.changes_count) == (True, True)


def test_a_shuffle_inside_an_interleave_makes_it_random() -> None:
    dataset = tf.data.Dataset.range(4).interleave(lambda i: tf.data.Dataset.range(4).shuffle(4))
    stage = read_stages(dataset)[-1]
    assert stage.traits.random is True
    assert stage.branches[0][-1].traits.random is True
