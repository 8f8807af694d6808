"""Remedy ``drop_eager``: run the train step as a graph again."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from bottleneck_kit.prescription.remedy import Remedy
from bottleneck_kit.records.diagnosis import Diagnosis
from bottleneck_kit.records.evidence import Evidence
from bottleneck_kit.records.measurement import Missing
from bottleneck_kit.records.plan import Prescription


class DropEager(Remedy):
    """Takes ``run_eagerly=True`` out, which runs the train step op by op from Python."""

    name: ClassVar[str] = "drop_eager"
    safety: ClassVar[str] = "equivalent"
    effort: ClassVar[int] = 0
    needs_stages: ClassVar[bool] = False

    def prescriptions(self, evidence: Evidence, diagnosis: Diagnosis) -> Iterable[Prescription]:
        """Gives one for a model that runs eagerly."""
        if not evidence.job.run_eagerly:
            return
        yield self.give(
            Missing("what the graph gains depends on the number of ops; small models gain most"),
            stage=None,
            cost="no Python breakpoints or prints inside the step",
            text="The train step runs eagerly, op by op from Python. It is a setting for "
            "debugging: as a graph a small model was 3 to 13 times faster.",
            snippet="model.compile(\n    optimizer=model.optimizer,\n    loss=model.loss,\n"
            "    run_eagerly=False,\n)  # and your other arguments\n"
            "# and no tf.config.run_functions_eagerly(True)",
            findings=self.asked_by(diagnosis),
        )

    def why_not(self, evidence: Evidence, diagnosis: Diagnosis) -> str:
        """Says that the model is compiled."""
        return "the train step runs as a graph already"
