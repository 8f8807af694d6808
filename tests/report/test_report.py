"""What the user holds: its properties, its one line, and how it shows itself."""

from __future__ import annotations

import dataclasses
import subprocess
import sys

import pytest
from archetypes import ARCHETYPES, host_bound, input_bound, unknown

from bottleneck_kit.records.plan import Plan
from bottleneck_kit.report.console import render_text
from bottleneck_kit.report.report import Report
from bottleneck_kit.report.summary import look_at, try_first, unjudged


def without_findings(report: Report) -> Report:
    return dataclasses.replace(report, diagnosis=dataclasses.replace(report.diagnosis, findings=()))


def test_its_properties_are_those_of_its_parts() -> None:
    report = input_bound()

    assert report.verdict is report.diagnosis.verdict
    assert report.findings is report.diagnosis.findings
    assert report.remedies is report.plan.remedies
    assert report.stages is report.evidence.stages


def test_it_cannot_be_changed() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        input_bound().plan = Plan()  # type: ignore[misc]


@pytest.mark.parametrize("name", ARCHETYPES)
def test_its_headline_is_one_line_that_begins_with_the_class(name: str) -> None:
    report = ARCHETYPES[name]()

    headline = report.headline()

    assert "\n" not in headline
    assert headline.startswith(f"{report.verdict.kind.replace('_', '-')}: ")


def test_as_text_it_is_the_report_at_a_hundred_columns() -> None:
    report = unknown()

    assert f"{report}\n" == render_text(report, width=100)


def test_its_repr_is_short() -> None:
    assert repr(unknown()) == "<Report unknown: only 4 steady steps, at least 20 are needed>"


def test_the_place_to_look_at_is_the_worst_findings_stage() -> None:
    assert look_at(input_bound(), place_width=40).startswith("map blur, ")


def test_a_finding_about_the_whole_job_is_named_itself() -> None:
    assert look_at(host_bound(), place_width=40) == "slow-callback (HST301)"


def test_without_a_finding_the_costliest_stage_is_named_where_input_holds_back() -> None:
    assert look_at(without_findings(input_bound()), place_width=40).startswith("map blur, ")
    assert look_at(without_findings(host_bound()), place_width=40) == ""


def test_without_remedies_there_is_nothing_to_try() -> None:
    assert try_first(dataclasses.replace(input_bound(), plan=Plan())) == ""


def test_what_needs_another_machine_is_not_what_to_try_first() -> None:
    report = input_bound()
    own = report.remedies[0]
    bought = dataclasses.replace(own, name="machine", stage=None, predicted_step_s=0.001)
    plan = Plan(remedies=(bought, own))

    assert try_first(dataclasses.replace(report, plan=plan)).startswith(f"{own.name} on ")
    assert try_first(dataclasses.replace(report, plan=Plan(remedies=(bought,)))).startswith(
        "machine: "
    )


def test_what_could_not_be_judged_is_grouped_by_reason() -> None:
    groups = dict(unjudged(unknown()))

    assert groups["only 4 steady steps, at least 20 are needed"][:2] == [
        "INP101 input-bound",
        "INP110 cpu-saturated",
    ]


def test_the_short_list_holds_no_more_than_the_full_one() -> None:
    for make in ARCHETYPES.values():
        short, full = dict(unjudged(make())), dict(unjudged(make(), full=True))
        for reason, things in short.items():
            assert set(things) <= set(full[reason])


def test_a_report_for_programs_does_not_load_rich() -> None:
    code = "import sys, bottleneck_kit.report.report; print('rich' in sys.modules)"
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )

    assert result.stdout.strip() == "False"
