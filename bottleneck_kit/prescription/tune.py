"""Remedy ``tune``: parallel calls, parallel reads and overlap, set where they help."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from bottleneck_kit.prescription import snippet, waiting_python
from bottleneck_kit.prescription.change import Change
from bottleneck_kit.prescription.remedy import Remedy
from bottleneck_kit.prescription.stage_load import latency_left, stage_seconds, taken_clause
from bottleneck_kit.prescription.stage_order import is_random, main_line, named
from bottleneck_kit.prescription.what_if import predict
from bottleneck_kit.records.diagnosis import Diagnosis
from bottleneck_kit.records.evidence import Evidence, StageEvidence
from bottleneck_kit.records.measurement import Missing
from bottleneck_kit.records.plan import Prescription
from bottleneck_kit.records.python_waits import stage_waits
from bottleneck_kit.units import format_seconds

READS_AT_ONCE = 16
"""Files read at once where reads wait for storage: more than cores, since waiting needs none.

One file at a time took 20.4 ms a step, AUTOTUNE 5.7, sixteen at once 2.6.
"""

READ_ERROR_SHARE = 0.5
"""Stated error for reads: how many requests a storage serves at once is not in the record."""

FILE_READERS = {
    "tfrecord": "TFRecordDataset",
    "text_line": "TextLineDataset",
    "fixed_length_record": "FixedLengthRecordDataset",
}
WAITS_BELOW_CPU_SHARE = 0.9
"""Share of the cores in use from which more calls find no idle core (as INP110 has it)."""

SMALL_SHARE = 0.05
"""Thread seconds of a stage, as a share of the step, below which its calls are not touched."""


class Tune(Remedy):
    """Lets tf.data work on several elements, read several files and run beside the step.

    More parallel calls help neither Python that computes (one lock) nor cores that are busy
    already; the arithmetic bounds both. Python that waits frees the lock and needs no core.
    """

    name: ClassVar[str] = "tune"
    safety: ClassVar[str] = "exact"
    effort: ClassVar[int] = 0

    def prescriptions(self, evidence: Evidence, diagnosis: Diagnosis) -> Iterable[Prescription]:
        """Gives one for the stages that keep their data, one for random ones, reads, overlap."""
        serial = [one for one in evidence.stages if _can_run_parallel(one, evidence)]
        yield from self._parallel(evidence, diagnosis, [s for s in serial if not _draws(s)])
        yield from self._parallel(evidence, diagnosis, [s for s in serial if _draws(s)])
        yield from self._reads(evidence, diagnosis)
        yield from self._waiting_python(evidence, diagnosis)
        yield from self._overlap(evidence, diagnosis)

    def why_not(self, evidence: Evidence, diagnosis: Diagnosis) -> str:
        """Names the lock or the full cores where they are the reason."""
        if any(stage_waits(one, evidence) for one in evidence.stages):
            return "the Python that waits is called often enough at once, or cannot be"
        if any(one.stage.traits.python for one in evidence.stages):
            return "the slow stage runs Python, which one lock serialises; more calls do not help"
        return "every stage that can run in parallel does so already"

    def _parallel(
        self, evidence: Evidence, diagnosis: Diagnosis, stages: list[StageEvidence]
    ) -> Iterable[Prescription]:
        if not stages:
            return
        cores = max(1.0, evidence.usable_cores)
        findings = self.asked_by(diagnosis, [one.stage.index for one in stages])
        seconds = stage_seconds(evidence)
        measured = [one for one in stages if one.stage.index in seconds] or stages
        prediction = predict(evidence, Change(calls={one.stage.index: cores for one in measured}))
        if not self.worth_giving(evidence, prediction, findings):
            return
        dearest = max(measured, key=lambda one: seconds.get(one.stage.index, 0.0))
        draws = _draws(dearest)
        text = (
            f"{named(tuple(stages))} {'work' if len(stages) > 1 else 'works'} on "
            f"{'few elements' if dearest.serial is False else 'one element'} at a time: "
            f"parallel calls spread the work over {evidence.usable_cores:g} cores"
            f"{taken_clause(evidence)}."
        )
        if draws:
            text += (
                " It draws random numbers, and parallel calls take them in another order each "
                "run: no longer reproducible under a seed unless it uses tf.random.stateless_*."
            )
        lines = [snippet.call(one.stage, num_parallel_calls="AUTOTUNE") for one in stages]
        code = snippet.assignments(*lines)
        if evidence.pipeline_options.get("autotune.enabled") is False:
            code += (
                "\noptions = tf.data.Options()\noptions.autotune.enabled = True\n"
                "dataset = dataset.with_options(options)"
            )
        yield self.give(
            prediction,
            stage=dearest.stage.index,
            cost="one argument; some memory for elements under way",
            text=text,
            snippet=code,
            findings=findings,
            safety="redraws" if draws else None,
        )

    def _reads(self, evidence: Evidence, diagnosis: Diagnosis) -> Iterable[Prescription]:
        for one in main_line(evidence):
            stage = one.stage
            if not _reads_files(one) or (one.parallelism or 1) >= READS_AT_ONCE:
                continue
            waits = (
                isinstance(evidence.cpu_share, Missing)
                or evidence.cpu_share.value < WAITS_BELOW_CPU_SHARE
            )
            # Unasked, only reads that a single call makes one after the other are known to wait.
            findings = tuple(
                code for code in self.asked_by(diagnosis, [stage.index]) if code == "INP113"
            )
            if not findings and not (waits and one.serial is True):
                continue
            calls = READS_AT_ONCE if waits else max(1.0, evidence.usable_cores)
            prediction = predict(
                evidence,
                Change(
                    calls={stage.index: float(calls)},
                    # As many reads at once wait for as much shorter.
                    latency_left=max(
                        latency_left(evidence, [stage.index]), (one.parallelism or 1) / calls
                    ),
                    error_share=READ_ERROR_SHARE,
                ),
            )
            if not self.worth_giving(evidence, prediction, findings):
                continue
            spent = "" if isinstance(one.cost_s, Missing) else f" {format_seconds(one.cost_s)}"
            yield self.give(
                prediction,
                stage=stage.index,
                cost="one argument; as many open files and read buffers",
                text=f"Reading takes{spent} a step in threads that mostly wait for storage; "
                f"{READS_AT_ONCE} reads at once hide the waiting. The order of elements from "
                "different files changes.",
                snippet=_read_snippet(one),
                findings=findings,
                safety="exact" if stage.kind == "map" else "reorders",
            )

    def _waiting_python(self, evidence: Evidence, diagnosis: Diagnosis) -> Iterable[Prescription]:
        for one in evidence.stages:
            calls = waiting_python.at_once(one, evidence)
            if calls is None:
                continue
            index = one.stage.index
            findings = self.asked_by(diagnosis, [index])
            change = Change(
                calls={index: float(calls)}, error_share=waiting_python.WAITING_ERROR_SHARE
            )
            prediction = predict(evidence, change)
            if not self.worth_giving(evidence, prediction, findings):
                continue
            yield self.give(
                prediction,
                stage=index,
                cost=f"one argument; {calls} calls under way at a time, so it must be thread-safe",
                text=f"{one.stage.name} runs Python that mostly waits and holds no lock meanwhile: "
                f"{calls} calls at once share the waiting, which needs no cores of its own "
                "(unless it waits for processes of this machine that compute).",
                snippet=waiting_python.code(one, calls),
                findings=findings,
            )

    def _overlap(self, evidence: Evidence, diagnosis: Diagnosis) -> Iterable[Prescription]:
        asked = tuple(c for c in self.asked_by(diagnosis) if c == "INP114")
        if evidence.prefetch_at_end is not False and not asked:
            return
        prediction = predict(evidence, Change(overlap=True))
        if not self.worth_giving(evidence, prediction, asked):
            return
        if evidence.prefetch_at_end is False:
            text = (
                "No buffer stands between the pipeline and the training loop, so they take turns; "
                "with a prefetch at the end the next batch is prepared during the step."
            )
        else:
            text = (
                "A prefetch is at the end already (tf.data adds one by default), so that another "
                "brings nothing; a larger buffer only smooths uneven steps."
            )
        line = main_line(evidence)
        yield self.give(
            prediction,
            stage=line[-1].stage.index if line else None,
            cost="memory for a few batches",
            text=text,
            snippet="dataset = dataset.prefetch(tf.data.AUTOTUNE)  # as the last line",
            findings=asked,
        )


def _draws(one: StageEvidence) -> bool:
    return is_random(one) or one.stage.traits.stateful is True


def _is_small(one: StageEvidence, evidence: Evidence) -> bool:
    """Says whether a stage costs so little that calls for it are only more to keep in mind."""
    step = evidence.step_s
    if isinstance(one.cost_s, Missing) or isinstance(step, Missing):
        return False
    return one.cost_s < SMALL_SHARE * step.value


def _reads_files(one: StageEvidence) -> bool:
    """Says whether a stage opens files and takes an argument for how many at once."""
    stage = one.stage
    if stage.kind not in {*FILE_READERS, "interleave", "map"} or stage.traits.python:
        return False
    inside = any(inner.traits.reads_files for branch in stage.branches for inner in branch)
    return stage.kind in FILE_READERS or inside or stage.traits.reads_files is True


def _can_run_parallel(one: StageEvidence, evidence: Evidence) -> bool:
    stage = one.stage
    if stage.kind not in {"map", "interleave", "batch"} or stage.traits.python or stage.injected_by:
        return False
    if _is_small(one, evidence):
        return False
    if one.serial is True:
        return not _reads_files(one)
    fixed = stage.options.get("num_parallel_calls")
    few = isinstance(fixed, int) and 0 < fixed < evidence.usable_cores
    return one.serial is False and few


def _read_snippet(one: StageEvidence) -> str:
    kind = one.stage.kind
    if kind in FILE_READERS:
        reader = FILE_READERS[kind]
        if kind == "fixed_length_record":
            code = (
                "# files: your list of file names; record_bytes: as in your own call\n"
                f"dataset = tf.data.{reader}(files, record_bytes, "
                f"num_parallel_reads={READS_AT_ONCE})"
            )
        else:
            code = (
                "# files: your list of file names\n"
                f"dataset = tf.data.{reader}(files, num_parallel_reads={READS_AT_ONCE})"
            )
    elif kind == "interleave":
        code = snippet.assignments(
            snippet.call(one.stage, cycle_length=READS_AT_ONCE, num_parallel_calls=READS_AT_ONCE)
        )
    else:
        code = snippet.assignments(snippet.call(one.stage, num_parallel_calls=READS_AT_ONCE))
    return (
        f"{code}\n"
        "# Threads of its own, so that waiting reads do not hold up the other stages:\n"
        "options = tf.data.Options()\n"
        f"options.threading.private_threadpool_size = {2 * READS_AT_ONCE}\n"
        "dataset = dataset.with_options(options)"
    )
