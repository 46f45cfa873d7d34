"""A sweep: what is planned and not yet finished goes to an executor, and what comes back goes to the store."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

from robustness.errors import StudyFileError
from robustness.execution.protocol import Ending, Executor, Share, Started, Terms, never
from robustness.store.study_store import StudyStore
from robustness.store.writer import Writer
from robustness.study.study import Study
from robustness.sweep.outcomes import UNTRAINED_NOTE, Judge, Outcome, judged_epoch
from robustness.sweep.plan import Plan
from robustness.sweep.stopping import StoppingRule, pair_shows
from robustness.sweep.winners import plan_winners
from robustness.trial import NO_RESULT, PENDING, EpochResult, Status, Trial, TrialKey

STOPPED_NOTE = "stopped"
"""The note of a study that was ended early on evidence: pairs, difference, low, high, level, outcome."""


class Watcher(Protocol):
    """What shows trials while they run; told after the store, and never with a result that the store has not taken."""

    def started(self, key: TrialKey, where: Started) -> None: ...

    def epoch(self, key: TrialKey, result: EpochResult) -> None: ...

    def ended(self, key: TrialKey, status: Status, outcome: Outcome | None, seconds: float) -> None: ...


class SweepWatcher(Watcher, Protocol):
    """What shows a sweep, which may come to have more trials than it was planned with."""

    def planned(self, keys: Sequence[TrialKey]) -> None: ...


@dataclass(frozen=True)
class SweepResult:
    """How a sweep ended."""

    run: int
    """How many trials ended in it."""
    left: int
    """How many trials of the study are still to do."""
    not_successful: int
    """How many trials of the study failed, timed out or ran out of memory, in this sweep or before."""
    decided: bool
    """Whether the study's `stop` ended it."""


def sweep(
    study: Study,
    plan: Plan,
    store: StudyStore,
    executor: Executor,
    watcher: SweepWatcher | None = None,
    stop: Callable[[], bool] = never,
    only: Sequence[TrialKey] = (),
) -> SweepResult:
    """Run the trials of a study that have not ended, or of these only those of `only`; then its winners' further ones.

    The caller holds the study's lock. Raises StoreError if the store cannot be written any more; what it has stays.
    """
    judge = Judge.of(study.document(), store.note(UNTRAINED_NOTE))
    decision = Decision.of(study, plan, judge, store)
    wanted = set(only)
    folder = checkpoint_folder(study, store)

    def ended_early() -> bool:
        return stop() or decision.decided

    recorder = Recorder(study, judge, decision, watcher, folder)

    def run_pending() -> None:
        keys = [key for key in store.pending() if not wanted or key in wanted]
        with store.writer() as writer:
            recorder.writer = writer
            trials = (with_checkpoint(plan.trial(key), folder) for key in keys)
            executor.run(trials, recorder, terms_of(study), ended_early)

    if not decision.decided:
        run_pending()
    if not wanted and not ended_early():
        added = plan_winners(study.winners, plan, store)
        if added:
            if watcher is not None:
                watcher.planned(added)
            run_pending()
    if decision.decided:
        store.save_note(STOPPED_NOTE, decision.note())
    if folder is not None:
        with suppress(OSError):
            folder.rmdir()
    counts = store.counts()
    return SweepResult(
        run=recorder.ended_here,
        left=counts.get("planned", 0) + counts.get("running", 0),
        not_successful=sum(counts.get(status, 0) for status in NO_RESULT),
        decided=decision.decided,
    )


class Recorder:
    """The executor's observer: judges each trial and writes everything to the store, then tells the watcher."""

    def __init__(
        self, study: Study, judge: Judge, decision: Decision, watcher: Watcher | None, folder: Path | None
    ) -> None:
        self.writer: Writer | None = None
        self.ended_here = 0
        self._metric = study.outcomes.metric
        self._rule = study.outcomes.epoch
        self._judge = judge
        self._decision = decision
        self._watcher = watcher
        self._folder = folder
        self._epochs: dict[TrialKey, list[EpochResult]] = {}

    def started(self, key: TrialKey, attempt: int, where: Started) -> None:
        self._epochs[key] = []
        self._store().started(key, attempt, where.worker, where.device)
        if self._watcher is not None:
            self._watcher.started(key, where)

    def epoch(self, key: TrialKey, result: EpochResult) -> None:
        self._store().epoch(key, result)
        self._epochs.setdefault(key, []).append(result)
        if self._watcher is not None:
            self._watcher.epoch(key, result)

    def ended(self, key: TrialKey, ending: Ending) -> None:
        epochs = self._epochs.pop(key, [])
        metric, number = judged_epoch(epochs, self._metric, self._rule, ending.status)
        self._store().ended(key, ending.status, metric, number, ending.error, ending.seconds)
        self.ended_here += 1
        outcome = self._judge.outcome(ending.status, metric)
        self._decision.add(key, outcome)
        if self._folder is not None:
            checkpoint_of(key, self._folder).unlink(missing_ok=True)
        if self._watcher is not None:
            self._watcher.ended(key, ending.status, outcome, ending.seconds)

    def _store(self) -> Writer:
        if self.writer is None:
            raise RuntimeError("a result came before the store was opened for writing")
        return self.writer


