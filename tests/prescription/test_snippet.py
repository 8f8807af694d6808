from __future__ import annotations

import ast
from typing import Any

import numpy as np
import pytest
from constructed import stage
from prescribed_jobs import (
    ask,
    batch,
    finding,
    mapped,
    prefetch,
    python_map,
    run,
    serial_map,
    source,
)

from bottleneck_kit.prescription import snippet
from bottleneck_kit.records.evidence import Evidence
from bottleneck_kit.records.stage import Stage


@pytest.mark.parametrize(
    ("one", "changes", "text"),
    [
        (stage(0, "map", "parse"), {}, ".map(parse)"),
        (
            stage(0, "map", "parse", options={"deterministic": False}),
            {"num_parallel_calls": "AUTOTUNE"},
            ".map(parse, num_parallel_calls=tf.data.AUTOTUNE, deterministic=False)",
        ),
        (
            stage(0, "map", "parse", options={"num_parallel_calls": -1}),
            {},
            ".map(parse, num_parallel_calls=tf.data.AUTOTUNE)",
        ),
        (
            stage(0, "batch", options={"batch_size": 32, "drop_remainder": True}),
            {},
            ".batch(32, drop_remainder=True)",
        ),
        (
            stage(0, "batch", options={"batch_size": 32, "drop_remainder": False}),
            {},
            ".batch(32)",
        ),
        (
            stage(0, "shuffle", options={"buffer_size": 100, "reshuffle": False}),
            {},
            ".shuffle(100, reshuffle_each_iteration=False)",
        ),
        (stage(0, "repeat", options={"count": -1}), {}, ".repeat()"),
        (stage(0, "repeat", options={"count": 3}), {}, ".repeat(3)"),
        (stage(0, "cache", options={"filename": "/a'b"}), {}, """.cache("/a'b")"""),
        (
            stage(0, "prefetch", options={"buffer_size": "AUTOTUNE"}),
            {},
            ".prefetch(tf.data.AUTOTUNE)",
        ),
    ],
)
def test_a_call_keeps_the_users_arguments(one: Stage, changes: dict[str, Any], text: str) -> None:
    assert snippet.call(one, **changes) == text


@pytest.mark.parametrize(
    ("name", "function"),
    [
        ("parse", "parse"),
        ("Augmenter.flip", "Augmenter.flip"),
        ("lambda", "your_function_of_line_10"),
        ("RandomFlip random_flip", "your_random_flip"),
        ("<unknown>", "your_function_of_line_10"),
    ],
)
def test_a_function_without_a_usable_name_gets_a_stand_in(name: str, function: str) -> None:
    assert snippet.function_name(stage(0, "map", name)) == function


def test_a_comment_is_wrapped_and_keeps_its_words() -> None:
    words = " ".join(f"word{i}" for i in range(50))
    lines = snippet.comment(words).splitlines()
    assert all(line.startswith("# ") and len(line) <= 88 for line in lines)
    assert " ".join(line[2:] for line in lines) == words


def job_of(name: str) -> Evidence:
    """A job whose only function is called ``name``, shaped so that most remedies apply."""
    many = {"elements_per_step": 5000.0, "input_bytes": 128, "element_bytes": 128}
    busy = {"cpu_step_s": 0.160, "cpu_held_s": 0.010}
    stages = [source(0), mapped(1, name, 65.0, **many), mapped(2, name, 60.0, **many), batch(3)]
    return run([*stages, prefetch(4)], **busy)


@pytest.mark.parametrize("remedy", ["bake", "cache", "fuse", "vectorize"])
@pytest.mark.parametrize(
    "name", ["decode", "Loader.decode", "lambda", "RandomFlip random_flip", 'it\'s "odd"\n']
)
def test_a_snippet_is_python_and_names_the_users_stage(remedy: str, name: str) -> None:
    evidence = job_of(name)
    (one,) = ask(remedy, evidence)
    ast.parse(one.snippet)
    assert snippet.function_name(evidence.stages[2].stage) in one.snippet


def test_tuning_keeps_the_arguments_of_a_serial_map() -> None:
    parse = serial_map(1, "parse", 80.0, options={"deterministic": False})
    evidence = run([source(0), parse, batch(2), prefetch(3)], cpu_step_s=0.085, cpu_held_s=0.005)
    (one,) = ask("tune", evidence)
    assert one.snippet == (
        "dataset = dataset.map(parse, num_parallel_calls=tf.data.AUTOTUNE, deterministic=False)"
    )


def test_vectorizing_a_parser_names_its_batched_form() -> None:
    traits = {"op_types": ("ParseExampleV2",)}
    evidence = run([source(0), mapped(1, "parse", 80.0, traits=traits), batch(2), prefetch(3)])
    (one,) = ask("vectorize", evidence)
    assert one.snippet.endswith(
        "dataset = dataset.batch(128)\n"
        "dataset = dataset.map(parse, num_parallel_calls=tf.data.AUTOTUNE)"
    )
    assert "tf.io.parse_example in the" in one.snippet


def test_a_fused_function_hands_each_result_on() -> None:
    (one,) = ask("fuse", job_of("decode"))
    scope: dict[str, Any] = {"decode": lambda *element: tuple(2 * value for value in element)}
    exec(one.snippet.split("\n\n\n")[0], scope)
    assert scope["in_one_go"](1, 2) == (4, 8)


