"""Costs of constructed live models are booked on the stages they belong to."""

from __future__ import annotations

import dataclasses
from typing import Any

import hypothesis
import hypothesis.strategies as st
import pytest

from bottleneck_kit.pipeline.costs import fit_costs
from bottleneck_kit.pipeline.node_kinds import can_stand_for, plain_name
from bottleneck_kit.records.live_model import LiveModel, LiveNode
from bottleneck_kit.records.measurement import Missing
from bottleneck_kit.records.stage import Stage, StageCost


def node(
    name: str,
    *inputs: LiveNode,
    n: int = 80,
    ms: float = 80.0,
    ratio: float = 1.0,
    calls: int | None = None,
    tunable: bool = True,
    **other: Any,
) -> LiveNode:
    return LiveNode(
        name=name,
        elements=n,
        processing_s=ms / 1e3,
        bytes_produced=n * 10,
        ratio=ratio,
        parallelism=calls,
        parallelism_tunable=calls is not None and tunable,
        inputs=inputs,
        **other,
    )


def chain(*kinds: str | Stage, start: int = 0) -> tuple[Stage, ...]:
    return tuple(
        dataclasses.replace(item, index=start + i)
        if isinstance(item, Stage)
        else Stage(start + i, item, item)
        for i, item in enumerate(kinds)
    )


def batch(size: int) -> Stage:
    return Stage(0, "batch", "batch", options={"batch_size": size})


def fit(stages: tuple[Stage, ...], root: LiveNode) -> tuple[tuple[Stage, ...], tuple[str, ...]]:
    return fit_costs(stages, LiveModel(root, readings=2, passes=1))


def cost(stage: Stage) -> StageCost:
    assert isinstance(stage.cost, StageCost), stage.cost
    return stage.cost


def reason(stage: Stage) -> str:
    assert isinstance(stage.cost, Missing), stage.cost
    return stage.cost.reason


def test_a_plain_chain_is_booked_node_by_node_and_scaled_to_a_step() -> None:
    source = node("Range", n=80, ms=8)
    root = node("Root", node("BatchV2", node("Map", source, ms=160), n=10, ms=5, ratio=8), n=10)
    stages, unmatched = fit(chain("range", "map", batch(8)), root)
    assert [cost(stage).nodes for stage in stages] == [("Range",), ("Map",), ("BatchV2",)]
    assert [cost(stage).elements_per_step for stage in stages] == [8, 8, 1]
    assert cost(stages[1]).cost_s == pytest.approx(0.016)
    assert cost(stages[1]).per_element_s == pytest.approx(0.002)
    assert cost(stages[1]).serial
    assert unmatched == ()


def test_map_and_batch_is_booked_on_the_map_and_shared_with_the_batch() -> None:
    fused = node("MapAndBatch", node("Range"), n=10, ms=100, ratio=8, calls=2)
    stages, _ = fit(chain("range", "map", batch(8)), node("Root", fused, n=10))
    assert cost(stages[1]).shared_with == (2,)
    assert cost(stages[1]).cost_s == pytest.approx(0.010)
    assert cost(stages[1]).elements_per_step == 8
    assert cost(stages[1]).per_element_s == pytest.approx(0.00125)
    assert (cost(stages[1]).parallelism, cost(stages[1]).serial) == (2, False)
    assert "runs within stage 1 (map)" in reason(stages[2])


def test_only_the_last_of_two_maps_is_fused_with_the_batch() -> None:
    fused = node(
        "MapAndBatch",
        node("ParallelMapV2", node("Range"), ms=800, calls=2),
        n=10,
        ms=100,
        ratio=8,
        calls=2,
    )
    stages, _ = fit(chain("range", "map", "map", batch(8)), node("Root", fused, n=10))
    assert cost(stages[1]).cost_s == pytest.approx(0.080)
    assert cost(stages[2]).shared_with == (3,)


def test_two_maps_fused_into_one_are_booked_together() -> None:
    root = node("Root", node("Map", node("Range"), ms=160))
    stages, _ = fit(chain("range", "map", "map"), root)
    assert cost(stages[1]).shared_with == (2,)
    assert "stage 1" in reason(stages[2])


