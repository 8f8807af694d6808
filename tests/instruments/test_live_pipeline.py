"""The live pipeline: real iterators read while they run, and every way in which that fails."""

from __future__ import annotations

import gc
import weakref
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from bottleneck_kit.instruments.live_pipeline import LivePipeline, reading_of
from bottleneck_kit.pipeline.costs import fit_costs
from bottleneck_kit.pipeline.stages import read_stages
from bottleneck_kit.records.live_model import LiveModel
from bottleneck_kit.records.measurement import Missing
from bottleneck_kit.records.pipeline import Pipeline
from bottleneck_kit.records.stage import Stage, StageCost

Dataset = tf.data.Dataset
AUTOTUNE = tf.data.AUTOTUNE


def dear(i: Any) -> Any:
    """Costs over a millisecond of one core: far above what contention adds to a cheap map."""
    x = tf.random.stateless_uniform([128, 128], tf.stack([i, i]))
    for _ in range(20):
        x = tf.linalg.matmul(x, x) * 1e-2
    return tf.reduce_sum(x) + tf.cast(i, tf.float32)


def cheap(x: Any) -> Any:
    return x + 1


def watch(dataset: Any, *, steps: int = 40, every: int = 10) -> LivePipeline:
    live = LivePipeline()
    iterator = iter(dataset)
    live.start(iterator, dataset)
    for step in range(steps):
        next(iterator)
        if step % every == every - 1:
            live.read()
    return live


def costs(dataset: Any, **options: Any) -> tuple[dict[str, Stage], tuple[str, ...]]:
    model = watch(dataset, **options).freeze()
    assert isinstance(model, LiveModel), model
    stages, unmatched = fit_costs(read_stages(dataset), model)
    return {f"{s.index} {s.label}": s for s in Pipeline(stages).walk()}, unmatched


def dearest(stages: dict[str, Stage]) -> str:
    known = {name: s.cost.cost_s for name, s in stages.items() if isinstance(s.cost, StageCost)}
    return max(known, key=lambda name: known[name])


def numbers() -> Any:
    i = 0
    while True:
        sum(range(60_000))  # about a millisecond of Python
        yield i
        i += 1


def records(folder: Path) -> str:
    for index in range(4):
        with tf.io.TFRecordWriter(str(folder / f"{index}.tfrecord")) as writer:
            for number in range(500):
                writer.write(str(number).encode())
    return str(folder / "*.tfrecord")


def parse(record: Any) -> Any:
    return tf.strings.to_number(record, tf.int64)


ENDLESS = 10**6
PIPELINES: dict[str, tuple[Any, str]] = {
    "map fused into the batch": (lambda d: Dataset.range(ENDLESS).map(dear).batch(8), "1 map dear"),
    "map before another": (
        lambda d: Dataset.range(ENDLESS).map(dear, AUTOTUNE).map(cheap).batch(8).prefetch(2),
        "1 map dear",
    ),
    "map behind the batch": (
        lambda d: (
            Dataset.range(ENDLESS)
            .map(cheap)
            .batch(4)
            .map(lambda x: tf.map_fn(lambda i: dear(i), x, tf.float32))
        ),
        "3 map lambda",
    ),
    "filter": (
        lambda d: Dataset.range(ENDLESS).map(cheap).filter(lambda i: dear(i) > -1e9).batch(4),
        "2 filter lambda",
    ),
    "zip": (
        lambda d: Dataset.zip(
            Dataset.range(ENDLESS).map(cheap), Dataset.range(ENDLESS).map(dear, AUTOTUNE)
        ).batch(8),
        "3 map dear",
    ),
    "sample_from_datasets": (
        lambda d: Dataset.sample_from_datasets(
            [Dataset.range(ENDLESS).map(dear), Dataset.range(ENDLESS).map(lambda x: 0.0)],
            [0.5, 0.5],
        ).batch(8),
        "1 map dear",
    ),
    "from_generator": (
        lambda d: (
            Dataset.from_generator(numbers, output_signature=tf.TensorSpec((), tf.int64))
            .map(cheap)
            .batch(4)
        ),
        "0 from_generator numbers",
    ),
    "inside an interleave": (
        lambda d: (
            Dataset.list_files(records(d))
            .repeat()
            .interleave(
                lambda name: tf.data.TFRecordDataset(name).map(parse).map(dear),
                cycle_length=2,
                num_parallel_calls=2,
            )
            .batch(8)
        ),
        "4 map dear",
    ),
    "a generator inside an interleave": (
        lambda d: (
            Dataset.range(ENDLESS)
            .interleave(
                lambda i: Dataset.from_generator(
                    numbers, output_signature=tf.TensorSpec((), tf.int64)
                ).take(50),
                cycle_length=2,
            )
            .map(cheap)
            .batch(4)
        ),
        "1 from_generator",
    ),
    "below repeat": (
        lambda d: Dataset.range(64).map(dear).batch(8).shuffle(2).repeat().prefetch(AUTOTUNE),
        "1 map dear",
    ),
    "the article's shape": (
        lambda d: (
            tf.data.TFRecordDataset(Dataset.list_files(records(d)), num_parallel_reads=AUTOTUNE)
            .repeat()
            .map(parse, AUTOTUNE)
            .map(dear, AUTOTUNE)
            .map(cheap, AUTOTUNE)
            .batch(8)
            .map(cheap, AUTOTUNE)
            .prefetch(AUTOTUNE)
        ),
        "4 map dear",
    ),
}


