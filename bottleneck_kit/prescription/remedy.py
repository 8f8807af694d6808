"""What a remedy is before it is carried out: where it applies and what it would bring."""

from __future__ import annotations

import abc
from collections.abc import Iterable
from typing import ClassVar

from bottleneck_kit.records.diagnosis import Diagnosis
from bottleneck_kit.records.evidence import Evidence
from bottleneck_kit.records.plan import Prescription


class Remedy(abc.ABC):
    """One cure, judged from evidence and diagnosis alone; ``remedy/`` carries it out.

    Attributes:
        name: Such as ``bake``; the module is named the same.
        safety: One of SAFETY_CLASSES: how the data changes once it is applied.
    """

    name: ClassVar[str]
    safety: ClassVar[str]

    @abc.abstractmethod
    def prescriptions(self, evidence: Evidence, diagnosis: Diagnosis) -> Iterable[Prescription]:
        """Gives one prescription for each place where the remedy applies; none where it does not.

        A remedy that is predicted to bring nothing gives none, unless a finding asks for it: then
        it gives one whose prediction says so.
        """

    def why_not(self, evidence: Evidence, diagnosis: Diagnosis) -> str:
        """Says why there is no prescription, for a remedy that a finding asked for."""
        return "does not apply to this pipeline"
