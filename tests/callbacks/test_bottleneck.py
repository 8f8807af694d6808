"""BottleneckCallback in fit: what it prints, keeps and saves, and what it never does."""

from __future__ import annotations

import copy
import json
import logging
import subprocess
import sys
import threading
import time
from pathlib import Path

import keras
import numpy as np
import pytest
import tensorflow as tf

from bottleneck_kit import BottleneckCallback
from bottleneck_kit.callbacks import bottleneck
from bottleneck_kit.errors import InvalidArgumentError, NothingRecordedError
from bottleneck_kit.instruments import fit_hook, fit_recorder
from bottleneck_kit.records import codec
from bottleneck_kit.records.measurement import Missing, present

# TensorFlow has it from 2.17.
HAS_LIVE_PIPELINE = hasattr(tf.data.experimental, "get_model_proto")


@pytest.fixture
def endless(tiny_dataset):
    return tiny_dataset(count=64).repeat()


def kit_threads() -> list[str]:
    return [t.name for t in threading.enumerate() if t.name.startswith("bottleneck_kit")]


def wait_until(condition, limit_s: float = 5.0) -> None:
    end = time.monotonic() + limit_s
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.01)


def test_one_line_while_it_runs_and_the_report_at_the_end(tiny_model, endless, capsys) -> None:
    callback = BottleneckCallback()
    tiny_model().fit(endless, steps_per_epoch=60, verbose=0, callbacks=[callback])
    printed = capsys.readouterr().out
    assert len(callback.reports) == 1
    report = callback.report
    first_line = next(line for line in printed.splitlines() if line.strip())
    assert first_line.split(":")[0] in report.headline() or ":" in first_line
    assert report.verdict.text[:20] in " ".join(printed.split())
    assert report.evidence.steady_steps >= 30
    assert present(report.evidence.ideal_step_s)
    assert kit_threads() == []


def test_the_report_names_the_users_stage_with_its_place(tiny_model, tiny_arrays) -> None:
    def slow_square(x, y):
        for _ in range(3):
            x = tf.linalg.matmul(x[:, None], tf.ones((1, 200)))[:, 0] ** 2 + x
        return x[..., :4], y

    def double(x, y):
        return x * 2, y

    dataset = (
        tf.data.Dataset.from_tensor_slices(tiny_arrays(64))
        .repeat()
        .map(double, num_parallel_calls=tf.data.AUTOTUNE)
        .batch(8)
        .prefetch(tf.data.AUTOTUNE)
    )
    callback = BottleneckCallback(report=None)
    tiny_model().fit(dataset, steps_per_epoch=40, verbose=0, callbacks=[callback])
    stages = {stage["name"]: stage for stage in callback.report.to_dict()["stages"]}
    assert stages["double"]["file"].endswith("test_bottleneck.py")
    assert stages["double"]["line"] == double.__code__.co_firstlineno
    if HAS_LIVE_PIPELINE:
        assert stages["double"]["cost_s"] > 0


def test_silence(tiny_model, endless, capsys) -> None:
    callback = BottleneckCallback(report=None)
    tiny_model().fit(endless, steps_per_epoch=40, verbose=0, callbacks=[callback])
    assert capsys.readouterr().out == ""
    assert callback.report.verdict.text


def test_in_a_loop_of_fits_only_a_new_verdict_is_printed(
    tiny_model, tiny_dataset, capsys, monkeypatch
) -> None:
    callback = BottleneckCallback()
    model, dataset = tiny_model(), tiny_dataset()
    model.fit(dataset, verbose=0, callbacks=[callback])
    assert capsys.readouterr().out != ""
    model.fit(dataset, verbose=0, callbacks=[callback])
    # Five steps are too few to judge by: the same verdict as before.
    assert callback.reports[0].verdict.kind == callback.reports[1].verdict.kind == "unknown"
    assert capsys.readouterr().out == ""
    assert len(callback.reports) == 2


def test_other_processes_of_a_distributed_job_are_silent(
    tiny_model, tiny_dataset, capsys, monkeypatch
) -> None:
    monkeypatch.setenv("OMPI_COMM_WORLD_RANK", "1")
    callback = BottleneckCallback()
    tiny_model().fit(tiny_dataset(), verbose=0, callbacks=[callback])
    assert capsys.readouterr().out == ""
    assert callback.report.record.job.model


