"""Bayesian optimisation: Optuna proposes runs for each arm, the executor trains them, and the store records them.

A proposal is written to the store before it runs, so a search that was killed first finishes the runs that it had
proposed and then proposes further ones. One executor serves all arms, which propose in turn; with as many workers as
arms, a proposal usually knows the results of all earlier runs of its arm.

With `finals.searches`, the whole search is repeated, one search after another. Each has its own seeds for proposals
and, through the numbers of its configurations, its own random streams for training; the first is the same as if it were
the only one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, Protocol

from robustness.execution.protocol import Ending, Executor, Started, never
from robustness.optimize.ensembles import members_of
from robustness.optimize.optuna_mirror import OptunaMirror, open_mirror
from robustness.optimize.proposals import SearchRun, propose
from robustness.optimize.pruning import unreached_median
from robustness.space.options import Scalar
from robustness.store.study_store import StudyStore
from robustness.study.sections import Search
from robustness.study.study import Study
from robustness.sweep.plan import Plan
from robustness.sweep.recording import Recorder, checkpoint_folder, run_folder, with_checkpoint, with_folder
from robustness.sweep.sweep import terms_of
from robustness.sweep.trial_judge import TrialJudge
from robustness.trial import ENDED, EpochResult, Stage, Trial, TrialKey

NOTHING = Plan("", (), (), None, None)
"""The empty plan of a study whose trials are proposed one by one."""


class SearchWatcher(Protocol):
    """A display of a running search; runs are numbered from 0."""

    def started(self, arm: str, number: int, where: Started) -> None: ...

    def ended(self, arm: str, run: SearchRun, seconds: float) -> None: ...


def search_of(study: Study) -> Search:
    """The `search` section of a study that has one."""
    if study.search is None:
        raise ValueError(f"the study {study.name!r} has no search")
    return study.search


def searched_arms(study: Study) -> list[str]:
    """The arms that are searched: all except ensembles made of another arm's models."""
    members = members_of(study)
    return [arm.label for arm in study.arms if arm.label not in members]


def as_searched(study: Study) -> Study:
    """The study as its search trains it: for the search's epochs, judged by the objective at the best epoch."""
    epochs = search_of(study).epochs
    training = study.training if epochs is None else {**study.training, "epochs": epochs}
    return replace(study.judged_by_objective(), training=training)


def search(
    study: Study,
    store: StudyStore,
    executor: Executor,
    watcher: SearchWatcher | None = None,
    stop: Callable[[], bool] = never,
    starts: Mapping[str, Sequence[Mapping[str, Scalar]]] | None = None,
    search_number: int = 0,
) -> dict[str, list[SearchRun]]:
    """Run the remaining runs of each arm in one search, counted from 0, and return all its runs by arm.

    The caller holds the study's lock. `starts` are the configurations of each arm's first runs. Raises StoreError if
    the store can no longer be written; saved results remain.
    """
    study = as_searched(study)
    goal = study.outcomes.direction
    with open_mirror(store.url, study.name, study.outcomes.metric, search_number, goal) as mirror:
        state = _Search(study, store, mirror, starts or {}, search_number)
        folder, runs = checkpoint_folder(study, store), run_folder(study, store)
        recorder = Recorder(study, TrialJudge.of(store, study.document()), folder)
        with store.writer() as writer:
            recorder.writer = writer
            trials = (with_folder(with_checkpoint(trial, folder), runs) for trial in state.trials())
            observer = _SearchRecorder(recorder, state, watcher)
            executor.run(trials, observer, terms_of(study), recorder.watching(stop))
        state.update_mirror()
        if folder is not None:
            with suppress(OSError):
                folder.rmdir()
        return state.runs


def runs_in(study: Study, store: StudyStore, search_number: int = 0) -> dict[str, list[SearchRun]]:
    """The stored runs of each searched arm in one search, counted from 0, ordered by number."""
    by_arm: dict[str, list[SearchRun]] = {label: [] for label in searched_arms(study)}
    configurations = store.configurations()
    prunes = search_of(study).pruning is not None
    values = store.values(study.objective) if prunes else {}
    for key, status, metric, stage, run in store.results():
        if stage == "search" and run is not None and key.arm in by_arm and key.search == search_number:
            score = None if metric is None or math.isnan(metric) else metric
            curve = values.get(key, {}) if status in ENDED else {}
            by_arm[key.arm].append(SearchRun(run, configurations[key.configuration], status, score, curve))
    return {arm: sorted(runs, key=lambda run: run.number) for arm, runs in by_arm.items()}


