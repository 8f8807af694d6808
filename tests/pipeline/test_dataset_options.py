"""Options that matter for speed are read where they were set, and only there."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from bottleneck_kit.pipeline.dataset_options import SPEED_OPTIONS, read_options


def test_only_options_that_were_set_are_given() -> None:
    options = tf.data.Options()
    options.autotune.enabled = True
    options.autotune.cpu_budget = 3
    options.deterministic = False
    options.threading.private_threadpool_size = 2
    options.threading.max_intra_op_parallelism = 1
    options.experimental_optimization.inject_prefetch = False
    options.experimental_slack = True
    dataset = tf.data.Dataset.range(3).with_options(options).map(lambda x: x)
    assert read_options(dataset) == {
        "autotune.cpu_budget": 3,
        "autotune.enabled": True,
        "deterministic": False,
        "experimental_optimization.inject_prefetch": False,
        "experimental_slack": True,
        "threading.max_intra_op_parallelism": 1,
        "threading.private_threadpool_size": 2,
    }
    assert read_options(tf.data.Dataset.range(3)) == {}


def test_an_enumeration_is_given_by_its_name() -> None:
    options = tf.data.Options()
    options.autotune.autotune_algorithm = tf.data.experimental.AutotuneAlgorithm.STAGE_BASED
    dataset = tf.data.Dataset.range(3).with_options(options)
    assert read_options(dataset) == {"autotune.autotune_algorithm": "STAGE_BASED"}


# Both came with later releases than the oldest one supported.
MAY_BE_ABSENT = {
    "autotune.min_parallelism",
    "experimental_optimization.seq_interleave_prefetch",
}


def test_the_table_is_sorted_and_all_of_it_is_there_in_this_tensorflow() -> None:
    assert list(SPEED_OPTIONS) == sorted(SPEED_OPTIONS)
    missing = set()
    for name in SPEED_OPTIONS:
        value: Any = tf.data.Options()
        for part in name.split("."):
            if not hasattr(value, part):
                missing.add(name)
                break
            value = getattr(value, part)
    assert missing <= MAY_BE_ABSENT, f"{sorted(missing)} are gone in {tf.__version__}"


def test_something_without_options_has_none_set() -> None:
    assert read_options(object()) == {}
