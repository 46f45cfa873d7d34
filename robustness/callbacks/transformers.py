"""A callback for the Trainer of Hugging Face's Transformers: each evaluation is reported to the trial as an epoch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from transformers import TrainerCallback

from robustness.callbacks.numbers import measures

if TYPE_CHECKING:
    from robustness.trial import Trial

PREFIX = "eval_"
NOT_MEASURES = ("epoch",)


class TransformersReport(TrainerCallback):  # type: ignore[misc,unused-ignore]
    """Reports each evaluation, under the names of its metrics without `eval_`; set `eval_strategy` of the Trainer."""

    def __init__(self, trial: Trial) -> None:
        self._trial = trial
        self._evaluations = 0

    def on_evaluate(self, args: Any, state: Any, control: Any, **options: Any) -> None:  # noqa: ARG002 - its hook
        self._evaluations += 1
        found = measures(options.get("metrics") or {})
        named = {name.removeprefix(PREFIX): value for name, value in found.items() if name not in NOT_MEASURES}
        if named and state.is_world_process_zero:
            self._trial.report(self._evaluations, **named)
