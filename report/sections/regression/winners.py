"""Regression: test RMSE and log-likelihood of each arm's winner on each data set, beside the reference's.

A replicate is a split. An arm's winner on a data set is chosen on the first split by the study's metric, as the sweep
chooses it. A reference has, under `figures`, `[mean, standard error]` for a measure, a data set and an arm.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import pandas as pd

from report.frames import KEY, StudyFrames
from report.judged_study import JudgedStudy
from report.sections.regression.entries import (
    BesideReference,
    DataSet,
    Measure,
    RegressionFigure,
    RegressionResults,
    RmseDifference,
    SetWinner,
)
from robustness.statistics.means import MeanWithError, mean_with_error
from robustness.study.sections import Winners
from robustness.sweep.winners import Candidate, Place, choose
from robustness.trial import TrialKey

TRAINABLE = "regression"
MEASURES: tuple[Measure, ...] = ("test_rmse", "test_log_likelihood")
WITHIN = 2.0
"""Standard errors."""


def results(study: JudgedStudy) -> RegressionResults | None:
    """The results of a study of regression; None for any other."""
    frames = study.frames
    if frames.document.get("trainable") != TRAINABLE:
        return None
    winners = choose(_tried(frames), Winners(by="data_set", replicates=2))
    measured = _measured(frames)
    sets: dict[str, DataSet] = {}
    for name in dict.fromkeys(str(value) for value in frames.configurations["data_set"]):
        arms = {}
        for arm in frames.arms:
            key = winners.get(Place(arm, name))
            rows = pd.DataFrame() if key is None else _rows(measured, key)
            if key is not None and len(rows):
                arms[arm] = _winner(frames, name, arm, key, rows)
        sets[name] = {"arms": arms, "difference": _difference(frames, measured, winners, name)}
    reference = frames.document.get("reference") or {}
    label = reference.get("label", "the reference") if reference.get("figures") else None
    return {
        "sentences": _sentences(frames.arms, sets, label),
        "alone": True,
        "reference": label,
        "within": WITHIN,
        "sets": sets,
    }


def implied(rmse: float) -> float:
    """The log-likelihood of a Gaussian whose scale is the RMSE: -1/2 log(2 pi e RMSE^2), the most that it allows."""
    return -0.5 * math.log(2 * math.pi * math.e * rmse**2)


def _tried(frames: StudyFrames) -> list[Candidate]:
    tried = []
    for row in frames.trials.itertuples():
        value = getattr(row, frames.rule)
        counts = row.status == "finished" or (row.status == "diverged" and frames.rule == "best")
        key = TrialKey(int(row.configuration), str(row.arm), int(row.replicate))  # type: ignore[arg-type]
        drawn = {"data_set": str(frames.configurations.loc[key.configuration, "data_set"])}
        tried.append(Candidate(key, drawn, float(value) if counts else None))
    return tried


def _measured(frames: StudyFrames) -> pd.DataFrame:
    """The measures of each finished trial at the epoch by which it is judged, or at its last without one."""
    names = [name for name in MEASURES if name in frames.epochs]
    trials = frames.trials.loc[frames.trials["status"] == "finished", [*KEY, f"{frames.rule}_epoch"]]
    rows = frames.epochs[[*KEY, "epoch", *names]].merge(trials, on=KEY)
    judged = rows[f"{frames.rule}_epoch"]
    # Splits that choose nothing may have no validation rows.
    last = rows.groupby(KEY)["epoch"].transform("max")
    return rows[rows["epoch"] == judged.fillna(last)].reset_index(drop=True)


def _rows(measured: pd.DataFrame, key: TrialKey) -> pd.DataFrame:
    own = (measured["configuration"] == key.configuration) & (measured["arm"] == key.arm)
    return measured[own].sort_values("replicate")


def _winner(frames: StudyFrames, name: str, arm: str, key: TrialKey, rows: pd.DataFrame) -> SetWinner:
    drawn = frames.configurations.loc[key.configuration]
    references = (frames.document.get("reference") or {}).get("figures") or {}

    def figure(measure: Measure) -> RegressionFigure:
        theirs = ((references.get(measure) or {}).get(name) or {}).get(arm)
        mean = _mean(rows[measure])
        return {**mean, **_beside(mean["mean"], theirs, lower_is_better=measure == "test_rmse")}

    rmse = figure("test_rmse")
    return {
        "configuration": key.configuration,
        "hyperparameters": {each: drawn[each] for each in frames.varied if each != "data_set"},
        "splits": len(rows),
        "test_rmse": rmse,
        "test_log_likelihood": figure("test_log_likelihood"),
        "implied": implied(rmse["mean"]),
        "reference_implied": None if rmse["reference"] is None else implied(rmse["reference"]),
    }


def _mean(values: pd.Series[Any]) -> MeanWithError:
    return mean_with_error(values.to_numpy(dtype=float))


def _beside(ours: float, theirs: list[float] | None, lower_is_better: bool) -> BesideReference:
    """The reference's figure and standard error, and whether ours lies within two of its errors, is better or worse."""
    if theirs is None:
        return {"reference": None, "reference_error": None, "within": None, "beside": None}
    mean, error = (float(value) for value in theirs)
    worse = ours - mean if lower_is_better else mean - ours
    within = abs(worse) <= WITHIN * error
    return {
        "reference": mean,
        "reference_error": error,
        "within": within,
        "beside": "within" if within else "worse" if worse > 0 else "better",
    }


