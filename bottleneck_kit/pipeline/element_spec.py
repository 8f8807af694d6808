"""What an element looks like: a printable spec and its bytes, for ``stages``."""

from __future__ import annotations

from typing import Any

import tensorflow as tf


def describe_spec(spec: Any) -> str:
    """Prints a structure of TypeSpecs: ``(uint8[32,32,3], int32[])``."""
    if isinstance(spec, dict):
        return "{" + ", ".join(f"{key}: {describe_spec(item)}" for key, item in spec.items()) + "}"
    if isinstance(spec, (list, tuple)):
        items = ", ".join(describe_spec(item) for item in spec)
        return f"({items},)" if len(spec) == 1 else f"({items})"
    if isinstance(spec, tf.TensorSpec):
        return f"{spec.dtype.name}{_describe_shape(spec.shape)}"
    if isinstance(spec, (tf.SparseTensorSpec, tf.RaggedTensorSpec)):
        kind = "sparse" if isinstance(spec, tf.SparseTensorSpec) else "ragged"
        return f"{kind} {spec.dtype.name}{_describe_shape(spec.shape)}"
    if isinstance(spec, tf.data.DatasetSpec):
        return f"dataset of {describe_spec(spec.element_spec)}"
    return type(spec).__name__


def _describe_shape(shape: Any) -> str:
    if shape is None or shape.rank is None:
        return "[...]"
    return "[" + ",".join("?" if size is None else str(size) for size in shape.as_list()) + "]"


def element_bytes(spec: Any, *, batch_size: int | None = None) -> int | None:
    """Gives the bytes of one element, or None where its spec leaves that open.

    Args:
        spec: A structure of TypeSpecs.
        batch_size: Size of the leading dimension where it is open but known from a batch.
    """
    total = 0
    for leaf in tf.nest.flatten(spec):
        if not isinstance(leaf, tf.TensorSpec) or leaf.dtype in (tf.string, tf.variant):
            return None
        if leaf.shape.rank is None:
            return None
        sizes = leaf.shape.as_list()
        if sizes and sizes[0] is None and batch_size is not None:
            sizes[0] = batch_size
        if any(size is None for size in sizes):
            return None
        count = 1
        for size in sizes:
            count *= size
        total += count * leaf.dtype.size
    return total
