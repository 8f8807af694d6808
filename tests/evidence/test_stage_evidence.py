"""The stages as evidence: cost, share, bound, what reads and what AUTOTUNE chose."""

from __future__ import annotations

import constructed
import pytest

from bottleneck_kit.evidence.gather import gather
from bottleneck_kit.records.live_model import LiveModel, LiveNode
from bottleneck_kit.records.measurement import Measurement, Missing
from bottleneck_kit.records.stage import Stage

stage = constructed.stage


def value(number: Measurement | Missing) -> float:
    assert isinstance(number, Measurement), number
    return number.value


def evidence_of(*stages: Stage, **more: object):
    return gather(constructed.record(stages=stages, **more))


def live(*names: str, **fields: object) -> LiveModel:
    """A chain of nodes, the last before the consumer first."""
    node: LiveNode | None = None
    for name in reversed(names):
        node = LiveNode(name, 100, 0.1, 0, inputs=() if node is None else (node,), **fields)
    assert node is not None
    return LiveModel(node, readings=3, passes=1)


def test_cost_share_and_bound_follow_parallelism_and_cores() -> None:
    found = evidence_of(
        stage(0, "tfrecord", cost_ms=10),
        stage(1, "map", "few", cost_ms=40, parallelism=2),
        stage(2, "map", "many", cost_ms=50, parallelism=16),
        cores=4,
    ).stages

    assert [one.cost_s for one in found] == pytest.approx([0.010, 0.040, 0.050])
    assert [one.share for one in found] == pytest.approx([0.1, 0.4, 0.5])
    assert [one.bound_s for one in found] == pytest.approx([0.010, 0.020, 0.0125])
    assert [one.serial for one in found] == [True, False, False]


def test_unknown_cost_stays_missing_with_its_reason() -> None:
    (one,) = evidence_of(stage(0, "map", "work")).stages

    for number in (one.cost_s, one.share, one.bound_s):
        assert number == Missing("its live node was not found")
    assert one.parallelism is None


@pytest.mark.parametrize("cost_ms", [float("nan"), float("inf"), -1.0])
def test_cost_that_is_no_number_is_missing(cost_ms: float) -> None:
    found = evidence_of(stage(0, "range", cost_ms=1), stage(1, "map", "work", cost_ms=cost_ms))

    assert found.stages[1].cost_s == Missing("its cost is no number")
    assert found.stages[0].share == 1.0


@pytest.mark.parametrize(
    ("kinds", "behind"),
    [
        (("range", "map", "batch", "map", "prefetch"), [0, 0, 0, 1, 1]),
        (("range", "batch", "map", "unbatch", "map"), [0, 0, 1, 1, 0]),
        (("range", "padded_batch", "flat_map", "map"), [0, 0, 1, 0]),
        (("keras_arrays", "prefetch"), [0, 1]),
        (("range", "map_and_batch", "map"), [0, 0, 1]),
    ],
)
def test_stages_behind_a_batch_are_known(kinds: tuple[str, ...], behind: list[int]) -> None:
    found = evidence_of(*(stage(i, kind, cost_ms=1) for i, kind in enumerate(kinds)))

    assert [one.behind_batch for one in found.stages] == [bool(b) for b in behind]


def test_branch_that_gives_batches_makes_its_stage_one_behind_a_batch() -> None:
    branch = (stage(0, "range", cost_ms=1), stage(1, "batch", cost_ms=1))
    zipped = stage(2, "zip", cost_ms=1, branches=(branch,))

    found = evidence_of(zipped, stage(3, "map", "work", cost_ms=1)).stages

    assert [one.stage.index for one in found] == [0, 1, 2, 3]
    assert [one.behind_batch for one in found] == [False, False, True, True]


def test_sources_and_readers_are_told_from_work() -> None:
    reader = stage(0, "tfrecord", cost_ms=None, traits={"reads_files": True})
    interleave = stage(1, "interleave", cost_ms=30, branches=((reader,),))
    opening = stage(2, "map", "read_jpeg", cost_ms=5, traits={"reads_files": True})

    found = evidence_of(interleave, opening, stage(3, "map", "work", cost_ms=9))

    assert [one.reads for one in found.stages] == [True, True, True, False]
    assert value(found.source_s) == pytest.approx(0.035)


