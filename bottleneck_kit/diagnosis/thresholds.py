"""Every threshold of the diagnosis, once, with unit, meaning and source."""

from __future__ import annotations

MODERATE_SHARE = 0.05
"""Share of the step (0 to 1) from which a cause is called moderate.

xprof's band for "moderately input-bound" (``tools/constants``: 5 %).
"""

HIGH_SHARE = 0.20
"""Share of the step (0 to 1) from which a cause is called high; xprof's second band (20 %).

It is also where time outside the train function makes a job host-bound: one band for one thing.
"""

FEWEST_STEPS = 8
"""Steady steps from which a verdict is given; the interval of a median of fewer is a guess."""

FEWEST_STEPS_FOR_HIGH = 20
"""Steady steps from which a wait may be called high: with fewer, one slow batch weighs 5 %."""

SMALLEST_WAIT_S = 200e-6
"""Seconds a step below which a wait is not called one.

Taking a batch from a full buffer costs 50 to 100 µs by itself: twice the most of that, so that a
job of millisecond steps is not called input-bound for it.
"""

SMALLEST_CALLBACK_S = 100e-6
"""Seconds a step below which a callback is not worth a finding: Keras' own hooks cost as much."""

SATURATED_SHARE = 0.85
"""Share of the usable cores' time from which they count as saturated.

A process that is limited by its cores reads 0.9 to 1 here; 0.85 leaves the scheduler its due.
Below it, a further parallel call finds a core. What other processes use counts, where sampled.
"""

MOSTLY_BUSY_SHARE = 0.60
"""Share of the usable cores' time from which they hold a job back where nothing else does.

Calls of a parallel stage end together and leave cores idle until the next step: two cores that a
pipeline of parallel stages alone limits read 0.65 to 0.85 (measured).
"""

SPARE_CORES = 1.0
"""Idle cores, on the mean, with which a further parallel call has a whole core to itself."""

NEIGHBOURS_SHARE = 0.50
"""Share of the usable cores that other processes can take from one that wants them, at most.

What a scheduler leaves to one of two equals. A job that waits for a disk beside a busy neighbour
would else look as if it lacked cores.
"""

OTHER_CORES = 0.25
"""Cores that other processes keep busy, from which they are mentioned."""

LIMITING_SHARE = 0.40
"""Share of the step that one stage's own bound must reach to be named as the limit.

Where a job waits for input, the thread that limits it is busy for the whole step; the stage with
40 % of that is the largest or one of two, and curing it shows.
"""

EXPLAINS_SHARE = 0.80
"""Share of the step from which a stage that cannot be spread explains the wait by itself."""

CAUSE_SHARE = 0.20
"""Share of the wait that the cure of a stage must be able to save for it to be named as a cause.

Less is not felt. Every rule that names a stage keeps to it, those with LIMITING_SHARE by that: the
step is longer than its wait.
"""

LATENCY_SHARE = 0.50
"""Share of the wait that nobody's work accounts for, from which something blocks.

Thread seconds and CPU seconds are exact to some 20 %, so half is beyond their error.
"""

KEEPS_UP_SHARE = 0.80
"""Share of the ideal step within which the pipeline must make a batch to be sure to keep up.

A fifth in hand covers the spread of medians on two shared cores (0.82 to 1.16).
"""

EXPLAINED_BY_CPU_SHARE = 0.50
"""Share of the difference to the held batch that the pipeline's CPU time must account for."""

PIPELINE_CPU_SHARE = 0.20
"""Least share of the process' CPU time that the pipeline must take to be what fills the cores."""

DOMINANT_SHARE = 0.50
"""Share of all stages' thread seconds from which reading is what the pipeline does."""

OVERLAP_SHARE = 0.50
"""Share of the preparation hidden behind the step, below which there is no overlap to speak of.

With a prefetch it is near 1 wherever preparation is shorter than the step, without one near 0.
"""

PER_ELEMENT_S = 150e-6
"""Seconds an element and stage below which a function costs mostly the calls of its ops.

Parsing one Example of 40 features costs 110 µs, one CSV line of 60 columns 71 µs, and both become
4 to 10 times cheaper when a batch is parsed at once (measured on two cores).
"""

FEWEST_ELEMENTS = 8
"""Elements a step from which doing them at once is worth rewriting a function."""

LARGEST_ELEMENT_BYTES = 256 * 1024
"""Bytes of an element above which its copies cost more than the calls saved."""

ELEMENT_WORK_SHARE = 0.20
"""Share of all stages' thread seconds that work an element must take to be named."""

VALIDATION_MODERATE_SHARE = 0.20
"""Share of the fit inside ``evaluate`` that is worth a word.

A fifth of the data, forward only, takes about 7 % of the time: three times that is unusual.
"""

VALIDATION_HIGH_SHARE = 0.40
"""Share of the fit inside ``evaluate`` that is high: nearly as long as the training itself."""

RECOMPILES_ALLOWED = 1
"""Traces after the first execution that are nothing to report: one for a shorter last batch."""

RECOMPILE_HIGH_SHARE = 0.20
"""Share of the fit spent in calls that traced again, from which it is high."""

SLOW_START_S = 10.0
"""Seconds lost before the steady state below which a start is not slow.

Compiling a small network takes 1 to 5 s; tracing a ResNet50 21 s and more (FACTS), which is worth
saying where it is a large part of the fit.
"""

SLOW_START_MODERATE_SHARE = 0.10
"""Share of the fit lost before the steady state that is worth a word."""

SLOW_START_HIGH_SHARE = 0.40
"""Share of the fit lost before the steady state that is high."""

SAME_SIZE_FACTOR = 2.0
"""Ratio up to which two causes are of one size, so that the verdict is "mixed"."""

UNEXPLAINED_SHARE = 0.10
"""Share of the step that is neither wait nor ideal step, from which the report says so."""