def test_shuffle_and_repeat_is_booked_on_the_shuffle() -> None:
    shuffle = Stage(0, "shuffle", "shuffle", options={"buffer_size": 50})
    root = node("Root", node("ShuffleAndRepeat", node("Range"), buffered_elements=25.0))
    stages, _ = fit(chain("range", shuffle, "repeat"), root)
    assert cost(stages[1]).shared_with == (2,)
    assert cost(stages[1]).buffer_fill_share == 0.5


def test_an_injected_prefetch_is_no_stage_and_is_listed() -> None:
    root = node("Root", node("Prefetch", node("Map", node("Range"))))
    stages, unmatched = fit(chain("range", "map"), root)
    assert unmatched == ("Prefetch",)
    assert cost(stages[1]).nodes == ("Map",)


def test_a_prefetch_of_the_user_at_the_end_is_his() -> None:
    prefetch = Stage(0, "prefetch", "prefetch", options={"buffer_size": 2})
    live = node("Prefetch", node("Range"), buffer_size=2, buffered_elements=1.0)
    stages, unmatched = fit(chain("range", prefetch), node("Root", live))
    assert cost(stages[1]).buffer_fill_share == 0.5
    assert unmatched == ()


@pytest.mark.parametrize(
    "removed",
    [
        Stage(0, "take", "take", options={"count": -1}),
        Stage(0, "skip", "skip", options={"count": 0}),
        Stage(0, "repeat", "repeat", options={"count": 1}),
        Stage(0, "assert_cardinality", "assert_cardinality"),
    ],
)
def test_a_stage_that_tf_data_removed_is_missing_with_that_reason(removed: Stage) -> None:
    root = node("Root", node("ParallelMapV2", node("Range"), calls=2))
    stages, unmatched = fit(chain("range", removed, "map"), root)
    assert reason(stages[1]) == "tf.data left no node for it in the graph it runs"
    assert cost(stages[0]).nodes == ("Range",)
    assert cost(stages[2]).nodes == ("ParallelMapV2",)
    assert unmatched == ()


def test_an_unknown_node_in_between_costs_nobody_his_place() -> None:
    root = node("Root", node("Map", node("Mystery", node("Range"))))
    stages, unmatched = fit(chain("range", "map"), root)
    assert unmatched == ("Mystery",)
    assert all(isinstance(stage.cost, StageCost) for stage in stages)


def test_nodes_of_options_are_neither_stages_nor_listed() -> None:
    inner = node("MaxIntraOpParallelism", node("PrivateThreadPool", node("Map", node("Range"))))
    stages, unmatched = fit(chain("range", "map"), node("Root", node("Model", inner)))
    assert unmatched == ()
    assert cost(stages[1]).nodes == ("Map",)


def test_an_opaque_stage_stays_missing_and_the_others_keep_their_costs() -> None:
    root = node("Root", node("BatchV2", node("Strange", node("Range")), n=10, ratio=8), n=10)
    stages, unmatched = fit(chain("range", "opaque", batch(8)), root)
    assert isinstance(stages[1].cost, Missing)
    assert unmatched == ("Strange",)
    assert cost(stages[2]).nodes == ("BatchV2",)


def test_batches_are_told_apart_by_their_size() -> None:
    inner = node("BatchV2", node("Range", n=160), n=40, ratio=4)
    root = node("Root", node("BatchV2", node("Unbatch", inner, n=160, ratio=0), n=20, ratio=8))
    stages, _ = fit(chain("range", batch(4), "unbatch", batch(8)), root)
    assert [cost(stage).elements for stage in stages] == [160, 40, 160, 20]
    root = node("Root", node("BatchV2", node("Range"), n=20, ratio=8))
    stages, _ = fit(chain("range", batch(4), batch(8)), root)
    assert isinstance(stages[1].cost, Missing)
    assert cost(stages[2]).nodes == ("BatchV2",)


def zip_of(left: tuple[Stage, ...], right: tuple[Stage, ...]) -> Stage:
    return Stage(0, "zip", "zip", branches=(left, right))


def test_each_branch_of_a_zip_keeps_its_own_costs() -> None:
    zipped = zip_of(chain("range", "map"), chain("range", "map", start=2))
    left = node("ParallelMapV2", node("Range"), ms=800, calls=2)
    right = node("ParallelMapV2", node("Range"), ms=80, calls=2)
    stages, _ = fit(
        chain(zipped, batch(8), start=4),
        node("Root", node("BatchV2", node("Zip", left, right), n=10, ratio=8), n=10),
    )
    branches = stages[0].branches
    assert cost(branches[0][1]).cost_s == pytest.approx(0.080)
    assert cost(branches[1][1]).cost_s == pytest.approx(0.008)


