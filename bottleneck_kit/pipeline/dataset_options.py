"""The options of a dataset that matter for speed, read for the record of a pipeline."""

from __future__ import annotations

from typing import Any

from bottleneck_kit.pipeline.transformations import Option

SPEED_OPTIONS = (
    "autotune.autotune_algorithm",
    "autotune.cpu_budget",
    "autotune.enabled",
    "autotune.initial_parallelism",
    "autotune.min_parallelism",
    "autotune.ram_budget",
    "deterministic",
    "experimental_optimization.apply_default_optimizations",
    "experimental_optimization.filter_fusion",
    "experimental_optimization.filter_parallelization",
    "experimental_optimization.inject_prefetch",
    "experimental_optimization.map_and_batch_fusion",
    "experimental_optimization.map_and_filter_fusion",
    "experimental_optimization.map_fusion",
    "experimental_optimization.map_parallelization",
    "experimental_optimization.noop_elimination",
    "experimental_optimization.parallel_batch",
    "experimental_optimization.seq_interleave_prefetch",
    "experimental_optimization.shuffle_and_repeat_fusion",
    "experimental_slack",
    "experimental_warm_start",
    "threading.max_intra_op_parallelism",
    "threading.private_threadpool_size",
)
"""Names as a person writes them on ``tf.data.Options``, sorted.

The older names of two of them (``experimental_deterministic``, ``experimental_threading``) are not
asked for: they read the same values, and TensorFlow prints a warning whenever they are touched.
"""


def read_options(dataset: Any) -> dict[str, Option]:
    """Gives the speed-relevant options that were set on a dataset, by their public names.

    Never raises: an option this TensorFlow does not have counts as not set.
    """
    found: dict[str, Option] = {}
    try:
        options = dataset.options()
    except Exception:
        return found
    for name in SPEED_OPTIONS:
        value = options
        try:
            for part in name.split("."):
                value = getattr(value, part)
        except Exception:  # an option may be a property that refuses to be read
            continue
        if value is None:
            continue
        plain = value if isinstance(value, (bool, int, float, str)) else _enum_name(value)
        found[name] = plain
    return found


def _enum_name(value: Any) -> str:
    return str(getattr(value, "name", value))
