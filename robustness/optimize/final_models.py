"""Final models: the best configuration of each arm, retrained and scored on the test set, and ensembles of them.

Every search of the study has its own winners, final models and ensembles.

The models are saved in a folder next to the store as `NUMBER-ARM-REPLICATE.model.pt`, which `robustness predict` reads.
Their test predictions are saved in the store, so that every figure can be redrawn without training.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from robustness.execution.protocol import Executor, never
from robustness.files import file_name
from robustness.optimize.ensembles import FROM_MEMBERS, combine, final_counts, members_of, size_of
from robustness.optimize.proposals import SearchRun
from robustness.optimize.search import runs_in, search_of, trial_of
from robustness.plugins import find_trainable
from robustness.store.study_store import StudyStore
from robustness.study.study import Study
from robustness.sweep.recording import Recorder, Watcher, with_checkpoint
from robustness.sweep.sweep import terms_of
from robustness.sweep.trial_judge import TrialJudge
from robustness.trainables.classification.predictions import load_predictions, measures_on_test, predictions_file
from robustness.trial import SEARCH_BLOCK, EpochResult, Trial, TrialKey

if TYPE_CHECKING:
    import pandas as pd

SPLIT = "test"


def winners(study: Study, store: StudyStore, search_number: int = 0) -> dict[str, SearchRun]:
    """The best finished run of each arm with one in this search, counted from 0; the first if several are equal."""
    best: dict[str, SearchRun] = {}
    goal = study.objective_goal
    for arm, runs in runs_in(study, store, search_number).items():
        finished = [run for run in runs if run.status == "finished" and run.score is not None]
        if finished:
            best[arm] = max(finished, key=lambda run: (goal.oriented(run.score or 0.0), -run.number))
    return best


def as_final(study: Study) -> Study:
    """The study as its final models are trained: for all epochs, judged by the objective at the best epoch."""
    return study.judged_by_objective()


def final_trials(study: Study, store: StudyStore, search_number: int = 0) -> list[Trial]:
    """The final trials of each arm with a winner in this search, ordered by replicate and then by arm."""
    if study.finals is None:
        return []
    study = as_final(study)
    replicates = final_counts(study)
    trainable = find_trainable(study.trainable).finals or study.trainable
    best = winners(study, store, search_number)
    numbers = final_numbers(store, {arm: best[arm].number for arm in replicates if arm in best}, search_number)
    return [
        trial_of(
            study,
            TrialKey(numbers[arm], arm, replicate),
            best[arm].hyperparameters,
            "final",
            best[arm].number,
            trainable,
        )
        for replicate in range(max(replicates.values(), default=0))
        for arm, count in replicates.items()
        if replicate < count and arm in best
    ]


def final_numbers(store: StudyStore, runs: Mapping[str, int], search_number: int = 0) -> dict[str, int]:
    """The configuration number of the final models of a run of each arm: as stored, or else the next free one."""
    finals = [trial for trial in store.results() if trial.stage == "final" and trial.key.search == search_number]
    stored = {(trial.key.arm, trial.run): trial.key.configuration for trial in finals}
    free = itertools.count(store.next_configuration(search_number))
    return {arm: stored[arm, run] if (arm, run) in stored else next(free) for arm, run in runs.items()}


def is_done(study: Study, store: StudyStore, finals: bool) -> bool:
    """Whether every run and, with `finals`, every trained final model has ended."""
    if store.pending():
        return False
    wanted, states = search_of(study).runs, store.states()
    for search_number in range(study.searches):
        if any(len(runs) < wanted for runs in runs_in(study, store, search_number).values()):
            return False
        if finals and any(trial.key not in states for trial in final_trials(study, store, search_number)):
            return False
    return True


def train_finals(
    study: Study,
    store: StudyStore,
    executor: Executor,
    watcher: Watcher | None = None,
    stop: Callable[[], bool] = never,
    search_number: int = 0,
) -> None:
    """Train the final models of one search that have not ended, store their predictions, and evaluate the ensembles.

    The caller holds the study's lock and has finished the search.
    """
    trials = final_trials(study, store, search_number)
    store.add([trial for trial in trials if trial.key not in store.states()])
    pending = set(store.pending())
    folder = model_folder(study, store)
    final = as_final(study)
    recorder = Recorder(final, TrialJudge.of(store, final.document()), folder, watcher)
    with store.writer() as writer:
        recorder.writer = writer
        remaining = (with_checkpoint(trial, folder) for trial in trials if trial.key in pending)
        executor.run(remaining, recorder, terms_of(final), recorder.watching(stop))
    if find_trainable(study.trainable).finals is not None:
        store_predictions(trials, folder, store)
        make_ensembles(study, store, search_number)


def store_predictions(trials: list[Trial], folder: Path, store: StudyStore) -> None:
    """Move the predictions of finished models from their files to the store."""
    states = store.states()
    for trial in trials:
        path = predictions_file(with_checkpoint(trial, folder))
        if states.get(trial.key) == "finished" and path.exists():
            store.save_predictions(trial.key, SPLIT, load_predictions(path))
            path.unlink(missing_ok=True)


def make_ensembles(study: Study, store: StudyStore, search_number: int = 0) -> None:
    """Evaluate every ensemble whose members have finished: the first k models of this search, the next k, and so on."""
    if study.finals is None:
        return
    best = winners(study, store, search_number)
    predicted, states = store.predictions(SPLIT), store.states()
    wanted = study.finals.arms or [arm.label for arm in study.arms]
    for label, member in members_of(study).items():
        if label not in wanted or member not in best:
            continue
        run = best[member]
        numbers = final_numbers(store, {member: run.number, label: run.number}, search_number)
        models = sorted(key for key in predicted if key.arm == member and key.configuration == numbers[member])
        size = size_of(study, label)
        for replicate in range(len(models) // size):
            group = models[replicate * size : (replicate + 1) * size]
            key = TrialKey(numbers[label], label, replicate)
            trial = trial_of(study, key, run.hyperparameters, "final", run.number)
            if states.get(trial.key) == "finished":
                continue
            arrays = combine([predicted[member_key] for member_key in group])
            measures = measures_on_test(arrays["labels"], arrays["patients"], arrays["probabilities"])
            measures |= _sums(store, group) | {"members": float(size)}
            if trial.key not in states:
                store.add([trial])
            store.save_predictions(trial.key, SPLIT, arrays)
            with store.writer() as writer:
                writer.started(trial.key, 1, FROM_MEMBERS, "cpu")
                writer.epoch(trial.key, EpochResult(1, measures))
                writer.ended(trial.key, "finished", seconds=0.0)


def final_measures(store: StudyStore) -> pd.DataFrame:
    """One row for each finished final model: configuration, arm, replicate, and the measures of its last epoch."""
    key = ["configuration", "arm", "replicate"]
    trials = store.trials()
    finals = trials.loc[(trials["stage"] == "final") & (trials["status"] == "finished"), [*key, "run"]]
    last = store.epochs().drop(columns="task").sort_values("epoch").groupby(key, sort=False).tail(1)
    places = {arm["label"]: place for place, arm in enumerate(store.document()["arms"])}
    order = finals.assign(place=finals["arm"].map(places), search=finals["configuration"] // SEARCH_BLOCK)
    order = order.sort_values(["place", "search", "run", "replicate"])
    rows = order[key].astype(last[key].dtypes).merge(last, on=key)
    return rows if rows.empty else rows.dropna(axis="columns", how="all")


def model_folder(study: Study, store: StudyStore) -> Path:
    """The folder of the final models, next to the store's file."""
    return store.spill.resolve().with_name(f"{file_name(study.name)}.models")


def _sums(store: StudyStore, group: list[TrialKey]) -> dict[str, float]:
    """The parameters and the time for an epoch, summed over all members."""
    frame = final_measures(store)
    rows = [
        TrialKey(number, arm, replicate) in group
        for number, arm, replicate in zip(frame["configuration"], frame["arm"], frame["replicate"], strict=True)
    ]
    members = frame[rows]
    return {
        name: math.fsum(members[name])
        for name in ("parameters", "seconds_per_epoch")
        if name in members and len(members) == len(group)
    }
