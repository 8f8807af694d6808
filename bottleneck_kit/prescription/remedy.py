"""What a remedy is before it is carried out: where it applies and what it would bring."""

from __future__ import annotations

import abc
from collections.abc import Iterable
from typing import ClassVar

from bottleneck_kit.prescription.what_if import Prediction
from bottleneck_kit.records.diagnosis import Diagnosis
from bottleneck_kit.records.evidence import Evidence
from bottleneck_kit.records.measurement import Missing
from bottleneck_kit.records.plan import Prescription

INPUT_MATTERS_SHARE = 0.05
"""Share of the step that waits for input, below which no input remedy is offered unasked.

The lower band of xprof's input-bound verdict (5 %).
"""

WORTH_SHARE = 0.02
"""Predicted gain, as a share of the step, below which a remedy is not offered unasked.

Differences under some 2 % are the spread between two identical runs (tf.data users report 2 to
2.5 %).
"""


class Remedy(abc.ABC):
    """One cure, judged from evidence and diagnosis alone; ``remedy/`` carries it out.

    Attributes:
        name: Such as ``bake``; the module is named the same.
        safety: One of SAFETY_CLASSES: how the data changes once it is applied.
        effort: What it asks of the user, to order equal gains: 0 a setting, 1 a few lines moved,
            2 a rewritten function or disk and memory, 3 other programs or machines.
        needs_hardware: Whether it asks for other hardware than the job runs on now, or for moving
            onto it.
        needs_stages: Whether it works on stages of the pipeline, so that they have to be known.
    """

    name: ClassVar[str]
    safety: ClassVar[str]
    effort: ClassVar[int]
    needs_hardware: ClassVar[bool] = False
    needs_stages: ClassVar[bool] = True

    @abc.abstractmethod
    def prescriptions(self, evidence: Evidence, diagnosis: Diagnosis) -> Iterable[Prescription]:
        """Gives one prescription for each place where the remedy applies; none where it does not.

        A remedy that is predicted to bring nothing gives none, unless a finding asks for it: then
        it gives one whose prediction says so.
        """

    def why_not(self, evidence: Evidence, diagnosis: Diagnosis) -> str:
        """Says why there is no prescription, for a remedy that a finding asked for."""
        return "does not apply to this pipeline"

    def asked_by(
        self, diagnosis: Diagnosis, stages: Iterable[int] | None = None
    ) -> tuple[str, ...]:
        """Gives the codes of the findings that ask for this remedy.

        Args:
            diagnosis: What was concluded.
            stages: Only findings about one of these stages, or about the whole; None for all.
        """
        places = None if stages is None else set(stages)
        codes = [
            finding.code
            for finding in diagnosis.findings
            if self.name in finding.remedies
            and (places is None or finding.stage is None or finding.stage in places)
        ]
        return tuple(dict.fromkeys(codes))

    def worth_giving(
        self,
        evidence: Evidence,
        prediction: Prediction | Missing,
        findings: tuple[str, ...],
        *,
        of_input: bool = True,
    ) -> bool:
        """Says whether a prescription with this prediction helps the reader.

        Args:
            evidence: The numbers of the run.
            prediction: What it would bring.
            findings: Codes of the findings that ask for it; any of them makes it worth giving.
            of_input: Whether it cures a wait for input, so that there has to be one.
        """
        if findings:
            return True
        if of_input and not input_matters(evidence):
            return False
        if isinstance(prediction, Missing) or isinstance(evidence.step_s, Missing):
            return False
        return prediction.gain_s >= WORTH_SHARE * evidence.step_s.value

    def give(
        self,
        prediction: Prediction | Missing,
        *,
        stage: int | None,
        cost: str,
        text: str,
        snippet: str,
        findings: tuple[str, ...],
        safety: str | None = None,
    ) -> Prescription:
        """Makes the prescription; ``safety`` only where it differs from the remedy's own."""
        return Prescription(
            name=self.name,
            stage=stage,
            predicted_step_s=prediction if isinstance(prediction, Missing) else prediction.step_s,
            low_s=prediction if isinstance(prediction, Missing) else prediction.low_s,
            high_s=prediction if isinstance(prediction, Missing) else prediction.high_s,
            safety=self.safety if safety is None else safety,
            cost=cost,
            text=text,
            snippet=snippet,
            findings=findings,
        )


def input_matters(evidence: Evidence) -> bool:
    """Says whether the step waits for its input for a share that matters."""
    step, wait = evidence.step_s, evidence.wait_s
    if isinstance(step, Missing) or isinstance(wait, Missing) or step.value <= 0:
        return False
    return wait.value / step.value >= INPUT_MATTERS_SHARE


def accelerator_of(evidence: Evidence) -> str:
    """Names what computes the model: ``"gpu"``, ``"emulated"`` or ``""`` for the CPU itself."""
    if evidence.emulated_ms > 0:
        return "emulated"
    return "gpu" if evidence.environment.gpus else ""
