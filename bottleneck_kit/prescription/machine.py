"""Remedy ``machine``: as many cores as this accelerator needs to be fed."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from bottleneck_kit.prescription.change import Change
from bottleneck_kit.prescription.formulas import cores_to_feed
from bottleneck_kit.prescription.remedy import Remedy, accelerator_of
from bottleneck_kit.prescription.stage_load import free_cores
from bottleneck_kit.prescription.what_if import predict
from bottleneck_kit.records.diagnosis import Diagnosis
from bottleneck_kit.records.evidence import Evidence
from bottleneck_kit.records.measurement import Missing
from bottleneck_kit.records.plan import Prescription
from bottleneck_kit.units import format_seconds

SATURATED_CPU_SHARE = 0.8
"""Share of the cores' time in use from which more cores are thought of unasked."""

IDLE_SHARE = 0.4
"""Share of the free cores' time in use below which cores are not what the job waits for.

A single busy thread on two cores takes half of it, and some parallel stage may need more.
"""


class Machine(Remedy):
    """Tells how many cores would feed this accelerator.

    More cores help what runs in parallel; a serial stage and Python stay as slow as they are.
    """

    name: ClassVar[str] = "machine"
    safety: ClassVar[str] = "exact"
    effort: ClassVar[int] = 3
    needs_hardware: ClassVar[bool] = True
    needs_stages: ClassVar[bool] = False

    def prescriptions(self, evidence: Evidence, diagnosis: Diagnosis) -> Iterable[Prescription]:
        """Gives one where the cores are busy and more would shorten the step."""
        findings = self.asked_by(diagnosis)
        share = evidence.cpu_share
        busy = not isinstance(share, Missing) and share.value >= SATURATED_CPU_SHARE
        needed = _cores_needed(evidence)
        if not (findings or busy) or needed is None or needed <= evidence.usable_cores:
            return
        if _leaves_cores_idle(evidence):
            return
        prediction = predict(evidence, Change(cores=float(needed)))
        if not self.worth_giving(evidence, prediction, findings):
            return
        environment = evidence.environment
        assert not isinstance(evidence.cpu_pipe_s, Missing)
        assert not isinstance(evidence.ideal_step_s, Missing)
        text = (
            f"Preparing a batch takes {format_seconds(evidence.cpu_pipe_s.value)} of CPU, an ideal "
            f"step {format_seconds(evidence.ideal_step_s.value)}: {needed} cores would keep up; "
            f"this job has {environment.usable_cores:g}."
        )
        if accelerator_of(evidence) == "":
            text += " The model's own work on the CPU is counted in; it gets faster with them, too."
        elif accelerator_of(evidence) == "emulated":
            text += " The accelerator is emulated: read it as a ratio."
        snippet = f"# {needed} cores in the place of {environment.usable_cores:g}"
        if environment.cores_limited_by and environment.cores > environment.usable_cores:
            text += (
                f" The machine has {environment.cores}; the {environment.cores_limited_by} holds "
                "the job to fewer: lift that first."
            )
            snippet = (
                f"# raise the {environment.cores_limited_by} of this job to "
                f"{min(needed, environment.cores)} cores (docker run --cpus, taskset, cgroup)"
            )
        yield self.give(
            prediction,
            stage=None,
            cost="a machine with more cores",
            text=text,
            snippet=snippet,
            findings=findings,
        )

    def why_not(self, evidence: Evidence, diagnosis: Diagnosis) -> str:
        """Says which number is missing, or that the cores suffice."""
        for number in (evidence.cpu_pipe_s, evidence.ideal_step_s):
            if isinstance(number, Missing):
                return f"how many cores it needs cannot be told: {number.reason}"
        needed = _cores_needed(evidence)
        if needed is not None and needed > evidence.usable_cores and _leaves_cores_idle(evidence):
            return "the job leaves most of the cores' time unused: more of them would idle, too"
        return "this machine's cores are enough to feed its accelerator"


def _leaves_cores_idle(evidence: Evidence) -> bool:
    """Says whether the job uses little of the cores it could have, so that it waits for others."""
    share = evidence.cpu_share
    if isinstance(share, Missing):
        return False
    return share.value * evidence.usable_cores < IDLE_SHARE * free_cores(evidence)


def _cores_needed(evidence: Evidence) -> int | None:
    pipe, ideal = evidence.cpu_pipe_s, evidence.ideal_step_s
    if isinstance(pipe, Missing) or isinstance(ideal, Missing) or ideal.value <= 0:
        return None
    cpu_s = pipe.value
    if accelerator_of(evidence) == "" and not isinstance(evidence.cpu_held_s, Missing):
        cpu_s += evidence.cpu_held_s.value
    return cores_to_feed(cpu_s, ideal.value)
