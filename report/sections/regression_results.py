"""What a study of regression shows: test RMSE and log-likelihood of each arm's winner on each data set.

A replicate is a split. An arm's winner on a data set is chosen on the first split by the study's metric, as the sweep
chooses it. A reference has, under `figures`, `[mean, standard error]` for a measure, a data set and an arm.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import pandas as pd

from report.frames import KEY, StudyFrames
from robustness.statistics.means import mean_with_error
from robustness.study.sections import Winners
from robustness.sweep.winners import Candidate, choose
from robustness.trial import TrialKey

TRAINABLE = "regression"
MEASURES = ("test_rmse", "test_log_likelihood")
WITHIN = 2.0
"""Standard errors."""


def regression(frames: StudyFrames) -> Mapping[str, Any] | None:
    """The results of a study of regression; None for any other."""
    if frames.document.get("trainable") != TRAINABLE:
        return None
    tried = _tried(frames)
    winners = choose(tried, Winners(by="data_set", replicates=2))
    measured = _measured(frames)
    sets: dict[str, dict[str, Any]] = {}
    for name in dict.fromkeys(str(value) for value in frames.configurations["data_set"]):
        found = {}
        for arm in frames.arms:
            key = next((key for place, key in winners.items() if place == (arm, name)), None)
            rows = pd.DataFrame() if key is None else _rows(measured, key)
            if key is not None and len(rows):
                found[arm] = _winner(frames, name, arm, key, rows)
        sets[name] = {"arms": found, "difference": _difference(frames, measured, winners, name)}
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
    found = []
    for row in frames.trials.itertuples():
        value = getattr(row, frames.rule)
        counts = row.status == "finished" or (row.status == "diverged" and frames.rule == "best")
        key = TrialKey(int(row.configuration), str(row.arm), int(row.replicate))  # type: ignore[arg-type]
        drawn = {"data_set": str(frames.configurations.loc[key.configuration, "data_set"])}
        found.append(Candidate(key, drawn, float(value) if counts else None))
    return found


def _measured(frames: StudyFrames) -> pd.DataFrame:
    """What each finished trial measured at the epoch that judges it, or at its last where none does."""
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


def _winner(frames: StudyFrames, name: str, arm: str, key: TrialKey, rows: pd.DataFrame) -> dict[str, Any]:
    drawn = frames.configurations.loc[key.configuration]
    figures = (frames.document.get("reference") or {}).get("figures") or {}
    found: dict[str, Any] = {
        "configuration": key.configuration,
        "hyperparameters": {each: drawn[each] for each in frames.varied if each != "data_set"},
        "splits": len(rows),
    }
    for measure in MEASURES:
        theirs = ((figures.get(measure) or {}).get(name) or {}).get(arm)
        values = rows[measure].to_numpy(dtype=float)
        found[measure] = mean_with_error(values) | _beside(
            float(values.mean()), theirs, lower_is_better=measure == "test_rmse"
        )
    found["implied"] = implied(found["test_rmse"]["mean"])
    theirs = found["test_rmse"]["reference"]
    found["reference_implied"] = None if theirs is None else implied(theirs)
    return found


def _beside(ours: float, theirs: list[float] | None, lower_is_better: bool) -> dict[str, Any]:
    """The reference's figure and standard error, and whether ours is within two of its errors of it, or better."""
    if theirs is None:
        return {"reference": None, "reference_error": None, "within": None}
    mean, error = (float(value) for value in theirs)
    worse = ours - mean if lower_is_better else mean - ours
    return {"reference": mean, "reference_error": error, "within": worse <= WITHIN * error}


def _difference(
    frames: StudyFrames, measured: pd.DataFrame, winners: Mapping[Any, TrialKey], name: str
) -> dict[str, Any] | None:
    """The RMSE of the first arm less that of the second, over the splits that both have; None without two of them."""
    keys = [winners.get((arm, name)) for arm in frames.arms[:2]]
    if len(keys) < 2 or None in keys:
        return None
    first, second = (_rows(measured, key).set_index("replicate")["test_rmse"] for key in keys if key is not None)
    differences = (first - second).dropna()
    if len(differences) < 2:
        return None
    found: dict[str, Any] = {"arms": frames.arms[:2], "splits": len(differences)} | mean_with_error(
        differences.to_numpy()
    )
    return found | {"decided": abs(found["mean"]) > WITHIN * found["standard_error"]}


def _sentences(arms: list[str], sets: Mapping[str, Mapping[str, Any]], label: str | None) -> list[str]:
    whole = {name: found for name, found in sets.items() if set(found["arms"]) == set(arms)}
    if not whole:
        return ["No data set has a result of every arm yet."]
    told = []
    beside = {
        name: all(entry["test_rmse"]["within"] for entry in found["arms"].values())
        for name, found in whole.items()
        if all(entry["test_rmse"]["within"] is not None for entry in found["arms"].values())
    }
    if beside:
        others = [name for name, within in beside.items() if not within]
        told.append(
            f"On {len(beside) - len(others)} of {len(beside)} data sets the test RMSE of every arm is within two "
            f"standard errors of that of {label}, or better" + (f"; not on {', '.join(others)}." if others else ".")
        )
    decided = {name: found["difference"] for name, found in whole.items() if found["difference"]}
    if decided:
        better = {arm: [n for n, d in decided.items() if d["decided"] and (d["mean"] > 0) == bool(place)]
                  for place, arm in enumerate(arms[:2])}  # fmt: skip
        parts = [f"{arm} is better on {', '.join(names)}" for arm, names in better.items() if names]
        told.append(
            f"By more than two standard errors of the paired difference over splits, {'; '.join(parts)}; "
            f"on the other {len(decided) - sum(map(len, better.values()))} of {len(decided)} neither is."
            if parts
            else f"On none of {len(decided)} data sets do {arms[0]} and {arms[1]} differ by more than two standard "
            "errors of the paired difference over splits."
        )
    return told or [f"{len(whole)} data sets have a result of every arm."]