@pytest.mark.parametrize("what", PIPELINES)
def test_the_dear_stage_has_the_largest_cost(what: str, tmp_path: Path) -> None:
    build, expected = PIPELINES[what]
    stages, unmatched = costs(build(tmp_path))
    assert dearest(stages) == expected
    assert set(unmatched) <= {"Prefetch"}
    for name, stage in stages.items():
        is_there = isinstance(stage.cost, StageCost) or "runs within" in stage.cost.reason
        assert is_there, f"{name}: {stage.cost}"


def test_costs_are_those_of_a_step_and_count_its_elements() -> None:
    stages, _ = costs(Dataset.range(ENDLESS).map(dear).batch(8).prefetch(1))
    mapped = stages["1 map dear"].cost
    assert isinstance(mapped, StageCost)
    assert mapped.elements_per_step == pytest.approx(8)
    assert mapped.cost_s == pytest.approx(8 * mapped.per_element_s)
    assert 0.00005 < mapped.per_element_s < 0.02
    assert mapped.elements >= 200
    assert mapped.bytes_per_element == 4


def test_a_stateful_map_that_tf_data_keeps_serial_is_called_serial() -> None:
    stages, _ = costs(Dataset.range(ENDLESS).map(lambda i: tf.random.uniform([])).map(cheap))
    drawn = stages["1 map lambda"].cost
    added = stages["2 map cheap"].cost
    assert isinstance(drawn, StageCost)
    assert isinstance(added, StageCost)
    assert (drawn.serial, added.serial) == (True, False)
    parallel = Dataset.range(ENDLESS).map(lambda i: tf.random.uniform([]), AUTOTUNE).map(cheap)
    drawn = costs(parallel)[0]["1 map lambda"].cost
    assert isinstance(drawn, StageCost)
    assert not drawn.serial


def test_what_is_cached_costs_a_step_nothing() -> None:
    dataset = Dataset.range(40).map(dear).cache().repeat().batch(8)
    stages, _ = costs(dataset, steps=80, every=20)
    mapped = stages["1 map dear"].cost
    if isinstance(mapped, StageCost):
        assert mapped.cost_s == 0
    else:
        assert "cached" in mapped.reason
    assert isinstance(stages["2 cache"].cost, StageCost)


def test_several_passes_are_joined() -> None:
    dataset = Dataset.range(200).map(dear).batch(4)
    live = LivePipeline()
    for _ in range(3):
        iterator = iter(dataset)
        live.start(iterator, dataset)
        for step, _ in enumerate(iterator):
            if step % 10 == 9:
                live.read()
    model = live.freeze()
    assert isinstance(model, LiveModel)
    assert (model.passes, model.readings) == (3, 15)
    assert model.cpu_budget >= 1
    assert model.root.elements >= 100


def test_gap_times_are_seconds_of_the_last_hundred_fetches() -> None:
    dataset = Dataset.range(ENDLESS).batch(4)
    live = LivePipeline()
    iterator = iter(dataset)
    live.start(iterator, dataset)
    for _ in range(150):
        next(iterator)
    gaps = live.read()
    assert isinstance(gaps, tuple)
    assert len(gaps) == 100
    assert all(0 <= gap < 1 for gap in gaps)
    assert live.own_s > 0


def test_nothing_of_the_user_is_kept_alive() -> None:
    dataset = Dataset.range(ENDLESS).batch(4)
    live = LivePipeline()
    iterator = iter(dataset)
    live.start(iterator, dataset)
    next(iterator)
    assert not isinstance(live.read(), Missing)
    gone = weakref.ref(iterator)
    del iterator
    gc.collect()
    assert gone() is None
    assert live.read() == Missing("the iterator is gone")
    assert isinstance(live.freeze(), LiveModel)


