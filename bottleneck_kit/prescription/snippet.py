"""Writes the Python that a user pastes: transformation calls with this user's names and options."""

from __future__ import annotations

import keyword

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
