"""The rules, one a file; the table here is the only registry, sorted by code."""

from __future__ import annotations

from bottleneck_kit.diagnosis.rule import Rule
from bottleneck_kit.diagnosis.rules.cpu_saturated import CpuSaturated
from bottleneck_kit.diagnosis.rules.input_bound import InputBound
from bottleneck_kit.diagnosis.rules.no_overlap import NoOverlap
from bottleneck_kit.diagnosis.rules.python_stage import PythonStage
from bottleneck_kit.diagnosis.rules.recompile import Recompile
from bottleneck_kit.diagnosis.rules.serial_stage import SerialStage
from bottleneck_kit.diagnosis.rules.slow_callback import SlowCallback
from bottleneck_kit.diagnosis.rules.slow_source import SlowSource
from bottleneck_kit.diagnosis.rules.slow_start import SlowStart
from bottleneck_kit.diagnosis.rules.validation_stall import ValidationStall
from bottleneck_kit.diagnosis.rules.work_per_element import WorkPerElement
from bottleneck_kit.errors import UnknownRuleError

ALL_RULES: tuple[Rule, ...] = (
    SlowCallback(),  # HST301
    ValidationStall(),  # HST305
    InputBound(),  # INP101
    CpuSaturated(),  # INP110
    SerialStage(),  # INP111
    PythonStage(),  # INP112
    SlowSource(),  # INP113
    NoOverlap(),  # INP114
    WorkPerElement(),  # INP115
    Recompile(),  # RUN401
    SlowStart(),  # RUN402
)


def rule_by_code(code: str) -> Rule:
    """Gives the rule of a code, in any case of letters.

    Raises:
        UnknownRuleError: No rule has that code; the message lists those there are.
    """
    for rule in ALL_RULES:
        if rule.code == code.strip().upper():
            return rule
    raise UnknownRuleError(
        expected="the code of a rule",
        received=repr(code),
        do=f"The rules are {', '.join(rule.code for rule in ALL_RULES)}.",
    )
