"""Books what the live nodes cost on the user's stages; works on records alone."""

from __future__ import annotations

import dataclasses

from bottleneck_kit.pipeline.alignment import Alignment, Match, align
from bottleneck_kit.pipeline.node_kinds import INFRASTRUCTURE, plain_name
from bottleneck_kit.records.live_model import LiveModel, LiveNode
from bottleneck_kit.records.measurement import Missing
from bottleneck_kit.records.stage import Stage, StageCost

Stages = tuple[Stage, ...]


def fit_costs(stages: Stages, live: LiveModel) -> tuple[Stages, tuple[str, ...]]:
    """Fits the nodes of the optimised graph to the stages, and their costs with them.

    Args:
        stages: The main line, source first, as ``read_stages`` gives it.
        live: AUTOTUNE's model, joined over readings.

    Returns:
        The same stages, each with a StageCost or a Missing that says why not; and the names of
        nodes that no stage explains, such as a prefetch that tf.data injected.
    """
    alignment = align(stages, live.root)
    flows = _flows(live.root)
    costs: dict[int, StageCost | Missing] = {}
    for stage, reason in alignment.missing:
        costs[stage.index] = Missing(reason)
    for match in alignment.matches:
        booked, *others = match.stages
        costs[booked.index] = _cost(match, flows)
        for other in others:
            reason = f"it runs within stage {booked.index} ({booked.label}), where its cost is"
            costs[other.index] = Missing(reason)
    return _with_costs(stages, costs), _unmatched(alignment)


@dataclasses.dataclass(frozen=True)
class _Flow:
    """How much of a node one training step uses.

    Attributes:
        elements_per_step: Its output elements.
        workers: Parallel calls of the interleaves around it, which multiply its own.
    """

    elements_per_step: float
    workers: int = 1


def _flows(root: LiveNode) -> dict[int, _Flow]:
    """Gives the flow through each node, by its id(); one step takes one element of the root."""
    flows = {id(root): _Flow(1.0)}
    waiting = [root]
    while waiting:
        node = waiting.pop()
        flow = flows[id(node)]
        for slot, child in enumerate(node.inputs):
            is_opened = slot > 0 and plain_name(node.name) in ("FlatMap", "Interleave")
            workers = flow.workers * (node.parallelism or 1) if is_opened else flow.workers
            share = _inputs_per_output(node, slot, child)
            flows[id(child)] = _Flow(flow.elements_per_step * share, workers)
            waiting.append(child)
    return flows


def _inputs_per_output(node: LiveNode, slot: int, child: LiveNode) -> float:
    """Gives how many elements of a child one element of its parent takes.

    The ratio that the model states is exact where it states one. Counts are right where it does
    not; below ``repeat`` they are lost with each pass, for the child and all under it alike.
    """
    name = plain_name(node.name)
    counted = child.elements / node.elements if node.elements else 0.0
    if name in ("FlatMap", "Interleave"):  # what is open hands its elements straight on
        return 1.0 if slot > 0 else counted
    if name in ("Concatenate", "DirectedInterleave"):
        chooses = name == "DirectedInterleave"
        if chooses and slot == 0:
            return 1.0
        total = sum(item.elements for item in node.inputs[1 if chooses else 0 :])
        return child.elements / total if total else 0.0
    if name in ("MemoryCache", "FileCache", "Cache"):
        return counted
    if name == "Shard":  # its ratio is stated the other way round (outputs for an input)
        return counted or (1 / node.ratio if node.ratio else 0.0)
    return node.ratio if node.ratio > 0 else counted


def _cost(match: Match, flows: dict[int, _Flow]) -> StageCost | Missing:
    node, flow = match.node, flows[id(match.node)]
    booked = match.stages[0]
    if not node.elements and flow.elements_per_step > 0:
        return Missing("it gave no element while the model was watched")
    cost_s = sum(_node_cost_s(item, flows[id(item)]) for item in (node, *match.inside))
    elements = flow.elements_per_step
    counted = node.elements
    bytes_per_element = node.bytes_produced / node.elements if node.elements else 0.0
    if len(match.stages) > 1 and "Batch" in node.name and node.ratio > 0:
        # A map and its batch share a node that counts batches; the map gives single elements.
        elements *= node.ratio
        counted = round(counted * node.ratio)
        bytes_per_element /= node.ratio
    parallelism = (node.parallelism or 1) * flow.workers
    is_fixed_at_one = node.parallelism == 1 and not node.parallelism_tunable
    return StageCost(
        cost_s=cost_s,
        per_element_s=cost_s / elements if elements > 0 else 0.0,
        elements_per_step=elements,
        bytes_per_element=bytes_per_element,
        parallelism=parallelism,
        serial=(node.parallelism is None or is_fixed_at_one) and flow.workers == 1,
        nodes=(node.name, *(item.name for item in match.inside)),
        shared_with=tuple(stage.index for stage in match.stages[1:]),
        buffer_fill_share=_buffer_fill_share(booked, node),
        elements=counted,
    )


def _node_cost_s(node: LiveNode, flow: _Flow) -> float:
    """Gives a node's thread seconds a step."""
    if not node.elements:
        return 0.0
    return node.processing_s / node.elements * flow.elements_per_step


def _buffer_fill_share(stage: Stage, node: LiveNode) -> float | None:
    size: object = node.buffer_size
    if size is None and plain_name(node.name) in ("Shuffle", "ShuffleAndRepeat"):
        size = stage.options.get("buffer_size", stage.options.get("files"))
    if not isinstance(size, int) or isinstance(size, bool) or size < 1:
        return None
    return min(1.0, node.buffered_elements / size)


def _with_costs(stages: Stages, costs: dict[int, StageCost | Missing]) -> Stages:
    unknown = Missing("no node of the running pipeline fits it")
    return tuple(
        dataclasses.replace(
            stage,
            cost=costs.get(stage.index, unknown),
            branches=tuple(_with_costs(branch, costs) for branch in stage.branches),
        )
        for stage in stages
    )


def _unmatched(alignment: Alignment) -> tuple[str, ...]:
    return tuple(
        node.name
        for node in alignment.unmatched
        if plain_name(node.name) not in INFRASTRUCTURE and node.elements
    )