def test_interleave_of_ranges_is_work() -> None:
    interleave = stage(1, "interleave", cost_ms=30, branches=((stage(0, "range", cost_ms=1),),))

    found = evidence_of(interleave)

    assert [one.reads for one in found.stages] == [True, False]


def test_unread_pipeline_is_missing_everywhere_with_its_reason() -> None:
    found = gather(constructed.record(stages=Missing("a custom iterator")))

    for name in ("has_pipeline", "source_s", "overlap_share", "supply_s", "prepare_s"):
        assert getattr(found, name) == Missing("a custom iterator")
    assert found.stages == ()


@pytest.mark.parametrize(
    ("names", "last", "expected"),
    [
        (("Root", "Prefetch", "BatchV2"), "batch", True),
        (("Root", "Options", "FiniteTake", "Prefetch", "BatchV2"), "take", True),
        (("Root", "ParallelMapV2", "Prefetch"), "map", False),
        (("Root",), "batch", None),
        (("Root",), "prefetch", True),
    ],
)
def test_prefetch_before_the_step_is_found_in_the_running_pipeline(names, last, expected) -> None:
    found = evidence_of(stage(0, "range", cost_ms=1), stage(1, last), live=live(*names))

    assert found.prefetch_at_end is expected


def test_prefetch_is_unknown_without_a_running_pipeline_unless_the_user_wrote_it() -> None:
    gone = Missing("autotune is off")

    assert evidence_of(stage(0, "range"), live=gone).prefetch_at_end is None
    assert evidence_of(stage(0, "prefetch"), live=gone).prefetch_at_end is True


def test_values_of_autotune_are_named_by_stage_or_node() -> None:
    inner = LiveNode("ParallelMapV2", 9, 0.1, 0, parallelism=3, parallelism_tunable=True)
    fixed = LiveNode("ParallelBatch", 9, 0.1, 0, parallelism=7, inputs=(inner,))
    root = LiveNode("Prefetch", 9, 0.1, 0, buffer_size=5, inputs=(fixed,))
    one = stage(0, "map", "work", cost_ms=1)
    assert not isinstance(one.cost, Missing)
    named = constructed.stage(
        0, "map", "work", cost=type(one.cost)(0.1, 0.1, 1, nodes=("ParallelMapV2",))
    )

    found = evidence_of(named, live=LiveModel(root, readings=1, passes=1))

    assert found.autotune == {
        "map work (stage 0) parallel calls": 3.0,
        "Prefetch buffer": 5.0,
    }
    assert evidence_of(named, live=Missing("off")).autotune == {}


def test_overlap_is_what_of_the_preparation_is_hidden() -> None:
    stages = (stage(0, "range", cost_ms=60),)

    assert value(evidence_of(*stages).overlap_share) == pytest.approx(1 - 48 / 60)
    assert value(evidence_of(*stages, wait_ms=0.0, held_ms=82).overlap_share) == 1.0


def test_overlap_needs_costs_and_a_wait() -> None:
    assert isinstance(evidence_of(stage(0, "range")).overlap_share, Missing)
    unknown = evidence_of(stage(0, "range", cost_ms=1), wait_ms=None, held_ms=None)
    assert isinstance(unknown.overlap_share, Missing)


def test_supply_is_the_slowest_bound_or_all_work_through_all_cores() -> None:
    serial = evidence_of(stage(0, "range", cost_ms=30), stage(1, "map", "w", cost_ms=10))
    spread = evidence_of(
        *(stage(i, "map", "w", cost_ms=30, parallelism=2) for i in range(3)), cores=2
    )

    assert value(serial.supply_s) == pytest.approx(0.030)
    assert value(spread.supply_s) == pytest.approx(0.045)
    assert value(spread.prepare_s) == pytest.approx(0.045)


def test_empty_pipeline_has_no_supply() -> None:
    assert evidence_of().supply_s == Missing("the pipeline has no stage")
