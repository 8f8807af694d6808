"""Records to JSON and back; older records load with defaults for the fields they lack."""

from __future__ import annotations

import dataclasses
import json
import math
import os
import secrets
import types
import typing
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, TypeVar, Union

from bottleneck_kit.errors import RecordError
from bottleneck_kit.records.measurement import Missing
from bottleneck_kit.records.run_record import SCHEMA, RunRecord

Record = TypeVar("Record")

MARK = "bottleneck_kit.RunRecord"
"""Value of the key ``record``, by which a file is known to be one of ours."""


def to_jsonable(value: Any) -> Any:
    """Turns a record into dictionaries, lists and scalars.

    A Missing becomes ``{"missing": reason}``; a number that JSON has no word for becomes
    ``{"number": "inf"}`` (or ``-inf``, ``nan``), which no text of a user's is mistaken for.
    """
    if isinstance(value, Missing):
        return {"missing": value.reason}
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: to_jsonable(getattr(value, f.name)) for f in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {str(key): to_jsonable(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [to_jsonable(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return {"number": str(value)}
    return value


def from_jsonable(kind: type[Record], value: Any) -> Record:
    """Makes a record of type ``kind`` from what ``to_jsonable`` gave.

    Raises:
        RecordError: The value does not have the shape of ``kind``.
    """
    try:
        return typing.cast(Record, _decode(kind, value))
    except (TypeError, ValueError, KeyError, OverflowError, RecursionError) as error:
        raise RecordError(
            expected=f"a whole {kind.__name__}",
            received=f"a damaged one ({error})",
            do="The file is damaged or is not a record of this kit; record the run again.",
        ) from error


def dumps(record: RunRecord) -> str:
    """Gives the record as JSON text."""
    return json.dumps({"record": MARK, **to_jsonable(record)}, allow_nan=False)


def loads(text: str, *, source: str = "text") -> RunRecord:
    """Reads a record from JSON text.

    Args:
        text: What ``dumps`` gave, by this version of the kit or an older one.
        source: Where the text came from, for the message.

    Raises:
        RecordError: It is not JSON, not a record, damaged, or of a later schema.
    """
    try:
        content = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise RecordError(
            expected="a record file (JSON)",
            received=f"{source}, which is not JSON ({error})",
            do="The file is cut or is something else; record the run again.",
        ) from error
    if not isinstance(content, dict) or content.get("record") != MARK:
        raise RecordError(
            expected="a record file",
            received=f"{source}, which is JSON of another kind",
            do="Pass the record.json that BottleneckCallback(log_dir=...) saved.",
        )
    schema = content.get("schema")
    if not isinstance(schema, int) or schema < 1:
        raise RecordError(
            expected="a record with a schema number",
            received=f"{source} with schema {schema!r}",
            do="The file is damaged; record the run again.",
        )
    if schema > SCHEMA:
        raise RecordError(
            expected=f"a record of schema {SCHEMA} or older",
            received=f"{source} of schema {schema}",
            do="A later version of bottleneck-kit wrote it: upgrade with "
            "'pip install --upgrade bottleneck-kit'.",
        )
    try:
        return from_jsonable(RunRecord, content)
    except RecordError as error:
        raise RecordError(
            expected=error.expected, received=f"{error.received} in {source}", do=error.do
        ) from error


def save(record: RunRecord, path: str | Path) -> Path:
    """Writes the record to ``path``, whole or not at all.

    Raises:
        OSError: The file cannot be written.
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    # Not tempfile: its files are for their owner alone, and a record is there to be handed on.
    temporary = path.with_name(f"{path.name}.{secrets.token_hex(4)}.part")
    try:
        with temporary.open("x", encoding="utf-8") as file:
            file.write(dumps(record))
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    return path


def load(path: str | Path) -> RunRecord:
    """Reads a record from a file.

    Raises:
        RecordError: The file is not there, cannot be read, or holds no record.
    """
    try:
        text = Path(path).read_text(encoding="utf-8-sig")
    except (OSError, ValueError) as error:  # ValueError: not UTF-8, or no path at all
        reason = getattr(error, "strerror", None) or str(error)
        raise RecordError(
            expected="a record file",
            received=f"{path}, which cannot be read ({reason})",
            do="Pass the record.json that BottleneckCallback(log_dir=...) saved.",
        ) from error
    return loads(text, source=str(path))


@cache
def _hints(kind: type) -> dict[str, Any]:
    return typing.get_type_hints(kind)


def _decode(kind: Any, value: Any) -> Any:
    """Decodes ``value`` by the annotation ``kind``; unknown fields are passed over."""
    origin = typing.get_origin(kind)
    if origin in (Union, types.UnionType):
        return _decode_union(typing.get_args(kind), value)
    if origin is tuple:
        item_kind = typing.get_args(kind)[0]
        if not isinstance(value, list):
            raise TypeError(f"a list was expected, not {type(value).__name__}")
        return tuple(_decode(item_kind, item) for item in value)
    if origin is dict:
        item_kind = typing.get_args(kind)[1]
        if not isinstance(value, dict):
            raise TypeError(f"an object was expected, not {type(value).__name__}")
        return {key: _decode(item_kind, item) for key, item in value.items()}
    if kind is Missing:
        if not (isinstance(value, dict) and isinstance(value.get("missing"), str)):
            raise TypeError("a missing value was expected")
        return Missing(value["missing"])
    if dataclasses.is_dataclass(kind):
        if not isinstance(value, dict):
            name = getattr(kind, "__name__", kind)
            raise TypeError(f"{name} was expected, not {type(value).__name__}")
        return _decode_record(kind, value)
    if kind is float and _is_marked_number(value):
        return float(value["number"])
    if kind is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if kind is type(None) and value is None:
        return None
    if kind in (bool, int, float, str) and type(value) is kind:
        return value
    raise TypeError(f"{getattr(kind, '__name__', kind)} was expected, not {value!r:.40}")


def _decode_record(kind: Any, value: dict[str, Any]) -> Any:
    """Decodes the fields that are there; the message of a failure spells the path to it."""
    hints = _hints(kind)
    found = {}
    for field in dataclasses.fields(kind):
        if field.name in value:
            try:
                found[field.name] = _decode(hints[field.name], value[field.name])
            except (TypeError, ValueError, KeyError, OverflowError) as error:
                raise TypeError(f"{field.name}: {error}") from error
    return kind(**found)


def _is_marked_number(value: Any) -> bool:
    return (
        isinstance(value, dict)
        and set(value) == {"number"}
        and value["number"] in ("inf", "-inf", "nan")
    )


def _decode_union(kinds: tuple[Any, ...], value: Any) -> Any:
    """Takes the first alternative that fits; a missing value only as Missing."""
    if isinstance(value, dict) and set(value) == {"missing"} and Missing in kinds:
        return _decode(Missing, value)
    # Exact scalar types first, so that an int does not become a float where both are allowed.
    for kind in kinds:
        if kind is type(value) and kind in (bool, int, float, str):
            return value
    error: Exception = TypeError("no alternative fits")
    for kind in kinds:
        if kind is Missing:
            continue
        try:
            return _decode(kind, value)
        except (TypeError, ValueError, KeyError, OverflowError) as failure:
            error = failure
    raise error