class InLine:
    """Stands for a pool of processes: does the work where it is."""

    def map(self, function: Any, *columns: Any, chunksize: int) -> Any:
        assert chunksize >= 1
        return map(function, *columns)


def test_python_in_processes_takes_whole_batches_where_the_batch_follows() -> None:
    evidence = run(
        [source(0), python_map(1, "load", 80.0), batch(2), prefetch(3)],
        cpu_step_s=0.085,
        cpu_held_s=0.005,
    )
    (one,) = ask("processes", evidence, finding("processes"))
    assert 'get_context("spawn")' in one.snippet
    function = one.snippet[one.snippet.index("def in_processes") :].split("\n\n\n")[0]
    scope: dict[str, Any] = {
        "numpy": np,
        "pool": InLine(),
        "load": lambda key, label: (np.full(2, key), label),
    }
    exec(function, scope)
    images, labels = scope["in_processes"](np.arange(3), np.arange(3, 6))
    assert images.tolist() == [[0, 0], [1, 1], [2, 2]]
    assert labels.tolist() == [3, 4, 5]


def test_python_in_processes_is_started_by_spawn() -> None:
    evidence = run(
        [source(0), python_map(1, "load", 80.0), serial_map(2, "crop", 1.0), batch(3)],
        cpu_step_s=0.085,
        cpu_held_s=0.005,
    )
    (one,) = ask("processes", evidence, finding("processes"))
    assert 'get_context("spawn")' in one.snippet
    assert "pool.submit(load, *element)" in one.snippet


WITHIN_A_MAP = {
    "python_functions": ("augment_np (train.py:6)",),
    "traits": {"op_types": ("EagerPyFunc", "Placeholder")},
}
"""A map ``augment`` that calls ``tf.py_function(augment_np, ...)``."""


@pytest.mark.parametrize("behind", [(), (serial_map(2, "crop", 1.0),)])
def test_processes_run_the_python_function_inside_the_map_not_the_map(
    behind: tuple[Any, ...],
) -> None:
    stages = [source(0), python_map(1, "augment", 80.0, **WITHIN_A_MAP), *behind, batch(3)]
    evidence = run(stages, cpu_step_s=0.085, cpu_held_s=0.005)
    (one,) = ask("processes", evidence, finding("processes"))
    handed = "pool.submit(augment_np, " if behind else "pool.map(augment_np, "
    assert handed in one.snippet
    # Types and shapes stay those of the user's own call within the map.
    assert "output_types" not in one.snippet
    assert one.snippet.endswith("dataset = dataset.map(augment, num_parallel_calls=2)")
    words = one.snippet.replace("\n#", "")
    assert "augment_np (train.py:6) has to stand at the top level of a module of its own" in words
    assert 'under if __name__ == "__main__"' in words
    assert "take .numpy() out of augment_np" in words


def test_python_without_a_name_gets_a_stand_in() -> None:
    load = python_map(1, "load", 80.0, python_functions=("lambda (train.py:6)",))
    evidence = run([source(0), load, batch(2)], cpu_step_s=0.085, cpu_held_s=0.005)
    (one,) = ask("processes", evidence, finding("processes"))
    assert "pool.map(your_python_function, " in one.snippet
    assert ".numpy()" not in one.snippet


@pytest.mark.parametrize(
    ("spec", "types", "shapes"),
    [
        (
            "(float32[48,48,3], int64[])",
            "[tf.float32, tf.int64]",
            "lambda part_0, part_1: "
            "(tf.ensure_shape(part_0, [48, 48, 3]), tf.ensure_shape(part_1, []))",
        ),
        ("(float32[?,2],)", "[tf.float32]", "lambda part_0: (tf.ensure_shape(part_0, [None, 2]),)"),
        ("uint8[4]", "tf.uint8", "lambda part_0: tf.ensure_shape(part_0, [4])"),
        (
            "(string[...], int64[])",
            "[tf.string, tf.int64]",
            "(part_0, tf.ensure_shape(part_1, []))",
        ),
        ("(string[...])", "[tf.string]", ""),
        ("{image: uint8[4]}", "", ""),
        ("((uint8[4], uint8[]), int64[])", "", ""),
        ("ragged int64[?,?]", "", ""),
        ("", "", ""),
    ],
)
def test_types_and_shapes_are_those_of_a_flat_element(spec: str, types: str, shapes: str) -> None:
    given = python_map(1, "load", 80.0, element_spec=spec)
    assert snippet.output_types(given) == types
    assert shapes in snippet.ensured_shapes(given)
    assert bool(shapes) is bool(snippet.ensured_shapes(given))


def test_shapes_of_batches_have_one_more_dimension() -> None:
    given = python_map(1, "load", 80.0, element_spec="(float32[2], int64[])")
    assert "(part_0, [None, 2]), tf.ensure_shape(part_1, [None])" in snippet.ensured_shapes(
        given, batched=True
    )


def test_python_mapped_itself_in_processes_has_its_types_and_shapes() -> None:
    load = python_map(1, "load", 80.0, element_spec="(float32[2], int64[])")
    evidence = run([source(0), load, batch(2)], cpu_step_s=0.085, cpu_held_s=0.005)
    (one,) = ask("processes", evidence, finding("processes"))
    assert "tf.numpy_function(in_processes, element, [tf.float32, tf.int64])" in one.snippet
    assert one.snippet.endswith(snippet.ensured_shapes(load, batched=True))
    assert "output_types" not in one.snippet
