"""Runs in a table with one row for each epoch: which columns change within a run, and which rows are one run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from robustness.errors import RobustnessError, shown
from robustness.importing.options import ImportOptions
from robustness.importing.values import numbers_in


def changing_columns(frame: pd.DataFrame, keys: Sequence[str], epoch: str, candidates: Sequence[str]) -> list[str]:
    """The candidates that cannot be hyperparameters, since they change within what must be one run.

    Neighbouring rows with the same keys and rising epochs are one run. A column with more distinct values than any
    epoch has rows changes, too, in whatever order the rows are.
    """
    if len(frame) < 2:
        return []
    steps, together = _blocks(frame, keys, epoch)
    if not has_row_per_epoch(frame, keys, epoch):
        # The rows of a run do not stand together.
        together[:] = False
    most = int(np.unique(steps[np.isfinite(steps)], return_counts=True)[1].max(initial=1))
    changing = []
    for name in candidates:
        codes, distinct = pd.factorize(frame[name])
        if len(distinct) > most or bool((together & (codes[1:] != codes[:-1])).any()):
            changing.append(name)
    return changing


def has_row_per_epoch(frame: pd.DataFrame, keys: Sequence[str], epoch: str) -> bool:
    """Whether a table has one row for each epoch: stretches of rising epochs begin at one epoch, nearly all of them.

    In a table with one row for each run, such a column is the last epoch of the run.
    """
    if len(frame) < 2:
        return False
    steps, together = _blocks(frame, keys, epoch)
    starts = steps[np.concatenate([[True], ~together])]
    if len(starts) == len(steps):
        return False
    _, counts = np.unique(starts, return_counts=True)
    return bool(counts.max() >= 0.8 * len(starts))


def _blocks(frame: pd.DataFrame, keys: Sequence[str], epoch: str) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """The epochs [n], and whether each row but the first continues the one before [n - 1]."""
    steps = numbers_in(frame[epoch])
    together = steps[1:] > steps[:-1]
    for name in keys:
        codes = pd.factorize(frame[name])[0]
        together &= codes[1:] == codes[:-1]
    return steps, together


def number_runs(frame: pd.DataFrame, keys: Sequence[str]) -> NDArray[np.int64]:
    """The run of each row [n], numbered in their order: rows with the same keys are one run."""
    combined = np.zeros(len(frame), dtype=np.int64)
    for name in keys:
        codes = pd.factorize(frame[name], use_na_sentinel=False)[0]
        combined = pd.factorize(combined * (int(codes.max(initial=0)) + 1) + codes)[0].astype(np.int64)
    return combined


def epochs_of(column: pd.Series[Any], source: str) -> NDArray[np.int64]:
    """A column of epochs as integers; raises RobustnessError for anything else."""
    numbers = numbers_in(column)
    good = np.isfinite(numbers) & (numbers == np.round(numbers)) & (numbers >= 0) & (numbers < 2**31)
    if not good.all():
        place = int(np.argmin(good))
        cell = shown(str(column.iloc[place]))
        raise RobustnessError(f"{source}, line {place + 2}: {column.name}: {cell} is not an epoch, an integer >= 0")
    return numbers.astype(np.int64)


def check_epochs(runs: NDArray[np.int64], epochs: NDArray[np.int64], source: str, options: ImportOptions) -> None:
    """Raise RobustnessError if a run has an epoch twice: then several runs were taken for one."""
    repeated = pd.DataFrame({"run": runs, "epoch": epochs}).duplicated()
    if repeated.any():
        place = int(np.argmax(repeated.to_numpy()))
        raise RobustnessError(
            f"{source}, line {place + 2}: epoch {epochs[place]} occurs twice in what seems to be one run: name the "
            f"column that tells runs apart with {options.named('run', 'COLUMN')} or {options.named('seed', 'COLUMN')}"
        )
