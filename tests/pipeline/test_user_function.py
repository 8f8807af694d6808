"""The function a person wrote is found behind whatever wraps it."""

from __future__ import annotations

import functools
import inspect
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf

from bottleneck_kit.pipeline.code_references import references
from bottleneck_kit.pipeline.stages import read_stages
from bottleneck_kit.pipeline.user_function import closure_of, locate, locate_generator


def plain(x: Any, factor: int = 1) -> Any:
    return x * factor


class Loader:
    def load(self, x: Any) -> Any:
        return x

    def __call__(self, x: Any) -> Any:
        return x

    @classmethod
    def build(cls, x: Any) -> Any:
        return x


@tf.function
def compiled(x: Any) -> Any:
    return x + 1


def decorate(function: Any) -> Any:
    @functools.wraps(function)
    def inner(x: Any) -> Any:
        return function(x)

    return inner


@decorate
def wrapped(x: Any) -> Any:
    return x


@tf.autograph.experimental.do_not_convert
def not_converted(x: Any) -> Any:
    return x


class OwnLayer(keras.layers.Layer):
    def call(self, x: Any) -> Any:
        return x


def line_of(thing: Any) -> int:
    return inspect.getsourcelines(thing)[1]


FUNCTIONS: dict[str, tuple[Any, str, int | None]] = {
    "function": (plain, "plain", line_of(plain)),
    "partial": (functools.partial(plain, factor=2), "plain", line_of(plain)),
    "partial of a partial": (
        functools.partial(functools.partial(plain), factor=2),
        "plain",
        line_of(plain),
    ),
    "bound method": (Loader().load, "Loader.load", line_of(Loader.load)),
    "class method": (Loader.build, "Loader.build", line_of(Loader.build)),
    "callable object": (Loader(), "Loader", line_of(Loader)),
    "tf.function": (compiled, "compiled", line_of(compiled.python_function)),
    "decorated": (wrapped, "wrapped", line_of(inspect.unwrap(wrapped))),
    "not converted": (not_converted, "not_converted", line_of(inspect.unwrap(not_converted))),
    "lambda": (lambda x: x, "lambda", inspect.currentframe().f_lineno),
    "layer of Keras": (keras.layers.Rescaling(2.0, name="scale"), "Rescaling scale", None),
    "layer of the user": (OwnLayer(name="mine"), "OwnLayer mine", line_of(OwnLayer)),
    "op of TensorFlow": (tf.math.abs, "abs", None),
}


@pytest.mark.parametrize("what", FUNCTIONS)
def test_a_map_names_the_function_a_person_wrote_and_its_place(what: str) -> None:
    function, name, line = FUNCTIONS[what]
    dataset = tf.data.Dataset.from_tensor_slices(np.ones((2, 3), "float32")).map(function)
    stage = read_stages(dataset)[-1]
    assert stage.label == f"map {name}"
    assert (stage.file, stage.line) == ((None if line is None else __file__), line)


def test_wrapping_that_a_reader_should_know_of_is_noted() -> None:
    assert locate(functools.partial(plain)).note == "a functools.partial"
    assert locate(compiled).note == "a tf.function"
    assert locate(wrapped).note == ""


def test_the_attribute_of_tf_data_that_keeps_the_python_function_is_there() -> None:
    dataset = tf.data.Dataset.range(2).map(plain)
    assert dataset._map_func._func is plain, "_map_func._func is gone"
    assert dataset._map_func.function.graph.get_operations(), "_map_func.function is gone"


def test_a_generator_object_is_found_by_its_code() -> None:
    def numbers() -> Any:
        yield 1

    found = locate_generator(numbers())
    assert (found.name, found.line) == ("numbers", numbers.__code__.co_firstlineno)


def test_an_object_without_a_name_is_named_by_its_class_and_raises_nothing() -> None:
    assert locate(3).name == "int"
    assert locate(None).file is None


def test_an_endless_chain_of_wrappers_ends() -> None:
    def loop(x: Any) -> Any:
        return x

    loop.__wrapped__ = loop
    assert locate(loop).name.endswith("loop")


def test_an_empty_cell_of_a_closure_is_left_out() -> None:
    def outer() -> Any:
        def inner() -> Any:
            return later

        if False:
            later = 1
        return inner

    assert closure_of(outer()) == {}


def test_references_do_not_run_properties() -> None:
    class Guarded:
        @property
        def value(self) -> int:
            raise AssertionError("a property was run")

    guarded = Guarded()

    def use() -> Any:
        return guarded.value

    assert [item.name for item in references(use)] == ["guarded"]
