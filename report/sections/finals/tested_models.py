"""The final models in the store that are up to date, with their predictions for the test set."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from report.frames import StudyFrames
from report.sections.search.runs import searched_arms
from robustness import metrics
from robustness.optimize.ensembles import MEMBERS
from robustness.trial import TrialKey

FROM_EPOCHS = ("seconds_per_epoch", "parameters", "chosen_epoch", "members")


@dataclass(frozen=True, eq=False)
class FinalModel:
    """One model and its predictions for the test set."""

    key: TrialKey
    run: int
    """The run of its search, from 0, that found its configuration."""
    mean: NDArray[np.float64]
    """[n, classes], the mean over its draws."""
    uncertainty: NDArray[np.float64]
    """[n], the mutual information."""
    measures: Mapping[str, float]
    """accuracy, nll, calibration_error and those of training: seconds_per_epoch, parameters, chosen_epoch; or NaN."""
    members: int | None
    """The number of trained models that an ensemble was made of; None for any other model."""
    made_of: str | None
    """The method of those models."""

    @property
    def refers(self) -> bool:
        """Whether it is less sure of some pictures than of others; one network without draws never is."""
        return bool(np.ptp(self.uncertainty) > 1e-12) if len(self.uncertainty) else False


@dataclass(frozen=True, eq=False)
class Tested:
    """The test set's labels and patients [n], and the models that predicted it."""

    labels: NDArray[np.int64]
    patients: NDArray[np.int64]
    classes: int
    models: tuple[FinalModel, ...]

    def events(self, models: Sequence[FinalModel]) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
        """Whether each predicted event came true, and its probability, [models, n] each.

        With two classes the event is that the picture is positive, with more that the most probable class is right.
        """
        means = np.stack([model.mean for model in models])
        if self.classes == 2:
            return np.broadcast_to(self.labels == 1, means.shape[:2]), means[:, :, 1]
        return means.argmax(axis=2) == self.labels, means.max(axis=2)


def arms_of(tested: Tested) -> dict[str, list[FinalModel]]:
    """The models of each arm."""
    arms: dict[str, list[FinalModel]] = {}
    for model in tested.models:
        arms.setdefault(model.key.arm, []).append(model)
    return arms


def tested_models(frames: StudyFrames) -> tuple[Tested | None, list[str]]:
    """The finished final models of each arm's winner, in the study's order of arms, and those that do not fit.

    A model fits if it predicted the same pictures as the first one, judging by labels and patients.
    """
    if not frames.predictions:
        return None, []
    trials = frames.trials
    finals = trials.loc[(trials["stage"] == "final") & (trials["status"] == "finished")]
    current = _current_runs(frames, finals)
    measures = _last_measures(frames)
    methods = {str(arm["label"]): str(arm["method"]) for arm in frames.document["arms"]}
    models: list[FinalModel] = []
    foreign: list[str] = []
    first: Mapping[str, NDArray[np.int64]] | None = None
    shape: tuple[int, ...] = ()
    row: Any
    for arm in frames.arms:
        for row in finals.loc[finals["arm"] == arm].sort_values(["configuration", "replicate"]).itertuples():
            key = TrialKey(row.configuration, arm, row.replicate)
            arrays = frames.predictions.get(key)
            if arrays is None or current.get((arm, key.search)) != row.run:
                continue
            if not {"labels", "patients", "probabilities"} <= set(arrays) or arrays["probabilities"].ndim != 3:
                foreign.append(str(key))
                continue
            if first is None:
                first, shape = arrays, arrays["probabilities"].shape[1:]
            same = all(np.array_equal(first[name], arrays[name]) for name in ("labels", "patients"))
            if not same or arrays["probabilities"].shape[1:] != shape or len(arrays["labels"]) != shape[0]:
                foreign.append(str(key))
                continue
            models.append(_model(key, int(row.run), arrays, measures.get(key, {}), methods[arm]))
    if first is None or not models:
        return None, foreign
    return Tested(first["labels"], first["patients"], shape[1], tuple(models)), foreign


def _model(
    key: TrialKey, run: int, arrays: Mapping[str, NDArray[np.float64]], left: Mapping[str, float], method: str
) -> FinalModel:
    labels, draws = arrays["labels"], arrays["probabilities"]
    mean = metrics.predictive_mean(draws)
    measures = {
        "accuracy": metrics.accuracy(labels, mean),
        "nll": metrics.nll(labels, mean),
        "calibration_error": metrics.expected_calibration_error(labels, mean),
        **{name: left.get(name, math.nan) for name in FROM_EPOCHS},
    }
    members = None if math.isnan(measures["members"]) else int(measures["members"])
    made_of = MEMBERS.get(method) if members else None
    return FinalModel(key, run, mean, metrics.mutual_information(draws), measures, members, made_of)


def _current_runs(frames: StudyFrames, finals: pd.DataFrame) -> dict[tuple[str, int], int]:
    """For each arm and search the run, from 0, whose final models count: the winner, even if earlier ones have models.

    An ensemble made of trained models goes by the winner of the arm that they are of.
    """
    searched = searched_arms(frames)
    current = {
        (arm, search): int(part["winner"]["number"]) - 1
        for arm, each in searched.items()
        for search, part in enumerate(each["searches"])
        if part["winner"]
    }
    methods = {str(arm["label"]): str(arm["method"]) for arm in frames.document["arms"]}
    for arm in frames.arms:
        if arm in searched:
            continue
        own = finals.loc[finals["arm"] == arm]
        members = [other for other in searched if methods[other] == MEMBERS.get(methods[arm])]
        for search in map(int, own["search"].unique()):
            there = [int(run) for run in own.loc[own["search"] == search, "run"].unique()]
            winners = {current[other, search] for other in members if (other, search) in current}
            current[arm, search] = next((run for run in there if run in winners), there[-1])
    return current


def _last_measures(frames: StudyFrames) -> dict[TrialKey, dict[str, float]]:
    """The measures of `FROM_EPOCHS` at the last epoch of each trial."""
    names = [name for name in FROM_EPOCHS if name in frames.epochs.columns]
    last = frames.epochs.drop_duplicates(["configuration", "arm", "replicate"], keep="last")
    return {
        TrialKey(int(row[0]), str(row[1]), int(row[2])): {
            name: float(value) for name, value in zip(names, row[3:], strict=True) if value is not None
        }
        for row in last[["configuration", "arm", "replicate", *names]].itertuples(index=False, name=None)
    }
