"""Joins readings of AUTOTUNE's model over time and over passes into one tree, for live_pipeline.

Counts in a reading are those of one iterator since it was made, and nodes below ``repeat`` are
made anew each pass. So each reading is compared with the one before, node by node (by the node's
id within its iterator), and the differences are added up by the node's place in the tree.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from bottleneck_kit.records.live_model import LiveModel, LiveNode

INTERLEAVING = ("FlatMap", "Interleave", "LegacyParallelInterleave", "ParallelInterleave")
"""Beginnings of the names of nodes whose first input is their source and whose others are the
datasets that they have open at the moment."""

EXHAUSTED = "Exhausted"
"""Name of a node that stands for a source that was read to its end before anybody looked."""

MIN_STEADY_ELEMENTS = 10
"""Elements of the root from which on the time after the first reading is used alone."""


@dataclass(frozen=True)
class NodeReading:
    """One node of one reading, as the model states it.

    Attributes:
        id: Its number within the iterator's model; a node made later has a greater one.
        name: See LiveNode.
        elements: Elements it has produced since it was made.
        processing_ns: Thread time it has spent since it was made.
        bytes_produced: Bytes of those elements.
        ratio: See LiveNode.
        buffered_elements: Elements in its buffer now.
        parallelism: Parallel calls in use now; None where it is serial by kind.
        parallelism_tunable: See LiveNode.
        buffer_size: See LiveNode.
        inputs: Ids of the nodes it reads from.
    """

    id: int
    name: str
    elements: int
    processing_ns: int
    bytes_produced: int
    ratio: float = 0.0
    buffered_elements: int = 0
    parallelism: int | None = None
    parallelism_tunable: bool = False
    buffer_size: int | None = None
    inputs: tuple[int, ...] = ()


@dataclass(frozen=True)
class ModelReading:
    """One reading of one iterator's model: its nodes by id, and the id of the last node."""

    nodes: dict[int, NodeReading]
    root: int
    cpu_budget: int = 0
    ram_budget_bytes: int = 0


@dataclass
class _Sum:
    elements: int = 0
    processing_ns: int = 0
    bytes_produced: int = 0

    def add(self, other: _Sum) -> None:
        self.elements += other.elements
        self.processing_ns += other.processing_ns
        self.bytes_produced += other.bytes_produced


@dataclass
class _Place:
    """What is known of all nodes that stood at one place of the tree."""

    latest: NodeReading
    warm_up: _Sum = field(default_factory=_Sum)
    steady: _Sum = field(default_factory=_Sum)
    buffered: int = 0
    buffer_readings: int = 0
    children: dict[tuple[int, str], _Place] = field(default_factory=dict)


class ModelJoin:
    """Adds readings up. Its size is that of the tree: it does not grow with the readings."""

    def __init__(self) -> None:
        self.readings = 0
        self.passes = 0
        self._root: _Place | None = None
        self._before: dict[int, NodeReading] = {}
        self._sources: dict[int, int] = {}
        self._latest: ModelReading | None = None

    def begin_iterator(self) -> None:
        """Notes that the next reading is of an iterator that was not read before."""
        self.passes += 1
        self._before = {}
        self._sources = {}

    def add(self, reading: ModelReading) -> None:
        """Adds one reading of the present iterator."""
        root = reading.nodes[reading.root]
        if self._root is None or self._root.latest.name != root.name:
            self._root = _Place(root)
        first = self.readings == 0
        self._visit(reading, root, self._root, first, path=())
        self._before = reading.nodes
        alive = reading.nodes.keys()
        self._sources = {key: value for key, value in self._sources.items() if key in alive}
        self.readings += 1
        self._latest = reading

    def freeze(self) -> LiveModel | None:
        """Gives the joined model, or None before the first reading."""
        if self._root is None or self._latest is None:
            return None
        steady = self.readings > 1 and self._root.steady.elements >= MIN_STEADY_ELEMENTS
        return LiveModel(
            root=_freeze(self._root, steady),
            readings=self.readings,
            passes=self.passes,
            cpu_budget=self._latest.cpu_budget,
            ram_budget_bytes=self._latest.ram_budget_bytes,
        )

    def _visit(
        self,
        reading: ModelReading,
        node: NodeReading,
        place: _Place,
        first: bool,
        path: tuple[int, ...],
    ) -> None:
        difference = self._difference(node)
        (place.warm_up if first else place.steady).add(difference)
        place.latest = node
        place.buffered += node.buffered_elements
        place.buffer_readings += 1
        for slot, child in self._inputs(reading, node, place):
            if child.id in path:  # a damaged model must not send us round in circles
                continue
            key = (slot, child.name)
            if key not in place.children:
                place.children[key] = _Place(child)
            self._visit(reading, child, place.children[key], first, (*path, node.id))

    def _difference(self, node: NodeReading) -> _Sum:
        """Gives what a node did since it was last seen; all it did if it was never or anew."""
        before = self._before.get(node.id)
        counts = _Sum(node.elements, node.processing_ns, node.bytes_produced)
        if before is None or before.name != node.name or before.elements > node.elements:
            return counts
        counts.elements -= before.elements
        counts.processing_ns = max(0, counts.processing_ns - before.processing_ns)
        counts.bytes_produced = max(0, counts.bytes_produced - before.bytes_produced)
        return counts

    def _inputs(
        self, reading: ModelReading, node: NodeReading, place: _Place
    ) -> Iterator[tuple[int, NodeReading]]:
        """Gives a node's inputs with their slots: 0, 1, 2, ... in the order of the model.

        Of a node that interleaves, slot 0 is the source and slot 1 whatever else is open.
        """
        inputs = [reading.nodes[item] for item in node.inputs if item in reading.nodes]
        if not node.name.startswith(INTERLEAVING):
            yield from enumerate(inputs)
            return
        source = self._sources.get(node.id)
        if source is None and inputs:
            source = self._find_source(node, inputs, place)
        for child in inputs:
            yield (0 if child.id == source else 1), child

    def _find_source(self, node: NodeReading, inputs: list[NodeReading], place: _Place) -> int:
        """Finds the source among inputs: the oldest, unless it is known by name not to be it."""
        oldest = min(inputs, key=lambda item: item.id)
        known = {name for slot, name in place.children if slot == 0}
        if known and oldest.name not in known:
            return -1
        self._sources[node.id] = oldest.id
        return oldest.id


def _freeze(place: _Place, steady: bool) -> LiveNode:
    latest = place.latest
    total = place.steady
    if not steady:
        total = _Sum()
        total.add(place.warm_up)
        total.add(place.steady)
    return LiveNode(
        name=latest.name,
        elements=total.elements,
        processing_s=total.processing_ns / 1e9,
        bytes_produced=total.bytes_produced,
        ratio=latest.ratio,
        parallelism=latest.parallelism,
        parallelism_tunable=latest.parallelism_tunable,
        buffer_size=latest.buffer_size,
        buffered_elements=place.buffered / max(1, place.buffer_readings),
        inputs=tuple(_freeze(child, steady) for child in _children(place)),
    )


def _children(place: _Place) -> list[_Place]:
    """Gives one place a slot, in order: of several names, the one that did the most."""
    best: dict[int, _Place] = {}
    for (slot, _), child in place.children.items():
        rival = best.get(slot)
        done = child.warm_up.elements + child.steady.elements
        if rival is None or done > rival.warm_up.elements + rival.steady.elements:
            best[slot] = child
    if best and 0 not in best:
        best[0] = _Place(NodeReading(-1, EXHAUSTED, 0, 0, 0))
    return [best[slot] for slot in sorted(best)]
