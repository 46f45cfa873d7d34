"""Recording running trials: every event goes to the store first and then to the display."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Protocol

from robustness.execution.protocol import Ending, Started
from robustness.files import file_name
from robustness.plugins import find_trainable
from robustness.store.study_store import StudyStore
from robustness.store.writer import Writer
from robustness.study.study import Study
from robustness.sweep.outcomes import SUMMARIES, Outcome, judged_epoch
from robustness.sweep.stopping import Decision
from robustness.sweep.trial_judge import TrialJudge
from robustness.trial import EpochResult, Status, Trial, TrialKey


class Watcher(Protocol):
    """A display of running trials; it is called after the store has accepted an event."""

    def started(self, key: TrialKey, where: Started) -> None: ...

    def epoch(self, key: TrialKey, result: EpochResult) -> None: ...

    def ended(self, key: TrialKey, status: Status, outcome: Outcome | None, seconds: float) -> None: ...


class SweepWatcher(Watcher, Protocol):
    """A display of a sweep."""

    def planned(self, keys: Sequence[TrialKey]) -> None:
        """Trials were added to the plan."""
        ...


class Recorder:
    """The executor's observer: writes each event to the store, judges ended trials, and calls the watcher.

    Set `writer` before the executor runs.
    """

    def __init__(
        self,
        study: Study,
        judge: TrialJudge,
        folder: Path | None,
        watcher: Watcher | None = None,
        decision: Decision | None = None,
    ) -> None:
        self.writer: Writer | None = None
        self.ended_here = 0
        """How many trials have ended since the recorder was made."""
        self._metric = study.outcomes.metric
        self._rule = study.outcomes.epoch
        self._goal = study.outcomes.direction
        self._judge = judge
        self._folder = folder
        self._watcher = watcher
        self._decision = decision
        self._decisive: dict[TrialKey, list[EpochResult]] = {}
        """Of each running trial the best epoch so far and the last: those by which it may be judged."""

    def started(self, key: TrialKey, attempt: int, where: Started) -> None:
        self._decisive[key] = []
        self._judge.started(key)
        self._store().started(key, attempt, where.worker, where.device)
        if self._watcher is not None:
            self._watcher.started(key, where)

    def epoch(self, key: TrialKey, result: EpochResult) -> None:
        self._store().epoch(key, result)
        self._decisive[key] = self._keep_decisive([*self._decisive.get(key, []), result])
        self._judge.epoch(key, result)
        if self._watcher is not None:
            self._watcher.epoch(key, result)

    def ended(self, key: TrialKey, ending: Ending) -> None:
        epochs = self._decisive.pop(key, [])
        metric, number = judged_epoch(epochs, self._metric, self._rule, ending.status, self._goal)
        self._store().ended(key, ending.status, metric, number, ending.error, ending.seconds)
        self.ended_here += 1
        outcome = self._judge.outcome(key, ending.status, metric)
        if self._decision is not None:
            self._decision.add(key, outcome)
        if self._folder is not None:
            checkpoint_of(key, self._folder).unlink(missing_ok=True)
        if self._watcher is not None:
            self._watcher.ended(key, ending.status, outcome, ending.seconds)

    def watching(self, stop: Callable[[], bool]) -> Callable[[], bool]:
        """`stop` for an executor, which also looks after the store while no trial reports.

        It raises StoreError if the store is gone or another sweep has taken over the study.
        """

        def stop_or_raise() -> bool:
            if self.writer is not None:
                self.writer.watch()
            return stop()

        return stop_or_raise

    def _keep_decisive(self, epochs: list[EpochResult]) -> list[EpochResult]:
        """Return the epochs by which a trial may be judged, so that a long trial does not fill the driver's memory."""
        numbers = {judged_epoch(epochs, self._metric, rule, "finished", self._goal)[1] for rule in SUMMARIES}
        return [epoch for epoch in epochs if epoch.epoch in numbers]

    def _store(self) -> Writer:
        if self.writer is None:
            raise RuntimeError("a trial was recorded before the store was opened for writing")
        return self.writer


def checkpoint_folder(study: Study, store: StudyStore) -> Path | None:
    """The folder for checkpoints, next to the store's file; None if the study saves none."""
    if not any(study.training_of(arm.label).get("checkpoint_every") for arm in study.arms):
        return None
    return store.spill.resolve().with_name(f"{file_name(study.name)}.checkpoints")


def run_folder(study: Study, store: StudyStore) -> Path | None:
    """The folder for the folders of trials, next to the store's file; None if the study's trainable needs none."""
    if not find_trainable(study.trainable).needs_folder:
        return None
    return store.spill.resolve().with_name(f"{file_name(study.name)}.runs")


def checkpoint_of(key: TrialKey, folder: Path) -> Path:
    """The checkpoint file of a trial."""
    task = f"-{file_name(key.task)}" if key.task else ""
    return folder / f"{key.configuration}-{file_name(key.arm)}-{key.replicate}{task}.pt"


def with_checkpoint(trial: Trial, folder: Path | None) -> Trial:
    """The trial with the path of its checkpoint; unchanged if there is no folder."""
    return trial if folder is None else replace(trial, checkpoint=str(checkpoint_of(trial.key, folder)))


def with_folder(trial: Trial, folder: Path | None) -> Trial:
    """The trial with its own folder among those of the study; unchanged if there are none."""
    return trial if folder is None else replace(trial, folder=str(checkpoint_of(trial.key, folder).with_suffix("")))
