"""Fits the nodes of the optimised graph to the user's stages: the alignment of least penalty.

Both are chains with branches. From the end to the source, each step matches a stage with a node,
matches two or more fused stages with one, passes a node that nobody wrote, or passes a stage that
left no node. The cheapest way is found by dynamic programming over (stages left, node).
"""

from __future__ import annotations

from dataclasses import dataclass, field

from bottleneck_kit.pipeline.node_kinds import (
    ABSORBS_BEFORE,
    ABSORBS_INSIDE,
    FUSIONS,
    INFRASTRUCTURE,
    can_stand_for,
    plain_name,
)
from bottleneck_kit.records.live_model import LiveNode
from bottleneck_kit.records.stage import Stage

# Penalties, in units of "one option that does not agree". Only their order matters: a match is
# better than a fusion, a fusion better than a stage without a node, that better than a node
# without a stage, and prefetches and options come and go cheaply.
_INFRASTRUCTURE_NODE = 0.0
_INJECTED_PREFETCH = 0.5
_UNEXPLAINED_NODE = 3.0
_REMOVED_STAGE = 0.3
_STAGE_WITHOUT_NODE = 2.0
_STAGE_BEYOND_THE_MODEL = 1.0
_FUSION = 0.2
_UNUSUAL_FUSION = 0.9
_OPTION_DIFFERS = 1.0
_PARALLELISM_DIFFERS = 0.3
_WORST_BRANCH = 2.0

_INTERLEAVES = ("FlatMap", "Interleave")


@dataclass(frozen=True)
class Match:
    """Stages and the node they became.

    Attributes:
        stages: In data order; several where they were fused.
        node: The node.
        inside: Nodes below it that belong to the same stage.
    """

    stages: tuple[Stage, ...]
    node: LiveNode
    inside: tuple[LiveNode, ...] = ()


@dataclass(frozen=True)
class Alignment:
    """A fit of stages to nodes.

    Attributes:
        penalty: How far it is from a perfect one (0).
        matches: Every match, those in branches too.
        missing: Stages without a node, with the reason.
        unmatched: Nodes without a stage.
    """

    penalty: float = 0.0
    matches: tuple[Match, ...] = ()
    missing: tuple[tuple[Stage, str], ...] = ()
    unmatched: tuple[LiveNode, ...] = ()

    def __add__(self, other: Alignment) -> Alignment:
        return Alignment(
            self.penalty + other.penalty,
            self.matches + other.matches,
            self.missing + other.missing,
            self.unmatched + other.unmatched,
        )


def align(stages: tuple[Stage, ...], root: LiveNode) -> Alignment:
    """Finds the best fit of a main line of stages to the tree below ``root``."""
    return _Search(stages).best(len(stages), root)


def subtree(node: LiveNode) -> tuple[LiveNode, ...]:
    """Gives a node and all nodes below it."""
    found = [node]
    for child in node.inputs:
        found.extend(subtree(child))
    return tuple(found)


@dataclass
class _Search:
    stages: tuple[Stage, ...]
    known: dict[tuple[int, int], Alignment] = field(default_factory=dict)

    def best(self, count: int, node: LiveNode | None) -> Alignment:
        """Gives the best fit of the first ``count`` stages to the tree below ``node``."""
        key = (count, id(node))
        if key not in self.known:
            candidates = list(self._candidates(count, node))
            self.known[key] = min(candidates, key=lambda item: item.penalty)
        return self.known[key]

    def _candidates(self, count: int, node: LiveNode | None) -> list[Alignment]:
        if node is None:
            return [self._beyond(count)]
        if count == 0:
            left = subtree(node)
            return [Alignment(sum(map(_node_penalty, left)), unmatched=left)]
        stage = self.stages[count - 1]
        rest = tuple(item for child in node.inputs[1:] for item in subtree(child))
        passed = Alignment(
            _node_penalty(node) + sum(map(_node_penalty, rest)), unmatched=(node, *rest)
        )
        found = [passed + self.best(count, node.inputs[0] if node.inputs else None)]
        reason = "tf.data left no node for it in the graph it runs"
        found.append(
            Alignment(_absence_penalty(stage), missing=((stage, reason),))
            + self.best(count - 1, node)
        )
        if can_stand_for(node.name, stage.kind):
            found.append(self._matched(count, node))
        found += self._fused(count, node)
        return found

    def _beyond(self, count: int) -> Alignment:
        """Books what is before the last node that was seen."""
        reason = "it gave all its elements before the model was first read"
        if any(stage.kind == "cache" for stage in self.stages[count:]):
            reason = "what it gave is cached by now, so that it no longer runs"
        return Alignment(
            _STAGE_BEYOND_THE_MODEL * count,
            missing=tuple((stage, reason) for stage in self.stages[:count]),
        )

    def _matched(self, count: int, node: LiveNode) -> Alignment:
        stage = self.stages[count - 1]
        before, feeding, inside = _split_inputs(stage, node, has_before=count > 1)
        branches = Alignment()
        for position, branch in enumerate(stage.branches):
            if position < len(feeding):
                part = _Search(branch).best(len(branch), feeding[position])
            else:
                part = _Search(branch)._beyond(len(branch))
            branches += Alignment(
                min(part.penalty, _WORST_BRANCH), part.matches, part.missing, part.unmatched
            )
        # What nobody could read as a branch is still work of this stage.
        for extra in feeding[len(stage.branches) :]:
            inside += subtree(extra)
        own = Alignment(_option_penalty(stage, node), (Match((stage,), node, inside),))
        if stage.kind in ABSORBS_BEFORE:
            reason = f"its cost is booked on stage {stage.index} ({stage.label}), which runs it"
            gone = tuple((item, reason) for item in self.stages[: count - 1])
            return own + branches + Alignment(missing=gone)
        return own + branches + self.best(count - 1, before)

    def _fused(self, count: int, node: LiveNode) -> list[Alignment]:
        """Gives the fits in which two or more neighbouring stages became this node."""
        found = []
        first = count - 1
        while first > 0:
            pair = (self.stages[first - 1].kind, self.stages[first].kind)
            if plain_name(node.name) not in FUSIONS.get(pair, frozenset()):
                break
            first -= 1
            fused = self.stages[first:count]
            inside: tuple[LiveNode, ...] = ()
            before = node.inputs[0] if node.inputs else None
            if fused[0].kind in ABSORBS_INSIDE and first == 0 and before is not None:
                inside, before = subtree(before), None
            usual = "And" in node.name
            penalty = _FUSION if usual else _UNUSUAL_FUSION * (len(fused) - 1)
            penalty += sum(_option_penalty(stage, node) for stage in fused) if usual else 0.0
            own = Alignment(penalty, (Match(fused, node, inside),))
            found.append(own + self.best(first, before))
        return found