def test_before_any_iterator_it_says_so() -> None:
    live = LivePipeline()
    assert live.read() == Missing("no iterator was seen")
    assert live.freeze() == Missing("no iterator was seen")


def test_autotune_off_is_the_reason() -> None:
    options = tf.data.Options()
    options.autotune.enabled = False
    dataset = Dataset.range(9).with_options(options)
    refusal = watch(dataset, steps=5, every=1).freeze()
    assert isinstance(refusal, Missing)
    assert "autotune is off" in refusal.reason


def test_an_iterator_without_a_model_is_asked_once() -> None:
    options = tf.data.Options()
    options.autotune.enabled = False
    iterator = iter(Dataset.range(9).with_options(options))
    live = LivePipeline()
    live.start(iterator)
    first = live.read()
    assert isinstance(first, Missing)
    assert "keeps no model" in first.reason
    assert live.read() == first


def test_a_distributed_iterator_is_the_reason() -> None:
    strategy = tf.distribute.MirroredStrategy(["/cpu:0"])
    dataset = strategy.experimental_distribute_dataset(Dataset.range(8).batch(2))
    live = LivePipeline()
    live.start(iter(dataset), dataset)
    assert live.read() == Missing("a distribution strategy's iterator keeps no model")


def test_a_tensorflow_without_the_function_is_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(tf.data.experimental, "get_model_proto")
    refusal = watch(Dataset.range(9), steps=2, every=1).freeze()
    assert isinstance(refusal, Missing)
    assert "has no get_model_proto" in refusal.reason


@pytest.mark.parametrize("broken", [SimpleNamespace(), SimpleNamespace(output=1, nodes={1: 3})])
def test_a_proto_with_other_fields_is_a_reason_and_no_error(
    broken: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tf.data.experimental, "get_model_proto", lambda iterator: broken)
    live = watch(Dataset.range(9), steps=2, every=1)
    assert isinstance(live.read(), Missing)
    refusal = live.freeze()
    assert isinstance(refusal, Missing)
    assert "AttributeError" in refusal.reason


def test_an_object_that_cannot_be_watched_is_a_reason_and_no_error() -> None:
    live = LivePipeline()
    live.start(3, 4)
    assert isinstance(live.read(), Missing)
    assert isinstance(live.freeze(), Missing)


def test_every_field_of_the_proto_that_is_read_is_there() -> None:
    dataset = Dataset.range(ENDLESS).map(cheap, 2).batch(4).prefetch(3)
    iterator = iter(dataset)
    for _ in range(20):
        next(iterator)
    proto = tf.data.experimental.get_model_proto(iterator)
    reading = reading_of(proto)
    by_name = {node.name: node for node in reading.nodes.values()}
    assert reading.nodes[reading.root].name == "Root", "ModelProto.output is not the root"
    assert reading.cpu_budget > 0
    assert reading.ram_budget_bytes > 0
    prefetch = by_name["Prefetch"]
    assert prefetch.buffer_size == 3
    fused = by_name["MapAndBatch"]
    assert fused.ratio == 4
    assert fused.parallelism is not None
    assert fused.elements >= 20
    assert fused.processing_ns > 0
    assert fused.bytes_produced >= 20 * 4 * 8


def test_arrays_through_fit_show_what_the_adapter_costs(tiny_model: Any) -> None:
    import keras

    class Watch(keras.callbacks.Callback):
        def on_train_begin(self, logs: Any = None) -> None:
            self.live, self.dataset, self.steps = LivePipeline(), None, 0
            original = self.model.train_function

            def watched(iterator: Any) -> Any:
                if iterator._dataset is not self.dataset:
                    self.dataset = iterator._dataset
                    self.live.start(iterator, self.dataset)
                result = original(iterator)
                self.steps += 1
                if self.steps % 20 == 10:
                    self.live.read()
                return result

            self.model.train_function = watched

    watcher = Watch()
    x = np.zeros((400, 4), "float32")
    tiny_model().fit(x, x[:, 0], batch_size=4, verbose=0, callbacks=[watcher])
    model = watcher.live.freeze()
    assert isinstance(model, LiveModel)
    (source, prefetch), unmatched = fit_costs(read_stages(watcher.dataset), model)
    assert unmatched == ()
    assert isinstance(source.cost, StageCost)
    assert isinstance(prefetch.cost, StageCost)
    assert source.cost.cost_s > prefetch.cost.cost_s > 0
    assert source.cost.nodes[:2] == ("ParallelMapV2", "Zip")
