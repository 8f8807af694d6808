"""What work costs once it has moved into the step, by what computes the model."""

from __future__ import annotations

from collections.abc import Iterable

from bottleneck_kit.prescription.change import Change
from bottleneck_kit.prescription.remedy import accelerator_of
from bottleneck_kit.prescription.stage_load import pipeline_cpu_s, stage_seconds
from bottleneck_kit.prescription.what_if import Prediction, predict
from bottleneck_kit.records.evidence import Evidence
from bottleneck_kit.records.measurement import Missing

GPU_TIMES_FASTER = (3.0, 10.0, 100.0)
"""How many times faster than one core a GPU does image work on batches: low, middle, high.

An assumption, stated as such, since the record holds no time of the moved work on the device. The
width covers a small old card with small kernels and a large one with large batches.
"""


def predict_moved(
    evidence: Evidence, stages: Iterable[int], *, extra_s: float = 0.0
) -> Prediction | Missing:
    """Predicts a step when the work of ``stages`` moves into the step.

    On a GPU it runs faster by an assumed factor and leaves the CPU. On an emulated accelerator it
    runs on the host's cores within the step: the accelerator is a pause, which cannot take work.
    Without an accelerator the work stays on the same cores, so that nothing is gained.

    Args:
        evidence: The numbers of the run.
        stages: Indices of the stages.
        extra_s: Seconds a step that moving costs in copies and kernel launches.
    """
    indices = tuple(stages)
    seconds = stage_seconds(evidence)
    unknown = [index for index in indices if index not in seconds]
    if unknown:
        return Missing(f"the cost of stage {unknown[0]} was not measured")
    work_s = sum(seconds[index] for index in indices)
    kept = dict.fromkeys(indices, 0.0)
    kind = accelerator_of(evidence)
    if kind == "":
        return predict(evidence, Change())
    if kind == "emulated":
        total_s = sum(seconds.values())
        cpu_s = pipeline_cpu_s(evidence, work_s / total_s if total_s > 0 else 0.0)
        return predict(
            evidence,
            Change(
                kept=kept,
                step_s=work_s / max(1.0, evidence.usable_cores) + extra_s,
                step_cpu_s=cpu_s,
            ),
        )
    slow, middle, fast = (
        predict(evidence, Change(kept=kept, step_s=work_s / factor + extra_s))
        for factor in GPU_TIMES_FASTER
    )
    if isinstance(middle, Missing) or isinstance(slow, Missing) or isinstance(fast, Missing):
        return middle
    return Prediction(
        step_s=middle.step_s,
        low_s=min(middle.low_s, fast.low_s),
        high_s=max(middle.high_s, slow.high_s),
        gain_s=middle.gain_s,
    )
