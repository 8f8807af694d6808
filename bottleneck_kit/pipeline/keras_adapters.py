"""What Keras itself puts into a pipeline: its adapters for arrays, generators and PyDatasets."""

from __future__ import annotations

import inspect
import itertools
from typing import Any

from bottleneck_kit.pipeline.composites import generator_of
from bottleneck_kit.pipeline.links import (
    Link,
    Recogniser,
    function_of,
    inputs_of,
    where_defined,
)
from bottleneck_kit.pipeline.transformations import Option, options_of, transformation_of
from bottleneck_kit.pipeline.user_function import closure_of

KERAS = "keras"
"""Value of ``injected_by``."""


def array_adapter(dataset: Any) -> Link | None:
    """NumPy input: a zip of shuffled indices with the arrays, mapped by a gather."""
    wrapper = getattr(dataset, "_map_func", None)
    if "ArrayDataAdapter" not in where_defined(wrapper):
        return None
    if "grab_batch" not in where_defined(wrapper):
        return None
    link = Link("keras_arrays", dataset, wrapper=wrapper, injected_by=KERAS)
    link.options = _array_options(inputs_of(dataset)[0])
    link.seeded = not link.options.get("shuffle", True)
    return link


def _array_options(zipped: Any) -> dict[str, Option]:
    """Reads the adapter's settings from the closure of its function; {} where they moved."""
    pending = [zipped]
    while pending:
        dataset = pending.pop()
        pending += inputs_of(dataset)
        wrapper = getattr(dataset, "_map_func", None)
        if "slice_batch_indices" in where_defined(wrapper):
            known = closure_of(function_of(wrapper))
            adapter = known.get("self")
            found: dict[str, Option] = {"batch_size": known.get("batch_size")}
            for option, attribute in (("shuffle", "_shuffle"), ("samples", "_num_samples")):
                value = getattr(adapter, attribute, None)
                if isinstance(value, (bool, int, str)):
                    found[option] = value
            return {name: value for name, value in found.items() if value is not None}
    return {}


def generator_adapter(dataset: Any) -> Link | None:
    """A Python generator or PyDataset: from_generator over a method of Keras' adapter."""
    generator = generator_of(dataset)
    if generator is None:
        return None
    name = f"{getattr(generator, '__module__', '')}:{getattr(generator, '__qualname__', '')}"
    if "PyDatasetAdapter" in name:
        py_dataset = generator.__self__.py_dataset
        options: dict[str, Option] = {
            "workers": getattr(py_dataset, "workers", None),
            "use_multiprocessing": getattr(py_dataset, "use_multiprocessing", None),
            "max_queue_size": getattr(py_dataset, "max_queue_size", None),
        }
        options = {key: value for key, value in options.items() if value is not None}
        link = Link("keras_py_dataset", dataset, None, options, dataset._map_func)
        link.function = type(py_dataset)
        link.injected_by = KERAS
        return link
    if "GeneratorDataAdapter" not in name:
        return None
    link = Link("keras_generator", dataset, wrapper=dataset._map_func, injected_by=KERAS)
    adapter = closure_of(generator).get("self")
    link.function = _generator_of_user(getattr(adapter, "generator", None))
    if link.function is None:
        link.note = "the generator behind Keras' adapter was not found"
    return link


def _generator_of_user(restored: Any) -> Any | None:
    """Keras peeks at a generator and chains what it took in front: the lambda closes over it."""
    known = closure_of(restored)
    for value in (known.get("generator"), *known.values()):
        if inspect.isgenerator(value) or hasattr(value, "__next__"):
            return value
    return None


def class_weight(dataset: Any) -> Link | None:
    """``fit(class_weight=...)`` adds a map behind the user's dataset."""
    wrapper = getattr(dataset, "_map_func", None)
    entry = transformation_of(dataset)
    if entry is None or "class_weights_map_fn" not in where_defined(wrapper):
        return None
    link = Link("map", dataset, inputs_of(dataset)[0], options_of(dataset, entry), wrapper)
    link.function = function_of(wrapper)
    link.injected_by = KERAS
    link.note = "adds the class weights"
    return link


KERAS_ADAPTERS: tuple[Recogniser, ...] = (array_adapter, class_weight, generator_adapter)
"""Asked before the composites of tf.data, of which they are special cases; sorted."""


def mark_prefetch(chain: list[Link]) -> None:
    """Marks a prefetch right behind something of Keras' as Keras' own, for it always adds one."""
    for before, link in itertools.pairwise(chain):
        if link.kind == "prefetch" and before.injected_by == KERAS:
            link.injected_by = KERAS
