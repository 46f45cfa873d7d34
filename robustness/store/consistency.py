"""Whether the stored results of a study fit together.

The metric of a finished trial must follow from its epochs, and an ended trial with a checksum must match it
(`robustness.store.checksums`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from robustness.goal import Goal, goal_in
from robustness.metrics import OBJECTIVES, objective_goal
from robustness.store.checksums import epoch_multiplier, multiplier, trial_multiplier
from robustness.store.epoch_summaries import summaries, trial_starts
from robustness.store.reading import EPOCH_COLUMNS, KEY_COLUMNS
from robustness.trial import TrialKey

KEY = list(KEY_COLUMNS)


def contradictions(trials: pd.DataFrame, epochs: pd.DataFrame, document: Mapping[str, Any]) -> list[TrialKey]:
    """The trials whose stored end contradicts their epochs; `trials` and `epochs` are the store's own frames.

    The metric of an imported run without epochs is not checked, nor is the checksum of a trial without one.
    """
    bad = ~(_metrics_follow(trials, epochs, document) & _checksums_match(trials, epochs))
    return [TrialKey(*key) for key in trials.loc[bad, KEY].itertuples(index=False, name=None)]


def _metrics_follow(trials: pd.DataFrame, epochs: pd.DataFrame, document: Mapping[str, Any]) -> NDArray[np.bool_]:
    """Whether the metric of each trial [n] is that of the epoch which judges it; True if it has not finished."""
    outcomes, search = document["outcomes"], document.get("search") or {}
    objective = OBJECTIVES.get(str(search.get("objective")), str(outcomes["metric"]))
    swept = trials["stage"].isin(["sweep", "default"]).to_numpy()
    goal = goal_in(document)
    stages = (
        (swept, str(outcomes["metric"]), str(outcomes["epoch"]), goal),
        (~swept, objective, "best", objective_goal(search.get("objective"), goal)),
    )
    follows = np.ones(len(trials), dtype=bool)
    for of_stage, metric, rule, direction in stages:
        checked = of_stage & ((trials["status"] == "finished") & np.isfinite(trials["metric"])).to_numpy()
        if not checked.any():
            continue
        stored = trials.loc[checked, [*KEY, "metric", "metric_epoch"]]
        judged = stored.merge(_judged(epochs, metric, rule, direction), on=KEY, how="left")
        same = (judged["metric"] == judged["value"]) & (judged["metric_epoch"] == judged["epoch"]).fillna(False)
        if document.get("trainable") == "imported":
            same |= judged["value"].isna()
        follows[checked] = same.to_numpy(dtype=bool)
    return follows


def _judged(epochs: pd.DataFrame, metric: str, rule: str, goal: Goal) -> pd.DataFrame:
    """The `epoch` by which each trial is judged and the metric there, `value`."""
    column = f"measure_{metric}" if f"measure_{metric}" in epochs.columns else metric
    columns = [*KEY, "epoch", *([column] if column in epochs.columns else [])]
    counted = epochs.loc[~epochs["pretraining"].to_numpy(dtype=bool), columns]
    _, best, last = summaries(counted, KEY, column, goal)
    return (best if rule == "best" else last).rename(columns={rule: "value", f"{rule}_epoch": "epoch"})


def _checksums_match(trials: pd.DataFrame, epochs: pd.DataFrame) -> NDArray[np.bool_]:
    """Whether each trial [n] matches its checksum; True if it has none."""
    stored = trials["checksum"]
    present = stored.notna().to_numpy()
    if not present.any():
        return ~present
    starts = trial_starts(epochs, KEY)
    owners = pd.MultiIndex.from_frame(epochs[KEY].iloc[starts])
    places = pd.MultiIndex.from_frame(trials[KEY]).get_indexer(owners).repeat(np.diff([*starts, len(epochs)]))
    # An epoch of a trial that was added meanwhile has no place.
    known = places >= 0
    texts = np.array(trial_checksums(trials, epochs if known.all() else epochs[known], places[known]))
    match: NDArray[np.bool_] = ~present | (texts == stored.fillna("").to_numpy(dtype=str))
    return match


def trial_checksums(trials: pd.DataFrame, epochs: pd.DataFrame, places: NDArray[np.integer[Any]]) -> list[str]:
    """The checksum of each trial [n] as it should be; `places` has the trial of each epoch."""
    keys = [TrialKey(*key) for key in trials[KEY].itertuples(index=False, name=None)]
    sums = np.array([trial_multiplier(key) for key in keys], dtype=np.uint64)
    np.add.at(sums, places, _parts(epochs))
    statuses = {status: multiplier(f"status {status}") for status in trials["status"].unique()}
    sums += trials["status"].map(statuses).to_numpy(dtype=np.uint64)
    sums += np.uint64(multiplier("metric")) * _bits(trials["metric"])
    numbers = trials["metric_epoch"].fillna(0).to_numpy(dtype=np.int64).astype(np.uint64)
    sums += np.uint64(multiplier("metric_epoch")) * numbers
    return [f"{number:016x}" for number in sums.tolist()]


def _parts(epochs: pd.DataFrame) -> NDArray[np.uint64]:
    """The part of each epoch [n] in the checksum of its trial."""
    pretraining = epochs["pretraining"].to_numpy(dtype=bool).astype(np.uint64)
    total = np.uint64(multiplier("pretraining")) * (pretraining + np.uint64(1))
    for column in epochs.columns:
        if column in (*KEY, "epoch", "pretraining"):
            continue
        plain = str(column).removeprefix("measure_")
        name = plain if plain in (*KEY, *EPOCH_COLUMNS) else str(column)
        total = total + np.uint64(multiplier(name)) * _bits(epochs[column])
    numbers, places = np.unique(epochs["epoch"].to_numpy(dtype=np.int64), return_inverse=True)
    factors = np.array([epoch_multiplier(number) for number in numbers.tolist()], dtype=np.uint64)
    parts: NDArray[np.uint64] = total * factors[places] if len(total) else total
    return parts


def _bits(values: pd.Series[Any]) -> NDArray[np.uint64]:
    """The 64 bits of each number; 0 for NaN, and the same for both zeros."""
    numbers = values.to_numpy(dtype=float) + 0.0
    return np.where(np.isnan(numbers), np.uint64(0), numbers.view(np.uint64))
