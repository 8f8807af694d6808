"""Reports of records that were really judged, from any mix of what is there and what is missing."""

from __future__ import annotations

import json
from typing import Any

from constructed import article_stages, record, stage
from hypothesis import given, settings
from hypothesis import strategies as st
from nulls import nulls_without_reason

from bottleneck_kit.analysis import analyse
from bottleneck_kit.records.measurement import Missing
from bottleneck_kit.report.console import render_text
from bottleneck_kit.report.report import Report

GONE = Missing("it was not to be had")

records = st.builds(
    record,
    step_ms=st.sampled_from([2.0, 50.0, 83.0]),
    wait_ms=st.sampled_from([None, 0.01, 1.5]),
    host_ms=st.sampled_from([0.1, 1.0]),
    held_ms=st.sampled_from([None, 0.4, 30.0]),
    steps=st.sampled_from([1, 6, 40]),
    steps_per_execution=st.sampled_from([1, 4]),
    epochs=st.sampled_from([1, 2]),
    cpu_ms=st.sampled_from([None, 3.0, 150.0]),
    cores=st.sampled_from([0.5, 2.0, 8.0]),
    stages=st.sampled_from(
        [
            None,
            GONE,
            (),
            article_stages(parallelism=1),
            (stage(0, "keras_arrays", injected_by="keras"),),
        ]
    ),
    stack=st.just(GONE),
    overhead=st.just(GONE),
    emulated_ms=st.sampled_from([0.0, 20.0]),
)


def report_of(run: Any) -> Report:
    analysis = analyse(run)
    return Report(
        record=run, evidence=analysis.evidence, diagnosis=analysis.diagnosis, plan=analysis.plan
    )


@settings(max_examples=100, deadline=None)
@given(records)
def test_each_null_has_a_reason_and_the_json_is_strict(run: Any) -> None:
    report = report_of(run)

    content = json.loads(report.to_json())

    assert list(nulls_without_reason(content)) == []


@settings(max_examples=60, deadline=None)
@given(records, st.sampled_from([60, 80, 120]))
def test_the_report_for_people_begins_with_the_verdict_and_fits(run: Any, width: int) -> None:
    report = report_of(run)
    snippets = "\n".join(remedy.snippet for remedy in report.remedies)

    lines = render_text(report, width=width, full=True).splitlines()

    assert report.headline().startswith(lines[0])
    assert all(len(line) <= width or line.strip() in snippets for line in lines)


@settings(max_examples=60, deadline=None)
@given(records)
def test_a_rule_that_could_not_be_asked_is_named_with_its_reason(run: Any) -> None:
    report = report_of(run)

    shown = render_text(report, width=1000, full=True)

    for rule in report.diagnosis.not_evaluated:
        assert f"{rule.code} {rule.name}" in shown
