"""The parts of a step add up to the step."""

from __future__ import annotations

import pytest
from constructed import evidence
from hypothesis import given
from hypothesis import strategies as st

from bottleneck_kit.records.measurement import Missing
from bottleneck_kit.report.time_split import split_fit, split_step

NOT_KNOWN = Missing("the gap is not known")

share = st.floats(0, 1.5)


def names(parts: object) -> list[str]:
    return [part.name for part in parts]  # type: ignore[attr-defined]


def test_a_step_is_split_by_what_was_measured() -> None:
    parts = split_step(evidence(step_s=0.1, wait_s=0.06, host_s=0.01, callback_step_s=0.004))

    assert names(parts) == ["wait", "compute", "callbacks", "host_loop"]
    assert [part.seconds_s for part in parts] == pytest.approx([0.06, 0.03, 0.004, 0.006])
    assert [part.share for part in parts] == pytest.approx([0.6, 0.3, 0.04, 0.06])


def test_where_the_wait_is_not_known_it_stays_with_the_train_function() -> None:
    parts = split_step(evidence(step_s=0.1, wait_s=NOT_KNOWN, host_s=0.01))

    assert names(parts) == ["train_function", "host_loop"]


def test_a_wait_from_the_held_batch_is_called_an_upper_bound() -> None:
    parts = split_step(evidence(wait_source="held batch"))

    assert parts[0].label == "wait for input (at most)"


def test_without_a_step_nothing_is_split() -> None:
    assert split_step(evidence(step_s=NOT_KNOWN)) == ()
    assert split_step(evidence(step_s=0.0, input_share=0.0, cpu_share=0.0)) == ()


@given(wait=share, host=share, callbacks=share, step=st.floats(1e-6, 1e3))
def test_the_parts_of_a_step_add_up_to_it(
    wait: float, host: float, callbacks: float, step: float
) -> None:
    parts = split_step(
        evidence(
            step_s=step,
            wait_s=wait * step,
            host_s=host * step,
            callback_step_s=callbacks * step,
            held_call_s=step,
        )
    )

    assert sum(part.seconds_s for part in parts) == pytest.approx(step)
    assert sum(part.share for part in parts) == pytest.approx(1)
    assert all(part.seconds_s >= 0 for part in parts)


def test_a_fit_is_split_into_what_was_no_nothing() -> None:
    parts = split_fit(
        evidence(fit_s=10.0, warm_up_s=1.0, validation_share=0.3, epoch_end_share=0.0)
    )

    assert names(parts) == ["warm_up", "validation", "steady_steps"]
    assert [part.share for part in parts] == pytest.approx([0.1, 0.3, 0.6])


@given(warm_up=share, validation=share, ends=share)
def test_the_parts_of_a_fit_add_up_to_it(warm_up: float, validation: float, ends: float) -> None:
    parts = split_fit(
        evidence(
            fit_s=20.0, warm_up_s=20 * warm_up, validation_share=validation, epoch_end_share=ends
        )
    )

    assert sum(part.share for part in parts) == pytest.approx(1)


def test_a_fit_that_was_not_timed_is_not_split() -> None:
    assert split_fit(evidence(fit_s=0.0)) == ()