@pytest.mark.parametrize(
    ("variable", "value", "first"),
    [
        ("TF_CONFIG", json.dumps({"task": {"type": "worker", "index": 1}}), False),
        ("TF_CONFIG", json.dumps({"task": {"type": "worker", "index": 0}}), True),
        ("TF_CONFIG", json.dumps({"task": {"type": "chief", "index": 0}}), True),
        ("TF_CONFIG", "damaged", True),
        ("RANK", "3", False),
        ("RANK", "0", True),
    ],
)
def test_the_first_process_is_known(tiny_model, monkeypatch, variable, value, first) -> None:
    from bottleneck_kit.instruments.job_reader import is_first_process

    monkeypatch.setenv(variable, value)
    assert is_first_process(tiny_model()) is first


def test_the_record_is_saved_and_loads(tiny_model, endless, tmp_path: Path) -> None:
    callback = BottleneckCallback(log_dir=tmp_path / "logs", report=None)
    model = tiny_model()
    model.fit(endless, steps_per_epoch=10, verbose=0, callbacks=[callback])
    model.fit(endless, steps_per_epoch=10, verbose=0, callbacks=[callback])
    first = codec.load(tmp_path / "logs" / "record.json")
    second = codec.load(tmp_path / "logs" / "record-2.json")
    assert first == callback.reports[0].record
    assert second == callback.record


def test_a_record_of_an_earlier_run_is_not_replaced(tiny_model, endless, tmp_path, capsys) -> None:
    (tmp_path / "record.json").write_text("the run of yesterday")
    callback = BottleneckCallback(log_dir=tmp_path)
    tiny_model().fit(endless, steps_per_epoch=10, verbose=0, callbacks=[callback])
    assert (tmp_path / "record.json").read_text() == "the run of yesterday"
    assert callback.saved_to == tmp_path / "record-2.json"
    assert f"the record: {callback.saved_to}" in capsys.readouterr().out


def test_a_relative_folder_is_where_the_callback_was_made(
    tiny_model, endless, tmp_path, monkeypatch
) -> None:
    monkeypatch.chdir(tmp_path)
    callback = BottleneckCallback(log_dir="logs", report=None)
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    tiny_model().fit(endless, steps_per_epoch=10, verbose=0, callbacks=[callback])
    assert (tmp_path / "logs" / "record.json").exists()


def test_a_folder_that_cannot_be_written_costs_the_record_only(
    tiny_model, endless, tmp_path: Path, caplog
) -> None:
    (tmp_path / "file").write_text("in the way")
    callback = BottleneckCallback(log_dir=tmp_path / "file" / "logs", report=None)
    with caplog.at_level(logging.WARNING, logger="bottleneck_kit"):
        history = tiny_model().fit(endless, steps_per_epoch=10, verbose=0, callbacks=[callback])
    assert "could not be saved" in caplog.text
    assert len(history.history["loss"]) == 1
    assert "saved record" in callback.record.unavailable


def test_the_report_can_be_read_while_fit_runs(tiny_model, endless) -> None:
    seen = []

    class Look(keras.callbacks.Callback):
        def on_epoch_end(self, epoch, logs=None):
            seen.append(callback.report)

    callback = BottleneckCallback(report=None)
    tiny_model().fit(endless, epochs=2, steps_per_epoch=15, verbose=0, callbacks=[callback, Look()])
    assert [report.record.ended for report in seen] == ["running", "running"]
    assert seen[0].record.steps.steps == 15
    assert callback.report.record.ended == "completed"
    assert isinstance(seen[0].record.held_batch, Missing)


def test_validation_is_told_from_training(tiny_model, tiny_dataset) -> None:
    callback = BottleneckCallback(report=None)
    tiny_model().fit(
        tiny_dataset(), epochs=2, validation_data=tiny_dataset(), verbose=0, callbacks=[callback]
    )
    epochs = callback.record.epochs
    assert [epoch.steps for epoch in epochs] == [5, 5]
    assert all(0 < epoch.validation_s < epoch.duration_s for epoch in epochs)


def test_probe_off_leaves_the_ideal_missing(tiny_model, endless) -> None:
    callback = BottleneckCallback(probe=False, report=None)
    tiny_model().fit(endless, steps_per_epoch=10, verbose=0, callbacks=[callback])
    assert callback.record.held_batch == Missing("probe=False")
    assert callback.report.to_dict()["verdict"]["ideal_step_s"] is None


