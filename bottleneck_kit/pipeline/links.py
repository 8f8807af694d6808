"""Walks a dataset from its end to its sources: one link a transformation, as a person wrote it.

Links are the live half of a stage: they keep the dataset objects, so that a pipeline can be
rebuilt from them. ``stages`` turns them into records.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from bottleneck_kit.pipeline.transformations import (
    BRANCHING,
    SILENT,
    Option,
    options_of,
    plain_value,
    transformation_of,
)


@dataclass
class Link:
    """One transformation of a dataset.

    Attributes:
        kind: Public name; see Stage.
        dataset: The dataset object that it gives.
        upstream: The dataset it reads from on the main line; None at a source.
        options: See Stage.
        wrapper: tf.data's wrapper of the traced function (``.function`` is the ConcreteFunction);
            None where it has none.
        function: The user's Python object that a report should name; None where there is none.
        branches: Chains of links that feed it beside the main line.
        injected_by: See Stage.
        note: See Stage.
        seeded: For a random kind: whether its seed, where it has one, makes it repeat itself (a
            reshuffle may still change that); None for every other kind.
    """

    kind: str
    dataset: Any
    upstream: Any | None = None
    options: dict[str, Option] = field(default_factory=dict)
    wrapper: Any | None = None
    function: Any | None = None
    branches: list[list[Link]] = field(default_factory=list)
    injected_by: str = ""
    note: str = ""
    seeded: bool | None = None


Recogniser = Callable[[Any], "Link | None"]
"""Looks at a dataset and gives a link where it knows the pattern, else None."""


def read_links(dataset: Any, recognisers: Iterable[Recogniser]) -> list[Link]:
    """Gives the main line of a dataset as links, source first; makes no iterator.

    A part that cannot be read becomes one opaque link with a note; the rest is kept.

    Args:
        dataset: A ``tf.data.Dataset``, or a DistributedDataset, whose original is read.
        recognisers: Patterns of several classes that stand for one transformation, asked in
            this order before the table is.
    """
    recognisers = tuple(recognisers)
    chain: list[Link] = []
    current = original_of(dataset)
    while current is not None:
        current = _skip_silent(current)
        link = _read_one(current, recognisers)
        chain.append(link)
        current = link.upstream
    chain.reverse()
    return chain


def original_of(dataset: Any) -> Any:
    """Gives the dataset that a DistributedDataset was made from, or the dataset itself."""
    return getattr(dataset, "_original_dataset", None) or dataset


def inputs_of(dataset: Any) -> list[Any]:
    """Gives the datasets that one reads from.

    ``Dataset.apply`` writes its own input over what a concatenation keeps for ``_inputs()``, so
    that a concatenation is asked for its two parts.
    """
    if type(dataset).__name__ == "_ConcatenateDataset":
        return [dataset._input_dataset, dataset._dataset_to_concatenate]
    return list(dataset._inputs())


def function_of(wrapper: Any) -> Any | None:
    """Gives the Python function that tf.data's wrapper was made from, or None."""
    return getattr(wrapper, "_func", None)


def where_defined(wrapper: Any) -> str:
    """Gives ``module:qualified name`` of a wrapper's function, by which TensorFlow's are known."""
    function = function_of(wrapper)
    function = getattr(function, "func", function)
    name = getattr(function, "__qualname__", "")
    return f"{getattr(function, '__module__', '')}:{name}"


def _read_one(dataset: Any, recognisers: tuple[Recogniser, ...]) -> Link:
    for recognise in recognisers:
        try:
            link = recognise(dataset)
        except Exception:  # a pattern that no longer holds: the plain reading is still right
            continue
        if link is not None:
            return link
    try:
        return _read_plain(dataset, recognisers)
    except Exception as error:
        return opaque(dataset, f"{type(dataset).__name__} {unreadable(error)}")


def _read_plain(dataset: Any, recognisers: tuple[Recogniser, ...]) -> Link:
    transformation = transformation_of(dataset)
    if transformation is None:
        return opaque(dataset, f"{type(dataset).__name__} is not known to this kit")
    inputs = inputs_of(dataset)
    link = Link(transformation.kind, dataset, options=options_of(dataset, transformation))
    if transformation.function:
        link.wrapper = getattr(dataset, transformation.function, None)
        link.function = function_of(link.wrapper)
        if link.wrapper is None:
            link.note = f"its function was not found ({transformation.function} is gone)"
    if transformation.kind in BRANCHING or len(inputs) > 1:
        link.branches = [read_links(item, recognisers) for item in inputs]
    elif inputs:
        link.upstream = inputs[0]
    if transformation.kind in ("shuffle", "shuffle_and_repeat", "random"):
        rerandomizes = bool(plain_value(getattr(dataset, "_rerandomize", None)))
        link.options["seeded"] = is_seeded(dataset)
        link.seeded = is_seeded(dataset) and not rerandomizes
    if transformation.kind == "data_service":
        link.note = "the stages before it run on the service's workers"
    return link


def opaque(dataset: Any, note: str) -> Link:
    """Makes the link for what cannot be read, going on with its input where there is one."""
    try:
        inputs = inputs_of(dataset)
    except Exception:
        inputs = []
    link = Link("opaque", dataset, note=note)
    link.upstream = inputs[0] if len(inputs) == 1 else None
    return link


def unreadable(error: Exception) -> str:
    """Words a failure as the note of a stage, in one short line."""
    first_line = (str(error).splitlines() or [""])[0]
    return f"could not be read: {type(error).__name__} {first_line}"[:200].strip()


def is_seeded(dataset: Any) -> bool:
    """Says whether a shuffle or random source was given a seed (tf.data's pair 0, 0 is none)."""
    seeds = [plain_value(getattr(dataset, name, None)) for name in ("_seed", "_seed2")]
    return any(seed not in (0, None) for seed in seeds)


def _skip_silent(dataset: Any) -> Any:
    """Goes past what hands elements on as they are (options, restructuring)."""
    while type(dataset).__name__ in SILENT:
        inputs = inputs_of(dataset)
        if type(dataset).__name__ == "DatasetV1Adapter":
            inputs = [dataset._dataset]
        if len(inputs) != 1:
            break
        dataset = inputs[0]
    return dataset
