"""The judge of a sweep: it knows each trial's threshold, and judges trials as they end or as the store has them."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any

from robustness.sweep.outcomes import UNTRAINED_NOTE, Judge, Outcome
from robustness.trial import EpochResult, Status, TrialKey

if TYPE_CHECKING:
    from robustness.store.study_store import StudyStore


class TrialJudge:
    """A judge with the configurations, the starts and the measured trials of a study."""

    def __init__(
        self,
        judge: Judge,
        metric: str,
        configurations: Mapping[int, Mapping[str, Any]] | None = None,
        starts: Mapping[TrialKey, float] | None = None,
        measured: Collection[TrialKey] = (),
    ) -> None:
        self._judge = judge
        self._metric = metric
        self._configurations = configurations or {}
        self._starts = dict(starts or {})
        self._measured = set(measured)

    @staticmethod
    def of(store: StudyStore, document: Mapping[str, Any] | None = None) -> TrialJudge:
        """The judge of a stored study at its own epoch, by the thresholds of `document` if that is another one."""
        document = store.document() if document is None else document
        metric = str(document["outcomes"]["metric"])
        judge = Judge.of(document, store.note(UNTRAINED_NOTE))
        configurations = store.configurations() if judge.cells else {}
        starts = store.starts(metric) if judge.gains else {}
        return TrialJudge(judge, metric, configurations, starts, store.measured_without_metric())

    def started(self, key: TrialKey) -> None:
        """An attempt at a trial has started; epochs of an earlier one are discarded."""
        self._starts.pop(key, None)
        self._measured.discard(key)

    def epoch(self, key: TrialKey, result: EpochResult) -> None:
        """A running trial has recorded an epoch, or its start."""
        if result.epoch == 0 and self._metric in result.measures:
            self._starts[key] = result.measures[self._metric]
        if not result.pretraining:
            self._measured.add(key)

    def outcome(self, key: TrialKey, status: Status, metric: float | None) -> Outcome | None:
        """The outcome of a trial; None while it runs and for trials that are excluded."""
        rho = self._configurations.get(key.configuration, {}).get("initial_rho")
        threshold = self._judge.threshold(key.arm, rho, self._starts.get(key))
        return self._judge.outcome(status, metric, threshold, measured=key in self._measured)