class _Search:
    """The runs of each arm, kept the same in memory, in the store and in Optuna's tables."""

    def __init__(
        self,
        study: Study,
        store: StudyStore,
        mirror: OptunaMirror,
        starts: Mapping[str, Sequence[Mapping[str, Scalar]]],
        search_number: int,
    ) -> None:
        self._study = study
        self._store = store
        self._mirror = mirror
        self._starts = starts
        self._search_number = search_number
        self.runs = runs_in(study, store, search_number)
        self._numbers = {
            trial.key: trial.run
            for trial in store.results()
            if trial.stage == "search"
            and trial.run is not None
            and trial.key.arm in self.runs
            and trial.key.search == search_number
        }
        """The run, from 0, of each trial."""
        self.update_mirror()

    def trials(self) -> Iterator[Trial]:
        """Yield the proposals that have not ended, then new ones on demand, the arms taking turns."""
        for key in self._store.pending():
            if key in self._numbers:
                yield self._trial(key, self.runs[key.arm][self._numbers[key]])
        for number in range(search_of(self._study).runs):
            for arm, runs in self.runs.items():
                if len(runs) <= number:
                    yield self._propose(arm)

    def _propose(self, arm: str) -> Trial:
        runs, space = self.runs[arm], self._study.space_of(arm)
        starts = self._starts.get(arm, ())
        start = starts[len(runs)] if len(runs) < len(starts) else None
        metric, seed, goal = self._study.outcomes.metric, self._study.seed, self._study.outcomes.direction
        terms, number = search_of(self._study), self._search_number
        configuration = propose(terms, space, seed, arm, runs, metric, start, number, goal)
        run = SearchRun(len(runs), configuration)
        trial = self._trial(TrialKey(self._store.next_configuration(self._search_number), arm), run)
        self._store.add([trial])
        self._numbers[trial.key] = run.number
        runs.append(run)
        self._mirror.update(arm, space, runs)
        return trial

    def _trial(self, key: TrialKey, run: SearchRun) -> Trial:
        return trial_of(self._study, key, run.hyperparameters, "search", run.number)

    def number(self, key: TrialKey) -> int:
        """The run, from 0, of a trial."""
        return self._numbers[key]

    def why_pruned(self, key: TrialKey, epoch: int, values: Mapping[int, float]) -> str | None:
        """The reason to prune a run after this epoch, given its values so far; None to continue."""
        terms = search_of(self._study).pruning
        # A run that has completed all its epochs is finished, however low its score.
        if terms is None or epoch == self._study.training.get("epochs"):
            return None
        before = self.runs[key.arm][: self.number(key)]
        finished = [run.values for run in before if run.status == "finished"]
        goal = self._study.outcomes.direction
        median = unreached_median(terms, values, finished, goal)
        if median is None:
            return None
        best, metric = goal.best(values.values()), self._study.outcomes.metric
        side = "above" if goal.minimizes else "below"
        return f"{metric} {best:.4g} up to epoch {epoch} is {side} the median of earlier runs there, {median:.4g}"

    def end(self, key: TrialKey, ending: Ending, values: Mapping[int, float]) -> SearchRun:
        """Update a run that has ended and is in the store."""
        number = self.number(key)
        score = self._study.outcomes.direction.best(values.values())
        curve = values if search_of(self._study).pruning is not None else {}
        run = replace(self.runs[key.arm][number], status=ending.status, score=score, values=curve)
        self.runs[key.arm][number] = run
        self._mirror.update(key.arm, self._study.space_of(key.arm), self.runs[key.arm])
        return run

    def update_mirror(self) -> None:
        """Copy all runs to Optuna's tables."""
        for arm, runs in self.runs.items():
            self._mirror.update(arm, self._study.space_of(arm), runs)


def trial_of(
    study: Study,
    key: TrialKey,
    hyperparameters: Mapping[str, Any],
    stage: Stage,
    run: int,
    trainable: str | None = None,
) -> Trial:
    """The trial of an optimised study for a run of its search, or a final model of that run."""
    entry = next(arm for arm in study.arms if arm.label == key.arm)
    return Trial(
        study=study.name,
        seed=study.seed,
        configuration=key.configuration,
        arm=key.arm,
        replicate=key.replicate,
        hyperparameters=dict(hyperparameters),
        method=entry.method,
        method_options=entry.options,
        task=study.task,
        model=study.model_of(key.arm),
        training=study.training_of(key.arm),
        metric=study.outcomes.metric,
        trainable=trainable or study.trainable,
        stage=stage,
        run=run,
        goal=study.outcomes.goal,
    )


def typical_trial(study: Study) -> Trial:
    """A trial like those of the search, to prepare workers with."""
    arm = study.arms[0].label
    return trial_of(study, TrialKey(0, arm), study.space_of(arm).draw("random", 1, study.seed)[0], "search", 0)


class _SearchRecorder:
    """The executor's observer: records each event in the store, then in the search."""

    def __init__(self, recorder: Recorder, state: _Search, watcher: SearchWatcher | None) -> None:
        self._recorder = recorder
        self._state = state
        self._watcher = watcher
        self._values: dict[TrialKey, dict[int, float]] = {}
        self._metric = state._study.outcomes.metric

    def started(self, key: TrialKey, attempt: int, where: Started) -> None:
        self._values[key] = {}
        self._recorder.started(key, attempt, where)
        if self._watcher is not None:
            self._watcher.started(key.arm, self._state.number(key), where)

    def epoch(self, key: TrialKey, result: EpochResult) -> str | None:
        self._recorder.epoch(key, result)
        value = result.measures.get(self._metric)
        if value is None or not math.isfinite(value) or result.pretraining:
            return None
        self._values[key][result.epoch] = value
        # A run with an infinite loss has diverged, which its attempt reports next.
        diverged = not math.isfinite(result.measures.get("loss", 0.0))
        return None if diverged else self._state.why_pruned(key, result.epoch, self._values[key])

    def ended(self, key: TrialKey, ending: Ending) -> None:
        self._recorder.ended(key, ending)
        run = self._state.end(key, ending, self._values.pop(key, {}))
        if self._watcher is not None:
            self._watcher.ended(key.arm, run, ending.seconds)
