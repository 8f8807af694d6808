"""The limits by which evidence tells a steady step from another, each with unit and reason."""

from __future__ import annotations

SEED = 20240601
"""Of every bootstrap: the same record gives the same numbers on every machine."""

RESAMPLES = 300
"""Bootstrap resamples: the ends of a 95 % interval rest on the 7 outermost on either side."""

BURST_SHARE = 0.05
"""Share of the time that a median may hide before the clipped mean is taken instead.

A parallel pipeline delivers in bursts: four steps find a batch and the fifth waits for all of
them, and the median step then says that nothing waits. 5 % is the band at which a verdict turns
(``diagnosis/thresholds.py``), so less than that cannot turn it.
"""

CLIP_SHARE = 0.05
"""Share of the steps, at either end, that the clipped mean pulls in.

One pause (a checkpoint, a neighbour, a collection of garbage) is not the pace of the training;
a step in ten that waits is.
"""

KIT_SHARE = 0.10
"""Share of a period that the kit's own work may take in a step that counts as steady."""

WARM_UP_WINDOW = 5
"""Steps in the running median that tells where the steady state begins."""

WARM_UP_TOLERANCE = 0.15
"""Share by which that running median may differ from the later half's median.

Twice the 7 % by which medians of 30 equal steps differed on two shared cores (0.82 to 1.16 at
the extremes), so that noise alone cuts little.
"""

WARM_UP_SPREADS = 3.0
"""Or the median absolute deviations (scaled to a normal's sigma) it may differ by."""

SLOW_FACTOR = 4.0
"""A steady call over this many medians counts as an outlier."""

FEWEST_GAPS = 8
"""Steady steps with a known gap from which the wait is told; see FEWEST_STEPS in diagnosis."""

GAP_MISFIT_SHARE = 0.05
"""Share of the step below 0 at which step less gap shows that gaps and steps do not belong
together; nearer to 0 it is the noise of two clocks."""

GAP_TO_IDEAL = 0.6
"""Least ratio of the gap to the ideal step.

The gap is the time the consumer computes, so it cannot be far below the step on the held batch.
Where it is, the batch is fetched beside the step (FACTS: 0.6 ms of gap at a step of 16 ms) and
the gap does not tell the wait. The slack is for a probe slowed by a machine's noise (1.2) and by
the pipeline that still fills its buffers.
"""
