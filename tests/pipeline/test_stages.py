"""Whole pipelines read as stages."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import hypothesis
import hypothesis.strategies as st
import numpy as np
import pytest
import tensorflow as tf

from bottleneck_kit.pipeline.stages import links_of, read_stages
from bottleneck_kit.records.pipeline import Pipeline

Dataset = tf.data.Dataset
AUTOTUNE = tf.data.AUTOTUNE


def double(x: Any) -> Any:
    return x * 2


def is_even(x: Any) -> Any:
    return tf.reduce_all(x % 2 == 0)


STEPS: dict[str, tuple[Any, str, dict[str, Any]]] = {
    "map": (lambda d, n: d.map(double), "map", {}),
    "map n": (lambda d, n: d.map(double, n), "map", {"num_parallel_calls": "n"}),
    "map autotune": (
        lambda d, n: d.map(double, AUTOTUNE, deterministic=True),
        "map",
        {"num_parallel_calls": "AUTOTUNE", "deterministic": True},
    ),
    "batch": (
        lambda d, n: d.batch(n, drop_remainder=True),
        "batch",
        {"batch_size": "n", "drop_remainder": True},
    ),
    "cache": (lambda d, n: d.cache(), "cache", {}),
    "filter": (lambda d, n: d.filter(is_even), "filter", {}),
    "prefetch": (lambda d, n: d.prefetch(n), "prefetch", {"buffer_size": "n"}),
    "repeat": (lambda d, n: d.repeat(n), "repeat", {"count": "n"}),
    "shard": (lambda d, n: d.shard(n, 0), "shard", {"num_shards": "n", "index": 0}),
    "shuffle": (
        lambda d, n: d.shuffle(n, seed=1),
        "shuffle",
        {"buffer_size": "n", "reshuffle": True, "seeded": True},
    ),
    "skip": (lambda d, n: d.skip(n), "skip", {"count": "n"}),
    "take": (lambda d, n: d.take(n), "take", {"count": "n"}),
    "with_options": (lambda d, n: d.with_options(tf.data.Options()), "", {}),
}


@hypothesis.settings(max_examples=40, deadline=None)
@hypothesis.given(
    st.lists(st.tuples(st.sampled_from(sorted(STEPS)), st.integers(2, 9)), min_size=1, max_size=12)
)
def test_any_chain_reads_back_as_it_was_built(steps: list[tuple[str, int]]) -> None:
    dataset, expected = Dataset.range(100), [("range", {"start": 0, "stop": 100, "step": 1})]
    for name, number in steps:
        build, kind, options = STEPS[name]
        dataset = build(dataset, number)
        if kind:
            values = {key: number if item == "n" else item for key, item in options.items()}
            expected.append((kind, values))
    stages = read_stages(dataset)
    assert [(stage.kind, stage.options) for stage in stages] == expected
    assert [stage.index for stage in stages] == list(range(len(stages)))
    assert [stage.input_bytes for stage in stages[1:]] == [s.element_bytes for s in stages[:-1]]
    assert len(links_of(dataset)) == len(stages)


def test_indices_count_branches_before_the_stage_they_feed() -> None:
    left = Dataset.range(4).map(double)
    dataset = Dataset.zip(left, Dataset.range(4).batch(2).unbatch()).batch(2)
    pipeline = Pipeline(read_stages(dataset))
    assert [(stage.index, stage.kind) for stage in pipeline.walk()] == [
        (0, "range"),
        (1, "map"),
        (2, "range"),
        (3, "batch"),
        (4, "unbatch"),
        (5, "zip"),
        (6, "batch"),
    ]


def test_element_bytes_know_the_batch_even_where_the_spec_leaves_it_open() -> None:
    images = np.zeros((8, 4, 4, 3), "uint8")
    dataset = Dataset.from_tensor_slices((images, np.zeros(8, "int32"))).batch(4)
    stages = read_stages(dataset.map(lambda x, y: (tf.cast(x, tf.float32), y)).unbatch())
    assert [stage.element_bytes for stage in stages] == [52, 208, 784, 196]
    assert stages[2].element_spec == "(float32[?,4,4,3], int32[?])"


def parse(record: Any) -> Any:
    return tf.strings.length(record)


def test_the_dataset_made_inside_an_interleave_is_its_branch(tmp_path: Path) -> None:
    path = tmp_path / "a.tfrecord"
    path.write_bytes(b"")
    dataset = Dataset.list_files(str(path)).interleave(
        lambda name: tf.data.TFRecordDataset(name).map(parse, AUTOTUNE).batch(3).prefetch(2)
    )
    interleave = read_stages(dataset)[-1]
    (branch,) = interleave.branches
    assert [stage.kind for stage in branch] == ["tfrecord", "map", "batch", "prefetch"]
    assert branch[1].name == "parse"
    assert branch[1].place == f"{__file__}:{parse.__code__.co_firstlineno}"
    assert branch[1].options["num_parallel_calls"] == "AUTOTUNE"
    assert branch[2].options["batch_size"] == 3
    assert branch[0].traits.reads_files
    assert interleave.traits.reads_files


def test_inner_lambda_and_dataset_made_outside_are_said_to_be_so() -> None:
    dataset = Dataset.range(3).flat_map(lambda i: Dataset.range(3).map(lambda x: x + i))
    (branch,) = read_stages(dataset)[-1].branches
    assert [stage.label for stage in branch] == ["range", "map lambda"]
    windows = Dataset.range(6).window(2).flat_map(lambda window: window.batch(2))
    (branch,) = read_stages(windows)[-1].branches
    assert [stage.kind for stage in branch] == ["opaque", "batch"]
    assert branch[0].note == "the dataset that the function is given"


def test_a_dataset_made_outside_an_interleave_is_read_as_its_branch_all_the_same() -> None:
    outside = Dataset.range(3).shuffle(3)
    interleave = read_stages(Dataset.range(4).interleave(lambda i: outside))[-1]
    assert [stage.kind for stage in interleave.branches[0]] == ["range", "shuffle"]
    assert interleave.traits.random is True


def test_a_dataset_made_by_a_tf_function_or_a_choice_is_followed_as_far_as_it_goes() -> None:
    @tf.function
    def make(i: Any) -> Any:
        return Dataset.range(3).map(double).batch(2)

    (branch,) = read_stages(Dataset.range(4).interleave(make))[-1].branches
    assert [stage.kind for stage in branch] == ["range", "map", "batch"]

    def choose(i: Any) -> Any:
        return tf.cond(i > 0, lambda: Dataset.range(3), lambda: Dataset.range(2))

    (branch,) = read_stages(Dataset.range(4).flat_map(choose))[-1].branches
    assert branch[0].note == "which dataset it is, is chosen while it runs"


def test_reading_makes_no_iterator_and_calls_no_function_of_the_user() -> None:
    calls = []

    def count(x: Any) -> Any:
        calls.append(1)
        return x

    dataset = Dataset.range(8).shuffle(8, seed=1).map(count).batch(2)
    traced = len(calls)
    twin = Dataset.range(8).shuffle(8, seed=1).batch(2)
    read_stages(dataset)
    assert len(calls) == traced
    for _ in range(2):
        assert [list(a) for a in dataset.as_numpy_iterator()] == [
            list(b) for b in twin.as_numpy_iterator()
        ]


def test_twelve_stages_are_read_in_less_than_50_ms() -> None:
    dataset = Dataset.range(100)
    for _ in range(4):
        dataset = dataset.map(double).shuffle(4).prefetch(2)
    read_stages(dataset)
    times = []
    for _ in range(5):
        begin = time.perf_counter()
        read_stages(dataset)
        times.append(time.perf_counter() - begin)
    assert min(times) < 0.05


def test_a_distributed_dataset_is_read_as_the_one_it_was_made_from() -> None:
    strategy = tf.distribute.MirroredStrategy(["/cpu:0"])
    distributed = strategy.experimental_distribute_dataset(Dataset.range(8).map(double).batch(2))
    assert [stage.kind for stage in read_stages(distributed)] == ["range", "map", "batch"]


def test_python_called_inside_a_map_is_named_with_its_place() -> None:
    def halve(x: Any) -> Any:
        return x // 2

    dataset = Dataset.range(4).map(lambda x: tf.numpy_function(halve, [x], tf.int64))
    stage = read_stages(dataset)[-1]
    place = f"halve ({__file__}:{halve.__code__.co_firstlineno})"
    assert f"calls Python: {place}" in stage.note
    assert stage.python_functions == (place,)
    assert stage.traits.python is True


@pytest.mark.parametrize("made_of", [list, dict, tuple])
def test_nested_elements_have_a_printable_spec(made_of: type) -> None:
    if made_of is dict:
        dataset = Dataset.from_tensor_slices({"a": [1], "b": ["x"]})
        assert read_stages(dataset)[0].element_spec == "{a: int32[], b: string[]}"
        assert read_stages(dataset)[0].element_bytes is None
    else:
        dataset = Dataset.from_tensor_slices((tf.ragged.constant([[1]]), [1.0]))
        assert read_stages(dataset)[0].element_spec == "(ragged int32[?], float32[])"


def test_a_concatenation_made_within_apply_keeps_both_its_parts() -> None:
    dataset = Dataset.range(4).apply(lambda d: d.map(double).concatenate(d.take(1)))
    (stage,) = read_stages(dataset)
    assert [[item.kind for item in branch] for branch in stage.branches] == [
        ["range", "map"],
        ["range", "take"],
    ]
