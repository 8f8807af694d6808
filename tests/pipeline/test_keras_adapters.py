"""What Keras puts into a pipeline is named as Keras' own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import keras
import pytest
import tensorflow as tf

from bottleneck_kit.pipeline.stages import read_stages
from bottleneck_kit.records.stage import Stage


class KeepDataset(keras.callbacks.Callback):
    """Keeps the dataset of the iterator that fit hands to its train function."""

    def on_train_begin(self, logs: Any = None) -> None:
        original = self.model.train_function

        def keep(iterator: Any) -> Any:
            self.dataset = iterator._dataset
            return original(iterator)

        self.model.train_function = keep


@pytest.fixture
def stages_of_fit(tiny_model: Callable[..., Any]) -> Callable[..., tuple[Stage, ...]]:
    def stages(*data: Any, **options: Any) -> tuple[Stage, ...]:
        keeper = KeepDataset()
        tiny_model().fit(*data, verbose=0, callbacks=[keeper], **options)
        return read_stages(keeper.dataset)

    return stages


@pytest.mark.parametrize("shuffle", [True, False])
def test_arrays_show_as_one_stage_with_its_settings(
    stages_of_fit: Any, tiny_arrays: Any, shuffle: bool
) -> None:
    source, prefetch = stages_of_fit(*tiny_arrays(40), batch_size=6, shuffle=shuffle)
    assert source.kind == "keras_arrays"
    assert source.options == {"batch_size": 6, "shuffle": shuffle, "samples": 40}
    assert source.element_bytes == 6 * (4 + 1) * 4
    assert source.traits.random is shuffle
    assert prefetch.kind == "prefetch"
    assert [source.injected_by, prefetch.injected_by] == ["keras", "keras"]


def test_arrays_shuffled_by_batches_are_still_named(stages_of_fit: Any, tiny_arrays: Any) -> None:
    source, _ = stages_of_fit(*tiny_arrays(40), shuffle="batch")
    assert (source.kind, source.options["shuffle"]) == ("keras_arrays", "batch")


def test_a_generator_is_named_by_the_function_of_the_user(
    stages_of_fit: Any, tiny_arrays: Any
) -> None:
    def batches() -> Any:
        while True:
            yield tiny_arrays(8)

    source, prefetch = stages_of_fit(batches(), steps_per_epoch=3)
    assert source.label == "keras_generator batches"
    assert source.place == f"{__file__}:{batches.__code__.co_firstlineno}"
    assert source.traits.python is True
    assert prefetch.injected_by == "keras"


@pytest.mark.filterwarnings("ignore:Your `PyDataset` class should call:UserWarning")
def test_a_py_dataset_is_named_by_its_class_with_its_workers(
    stages_of_fit: Any, tiny_arrays: Any
) -> None:
    class Batches(keras.utils.PyDataset):
        def __len__(self) -> int:
            return 3

        def __getitem__(self, index: int) -> Any:
            return tiny_arrays(8)

    source = stages_of_fit(Batches())[0]
    assert source.label == "keras_py_dataset Batches"
    assert source.file == __file__
    assert source.options["workers"] == 1
    source = stages_of_fit(Batches(workers=2))[0]
    assert (source.kind, source.options["workers"]) == ("keras_py_dataset", 2)


def test_class_weights_are_a_map_of_keras_and_the_users_stages_stay_his(
    stages_of_fit: Any, tiny_arrays: Any
) -> None:
    x, y = tiny_arrays(40)
    dataset = tf.data.Dataset.from_tensor_slices((x, y.astype("int32"))).batch(8).prefetch(2)
    stages = stages_of_fit(dataset, class_weight={0: 1.0, 1: 2.0})
    assert [(stage.kind, stage.injected_by) for stage in stages] == [
        ("from_tensor_slices", ""),
        ("batch", ""),
        ("prefetch", ""),
        ("map", "keras"),
        ("prefetch", "keras"),
    ]
    assert stages[3].note == "adds the class weights"


def test_a_dataset_of_the_user_has_nothing_of_keras(stages_of_fit: Any, tiny_dataset: Any) -> None:
    stages = stages_of_fit(tiny_dataset().prefetch(1))
    assert [stage.injected_by for stage in stages] == ["", "", ""]