def _difference(
    frames: StudyFrames, measured: pd.DataFrame, winners: Mapping[Place, TrialKey], name: str
) -> RmseDifference | None:
    """The RMSE of the first arm less that of the second, over the splits that both have; None without two of them."""
    keys = [winners.get(Place(arm, name)) for arm in frames.arms[:2]]
    if len(keys) < 2 or None in keys:
        return None
    first, second = (_rows(measured, key).set_index("replicate")["test_rmse"] for key in keys if key is not None)
    differences = (first - second).dropna()
    if len(differences) < 2:
        return None
    mean = _mean(differences)
    error = mean["standard_error"]
    decided = error is not None and abs(mean["mean"]) > WITHIN * error
    return {"arms": frames.arms[:2], "splits": len(differences), **mean, "decided": decided}


def _sentences(arms: list[str], sets: Mapping[str, DataSet], label: str | None) -> list[str]:
    whole = {name: entry for name, entry in sets.items() if set(entry["arms"]) == set(arms)}
    if not whole:
        return ["No data set has a result of every arm yet."]
    sentences = []
    beside = {
        name: {arm: w["test_rmse"]["beside"] for arm, w in entry["arms"].items()} for name, entry in whole.items()
    }
    beside = {name: verdicts for name, verdicts in beside.items() if None not in verdicts.values()}
    if beside:
        within = [name for name, verdicts in beside.items() if set(verdicts.values()) == {"within"}]
        apart = [
            f"{name} ({', '.join(f'{arm} {verdict}' for arm, verdict in verdicts.items())})"
            for name, verdicts in beside.items()
            if name not in within
        ]
        sentences.append(
            f"On {len(within)} of {len(beside)} data sets the test RMSE of every arm is within two standard errors of "
            f"that of {label}" + (f"; not on {', '.join(apart)}." if apart else ".")
        )
    differences = {name: entry["difference"] for name, entry in whole.items() if entry["difference"]}
    if differences:
        better = {
            arm: [name for name, d in differences.items() if d["decided"] and (d["mean"] > 0) == bool(place)]
            for place, arm in enumerate(arms[:2])
        }
        parts = [f"{arm} is better on {', '.join(names)}" for arm, names in better.items() if names]
        sentences.append(
            f"By more than two standard errors of the paired difference over splits, {'; '.join(parts)}; "
            f"on the other {len(differences) - sum(map(len, better.values()))} of {len(differences)} neither is."
            if parts
            else f"On none of {len(differences)} data sets do {arms[0]} and {arms[1]} differ by more than two standard "
            "errors of the paired difference over splits."
        )
    return sentences or [f"{len(whole)} data sets have a result of every arm."]
