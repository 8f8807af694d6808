"""Readings of a model are joined over time, over passes and over open inner datasets."""

from __future__ import annotations

from typing import Any

from bottleneck_kit.instruments.model_join import ModelJoin, ModelReading, NodeReading
from bottleneck_kit.records.live_model import LiveNode


def node(key: int, name: str, elements: int, *inputs: int, **other: Any) -> NodeReading:
    ms = other.pop("ms", elements)
    return NodeReading(
        key, name, elements, int(ms * 1e6), elements * 10, ratio=1.0, inputs=inputs, **other
    )


def reading(*nodes: NodeReading) -> ModelReading:
    return ModelReading({item.id: item for item in nodes}, nodes[0].id, 2, 1000)


def frozen(*readings: ModelReading) -> LiveNode:
    join = ModelJoin()
    join.begin_iterator()
    for item in readings:
        join.add(item)
    model = join.freeze()
    assert model is not None
    return model.root


def plain(elements: int, ms: float) -> ModelReading:
    return reading(node(1, "Root", elements, 2), node(2, "Map", elements, ms=ms))


def test_before_any_reading_there_is_no_model() -> None:
    assert ModelJoin().freeze() is None


def test_one_reading_alone_is_used_as_it_is() -> None:
    root = frozen(plain(20, 40.0))
    assert root.inputs[0].elements == 20
    assert root.inputs[0].processing_s == 0.040
    assert root.inputs[0].bytes_produced == 200


def test_the_first_reading_is_warm_up_once_enough_came_after_it() -> None:
    root = frozen(plain(20, 1000.0), plain(30, 1010.0), plain(50, 1030.0))
    assert root.inputs[0].elements == 30
    assert abs(root.inputs[0].processing_s - 0.030) < 1e-9


def test_with_too_little_after_the_first_reading_all_of_it_is_used() -> None:
    root = frozen(plain(20, 40.0), plain(22, 44.0))
    assert root.inputs[0].elements == 22


def test_nodes_made_anew_below_repeat_are_added_up() -> None:
    def at(root: int, key: int, elements: int) -> ModelReading:
        return reading(
            node(1, "Root", root, 2),
            node(2, "ForeverRepeat", root, key),
            node(key, "Map", elements, ms=elements * 2),
        )

    root = frozen(at(10, 3, 10), at(30, 5, 8), at(34, 5, 12), at(50, 7, 3))
    inner = root.inputs[0].inputs[0]
    assert inner.elements == 8 + 4 + 3
    assert abs(inner.processing_s - 0.030) < 1e-9


def test_counts_that_fall_under_the_same_id_are_a_new_node() -> None:
    root = frozen(plain(20, 20.0), plain(40, 40.0), plain(5, 5.0))
    assert root.inputs[0].elements == 20 + 5


def test_a_new_iterator_is_another_pass_and_its_counts_are_added() -> None:
    join = ModelJoin()
    for _ in range(3):
        join.begin_iterator()
        join.add(plain(20, 20.0))
        join.add(plain(40, 40.0))
    model = join.freeze()
    assert model is not None
    assert (model.passes, model.readings) == (3, 6)
    assert model.root.inputs[0].elements == 20 + 40 + 40
    assert (model.cpu_budget, model.ram_budget_bytes) == (2, 1000)


def interleaved(root: int, source: NodeReading | None, *opened: NodeReading) -> ModelReading:
    children = ([] if source is None else [source]) + list(opened)
    ids = [item.id for item in children]
    return reading(node(1, "Root", root, 2), node(2, "ParallelInterleaveV4", root, *ids), *children)


def test_open_inner_nodes_of_an_interleave_are_joined_into_one() -> None:
    root = frozen(
        interleaved(10, node(3, "Range", 4), node(5, "Map", 3), node(7, "Map", 2)),
        interleaved(40, node(3, "Range", 9), node(7, "Map", 3), node(9, "Map", 2)),
        interleaved(60, node(3, "Range", 12), node(11, "Map", 1), node(13, "Map", 2)),
    )
    source, inner = root.inputs[0].inputs
    assert (source.name, source.elements) == ("Range", 8)
    assert (inner.name, inner.elements) == ("Map", 1 + 2 + 1 + 2)


def test_a_source_that_has_ended_does_not_lend_its_place_to_an_inner_node() -> None:
    root = frozen(
        interleaved(10, node(3, "Range", 4), node(5, "Map", 3)),
        interleaved(40, None, node(5, "Map", 20)),
    )
    source, inner = root.inputs[0].inputs
    assert (source.name, inner.name, inner.elements) == ("Range", "Map", 17)


def test_a_cache_that_is_full_keeps_what_filled_it_with_no_steady_elements() -> None:
    filling = reading(node(1, "Root", 20, 2), node(2, "MemoryCache", 20, 3), node(3, "Map", 20))
    full = reading(node(1, "Root", 60, 4), node(4, "MemoryCache", 40))
    root = frozen(filling, full)
    assert root.inputs[0].elements == 40
    assert root.inputs[0].inputs[0].elements == 0


def test_buffers_are_averaged_over_the_readings() -> None:
    def at(elements: int, buffered: int) -> ModelReading:
        prefetch = node(
            2, "Prefetch", elements, buffered_elements=buffered, buffer_size=4, parallelism=None
        )
        return reading(node(1, "Root", elements, 2), prefetch)

    root = frozen(at(10, 0), at(20, 4), at(30, 2))
    assert root.inputs[0].buffered_elements == 2.0
    assert root.inputs[0].buffer_size == 4


def test_a_model_that_runs_in_circles_is_read_once_around() -> None:
    circle = reading(node(1, "Root", 5, 2), node(2, "Map", 5, 1))
    assert frozen(circle).inputs[0].name == "Map"


def test_a_child_that_is_gone_is_passed_over() -> None:
    assert frozen(reading(node(1, "Root", 5, 2, 3), node(3, "Map", 5))).inputs[0].name == "Map"


def test_memory_does_not_grow_with_the_readings() -> None:
    join = ModelJoin()
    join.begin_iterator()

    def size() -> int:
        return len(join._before) + len(join._sources) + len(str(join.freeze()))

    def add(step: int) -> None:
        opened = [node(10 * step + i, "Map", 2) for i in range(4, 8)]
        join.add(interleaved(1000, node(3, "Range", 5), *opened))

    for step in range(1, 20):
        add(step)
    before = size()
    for step in range(20, 2000):
        add(step)
    assert size() <= before + 40  # the numbers themselves get longer
