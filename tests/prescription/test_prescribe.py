from __future__ import annotations

import ast
import itertools
from collections.abc import Iterable
from pathlib import Path
from typing import ClassVar

import pytest
from constructed import callback_evidence, job
from hypothesis import given
from hypothesis import strategies as st
from prescribed_jobs import (
    article,
    augment,
    batch,
    compute_bound,
    diagnosis,
    finding,
    mapped,
    prefetch,
    python_map,
    run,
    serial_map,
    source,
)

import bottleneck_kit.prescription as prescription
from bottleneck_kit.prescription import ALL_REMEDIES
from bottleneck_kit.prescription.prescribe import HARDWARE_LEAD, prescribe
from bottleneck_kit.prescription.remedy import Remedy
from bottleneck_kit.prescription.table import Row
from bottleneck_kit.records.diagnosis import Diagnosis
from bottleneck_kit.records.evidence import Evidence
from bottleneck_kit.records.measurement import Measurement, Missing
from bottleneck_kit.records.plan import SAFETY_CLASSES, Plan, Prescription
from bottleneck_kit.records.stage import Stage
from bottleneck_kit.units import format_seconds

GOLDEN = Path(__file__).parent / "golden"

EVERY_REMEDY = finding(*ALL_REMEDIES)


class Broken(Remedy):
    """Fails whenever it is asked."""

    name: ClassVar[str] = "broken"
    safety: ClassVar[str] = "exact"
    effort: ClassVar[int] = 0

    def prescriptions(self, evidence: Evidence, diagnosis: Diagnosis) -> Iterable[Prescription]:
        raise ZeroDivisionError("a share of nothing")


def written(plan: Plan) -> str:
    """Writes a plan as text, to be compared whole."""
    blocks = []
    for one in plan.remedies:
        if isinstance(one.predicted_step_s, Missing):
            expected = f"not predicted: {one.predicted_step_s.reason}"
        else:
            assert not isinstance(one.low_s, Missing)
            assert not isinstance(one.high_s, Missing)
            low, high = format_seconds(one.low_s), format_seconds(one.high_s)
            expected = f"{format_seconds(one.predicted_step_s)} ({low} to {high})"
        place = "the job" if one.stage is None else f"stage {one.stage}"
        blocks.append(
            f"{one.name} for {place}: {expected}; {one.safety}; {one.cost}\n{one.text}\n"
            + "\n".join(f"    {line}".rstrip() for line in one.snippet.splitlines())
        )
    blocks += [f"not {name}: {reason}" for name, reason in plan.unpredicted.items()]
    return "\n\n".join(blocks) + "\n"


@pytest.mark.parametrize(
    ("name", "evidence"),
    [
        ("article_on_the_cpu", run()),
        ("article_with_a_gpu", run(gpus=1)),
        ("article_emulated", run(emulated_ms=31.0, cpu_held_s=0.005)),
    ],
)
def test_the_plan_for_the_articles_job_is_the_golden_one(name: str, evidence: Evidence) -> None:
    saturated = finding("machine", "bake", "head", "service", "dali", "device", code="INP110")
    text = written(prescribe(evidence, diagnosis(saturated)))
    assert text == (GOLDEN / f"{name}.txt").read_text(encoding="utf-8")


def test_a_compute_bound_job_without_findings_gets_nothing() -> None:
    assert prescribe(compute_bound(), diagnosis(kind="compute_bound")) == Plan()


def test_a_job_of_unknown_cause_gets_nothing() -> None:
    evidence = run(wait_s=Missing("no probe"), step_s=Missing("no steps"))
    assert prescribe(evidence, diagnosis(kind="unknown")) == Plan()


def test_a_broken_remedy_loses_nobody_elses() -> None:
    table = {"broken": Row(Broken()), **ALL_REMEDIES}
    plan = prescribe(run(), diagnosis(), remedies=table)
    assert plan.remedies == prescribe(run(), diagnosis()).remedies
    assert plan.unpredicted == {
        "broken": "could not be judged: ZeroDivisionError: a share of nothing"
    }


def test_a_remedy_that_a_finding_asked_for_is_given_or_its_absence_explained() -> None:
    plan = prescribe(compute_bound(), diagnosis(EVERY_REMEDY))
    answered = {one.name for one in plan.remedies} | set(plan.unpredicted)
    assert answered == set(ALL_REMEDIES)
    assert all(plan.unpredicted.values())


def test_stages_that_are_not_known_are_the_reason_for_every_remedy_of_theirs() -> None:
    evidence = run(stages=(), has_pipeline=Missing("it is no tf.data pipeline"))
    plan = prescribe(evidence, diagnosis(EVERY_REMEDY))
    for name, row in ALL_REMEDIES.items():
        told = plan.unpredicted.get(name, "")
        assert ("not known: it is no tf.data pipeline" in told) == row.judge.needs_stages, name


def test_an_unknown_remedy_is_named_not_lost() -> None:
    plan = prescribe(run(), diagnosis(finding("pray")))
    assert plan.unpredicted["pray"] == "this version of the kit does not know it"


def test_nothing_gained_is_no_remedy_unless_a_finding_names_its_stage() -> None:
    whole = prescribe(run(), diagnosis(finding("head")))
    assert "head" not in [one.name for one in whole.remedies]
    assert "predicted to bring nothing" in whole.unpredicted["head"]
    assert "stays on the same cores" in whole.unpredicted["head"]
    staged = prescribe(run(), diagnosis(finding("head", stage=8)))
    assert "head" in [one.name for one in staged.remedies]


