"""Where the training thread was found, and who the sibling callbacks are."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import keras
import pytest

from bottleneck_kit.instruments import fit_watch, sibling_hooks
from bottleneck_kit.instruments.fit_hook import FitHook
from bottleneck_kit.records.measurement import Missing
from bottleneck_kit.records.stack_samples import StackSamples

pytestmark = pytest.mark.filterwarnings("ignore:.*shuffle=True. was passed")

Make = Callable[..., Any]


class Hooked(keras.callbacks.Callback):
    def on_train_begin(self, logs: Any = None) -> None:
        self.hook = FitHook.acquire(self.model)

    def on_train_end(self, logs: Any = None) -> None:
        self.hook.release()


class Slow(keras.callbacks.Callback):
    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        time.sleep(0.03)


class Inherits(Slow):
    pass


class Both(keras.callbacks.Callback):
    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        pass


@pytest.fixture
def often(monkeypatch: pytest.MonkeyPatch) -> None:
    """Looks every 2 ms, so that a short fit gives enough samples."""
    monkeypatch.setitem(fit_watch.FitWatch.__init__.__kwdefaults__, "interval_s", 0.002)


def samples(model: Any, dataset: Any, *callbacks: Any, **options: Any) -> StackSamples:
    hooked = Hooked()
    model.fit(dataset, verbose=0, callbacks=[hooked, *callbacks], **options)
    found = hooked.hook.watch.freeze()
    assert isinstance(found, StackSamples)
    counted = sum(callback.count for callback in found.callbacks)
    assert found.total == (found.in_train_function + found.in_validation + found.other + counted)
    return found


@pytest.mark.usefixtures("often")
def test_a_slow_callback_is_named_with_its_hook(tiny_model: Make, tiny_dataset: Make) -> None:
    found = samples(tiny_model(), tiny_dataset(80), Slow())
    slowest = found.callbacks[0]
    assert (slowest.name, slowest.hook) == ("Slow", "on_train_batch_end")
    assert slowest.count > 20
    assert found.interval_s == 0.002


@pytest.mark.usefixtures("often")
def test_a_lambda_is_named_by_its_place(tiny_model: Make, tiny_dataset: Make) -> None:
    slow = keras.callbacks.LambdaCallback(on_epoch_end=lambda epoch, logs: time.sleep(0.1))
    found = samples(tiny_model(), tiny_dataset(16), slow, epochs=2)
    line = test_a_lambda_is_named_by_its_place.__code__.co_firstlineno + 2
    assert found.callbacks[0].name == f"LambdaCallback (test_fit_watch.py:{line})"
    assert found.callbacks[0].hook == "on_epoch_end"


@pytest.mark.usefixtures("often")
def test_validation_is_told_from_training(tiny_model: Make, tiny_dataset: Make) -> None:
    found = samples(
        tiny_model(run_eagerly=True),
        tiny_dataset(40),
        epochs=2,
        validation_data=tiny_dataset(400),
    )
    assert found.in_validation > 0
    assert found.in_train_function > 0


@pytest.mark.usefixtures("often")
def test_a_fit_inside_a_callback_is_that_callbacks_time(
    tiny_model: Make, tiny_dataset: Make
) -> None:
    inner = tiny_model(run_eagerly=True)  # whose own train function is on the stack, too

    class Nested(keras.callbacks.Callback):
        def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
            if batch == 1:
                inner.fit(tiny_dataset(160), verbose=0, callbacks=[Hooked()])

    model = tiny_model()
    model.fit(tiny_dataset(8), verbose=0)
    found = samples(model, tiny_dataset(80), Nested())
    assert found.callbacks[0].name == "Nested"
    assert found.callbacks[0].count > found.in_train_function


@pytest.mark.usefixtures("often")
def test_what_comes_after_the_last_execution_is_not_counted(
    tiny_model: Make, tiny_dataset: Make
) -> None:
    class AtTheEnd(keras.callbacks.Callback):
        def on_train_begin(self, logs: Any = None) -> None:
            time.sleep(0.1)

        def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
            time.sleep(0.1)

    found = samples(tiny_model(), tiny_dataset(16), AtTheEnd())
    assert found.callbacks == ()


def test_the_watch_costs_little_and_says_how_much(tiny_model: Make, tiny_dataset: Make) -> None:
    hooked = Hooked()
    tiny_model().fit(tiny_dataset(40), verbose=0, callbacks=[hooked, Slow()])
    assert 0 < hooked.hook.watch.cpu_s < 0.1


def test_without_a_call_of_fit_there_is_nothing_to_watch(
    tiny_model: Make, tiny_dataset: Make
) -> None:
    model = tiny_model()
    model.fit(tiny_dataset(8), verbose=0)
    hook = FitHook.acquire(model)
    assert isinstance(hook.watch.freeze(), Missing)
    assert "fit" in hook.failures["fit watch"]
    hook.release()


def test_a_callback_list_that_cannot_be_read_leaves_the_watch_dark(
    monkeypatch: pytest.MonkeyPatch, tiny_model: Make, tiny_dataset: Make
) -> None:
    def broken(callbacks: Any) -> Any:
        raise AttributeError("renamed")

    monkeypatch.setattr(fit_watch, "hook_code", broken)
    hooked = Hooked()
    tiny_model().fit(tiny_dataset(16), verbose=0, callbacks=[hooked])
    assert "renamed" in hooked.hook.failures["fit watch"]
    assert isinstance(hooked.hook.watch.freeze(), Missing)


def test_keras_still_shows_the_siblings(tiny_model: Make, tiny_dataset: Make) -> None:
    found: list[Any] = []

    class Look(keras.callbacks.Callback):
        def on_train_begin(self, logs: Any = None) -> None:
            import sys

            found.extend(sibling_hooks.callback_list_in(sys._getframe()).callbacks)

    look, slow = Look(), Slow()
    tiny_model().fit(tiny_dataset(8), verbose=0, callbacks=[look, slow])
    assert look in found
    assert slow in found


def test_an_inherited_hook_names_every_class_that_uses_it() -> None:
    codes = sibling_hooks.hook_code([Slow(), Inherits(), Slow(), Both()])
    assert codes[Slow.on_train_batch_end.__code__] == (
        "Slow or Inherits",
        "on_train_batch_end",
    )
    assert codes[Both.on_epoch_end.__code__] == ("Both", "on_epoch_end")
    assert keras.callbacks.Callback.on_train_batch_end.__code__ not in codes


def test_the_kits_own_callbacks_are_left_out() -> None:
    from bottleneck_kit.callbacks.cached_batch import CachedBatchProbe

    assert sibling_hooks.hook_code([CachedBatchProbe()]) == {}