def test_an_exception_in_fit_still_gives_a_report(tiny_model, endless) -> None:
    class Break(keras.callbacks.Callback):
        def on_train_batch_end(self, batch, logs=None):
            if batch == 12:
                raise RuntimeError("enough")

    callback = BottleneckCallback(report=None)
    model = tiny_model()
    with pytest.raises(RuntimeError, match="enough"):
        model.fit(endless, steps_per_epoch=40, verbose=0, callbacks=[callback, Break()])
    wait_until(lambda: callback.reports)
    assert callback.record.ended != "completed"
    assert callback.record.steps.steps >= 12
    wait_until(lambda: kit_threads() == [])
    # The model trains on as if nothing had been there.
    model.fit(endless, steps_per_epoch=5, verbose=0)


def test_two_in_one_fit_both_report(tiny_model, endless) -> None:
    one, other = BottleneckCallback(report=None), BottleneckCallback(report=None, probe=False)
    model = tiny_model()
    model.fit(endless, steps_per_epoch=20, verbose=0, callbacks=[one, other])
    assert one.record.steps.steps == other.record.steps.steps == 20
    assert present(one.record.held_batch)
    assert kit_threads() == []


def test_twice_in_one_list_is_once(tiny_model, endless) -> None:
    callback = BottleneckCallback(report=None)
    tiny_model().fit(endless, steps_per_epoch=20, verbose=0, callbacks=[callback, callback])
    assert [report.record.ended for report in callback.reports] == ["completed"]
    assert callback.record.steps.steps == 20


def test_numpys_numbers_are_numbers(tiny_model, endless, tmp_path) -> None:
    callback = BottleneckCallback(log_dir=tmp_path, report=None, sample_interval_s=np.float32(0.1))
    tiny_model().fit(endless, steps_per_epoch=np.int64(10), verbose=0, callbacks=[callback])
    assert codec.load(callback.saved_to).job.steps_per_epoch == 10


ENDS_AT_ONCE = """
import sys, keras, numpy as np, tensorflow as tf, bottleneck_kit as bk
x = np.zeros((64, 4), "float32")
model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1)])
model.compile("sgd", "mse")
class Break(keras.callbacks.Callback):
    def on_train_batch_end(self, batch, logs=None):
        if batch == 5:
            raise ValueError
try:
    model.fit(x, x[:, 0], batch_size=4, verbose=0,
              callbacks=[bk.BottleneckCallback(log_dir=sys.argv[1]), Break()])
except ValueError:
    pass
import time; time.sleep(0.06)
"""