def _split_inputs(
    stage: Stage, node: LiveNode, *, has_before: bool
) -> tuple[LiveNode | None, tuple[LiveNode, ...], tuple[LiveNode, ...]]:
    """Tells a matched node's inputs apart.

    Returns:
        The node before it on the main line, the nodes that feed the stage's branches, and the
        nodes that are the stage's own.
    """
    inputs = node.inputs
    name = plain_name(node.name)
    if name == "DirectedInterleave":  # the first input chooses among the others
        return None, inputs[1:], subtree(inputs[0]) if inputs else ()
    if stage.kind in ("zip", "concatenate"):
        return None, inputs, ()
    if (
        stage.kind == "pad_to_cardinality" and len(inputs) > 1
    ):  # a map marks the input, then padding
        marked, padding = inputs[:2]
        before = marked.inputs[0] if marked.inputs else None
        return before, (), (marked, *subtree(padding))
    if stage.kind == "enumerate":
        own = subtree(inputs[0]) if inputs else ()
        return (inputs[1] if len(inputs) > 1 else None), (), own
    if stage.kind in ABSORBS_INSIDE and not has_before:
        return None, (), tuple(item for child in inputs for item in subtree(child))
    if stage.kind == "cache" and inputs and plain_name(inputs[0].name) == name:
        inner = inputs[0]
        return (inner.inputs[0] if inner.inputs else None), (), (inner,)
    before = inputs[0] if inputs else None
    if name in _INTERLEAVES:
        opened = inputs[1:]
        if stage.kind in ABSORBS_INSIDE:
            return before, (), tuple(item for child in opened for item in subtree(child))
        return before, opened, ()
    return before, (), ()


def _node_penalty(node: LiveNode) -> float:
    name = plain_name(node.name)
    if name in INFRASTRUCTURE:
        return _INFRASTRUCTURE_NODE
    return _INJECTED_PREFETCH if name == "Prefetch" else _UNEXPLAINED_NODE


def _absence_penalty(stage: Stage) -> float:
    """Weighs a stage without a node: little where tf.data removes what does nothing."""
    count = stage.options.get("count")
    removed = (
        stage.kind in ("assert_cardinality", "prefetch")
        or (stage.kind == "take" and count == -1)
        or (stage.kind == "skip" and count == 0)
        or (stage.kind == "repeat" and count == 1)
        or (stage.kind == "shard" and stage.options.get("num_shards") == 1)
        or (stage.kind == "map" and _hands_on(stage))
    )
    if stage.kind == "prefetch" and stage.options.get("buffer_size") != 0:
        return _OPTION_DIFFERS
    return _REMOVED_STAGE if removed else _STAGE_WITHOUT_NODE


def _hands_on(stage: Stage) -> bool:
    """Says whether a map gives its elements as they are, so that tf.data takes it out."""
    types = set(stage.traits.op_types)
    return bool(types) and types <= {"Identity", "NoOp", "Placeholder"}


def _option_penalty(stage: Stage, node: LiveNode) -> float:
    """Weighs where a node's settings are not those of the stage."""
    penalty = 0.0
    batch_size = stage.options.get("batch_size")
    if isinstance(batch_size, int) and node.ratio > 0 and batch_size != node.ratio:
        penalty += _OPTION_DIFFERS
    if stage.kind == "prefetch" and node.buffer_size is not None:
        size = stage.options.get("buffer_size")
        if isinstance(size, int) and size != node.buffer_size:
            penalty += _PARALLELISM_DIFFERS
    calls = stage.options.get("num_parallel_calls")
    if stage.kind in ("map", "interleave", "batch"):
        if isinstance(calls, int) and node.parallelism_tunable:
            penalty += _PARALLELISM_DIFFERS
        if calls is not None and node.parallelism is None:
            penalty += _PARALLELISM_DIFFERS
        if stage.kind == "interleave" and calls is None and node.parallelism is not None:
            penalty += _PARALLELISM_DIFFERS
    if stage.kind == "repeat" and stage.options.get("count") == -1:
        penalty += 0.0 if "Finite" not in node.name else _PARALLELISM_DIFFERS
    return penalty
