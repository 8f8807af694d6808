"""Reads a ``tf.data.Dataset`` as stages: kind, user function, options, element specs, traits.

No iterator is made and no function of the user's is called; a stage that cannot be read becomes
``opaque`` and takes none of the others with it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any

from bottleneck_kit.pipeline.code_references import locate_called
from bottleneck_kit.pipeline.composites import COMPOSITES
from bottleneck_kit.pipeline.dataset_options import read_options
from bottleneck_kit.pipeline.element_spec import describe_spec, element_bytes
from bottleneck_kit.pipeline.function_graph import operations
from bottleneck_kit.pipeline.inner_graph import InnerStage, captured_dataset, read_inner
from bottleneck_kit.pipeline.keras_adapters import KERAS_ADAPTERS, mark_prefetch
from bottleneck_kit.pipeline.links import Link, read_links, unreadable
from bottleneck_kit.pipeline.traits import python_calls, traits_of_function
from bottleneck_kit.pipeline.transformations import CHANGES_COUNT_KINDS, Option, transformation_of
from bottleneck_kit.pipeline.user_function import UserFunction, locate, locate_generator
from bottleneck_kit.records.stage import Stage, Traits

__all__ = ["links_of", "read_options", "read_stages"]

_GENERATORS = ("from_generator", "keras_generator", "keras_py_dataset")
_GENERATOR_TRAITS = Traits(stateful=True, python=True, deterministic=False, changes_count=True)
_GONE = "a function that is no longer there"
_READS_FILES = ("csv", "fixed_length_record", "load", "snapshot", "sql", "text_line", "tfrecord")


def read_stages(dataset: Any) -> tuple[Stage, ...]:
    """Gives the stages of a dataset, source first; branches hang on the stage they feed.

    Args:
        dataset: A ``tf.data.Dataset`` (or the DistributedDataset made from one).

    Returns:
        The main line. ``index`` is unique over all stages, in data order; costs are Missing.
    """
    return _numbered(_drafts(links_of(dataset)))


def links_of(dataset: Any) -> list[Link]:
    """Gives the live half of the stages, one link a stage of the main line, in the same order."""
    chain = read_links(dataset, (*KERAS_ADAPTERS, *COMPOSITES))
    mark_prefetch(chain)
    return chain


def _numbered(stages: list[Stage]) -> tuple[Stage, ...]:
    counter = iter(range(1 << 30))

    def number(items: tuple[Stage, ...] | list[Stage]) -> tuple[Stage, ...]:
        done = []
        for stage in items:
            branches = tuple(number(branch) for branch in stage.branches)
            done.append(dataclasses.replace(stage, index=next(counter), branches=branches))
        return tuple(done)

    return number(stages)


def _drafts(chain: list[Link]) -> list[Stage]:
    """Makes stages with index 0 of links; carries the batch size along for element sizes."""
    stages: list[Stage] = []
    bytes_before: int | None = None
    batch_size: int | None = None
    for link in chain:
        try:
            stage = _stage(link)
        except Exception as error:
            stage = Stage(0, "opaque", "opaque", note=f"{link.kind} {unreadable(error)}")
        batch_size = _batch_size_after(stage, batch_size)
        spec = _spec_of(link.dataset)
        size = None if spec is None else element_bytes(spec, batch_size=batch_size)
        stages.append(
            dataclasses.replace(
                stage,
                element_spec="" if spec is None else describe_spec(spec),
                element_bytes=size,
                input_bytes=bytes_before,
            )
        )
        bytes_before = size
    return stages


def _batch_size_after(stage: Stage, before: int | None) -> int | None:
    if stage.kind == "unbatch":
        return None
    size = stage.options.get("batch_size")
    return size if isinstance(size, int) and not isinstance(size, bool) else before


def _spec_of(dataset: Any) -> Any | None:
    try:
        return dataset.element_spec
    except Exception:
        return None


def _stage(link: Link) -> Stage:
    user = _user_function(link)
    branches = [tuple(_drafts(branch)) for branch in link.branches]
    note = link.note
    called: tuple[str, ...] = ()
    if link.kind in ("interleave", "flat_map") and link.wrapper is not None:
        try:
            branches.append(tuple(_inner_stages(link)))
        except Exception as error:
            note = f"the dataset made by its function {unreadable(error)}"
    if user is not None:
        called = _called_python(link, user)
        notes = [note, user.note and f"given as {user.note}", _python_note(called)]
        note = "; ".join(item for item in notes if item)
    return Stage(
        index=0,
        kind=link.kind,
        name=link.kind if user is None else user.name,
        file=None if user is None else user.file,
        line=None if user is None else user.line,
        options=link.options,
        traits=_with_what_it_opens(link.kind, _traits(link), branches),
        branches=tuple(branches),
        injected_by=link.injected_by,
        note=note,
        python_functions=tuple(item for item in called if item != _GONE),
    )


def _user_function(link: Link) -> UserFunction | None:
    if link.function is None:
        return None
    if link.kind in _GENERATORS:
        return locate_generator(link.function)
    return locate(link.function)


def _python_note(called: tuple[str, ...]) -> str:
    return f"calls Python: {', '.join(called)}" if called else ""


def _called_python(link: Link, user: UserFunction) -> tuple[str, ...]:
    """Names the Python functions that a map calls while training, with their places."""
    if link.kind in _GENERATORS:
        return ()
    found = [item for concrete in _concretes(link) for item in operations(concrete.graph)]
    names = []
    for function in python_calls(found):
        called = None if function is None else locate_called(function, user.function)
        if called is None:
            names.append(_GONE)
        elif called.function is not user.function:
            names.append(f"{called.name} ({called.place})" if called.place else called.name)
    return tuple(dict.fromkeys(names))


def _concretes(link: Link) -> Iterator[Any]:
    """Gives the traced functions of a link, that of its wrapper first."""
    wrappers = [] if link.wrapper is None else [link.wrapper]
    for value in vars(link.dataset).values():
        if type(value).__name__ == "StructuredFunctionWrapper" and value not in wrappers:
            wrappers.append(value)
    for wrapper in wrappers:
        yield wrapper.function


def _traits(link: Link) -> Traits:
    entry = transformation_of(link.dataset)
    changes = link.kind in CHANGES_COUNT_KINDS
    reads_files = link.kind in _READS_FILES or (entry is not None and entry.reads_files)
    if link.kind in _GENERATORS:
        return _GENERATOR_TRAITS
    if link.kind == "opaque":
        return Traits()
    if link.wrapper is not None:
        found = traits_of_function(
            _concretes(link), link.function, changes_count=changes, reads_files=reads_files
        )
        if link.seeded is False:
            return dataclasses.replace(found, random=True, stateful=True, deterministic=False)
        return found
    is_random = link.seeded is not None and not _repeats_its_order(link)
    return Traits(
        random=is_random,
        stateful=is_random,
        python=False,
        deterministic=not is_random,
        changes_count=changes,
        reads_files=reads_files,
    )


def _with_what_it_opens(kind: str, traits: Traits, branches: list[tuple[Stage, ...]]) -> Traits:
    """Judges an interleave by the datasets it opens, too, for those may be made elsewhere."""
    if kind not in ("interleave", "flat_map"):
        return traits
    opened = [stage for branch in branches for stage in branch if stage.kind != "opaque"]
    if any(stage.traits.random for stage in opened):
        return dataclasses.replace(traits, random=True, stateful=True, deterministic=False)
    if any(stage.traits.deterministic is False for stage in opened):
        return dataclasses.replace(traits, deterministic=False)
    return traits


def _repeats_its_order(link: Link) -> bool:
    """Says whether each pass of a shuffle or random source is the same as the one before."""
    reshuffles: Option = link.options.get("reshuffle", False)
    return bool(link.seeded) and not reshuffles


def _inner_stages(link: Link) -> list[Stage]:
    stages: list[Stage] = []
    bytes_before: int | None = None
    batch_size: int | None = None
    for inner in read_inner(link.wrapper.function.graph, link.function):
        outside = inner.captured is not None and captured_dataset(inner.captured, link.function)
        if outside:
            stages += _drafts(links_of(outside))
            bytes_before = stages[-1].element_bytes
            continue
        size_option = inner.options.get("batch_size")
        batch_size = size_option if isinstance(size_option, int) else batch_size
        size = None if inner.spec is None else element_bytes(inner.spec, batch_size=batch_size)
        stages.append(_inner_stage(inner, size, bytes_before))
        bytes_before = size
    return stages


@dataclasses.dataclass
class _Traced:
    """Just enough of a ConcreteFunction for traits to be judged from a graph."""

    graph: Any


def _inner_stage(inner: InnerStage, size: int | None, bytes_before: int | None) -> Stage:
    user = inner.user
    reads_files = inner.kind in _READS_FILES
    bodies = [] if inner.body is None or user is None else [_Traced(inner.body)]
    traits = traits_of_function(
        bodies,
        None if user is None else user.function,
        changes_count=inner.kind in CHANGES_COUNT_KINDS,
        reads_files=reads_files,
    )
    if inner.kind == "opaque":
        traits = Traits()
    elif inner.kind in _GENERATORS:
        traits = _GENERATOR_TRAITS
    elif inner.kind in ("shuffle", "random"):
        traits = dataclasses.replace(traits, random=True, stateful=True, deterministic=False)
    return Stage(
        index=0,
        kind=inner.kind,
        name=inner.kind if user is None else user.name,
        file=None if user is None else user.file,
        line=None if user is None else user.line,
        options=inner.options,
        element_spec="" if inner.spec is None else describe_spec(inner.spec),
        element_bytes=size,
        input_bytes=bytes_before,
        traits=traits,
        note="; ".join(item for item in (inner.note, "" if user is None else user.note) if item),
    )