def test_sampled_datasets_are_scaled_by_how_often_each_was_chosen() -> None:
    sample = Stage(
        2, "sample_from_datasets", "sample", branches=(chain("range"), chain("range", start=1))
    )
    selector = node("ParallelMapV2", node("Random"), calls=1)
    live = node("DirectedInterleave", selector, node("Range", n=60), node("Range", n=20), ratio=0)
    stages, unmatched = fit((sample,), node("Root", live))
    flows = [cost(branch[0]).elements_per_step for branch in stages[0].branches]
    assert flows == [0.75, 0.25]
    assert cost(stages[0]).nodes == ("DirectedInterleave", "ParallelMapV2", "Random")
    assert unmatched == ()


def test_the_inside_of_a_parallel_interleave_is_scaled_to_what_the_interleave_gives() -> None:
    interleave = Stage(0, "interleave", "f", branches=(chain("range", "map", start=1),))
    opened = node("Map", node("Range", n=6), n=6, ms=12)
    live = node("ParallelInterleaveV4", node("Range", n=4), opened, n=80, ratio=0, calls=4)
    stages, _ = fit((Stage(0, "range", "range"), dataclasses.replace(interleave, index=3)), live)
    inner = cost(stages[1].branches[0][1])
    assert inner.elements_per_step == 1
    assert inner.cost_s == pytest.approx(0.002)
    assert (inner.parallelism, inner.serial) == (4, False)
    assert cost(stages[0]).elements_per_step == pytest.approx(0.05)


def test_an_interleave_whose_inside_was_never_open_stays_one_stage() -> None:
    interleave = Stage(3, "interleave", "f", branches=(chain("range", "map", start=1),))
    live = node("ParallelInterleaveV4", node("Range", n=4), n=80, ratio=0, calls=4)
    stages, _ = fit((Stage(0, "range", "range"), interleave), node("Root", live))
    assert cost(stages[1]).nodes == ("ParallelInterleaveV4",)
    assert all(isinstance(stage.cost, Missing) for stage in stages[1].branches[0])


def test_what_is_behind_a_full_cache_says_that_it_no_longer_runs() -> None:
    cached = node("MemoryCache", node("MemoryCacheImpl"))
    stages, _ = fit(chain("range", "map", "cache"), node("Root", cached))
    assert reason(stages[1]) == "what it gave is cached by now, so that it no longer runs"
    assert cost(stages[2]).nodes == ("MemoryCache", "MemoryCacheImpl")


def test_what_filled_a_cache_before_the_steady_state_costs_a_step_nothing() -> None:
    inner = node("Map", node("Range", n=0, ms=0), n=0, ms=0)
    cached = node("MemoryCache", node("MemoryCacheImpl", inner))
    stages, _ = fit(chain("range", "map", "cache"), node("Root", cached))
    assert (cost(stages[1]).cost_s, cost(stages[1]).elements_per_step) == (0.0, 0.0)


def test_composites_book_their_inner_nodes_on_themselves() -> None:
    generator = node("FlatMap", node("FromTensor", n=1, ms=0), node("Generator", ms=400), ratio=0)
    stages, unmatched = fit(chain("from_generator"), node("Root", generator))
    assert cost(stages[0]).nodes == ("FlatMap", "FromTensor", "Generator")
    assert cost(stages[0]).cost_s == pytest.approx((80 + 400) / 80 / 1e3)
    numbered = node("Zip", node("Range"), node("Map", node("Range")))
    stages, _ = fit(chain("range", "map", "enumerate"), node("Root", numbered))
    assert cost(stages[2]).nodes == ("Zip", "Range")
    reader = node("ParallelInterleaveV4", node("Shuffle", node("TensorSlice")), node("TFRecord"))
    stages, unmatched = fit(chain("list_files", "tfrecord"), node("Root", reader))
    assert cost(stages[0]).nodes == ("Shuffle", "TensorSlice")
    assert cost(stages[1]).nodes == ("ParallelInterleaveV4", "TFRecord")
    assert unmatched == ()


