"""A callback for Lightning: what a module logs by the end of an epoch is reported to the trial."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lightning.pytorch.callbacks import Callback

from robustness.callbacks.numbers import measures

if TYPE_CHECKING:
    from robustness.trial import Trial


class LightningReport(Callback):  # type: ignore[misc,unused-ignore]
    """Reports each training epoch, with the validation that belongs to it, under the names that the module logs."""

    def __init__(self, trial: Trial) -> None:
        self._trial = trial

    def on_train_epoch_end(self, trainer: Any, pl_module: Any) -> None:  # noqa: ARG002 - Lightning's hook
        # Callbacks run after the module's own hooks and, in the usual order, after the epoch's validation.
        epoch = int(trainer.current_epoch) + 1
        logged = measures(trainer.callback_metrics)
        if logged and trainer.is_global_zero:
            self._trial.report(epoch, **logged)