class Decision:
    """Whether the study's `stop` has ended it: the first arm against the second, in the plan's order of pairs."""

    def __init__(self, study: Study, plan: Plan) -> None:
        self._stop = study.stop
        self._outcome = (study.stop.outcome if study.stop else None) or study.outcomes.primary
        self._arms = tuple(arm.label for arm in study.arms[:2])
        pairs = dict.fromkeys((trial.replicate, trial.configuration) for trial in plan.trials)
        self._places = {pair: place for place, pair in enumerate(pairs)}
        self._shown: dict[tuple[int, int], dict[str, bool | None]] = {}
        self._rule: StoppingRule | None = None
        if self._stop is not None and len(self._arms) == 2:
            self._rule = StoppingRule(len(pairs), self._stop.level, self._stop.minimum_pairs)

    @staticmethod
    def of(study: Study, plan: Plan, judge: Judge, store: StudyStore) -> Decision:
        """The decision with all that the store has of ended trials."""
        decision = Decision(study, plan)
        if decision._rule is not None:
            for row in store.trials().itertuples():
                if row.status not in PENDING:
                    key = TrialKey(int(row.configuration), str(row.arm), int(row.replicate))  # type: ignore[arg-type]
                    decision.add(key, judge.outcome(str(row.status), float(row.metric)))  # type: ignore[arg-type]
        return decision

    def add(self, key: TrialKey, outcome: Outcome | None) -> None:
        """A trial has ended with this outcome; None if it is left out."""
        if self._rule is None or key.arm not in self._arms:
            return
        pair = (key.replicate, key.configuration)
        shown = self._shown.setdefault(pair, {})
        shown[key.arm] = None if outcome is None else outcome == self._outcome
        if len(shown) == 2:
            self._rule.add(self._places[pair], pair_shows(shown[self._arms[0]], shown[self._arms[1]]))

    @property
    def decided(self) -> bool:
        return self._rule is not None and self._rule.decided

    def note(self) -> Mapping[str, Any]:
        """What is kept of the decision, for the report."""
        if self._rule is None or self._stop is None:
            return {}
        found = self._rule.evidence()
        return {
            "outcome": self._outcome,
            "arms": list(self._arms),
            "level": self._stop.level,
            "pairs": found.pairs,
            "first_only": found.first_only,
            "second_only": found.second_only,
            "difference": found.difference,
            "low": found.low,
            "high": found.high,
        }


def terms_of(study: Study) -> Terms:
    """The terms on which the study's trials run."""
    resources = study.resources

    def share(trial: Trial) -> Share:
        gpu = resources.gpu
        if gpu == "auto":
            from robustness.execution.gpu_share import estimated_share

            gpu = estimated_share(trial)
        return Share(resources.cpu, gpu, resources.memory or 0.0)

    return Terms(share, resources.max_attempts, resources.trial_timeout)


def checkpoint_folder(study: Study, store: StudyStore) -> Path | None:
    """Where trials keep their state between epochs, beside the store's file; None if the study keeps none."""
    if not study.training.get("checkpoint_every"):
        return None
    return store.spill.resolve().with_name(f"{study.name}.checkpoints")


def checkpoint_of(key: TrialKey, folder: Path) -> Path:
    return folder / f"{key.configuration}-{key.arm}-{key.replicate}.pt"


def with_checkpoint(trial: Trial, folder: Path | None) -> Trial:
    return trial if folder is None else replace(trial, checkpoint=str(checkpoint_of(trial.key, folder)))


def read_keys(words: Sequence[str], plan: Plan) -> list[TrialKey]:
    """The trials that `CONFIGURATION/ARM[/REPLICATE]` name; raises StudyFileError if the plan has no such trial."""
    return [plan.trial(key).key for word in words for key in _read_key(word)]


def _read_key(word: str) -> Iterator[TrialKey]:
    parts = word.split("/")
    if len(parts) in (2, 3) and parts[0].isdecimal() and all(part.isdecimal() for part in parts[2:]):
        yield TrialKey(int(parts[0]), parts[1], int(parts[2]) if len(parts) == 3 else 0)
    else:
        raise StudyFileError(f"--only: {word!r} is not of the form CONFIGURATION/ARM or CONFIGURATION/ARM/REPLICATE")
