"""Callbacks, validation and epochs' ends as evidence."""

from __future__ import annotations

import dataclasses

import constructed
import pytest

from bottleneck_kit.evidence.gather import gather
from bottleneck_kit.records.measurement import Measurement, Missing
from bottleneck_kit.records.stack_samples import CallbackSamples, StackSamples


def value(number: Measurement | Missing) -> float:
    assert isinstance(number, Measurement), number
    return number.value


def stack(*callbacks: CallbackSamples, total: int = 400, other: int = 0) -> StackSamples:
    return StackSamples(0.25, total, callbacks=callbacks, other=other)


def test_per_batch_callback_gets_its_part_of_the_precise_host_time() -> None:
    looks = stack(CallbackSamples("Slow", "on_train_batch_end", 30), other=10)

    evidence = gather(constructed.record(host_ms=20, stack=looks))

    assert not isinstance(evidence.callbacks, Missing)
    (one,) = evidence.callbacks
    assert (one.name, one.hook, one.per_batch) == ("Slow", "on_train_batch_end", True)
    assert one.step_s.value == pytest.approx(0.015)
    assert 0.0110 < one.step_s.low < 0.0125
    assert one.step_s.high < 0.020
    assert value(evidence.callback_step_s) == pytest.approx(0.015)


def test_many_looks_cannot_make_a_callback_longer_than_the_host_part() -> None:
    looks = stack(CallbackSamples("Slow", "on_train_batch_end", 399))

    evidence = gather(constructed.record(host_ms=2, stack=looks))

    assert not isinstance(evidence.callbacks, Missing)
    assert evidence.callbacks[0].step_s.high <= 0.002 + 1e-12


def test_callback_at_an_epochs_end_gets_its_part_of_the_fit() -> None:
    looks = stack(CallbackSamples("Saver", "on_epoch_end", 100), total=400)
    record = constructed.record(stack=looks, fit_s=10.0)

    evidence = gather(record)

    assert not isinstance(evidence.callbacks, Missing)
    (one,) = evidence.callbacks
    assert not one.per_batch
    assert one.share == pytest.approx(0.25)
    assert one.step_s.value == pytest.approx(2.5 / 100)
    assert value(evidence.callback_step_s) == 0.0


def test_callbacks_come_largest_first_and_unseen_ones_not_at_all() -> None:
    looks = stack(
        CallbackSamples("Small", "on_train_batch_end", 5),
        CallbackSamples("Large", "on_train_batch_begin", 20),
        CallbackSamples("Unseen", "on_epoch_end", 0),
        other=5,
    )

    evidence = gather(constructed.record(host_ms=20, stack=looks))

    assert not isinstance(evidence.callbacks, Missing)
    assert [one.name for one in evidence.callbacks] == ["Large", "Small"]


def test_host_part_that_was_never_looked_into_bounds_the_callbacks() -> None:
    evidence = gather(constructed.record(host_ms=2, stack=stack()))

    assert evidence.callbacks == ()
    assert evidence.callback_step_s == Measurement(0.0, 0.0, pytest.approx(0.002), 0)


@pytest.mark.parametrize(
    "fields",
    [
        {"stack": Missing("the sampler did not start")},
        {"stack": stack(total=0)},
        {"fit_s": 0.0},
        {"steps": 1},
    ],
)
def test_callbacks_that_cannot_be_judged_are_missing(fields) -> None:
    evidence = gather(constructed.record(**fields))

    assert isinstance(evidence.callbacks, Missing)
    assert isinstance(evidence.callback_step_s, Missing)


def test_callbacks_without_steps_are_missing() -> None:
    record = dataclasses.replace(constructed.record(), steps=Missing("no step"))

    assert gather(record).callbacks == Missing("no step")


def test_validation_and_epochs_ends_are_shares_of_the_fit() -> None:
    record = constructed.record(epochs=3, validation_s=2.0, epoch_end_s=0.5)
    whole_s = sum(one.duration_s + 0.5 for one in record.epochs)

    evidence = gather(record)

    assert value(evidence.validation_share) == pytest.approx(6.0 / whole_s)
    assert value(evidence.validation_s) == pytest.approx(2.0)
    assert value(evidence.epoch_end_share) == pytest.approx(1.5 / whole_s)
    assert evidence.epochs == 3


def test_no_validation_is_none_and_not_missing() -> None:
    evidence = gather(constructed.record())

    assert value(evidence.validation_share) == 0.0
    assert value(evidence.validation_s) == 0.0


def test_fit_without_an_epoch_has_no_shares() -> None:
    evidence = gather(dataclasses.replace(constructed.record(), epochs=()))

    for name in ("validation_share", "validation_s", "epoch_end_share", "refill_s", "pass_steps"):
        assert getattr(evidence, name) == Missing("no epoch came to its end")


def test_epochs_ends_that_were_not_timed_are_missing() -> None:
    record = constructed.record()
    epochs = tuple(dataclasses.replace(one, end_s=None) for one in record.epochs)

    evidence = gather(dataclasses.replace(record, epochs=epochs))

    assert isinstance(evidence.epoch_end_share, Missing)


def test_refill_is_what_the_first_call_of_later_epochs_takes_more() -> None:
    record = constructed.record(epochs=4, host_ms=0.5)
    epochs = tuple(
        dataclasses.replace(one, first_call_s=9.0 if one.index == 0 else 1.0825)
        for one in record.epochs
    )

    evidence = gather(dataclasses.replace(record, epochs=epochs))

    assert value(evidence.refill_s) == pytest.approx(1.0)


def test_refill_without_a_usual_call_is_missing() -> None:
    evidence = gather(constructed.record(epochs=2, steps=1))

    assert isinstance(evidence.refill_s, Missing)


@pytest.mark.parametrize(
    ("cardinality", "asked", "steps", "expected"),
    [
        (-2, None, (60, 100), 100),
        (Missing("not read"), None, (100,), 100),
        (-2, 150, (100, 50), 100),
        (-2, 100, (100, 40), None),
        (-1, None, (100,), None),
        (-2, None, (0,), None),
    ],
)
def test_an_epoch_that_ended_with_the_data_tells_the_steps_of_a_pass(
    cardinality: int | Missing, asked: int | None, steps: tuple[int, ...], expected: int | None
) -> None:
    record = constructed.record(epochs=len(steps))
    epochs = tuple(
        dataclasses.replace(one, steps=count)
        for one, count in zip(record.epochs, steps, strict=True)
    )
    job = dataclasses.replace(record.job, cardinality=cardinality, steps_per_epoch=asked)

    found = gather(dataclasses.replace(record, epochs=epochs, job=job)).pass_steps

    assert isinstance(found, Missing) if expected is None else found == expected
