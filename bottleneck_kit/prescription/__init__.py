"""Which remedy would bring what, one remedy a file; no framework is loaded here."""

from bottleneck_kit.prescription.table import ALL_REMEDIES

__all__ = ["ALL_REMEDIES"]
