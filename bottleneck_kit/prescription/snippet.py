"""Writes the Python that a user pastes: transformation calls with this user's names and options."""

from __future__ import annotations

import keyword
import re

from bottleneck_kit.records.stage import Stage

AUTOTUNE = "tf.data.AUTOTUNE"

# The arguments that each transformation's call takes, in its own order.
_ARGUMENTS: dict[str, tuple[str, ...]] = {
    "map": ("num_parallel_calls", "deterministic"),
    "interleave": ("cycle_length", "block_length", "num_parallel_calls", "deterministic"),
    "batch": ("batch_size", "drop_remainder", "num_parallel_calls", "deterministic"),
    "padded_batch": ("batch_size", "padded_shapes", "drop_remainder"),
    "shuffle": ("buffer_size", "reshuffle_each_iteration"),
    "repeat": ("count",),
    "cache": ("filename",),
    "prefetch": ("buffer_size",),
    "take": ("count",),
    "skip": ("count",),
}
_POSITIONAL = frozenset({"batch_size", "buffer_size", "count", "filename"})
_TAKES_FUNCTION = frozenset({"map", "filter", "flat_map", "interleave"})
_TUNABLE = frozenset({"num_parallel_calls", "buffer_size"})
# Defaults that need not be written.
_SILENT: dict[str, object] = {
    "drop_remainder": False,
    "filename": "",
    "count": -1,
    "reshuffle_each_iteration": True,
}
_RENAMED = {"reshuffle": "reshuffle_each_iteration"}

_TENSOR = r"\w+\[[^\]]*\]"

Value = bool | int | float | str | None


def function_name(stage: Stage) -> str:
    """Gives the user's function as code can call it; a stand-in where it has no name.

    A Keras layer that is mapped itself is recorded as ``RandomFlip random_flip``: class and name.
    """
    words = stage.name.split()
    if len(words) == 2 and words[1].isidentifier():
        return f"your_{words[1]}"
    parts = stage.name.split(".")
    if all(part.isidentifier() and not keyword.iskeyword(part) for part in parts):
        return stage.name
    return "your_function" if stage.line is None else f"your_function_of_line_{stage.line}"


def where(stage: Stage) -> str:
    """Gives a comment's ending that says where the function stands: ``" (train.py:12)"``."""
    return f" ({stage.place})" if stage.place else ""


def python_function(stage: Stage) -> tuple[str, str]:
    """Gives the Python function that a stage runs while training, and a comment's ending for it.

    Within a map that calls ``tf.py_function`` or ``tf.numpy_function`` that is another function
    than the map's own. One without a name of its own gets a stand-in.
    """
    if not stage.python_functions:
        return function_name(stage), where(stage)
    name, _, place = stage.python_functions[0].partition(" (")
    parts = name.split(".")
    plain = all(part.isidentifier() and not keyword.iskeyword(part) for part in parts)
    return name if plain else "your_python_function", f" ({place}" if place else ""


def output_types(stage: Stage) -> str:
    """Gives the dtypes of what a stage gives, as ``tf.numpy_function`` takes them; "" unknown."""
    types = [f"tf.{dtype}" for dtype, _ in _tensors(stage)]
    if not types or not stage.element_spec.startswith("("):
        return "".join(types)
    return f"[{', '.join(types)}]"


def ensured_shapes(stage: Stage, *, batched: bool = False) -> str:
    """Writes the line that gives tensors from Python the stage's shapes; "" where none is known.

    Args:
        stage: The stage whose elements come from Python.
        batched: Whether they are batches of its elements by then.
    """
    names, ensured = [], []
    for place, (_, shape) in enumerate(_tensors(stage)):
        names.append(f"part_{place}")
        if shape == "...":
            ensured.append(names[-1])
            continue
        sizes = ["None" if size == "?" else size for size in shape.split(",") if size]
        sizes = ["None", *sizes] if batched else sizes
        written = f"[{', '.join(sizes)}]"
        ensured.append(f"tf.ensure_shape({names[-1]}, {written})")
    if ensured == names:
        return ""
    comma = "," if len(names) == 1 else ""
    given = f"({', '.join(ensured)}{comma})" if stage.element_spec.startswith("(") else ensured[0]
    return f"dataset = dataset.map(lambda {', '.join(names)}: {given})"


def _tensors(stage: Stage) -> list[tuple[str, str]]:
    """Gives dtype and shape of each tensor of a flat element; empty for any other structure."""
    flat = re.fullmatch(rf"\({_TENSOR}(, {_TENSOR})*,?\)|{_TENSOR}", stage.element_spec)
    return re.findall(r"(\w+)\[([^\]]*)\]", stage.element_spec) if flat else []


def call(stage: Stage, *, function: str | None = None, **changes: Value) -> str:
    """Writes a transformation as it stands, with ``changes`` to its arguments.

    Args:
        stage: The stage to write.
        function: Written in the place of the user's function.
        changes: Arguments that differ; None leaves one out.

    Returns:
        Such as ``.map(parse, num_parallel_calls=tf.data.AUTOTUNE)``.
    """
    values: dict[str, Value] = {_RENAMED.get(k, k): v for k, v in stage.options.items()}
    values.update(changes)
    arguments = []
    if stage.kind in _TAKES_FUNCTION:
        arguments.append(function or function_name(stage))
    for name in _ARGUMENTS.get(stage.kind, ()):
        value = values.get(name)
        if value is None or (name in _SILENT and value == _SILENT[name]):
            continue
        written = _value(name, value)
        arguments.append(written if name in _POSITIONAL else f"{name}={written}")
    return f".{stage.kind}({', '.join(arguments)})"


def assignments(*calls: str) -> str:
    """Writes one ``dataset = dataset...`` line for each call."""
    return "\n".join(f"dataset = dataset{one}" for one in calls)


def comment(text: str, *, width: int = 88) -> str:
    """Writes a sentence as comment lines no wider than ``width``."""
    lines, line = [], "#"
    for word in text.split():
        if len(line) + 1 + len(word) > width and line != "#":
            lines.append(line)
            line = "#"
        line = f"{line} {word}"
    return "\n".join([*lines, line])


def _value(name: str, value: Value) -> str:
    if name in _TUNABLE and value in ("AUTOTUNE", -1):
        return AUTOTUNE
    return repr(value)
