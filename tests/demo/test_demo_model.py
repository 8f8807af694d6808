"""The demo's models, the emulated accelerator and the real cached-batch run."""

from __future__ import annotations

import time

import keras
import numpy as np
import pytest
import tensorflow as tf

from bottleneck_kit.demo.accelerator import EmulatedAccelerator
from bottleneck_kit.demo.cached_batch_run import run_cached_batch
from bottleneck_kit.demo.command import MODEL_NAMES
from bottleneck_kit.demo.model import MODELS, build_model, copy_model


def batch(size: int = 8) -> tuple[np.ndarray, np.ndarray]:
    generator = np.random.default_rng(0)
    return (
        generator.random((size, 32, 32, 3), dtype=np.float32),
        generator.integers(0, 10, size).astype(np.int32),
    )


def test_the_command_offers_every_model() -> None:
    assert sorted(MODEL_NAMES) == sorted(MODELS)


def test_the_emulated_accelerator_takes_its_time_and_no_core() -> None:
    layer = EmulatedAccelerator(50)
    run = tf.function(layer)
    value = tf.constant(batch()[0])
    np.testing.assert_array_equal(run(value), value)
    begin_s, begin_cpu_s = time.perf_counter(), time.process_time()
    for _ in range(4):
        run(value)
    spent_s, cpu_s = time.perf_counter() - begin_s, time.process_time() - begin_cpu_s
    assert spent_s >= 4 * 0.050
    assert cpu_s < spent_s / 2


def test_the_emulated_accelerator_changes_no_gradient() -> None:
    value = tf.constant([[1.0, 2.0]])
    with tf.GradientTape() as tape:
        tape.watch(value)
        result = tf.reduce_sum(EmulatedAccelerator(0)(value) ** 2)
    np.testing.assert_allclose(tape.gradient(result, value), [[2.0, 4.0]])


def test_the_emulated_accelerator_survives_its_config_and_says_that_it_keeps_no_state() -> None:
    layer = EmulatedAccelerator.from_config(EmulatedAccelerator(12.5, name="gpu").get_config())
    assert (layer.emulated_ms, layer.name) == (12.5, "gpu")
    assert layer._emulate.bottleneck_kit_stateless


def test_training_learns_through_the_emulated_accelerator() -> None:
    keras.utils.set_random_seed(0)
    model = build_model("small", classes=10, accelerator_ms=1)
    assert not model.jit_compile
    images, labels = batch()
    history = model.fit(images, labels, epochs=20, verbose=0)
    assert history.history["loss"][-1] < history.history["loss"][0]


def test_a_copy_starts_equal_and_goes_its_own_way() -> None:
    model = build_model("small", classes=10)
    before = model.get_weights()
    copy = copy_model(model)
    for mine, its in zip(before, copy.get_weights(), strict=True):
        np.testing.assert_array_equal(mine, its)
    copy.fit(*batch(), verbose=0)
    for mine, now in zip(before, model.get_weights(), strict=True):
        np.testing.assert_array_equal(mine, now)
    assert any(
        not np.array_equal(mine, its) for mine, its in zip(before, copy.get_weights(), strict=True)
    )


def test_the_article_s_model_takes_small_images() -> None:
    model = build_model("resnet50", classes=10)
    assert model(batch(1)[0]).shape == (1, 10)
    assert model.count_params() > 23_000_000


def test_the_cached_batch_run_prepares_one_batch_only_and_leaves_the_model_alone() -> None:
    prepared = []

    def slow(number: np.int64) -> np.int64:
        prepared.append(number)
        time.sleep(0.2)
        return number

    images, labels = batch()
    dataset = tf.data.Dataset.range(1000).map(
        lambda number: tf.numpy_function(slow, [number], tf.int64)
    )
    dataset = dataset.map(lambda number: (images, labels))
    model = build_model("small", classes=10)
    before = model.get_weights()
    run = run_cached_batch(model, dataset, steps=20)
    assert run.steps == 19
    assert 0 < run.low_s <= run.step_s <= run.high_s
    assert run.step_s < 0.2
    assert len(prepared) < 10
    for mine, now in zip(before, model.get_weights(), strict=True):
        np.testing.assert_array_equal(mine, now)


def test_the_cached_batch_run_ends_at_its_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bottleneck_kit.demo.cached_batch_run.LIMIT_S", 0.0)
    dataset = tf.data.Dataset.from_tensors(batch()).repeat()
    assert run_cached_batch(build_model("small", classes=10), dataset, steps=1000).steps < 20