def test_what_an_interleave_opens_and_nobody_could_read_is_booked_on_it() -> None:
    opened = node("Map", node("Range", ms=0), ms=160)
    live = node("FlatMap", node("Range", n=4, ms=0), opened, ms=0, ratio=0)
    stages, unmatched = fit(chain("range", "flat_map"), node("Root", live))
    assert cost(stages[1]).nodes == ("FlatMap", "Map", "Range")
    assert cost(stages[1]).cost_s == pytest.approx(0.002)
    assert unmatched == ()


def test_a_resampled_dataset_books_what_it_runs_several_times_on_itself() -> None:
    twice = node("Prefetch", node("Filter", node("Range")))
    live = node("DirectedInterleave", node("Map"), node("Map", node("Range")), twice, ratio=0)
    stages, _ = fit(chain("range", "rejection_resample"), node("Root", live))
    assert "booked on stage 1" in reason(stages[0])


def test_a_parallel_node_set_to_one_by_the_user_is_serial_and_autotunes_one_is_not() -> None:
    fixed = node("ParallelMapV2", node("Range"), calls=1, tunable=False)
    assert cost(fit(chain("range", "map"), fixed)[0][1]).serial
    tuned = node("ParallelMapV2", node("Range"), calls=1, tunable=True)
    assert not cost(fit(chain("range", "map"), tuned)[0][1]).serial


def test_a_node_that_gave_nothing_while_it_was_needed_is_missing() -> None:
    root = node("Root", node("Map", node("Range"), n=0, ms=0))
    assert reason(fit(chain("range", "map"), root)[0][1]) == (
        "it gave no element while the model was watched"
    )


def test_a_model_of_something_else_gives_no_stage_a_cost_that_is_not_its_own() -> None:
    root = node("Root", node("Window", node("Unique", node("SQL"))))
    stages, unmatched = fit(chain("range", "map", "shuffle"), root)
    assert all(isinstance(stage.cost, Missing) for stage in stages)
    assert unmatched == ("Window", "Unique", "SQL")


@pytest.mark.parametrize(
    ("name", "plain"),
    [
        ("ParallelMapV2", "Map"),
        ("ParallelInterleaveV4", "Interleave"),
        ("LegacyParallelInterleaveV2", "Interleave"),
        ("ForeverRepeat", "Repeat"),
        ("FiniteTake", "Take"),
        ("MemoryCacheImpl", "MemoryCache"),
        ("PaddedBatchV2", "PaddedBatch"),
        ("MapAndBatch", "MapAndBatch"),
        ("TFRecord", "TFRecord"),
        ("TensorSlice", "TensorSlice"),
    ],
)
def test_versions_and_variants_of_a_node_are_one(name: str, plain: str) -> None:
    assert plain_name(name) == plain


LIVE_NAMES = {
    "batch": "BatchV2",
    "filter": "Filter",
    "map": "ParallelMapV2",
    "prefetch": "Prefetch",
    "repeat": "ForeverRepeat",
    "shuffle": "Shuffle",
    "take": "FiniteTake",
    "unbatch": "Unbatch",
}


@hypothesis.settings(deadline=None)
@hypothesis.given(
    st.lists(st.sampled_from(sorted(LIVE_NAMES)), max_size=12),
    st.lists(st.floats(0.1, 100.0), min_size=13, max_size=13),
    st.floats(0.01, 100.0),
)
def test_an_unfused_chain_fits_exactly_and_scaling_times_changes_no_share(
    kinds: list[str], times_ms: list[float], factor: float
) -> None:
    def build(scale: float) -> LiveNode:
        live = node("Range", ms=times_ms[-1] * scale)
        for kind, ms in zip(kinds, times_ms, strict=False):
            live = node(LIVE_NAMES[kind], live, ms=ms * scale)
        return node("Root", live)

    stages, unmatched = fit(chain("range", *kinds), build(1.0))
    scaled, _ = fit(chain("range", *kinds), build(factor))
    assert unmatched == ()
    for stage, kind in zip(stages[1:], kinds, strict=True):
        assert cost(stage).nodes == (LIVE_NAMES[kind],)
        assert can_stand_for(LIVE_NAMES[kind], kind)
    total = sum(cost(stage).cost_s for stage in stages)
    scaled_total = sum(cost(stage).cost_s for stage in scaled)
    for one, other in zip(stages, scaled, strict=True):
        assert cost(one).cost_s / total == pytest.approx(cost(other).cost_s / scaled_total)