def test_of_equal_gains_the_easier_and_safer_comes_first() -> None:
    stages = [source(0), serial_map(1, "decode", 80.0), batch(2), prefetch(3)]
    evidence = run(stages, cpu_step_s=0.020, cpu_held_s=0.019, held_call_s=0.0445, wait_s=0.038)
    names = [one.name for one in prescribe(evidence, diagnosis()).remedies]
    assert names[0] == "tune"
    assert names.index("cache") < names.index("service")


def test_hardware_comes_first_only_where_it_is_clearly_faster() -> None:
    stages = [source(0), serial_map(1, "decode", 80.0), batch(2, 1.0), prefetch(3)]
    # The baked data are read and batched: a little slower than batches from other machines.
    near = prescribe(run(stages, held_call_s=0.0015, wait_s=0.080), diagnosis()).remedies
    assert [one.name for one in near].index("bake") < [one.name for one in near].index("service")
    stages[2] = batch(2, 20.0)
    far = prescribe(run(stages, held_call_s=0.0015, wait_s=0.080), diagnosis()).remedies
    assert [one.name for one in far].index("service") < [one.name for one in far].index("bake")


KINDS = st.sampled_from([mapped, serial_map, python_map])


@st.composite
def jobs(draw: st.DrawFn) -> Evidence:
    """Any pipeline, machine and wait, with or without costs, probe and accelerator."""
    costs = st.one_of(st.none(), st.floats(0.0, 150.0))
    stages: list[Stage] = [source(0, draw(costs))]
    for index in range(1, draw(st.integers(1, 5))):
        stages.append(draw(KINDS)(index, f"f{index}", draw(costs)))
    stages.append(batch(len(stages), draw(costs)))
    if draw(st.booleans()):
        stages.append(augment(len(stages), draw(costs)))
    stages.append(prefetch(len(stages)))
    step_s = draw(st.floats(0.0005, 0.5))
    share = draw(st.floats(0.0, 1.0))
    missing = Missing("not measured")
    return run(
        stages if draw(st.booleans()) else article(),
        step_s=step_s,
        wait_s=step_s * share if draw(st.booleans()) else missing,
        held_call_s=step_s * (1 - share) if draw(st.booleans()) else missing,
        host_s=step_s * draw(st.floats(0.0, 1 - share)),
        cpu_step_s=draw(st.floats(0.0, 1.0)) * 2 * step_s if draw(st.booleans()) else missing,
        cpu_held_s=draw(st.floats(0.0, 0.5)) * step_s,
        gpus=draw(st.integers(0, 1)),
        emulated_ms=draw(st.sampled_from([0.0, 30.0])),
        prefetch_at_end=draw(st.sampled_from([True, False, None])),
        recompiles=draw(st.integers(0, 3)),
        callbacks=(callback_evidence(step_ms=step_s * 100, share=0.1),),
        job=job(run_eagerly=draw(st.booleans()), cardinality=draw(st.integers(-2, 1000))),
    )


@given(jobs(), st.booleans())
def test_every_plan_is_in_order_within_its_bounds_and_can_be_pasted(
    evidence: Evidence, asked: bool
) -> None:
    plan = prescribe(evidence, diagnosis(*([EVERY_REMEDY] if asked else [])))
    assert not [reason for reason in plan.unpredicted.values() if "could not be judged" in reason]
    assert isinstance(evidence.step_s, Measurement)
    step_s = evidence.step_s.value
    seen: list[float] = []
    for one in plan.remedies:
        ast.parse(one.snippet)
        assert one.safety in SAFETY_CLASSES
        assert one.cost
        assert one.text.endswith(".")
        if isinstance(one.predicted_step_s, Missing):
            seen.append(float("inf"))
            continue
        assert not isinstance(one.low_s, Missing)
        assert not isinstance(one.high_s, Missing)
        assert 0 <= one.low_s <= one.predicted_step_s <= one.high_s
        assert one.predicted_step_s <= step_s
        hardware = ALL_REMEDIES[one.name].judge.needs_hardware
        seen.append(one.predicted_step_s * (HARDWARE_LEAD if hardware else 1))
    for before, after in itertools.pairwise(seen):
        assert before <= after + 0.0101 * step_s


@given(jobs())
def test_prescribing_twice_gives_the_same_plan(evidence: Evidence) -> None:
    first = prescribe(evidence, diagnosis(EVERY_REMEDY))
    assert prescribe(evidence, diagnosis(EVERY_REMEDY)) == first


def test_the_table_names_every_remedy_of_the_folder_in_order() -> None:
    folder = Path(prescription.__file__).parent
    shared = {
        "__init__",
        "change",
        "data_size",
        "formulas",
        "moved_work",
        "prescribe",
        "remedy",
        "snippet",
        "stage_load",
        "stage_order",
        "table",
        "waiting_python",
        "what_if",
    }
    files = {path.stem for path in folder.glob("*.py")} - shared
    assert files == set(ALL_REMEDIES)
    assert list(ALL_REMEDIES) == sorted(ALL_REMEDIES)


@pytest.mark.parametrize("name", ALL_REMEDIES)
def test_a_remedy_is_named_as_its_row_and_its_module(name: str) -> None:
    judge = ALL_REMEDIES[name].judge
    assert judge.name == name
    assert type(judge).__module__ == f"bottleneck_kit.prescription.{name}"
    assert judge.safety in SAFETY_CLASSES
    assert judge.effort in range(4)
    assert type(judge).__doc__
