"""The best and the last epoch of each trial."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from robustness.goal import Goal


def summaries(
    epochs: pd.DataFrame, key: list[str], metric: str, goal: Goal
) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    """Three frames with the columns `key` of trials: `epochs`, `best` and `best_epoch`, `last` and `last_epoch`.

    The rows of a trial follow each other, by epoch. The best epoch is the earliest of equal ones, the last is that at
    which the metric was last a number; a trial without any is only in the first frame.
    """
    values = epochs[metric].to_numpy(dtype=float) if metric in epochs else np.full(len(epochs), np.nan)
    starts = trial_starts(epochs, key)
    number = epochs.iloc[starts][key].assign(epochs=np.diff([*starts, len(epochs)]))
    finite = np.flatnonzero(np.isfinite(values))
    # Trials without any finite value start where the next one does, or at the end.
    starts = np.unique(np.searchsorted(finite, starts))
    starts = starts[starts < len(finite)]
    ends = np.array([*starts, len(finite)], dtype=np.int64)[1:]
    extreme = np.minimum if goal.minimizes else np.maximum
    extremes = extreme.reduceat(values[finite], starts) if len(starts) else np.empty(0)
    equal = np.flatnonzero(values[finite] == np.repeat(extremes, ends - starts))
    rows = {"best": finite[equal[np.searchsorted(equal, starts)]], "last": finite[ends - 1]}
    best, last = (
        epochs.iloc[at][[*key, "epoch"]].assign(**{name: values[at]}).rename(columns={"epoch": f"{name}_epoch"})
        for name, at in rows.items()
    )
    return number, best, last


def trial_starts(epochs: pd.DataFrame, key: list[str]) -> NDArray[np.int64]:
    """The first row of each trial; `key` are its columns."""
    differs = np.zeros(len(epochs), dtype=bool)
    differs[:1] = True
    for name in key:
        codes = pd.factorize(epochs[name])[0]
        differs[1:] |= codes[1:] != codes[:-1]
    return np.flatnonzero(differs)
