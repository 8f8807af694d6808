"""CachedBatchProbe: what a step would take if input were free, timed on one batch of the fit."""

from __future__ import annotations

import time
from statistics import median
from typing import Any

import keras

from bottleneck_kit.callbacks.guard import harmless, logger
from bottleneck_kit.instruments.fit_hook import FitHook, FitListener
from bottleneck_kit.instruments.held_batch import time_held_batch
from bottleneck_kit.records.held_batch import HeldBatchRun
from bottleneck_kit.records.measurement import Missing, present
from bottleneck_kit.records.steps import Execution
from bottleneck_kit.units import format_seconds


class CachedBatchProbe(keras.callbacks.Callback):
    """Times the train step on one batch used again and again, at the end of training.

    The batch is one that the fit itself has trained on; no iterator of the dataset is made, and
    every variable that the probe changes is put back, so that training with it gives the same
    weights, to the bit, as training without it.

    Example:
        >>> probe = CachedBatchProbe()
        >>> model.fit(dataset, epochs=1, callbacks=[probe])
        >>> probe.step_s

    Args:
        verbose: 1 prints one line at the end of training, 0 none.

    Attributes:
        result: What the last fit's probe measured, or Missing with the reason.
        failures: What failed in the callback's own hooks: hook -> reason.
    """

    def __init__(self, verbose: int = 1) -> None:
        super().__init__()
        self.result: HeldBatchRun | Missing = Missing("no fit has ended yet")
        self.failures: dict[str, str] = {}
        self._verbose = verbose
        self._hook: FitHook | None = None
        self._watcher: _FirstCall | None = None
        self._began_s = 0.0
        self._warned = False

    @property
    def step_s(self) -> float | Missing:
        """Median seconds a step (batch) would take if input were free, or Missing."""
        if not present(self.result):
            return self.result
        return median(self.result.call_s) / self.result.steps_per_execution

    @harmless
    def on_train_begin(self, logs: Any = None) -> None:
        """Asks the fit to hold one of its batches."""
        self.result = Missing("training still runs")
        self.failures.clear()
        self._began_s = time.perf_counter()
        self._hook = FitHook.acquire(self.model)
        self._watcher = _FirstCall(self)
        self._hook.add(self._watcher)
        self._hook.want_held_batch()

    @harmless
    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        """Passes the epoch on."""
        if self._hook is not None:
            self._hook.epoch_begin(epoch)

    @harmless
    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        """Passes the epoch on."""
        if self._hook is not None:
            self._hook.epoch_end(epoch)

    @harmless
    def on_train_end(self, logs: Any = None) -> None:
        """Probes, lets go of the fit, and says what came of it."""
        hook, watcher = self._hook, self._watcher
        if hook is None or watcher is None:
            return
        try:
            self.result = time_held_batch(
                self.model,
                hook,
                fit_s=time.perf_counter() - self._began_s,
                first_call_s=watcher.call_s,
            )
        finally:
            self._let_go()
            hook.release()
        if self._verbose:
            print(self._sentence(), flush=True)

    @harmless
    def on_test_begin(self, logs: Any = None) -> None:
        """Says that ``evaluate`` on its own gives nothing to probe."""
        self._warn_not_training("evaluate")

    @harmless
    def on_predict_begin(self, logs: Any = None) -> None:
        """Says that ``predict`` gives nothing to probe."""
        self._warn_not_training("predict")

    def _sentence(self) -> str:
        step_s = self.step_s
        if not present(step_s):
            return f"Cached batch: not measured: {step_s.reason}."
        assert present(self.result)
        return (
            f"Cached batch: a step takes {format_seconds(step_s)} when input is free (median of "
            f"{len(self.result.call_s)} runs of the train function on one batch)."
        )

    def _let_go(self) -> None:
        self._hook = self._watcher = None

    def _cut_off(self, ended: str) -> None:
        """Fit has ended without ``on_train_end``."""
        self.result = Missing(f"fit did not complete ({ended})")
        self._let_go()

    def _warn_not_training(self, called: str) -> None:
        if self._hook is None and not self._warned:
            self._warned = True
            logger.warning(
                "CachedBatchProbe expected model.fit, received model.%s, which does not train: "
                "there is nothing to time. Pass the callback to fit.",
                called,
            )


class _FirstCall(FitListener):
    """Remembers how long the first execution took, and tells of a fit that was cut off."""

    def __init__(self, callback: CachedBatchProbe) -> None:
        self.call_s = 0.0
        self._callback = callback

    def on_execution(self, execution: Execution) -> None:
        if execution.index == 0:
            self.call_s = execution.call_s

    def on_fit_end(self, ended: str) -> None:
        if self._callback._watcher is self:  # on_train_end has let go of it by then
            self._callback._cut_off(ended)
