"""CachedBatchProbe as a user adds it to fit, and where it does not belong."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import keras
import pytest

from bottleneck_kit.callbacks import cached_batch
from bottleneck_kit.callbacks.cached_batch import CachedBatchProbe
from bottleneck_kit.records.held_batch import HeldBatchRun
from bottleneck_kit.records.measurement import Missing

pytestmark = pytest.mark.filterwarnings("ignore:.*shuffle=True. was passed")

Make = Callable[..., Any]


def test_one_line_gives_the_ideal_step(
    tiny_model: Make, tiny_dataset: Make, capsys: pytest.CaptureFixture[str]
) -> None:
    probe = CachedBatchProbe()
    tiny_model().fit(tiny_dataset(40), verbose=0, callbacks=[probe])
    assert isinstance(probe.result, HeldBatchRun)
    assert 0 < probe.step_s < 1
    out = capsys.readouterr().out
    assert out.startswith("Cached batch: a step takes ")
    assert out.count("\n") == 1


def test_a_step_is_a_batch_however_many_one_execution_has(
    tiny_model: Make, tiny_dataset: Make
) -> None:
    probe = CachedBatchProbe(verbose=0)
    tiny_model(steps_per_execution=4).fit(tiny_dataset(80), verbose=0, callbacks=[probe])
    assert probe.step_s <= max(probe.result.call_s) / 4


def test_it_is_silent_where_asked(
    tiny_model: Make, tiny_dataset: Make, capsys: pytest.CaptureFixture[str]
) -> None:
    tiny_model().fit(tiny_dataset(40), verbose=0, callbacks=[CachedBatchProbe(verbose=0)])
    assert capsys.readouterr().out == ""


def test_what_could_not_be_measured_is_said_with_its_reason(
    tiny_model: Make, tiny_dataset: Make, capsys: pytest.CaptureFixture[str]
) -> None:
    probe = CachedBatchProbe()
    tiny_model().fit(tiny_dataset(8), verbose=0, callbacks=[probe])
    assert probe.step_s == probe.result == Missing("fewer than two executions were seen")
    assert capsys.readouterr().out == (
        "Cached batch: not measured: fewer than two executions were seen.\n"
    )


def test_each_fit_starts_afresh(tiny_model: Make, tiny_dataset: Make) -> None:
    probe, model = CachedBatchProbe(verbose=0), tiny_model()
    model.fit(tiny_dataset(40), verbose=0, callbacks=[probe])
    first = probe.result
    model.fit(tiny_dataset(8), verbose=0, callbacks=[probe])
    assert isinstance(probe.result, Missing)
    model.fit(tiny_dataset(40), verbose=0, callbacks=[probe])
    assert isinstance(probe.result, HeldBatchRun)
    assert probe.result is not first


def test_no_fit_is_no_figure() -> None:
    assert CachedBatchProbe().result == Missing("no fit has ended yet")


@pytest.mark.parametrize("called", ["evaluate", "predict"])
def test_evaluate_and_predict_are_told_to_be_the_wrong_place(
    called: str, tiny_model: Make, tiny_dataset: Make, caplog: pytest.LogCaptureFixture
) -> None:
    probe = CachedBatchProbe()
    with caplog.at_level(logging.WARNING, logger="bottleneck_kit"):
        getattr(tiny_model(), called)(tiny_dataset(16), verbose=0, callbacks=[probe])
    assert len(caplog.records) == 1
    assert f"received model.{called}" in caplog.text
    assert isinstance(probe.result, Missing)


def test_validation_within_fit_is_no_wrong_place(
    tiny_model: Make, tiny_dataset: Make, caplog: pytest.LogCaptureFixture
) -> None:
    probe = CachedBatchProbe(verbose=0)
    tiny_model().fit(
        tiny_dataset(40), validation_data=tiny_dataset(16), verbose=0, callbacks=[probe]
    )
    assert caplog.records == []
    assert isinstance(probe.result, HeldBatchRun)


def test_a_fit_that_fails_leaves_the_reason(tiny_model: Make, tiny_dataset: Make) -> None:
    class Raises(keras.callbacks.Callback):
        def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
            raise RuntimeError("theirs")

    probe = CachedBatchProbe()
    with pytest.raises(RuntimeError, match="theirs"):
        tiny_model().fit(tiny_dataset(40), verbose=0, callbacks=[probe, Raises()])
    hook = probe._hook
    if hook is not None:  # the watch may have looked already
        hook._on_gone()
    assert "did not complete" in probe.result.reason
    assert probe._hook is None


def test_a_failure_in_its_own_hooks_does_not_reach_the_training(
    monkeypatch: pytest.MonkeyPatch, tiny_model: Make, tiny_dataset: Make
) -> None:
    def broken(*arguments: Any, **options: Any) -> Any:
        raise RuntimeError("ours")

    monkeypatch.setattr(cached_batch, "time_held_batch", broken)
    probe, model = CachedBatchProbe(), tiny_model()
    history = model.fit(tiny_dataset(40), verbose=0, callbacks=[probe])
    assert len(history.history["loss"]) == 1
    assert probe.failures == {"on_train_end": "RuntimeError: ours"}
    assert not hasattr(model.train_function, "hook")


def test_it_defines_no_hook_for_single_batches() -> None:
    # Keras dispatches batch hooks asynchronously only while no callback defines one.
    for name in ("on_batch_begin", "on_batch_end", "on_train_batch_begin", "on_train_batch_end"):
        assert getattr(CachedBatchProbe, name) is getattr(keras.callbacks.Callback, name)