def test_a_process_that_ends_right_after_an_aborted_fit_still_reports(tmp_path) -> None:
    result = subprocess.run(
        [sys.executable, "-c", ENDS_AT_ONCE, str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
        cwd=Path(__file__).parent.parent.parent,
    )
    assert codec.load(tmp_path / "record.json").ended != "completed"
    assert "the record:" in result.stdout


def test_evaluate_and_predict_say_that_they_do_not_train(tiny_model, tiny_dataset, caplog) -> None:
    callback = BottleneckCallback()
    model = tiny_model()
    with caplog.at_level(logging.WARNING, logger="bottleneck_kit"):
        model.evaluate(tiny_dataset(), verbose=0, callbacks=[callback])
    assert "model.evaluate" in caplog.text
    caplog.clear()
    callback = BottleneckCallback()
    with caplog.at_level(logging.WARNING, logger="bottleneck_kit"):
        model.predict(tiny_dataset().map(lambda x, y: x), verbose=0, callbacks=[callback])
    assert "model.predict" in caplog.text


def test_train_on_batch_is_explained(tiny_model, tiny_arrays) -> None:
    callback = BottleneckCallback()
    tiny_model().train_on_batch(*tiny_arrays())
    with pytest.raises(NothingRecordedError, match="train_on_batch"):
        _ = callback.report


@pytest.mark.parametrize(
    "arguments",
    [
        {"report": "html"},
        {"sample_interval_s": 0},
        {"sample_interval_s": -1},
        {"sample_interval_s": "often"},
        {"sample_interval_s": True},
        {"sample_interval_s": float("nan")},
        {"sample_interval_s": float("inf")},
        {"sample_interval_s": 1e-9},
        {"log_dir": 5},
        {"log_dir": ""},
        {"log_dir": b"logs"},
    ],
)
def test_an_argument_that_is_off_is_refused_at_once(arguments) -> None:
    with pytest.raises(InvalidArgumentError, match="Expected"):
        BottleneckCallback(**arguments)


def test_a_callback_can_be_copied_before_its_first_fit(tiny_model, tiny_dataset) -> None:
    # Tuners copy the callbacks they are given for each trial.
    callback = copy.deepcopy(BottleneckCallback(report=None))
    tiny_model().fit(tiny_dataset(), verbose=0, callbacks=[callback])
    assert callback.record.steps.steps == 5


def test_a_train_function_replaced_in_mid_fit_is_named_and_left(tiny_model, endless) -> None:
    class Replaces(keras.callbacks.Callback):
        def on_epoch_end(self, epoch, logs=None):
            if epoch == 0:
                original = self.model.train_function.__wrapped__
                self.model.train_function = self.own = lambda iterator: original(iterator)

    callback, other = BottleneckCallback(report=None), Replaces()
    model = tiny_model()
    model.fit(endless, epochs=3, steps_per_epoch=12, verbose=0, callbacks=[other, callback])
    assert model.train_function is other.own
    assert callback.record.steps.steps == 12
    assert "replaced" in callback.report.unavailable["train function"]


def test_an_iterator_that_names_no_dataset_costs_the_stages_only(
    tiny_model, endless, monkeypatch
) -> None:
    monkeypatch.setattr(fit_hook, "dataset_of", lambda iterator: None)
    callback = BottleneckCallback(report=None)
    tiny_model().fit(endless, steps_per_epoch=40, verbose=0, callbacks=[callback])
    assert isinstance(callback.record.pipeline, Missing)
    assert "names no" in callback.record.pipeline.reason
    assert present(callback.report.evidence.ideal_step_s)
    assert callback.report.verdict.kind != "unknown"


def test_a_model_proto_that_lost_a_field_costs_the_live_view_only(
    tiny_model, endless, monkeypatch
) -> None:
    monkeypatch.setattr(
        tf.data.experimental, "get_model_proto", lambda iterator: object(), raising=False
    )
    callback = BottleneckCallback(report=None)
    tiny_model().fit(endless, steps_per_epoch=40, verbose=0, callbacks=[callback])
    assert isinstance(callback.record.pipeline.live, Missing)
    assert [stage.kind for stage in callback.record.pipeline.stages][-1] == "repeat"
    assert present(callback.record.held_batch)


FAULTS = {
    "environment": (fit_recorder, "read_environment"),
    "live pipeline": (fit_recorder.LivePipeline, "read"),
    "live start": (fit_recorder.LivePipeline, "start"),
    "live end": (fit_recorder.LivePipeline, "freeze"),
    "stages": (fit_recorder, "read_stages"),
    "costs": (fit_recorder, "fit_costs"),
    "options": (fit_recorder, "read_options"),
    "probe": (fit_recorder, "time_held_batch"),
    "job": (fit_recorder, "read_job"),
    "sampler": (fit_recorder.UtilizationSampler, "freeze"),
    "sampler start": (fit_recorder.UtilizationSampler, "start"),
    "hook": (fit_recorder.FitHook, "acquire"),
    "steps": (fit_recorder.StepTimesRecorder, "add"),
    "analysis": (bottleneck, "analyse"),
}


if not HAS_LIVE_PIPELINE:
    del FAULTS["costs"]  # never asked


@pytest.mark.parametrize("instrument", FAULTS)
def test_any_instrument_may_fail_and_training_goes_on(
    tiny_model, endless, monkeypatch, instrument
) -> None:
    where, name = FAULTS[instrument]

    def fail(*args, **kwargs):
        raise RuntimeError(f"broken {instrument}")

    keras.utils.set_random_seed(1)
    plain = tiny_model()
    plain.fit(endless, steps_per_epoch=20, verbose=0)
    monkeypatch.setattr(where, name, fail)
    keras.utils.set_random_seed(1)
    watched = tiny_model()
    callback = BottleneckCallback(report=None)
    watched.fit(endless, steps_per_epoch=20, verbose=0, callbacks=[callback])
    for left, right in zip(plain.get_weights(), watched.get_weights(), strict=True):
        np.testing.assert_array_equal(left, right)
    monkeypatch.undo()
    wait_until(lambda: kit_threads() == [])
    if callback.reports:
        told = {**callback.failures, **callback.report.unavailable}
    else:
        told = callback.failures
    assert any(f"broken {instrument}" in reason for reason in told.values()), told
    # The next fit with the same callback is whole again.
    watched.fit(endless, steps_per_epoch=20, verbose=0, callbacks=[callback])
    assert callback.record.steps.steps == 20
