"""Evidence on what lies between the steps: validation, ends of epochs, buffers filled anew."""

from __future__ import annotations

from dataclasses import replace

from bottleneck_kit.evidence.spread import estimate
from bottleneck_kit.records.evidence import Evidence, Number
from bottleneck_kit.records.measurement import Measurement, Missing
from bottleneck_kit.records.run_record import RunRecord


def add_epochs(record: RunRecord, evidence: Evidence) -> Evidence:
    """Adds shares of validation and of epochs' ends, and the slow first call of later epochs."""
    epochs = record.epochs
    total_s = sum(one.duration_s + (one.end_s or 0.0) for one in epochs)
    if not epochs or not total_s > 0:
        missing = Missing("no epoch came to its end")
        return replace(
            evidence,
            validation_share=missing,
            validation_s=missing,
            epoch_end_share=missing,
            refill_s=missing,
            pass_steps=missing,
            fit_s=record.fit_s,
            epochs=len(epochs),
        )
    validated = [one.validation_s for one in epochs if one.validation_s > 0]
    validation_s = sum(validated)
    ends = [one.end_s for one in epochs if one.end_s is not None]
    end_share: Number = Missing("the ends of the epochs were not timed")
    if ends:
        end_share = Measurement.exact(sum(ends) / total_s, len(ends))
    return replace(
        evidence,
        validation_share=Measurement.exact(validation_s / total_s, len(validated)),
        validation_s=Measurement.exact(validation_s / max(1, len(validated)), len(validated)),
        epoch_end_share=end_share,
        refill_s=_refill(record, evidence),
        pass_steps=_pass_steps(record),
        fit_s=record.fit_s,
        epochs=len(epochs),
    )


def _pass_steps(record: RunRecord) -> int | Missing:
    """Gives the steps of the longest epoch that ended because the data did.

    Where Keras was told how many steps an epoch has, passes end anywhere: only a first epoch that
    came out shorter is one.
    """
    if record.job.cardinality == -1:
        return Missing("the data have no end")
    asked = record.job.steps_per_epoch
    if asked is None:
        # The longest: a callback may have stopped another before its end.
        steps = max(one.steps for one in record.epochs)
    else:
        first = record.epochs[0].steps
        steps = first if first < asked else 0
    return steps if steps > 0 else Missing("no epoch is known to have ended with the data")


def _refill(record: RunRecord, evidence: Evidence) -> Number:
    """Gives what the first call of a later epoch takes beyond a usual one.

    The first epoch's holds compilation, too, and is left out.
    """
    first_s = [one.first_call_s for one in record.epochs[1:] if one.first_call_s is not None]
    if not first_s:
        return Missing("there was only one epoch")
    if isinstance(evidence.call_s, Missing):
        return evidence.call_s
    usual_s = evidence.call_s.value * record.job.steps_per_execution
    return estimate([one - usual_s for one in first_s]).measurement(least=0.0)
