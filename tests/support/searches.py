"""Optimised studies with made-up runs and predictions, written to a real store without training.

with open_store(url) as store:
    study_store = fill_search(store, made_search())      # two arms, four runs each, two final models each
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robustness.optimize.final_models import final_trials, make_ensembles
from robustness.optimize.search import NOTHING, as_searched, searched_arms, trial_of
from robustness.store import Store, StudyStore
from robustness.study.loading import make_study
from robustness.study.study import Study
from robustness.trial import EpochResult, Status, Trial, TrialKey

TASK = {"name": "synthetic_fundus", "image_size": 16, "train": 4, "validation": 4, "test": 60}
PAPER = {"mfvi": [0.636, 0.635, 0.635, 0.626], "radial": [0.943, 0.953, 0.961, 0.968]}

Scores = Callable[[str, int], tuple[Status, Sequence[float]]]
"""The status and the validation AUC of each epoch for a run, from 0, of an arm."""


def made_search(name: str = "made", **changes: Any) -> Study:
    """A checked study; `changes` replace keys of its file."""
    document: dict[str, Any] = {
        "name": name,
        "task": TASK,
        "model": {"name": "vgg_small", "base_channels": 4, "depth": "short"},
        "arms": ["mfvi", "radial"],
        "space": {
            "optimizer": "adam",
            "learning_rate": {"low": 1e-4, "high": 1e-2, "scale": "log"},
            "batch_size": [16, 32],
            "initial_rho": {"low": -8, "high": -1},
        },
        "search": {"runs": 4, "startup": 2},
        "finals": {"replicates": 2, "planned": ["mfvi", "radial"]},
        "training": {"epochs": 3, "pretrain_epochs": 1, "evaluation_samples": 2},
        "outcomes": {"learned_nothing": {"below": 0.5}, "good": {"at_least": 0.8}},
        "reference": {"label": "a paper", "auc_after_referral": PAPER},
    }
    return make_study(document | changes, f"{name}.yaml", check_data=False)


def rising(arm: str, number: int) -> tuple[Status, Sequence[float]]:
    """The third run is the best."""
    best = 0.6 + 0.05 * (3 - abs(number - 2)) + (0.05 if arm == "radial" else 0.0)
    return "finished", [best - 0.1, best]


def made_predictions(
    arm: str, replicate: int, pictures: int = 60, draws: int = 4, skill: float | None = None
) -> dict[str, NDArray[Any]]:
    """Predictions [draws, pictures, 2] that are more accurate with a higher `skill`; two pictures of each patient."""
    rng = np.random.default_rng([len(arm), ord(arm[0]), replicate])
    labels = np.random.default_rng(7).integers(0, 2, pictures)
    push = {"radial": 1.4, "mfvi": 0.6}.get(arm, 1.0) if skill is None else skill
    doubt = rng.exponential(1.0, pictures)
    logits = push * (2 * labels - 1) + rng.normal(0, 1, pictures) * (0.4 + doubt)
    drawn = logits + rng.normal(0, 0.2, (draws, pictures)) * doubt
    positive = 1 / (1 + np.exp(-drawn))
    probabilities = np.stack([1 - positive, positive], axis=-1).astype(np.float32)
    return {"labels": labels.astype(np.int64), "patients": np.arange(pictures) // 2, "probabilities": probabilities}


def fill_search(
    store: Store,
    study: Study,
    scores: Scores = rising,
    runs: Mapping[str, int] | None = None,
    predictions: Callable[[str, int], Mapping[str, NDArray[Any]] | None] = made_predictions,
) -> StudyStore:
    """Register a study and write its runs (all, or the first `runs` of each arm), final models and ensembles.

    In search k, from 0, the first of the `predictions` of an arm is number 100 k.
    """
    registered = store.register(study, NOTHING)
    for search_number in range(study.searches):
        _fill_one_search(registered, study, scores, runs, predictions, search_number)
    return registered


def _fill_one_search(
    registered: StudyStore,
    study: Study,
    scores: Scores,
    runs: Mapping[str, int] | None,
    predictions: Callable[[str, int], Mapping[str, NDArray[Any]] | None],
    search_number: int,
) -> None:
    assert study.search is not None
    for arm in searched_arms(study):
        space = study.space_of(arm)
        count = study.search.runs if runs is None else runs.get(arm, 0)
        for number, drawn in enumerate(space.draw("random", study.search.runs, search_number)[:count]):
            status, values = scores(arm, number)
            key = TrialKey(registered.next_configuration(search_number), arm)
            trial = trial_of(as_searched(study), key, drawn, "search", number)
            write_run(registered, trial, status, values)
    complete = runs is None or all(runs.get(arm, 0) >= study.search.runs for arm in searched_arms(study))
    for trial in final_trials(study, registered, search_number) if complete else []:
        write_final(registered, trial, predictions(trial.arm, trial.replicate + 100 * search_number))
    make_ensembles(study, registered, search_number)


def write_run(store: StudyStore, trial: Trial, status: Status, values: Sequence[float]) -> None:
    """Write a run with these validation AUCs after one pre-training epoch; its accuracy is 1 - AUC."""
    store.add([trial])
    if status == "planned":
        return
    with store.writer() as writer:
        writer.started(trial.key, 1, "maker", "cpu")
        for epoch, value in enumerate((0.99, *values), start=1):
            measures = {"validation_auc": value, "validation_accuracy": 1 - value}
            writer.epoch(trial.key, EpochResult(epoch, measures, pretraining=epoch == 1, seconds=1.0))
        if status != "running":
            own = [1 - value if trial.metric == "validation_accuracy" else value for value in values]
            best = max(own, default=None)
            writer.ended(trial.key, status, best, None, "no <b>memory</b>" if status == "failed" else None, seconds=3.0)


def write_final(store: StudyStore, trial: Trial, arrays: Mapping[str, NDArray[Any]] | None) -> None:
    """Write a finished final model with its predictions, or a planned one without."""
    store.add([trial])
    if arrays is None:
        return
    measures = {
        trial.metric: 0.8,
        "parameters": 1000.0,
        "seconds_per_epoch": 2.0 + trial.replicate,
        "chosen_epoch": 2.0,
    }
    with store.writer() as writer:
        writer.started(trial.key, 1, "maker", "cpu")
        writer.epoch(trial.key, EpochResult(1, measures, seconds=1.0))
        writer.ended(trial.key, "finished", 0.8, 1, seconds=3.0)
    store.save_predictions(trial.key, "test", arrays)
