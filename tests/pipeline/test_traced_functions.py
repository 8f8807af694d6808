"""What is read from traced graphs; fails when TensorFlow renames what it is read from."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from bottleneck_kit.pipeline import traced_functions
from bottleneck_kit.pipeline.python_functions import python_functions


def identity(value: Any) -> Any:
    return value


class Callable:
    def __call__(self, value: Any) -> Any:
        return value


def test_a_function_is_read_without_being_traced() -> None:
    function = tf.function(lambda x: x + 1)
    assert traced_functions.is_traceable(function)
    assert not traced_functions.is_traceable(identity)
    assert traced_functions.concrete_functions(function) == []
    function(tf.constant(1))
    assert len(traced_functions.concrete_functions(function)) == 1
    assert traced_functions.tracing_count(function) == 1


def test_variables_of_called_functions_are_found() -> None:
    inner_variable, outer_variable = tf.Variable(1.0), tf.Variable(2.0)
    generator = tf.random.Generator.from_seed(1)
    inner = tf.function(lambda: inner_variable.assign_add(1.0) + generator.normal([]))
    outer = tf.function(lambda: inner() + outer_variable)
    outer()
    (concrete,) = traced_functions.concrete_functions(outer)
    found = {id(variable) for variable in traced_functions.graph_variables(concrete)}
    assert {id(inner_variable), id(outer_variable), id(generator.state)} <= found


def test_nodes_of_called_functions_are_walked() -> None:
    inner = tf.function(lambda x: tf.random.uniform([]) + x)
    outer = tf.function(lambda x: tf.cond(x > 0, lambda: inner(x), lambda: x))
    graph_def = outer.get_concrete_function(tf.constant(1.0)).graph.as_graph_def()
    found = list(traced_functions.nodes(graph_def))
    (random_in,) = {name for name, node in found if node.op == "RandomUniform"}
    assert random_in != ""


@pytest.mark.parametrize(
    ("op", "random", "undone"),
    [
        ("RandomUniform", True, False),
        ("RandomShuffle", True, False),
        ("Multinomial", True, False),
        ("RngReadAndSkip", False, True),
        ("StatelessRandomUniformV2", False, True),
        ("AssignAddVariableOp", False, True),
        ("ResourceApplyAdam", False, True),
        ("MatMul", False, True),
        ("LookupTableInsertV2", False, False),
        ("QueueEnqueueV2", False, False),
        ("PrintV2", False, False),
        ("WriteScalarSummary", False, False),
        ("NoSuchOp", False, False),
    ],
)
def test_ops_are_told_by_what_they_keep(op: str, random: bool, undone: bool) -> None:
    assert traced_functions.keeps_random_state(op) is random
    assert traced_functions.state_is_in_variables(op) is undone


@pytest.mark.parametrize("call", [tf.numpy_function, tf.py_function])
@pytest.mark.parametrize("form", ["function", "partial", "callable", "method"])
def test_the_python_function_behind_an_op_is_found(call: Any, form: str) -> None:
    function = {
        "function": identity,
        "partial": functools.partial(identity),
        "callable": Callable(),
        "method": Callable().__call__,
    }[form]
    traced = tf.function(lambda x: call(function, [x], tf.float32))
    concrete = traced.get_concrete_function(tf.TensorSpec([], tf.float32))
    assert python_functions(concrete) == [function]
    assert python_functions(concrete.graph.as_graph_def()) == [function]


def test_a_python_function_of_another_process_is_unknown() -> None:
    traced = tf.function(lambda x: tf.numpy_function(np.square, [x], tf.float32))
    graph_def = traced.get_concrete_function(tf.TensorSpec([], tf.float32)).graph.as_graph_def()
    for node in graph_def.node:
        if node.op == "PyFunc":
            node.attr["token"].s = b"pyfunc_999999"
    assert python_functions(graph_def) == [None]
