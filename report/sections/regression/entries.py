"""What the JSON says about a study of regression."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, TypeAlias, TypedDict

from robustness.statistics.means import MeanWithError

Measure: TypeAlias = Literal["test_rmse", "test_log_likelihood"]


class BesideReference(TypedDict):
    """The reference's figure and standard error, and where ours lies; None without a reference."""

    reference: float | None
    reference_error: float | None
    within: bool | None
    beside: Literal["within", "better", "worse"] | None


class RegressionFigure(MeanWithError, BesideReference):
    """A measure over the splits, beside the reference's."""


class SetWinner(TypedDict):
    """An arm's winner on a data set."""

    configuration: int
    hyperparameters: Mapping[str, object]
    splits: int
    test_rmse: RegressionFigure
    test_log_likelihood: RegressionFigure
    implied: float
    reference_implied: float | None


class RmseDifference(MeanWithError):
    """The first arm's RMSE less the second's, paired by split."""

    arms: list[str]
    splits: int
    decided: bool


class DataSet(TypedDict):
    """The winners on a data set, and the difference of the first two arms."""

    arms: dict[str, SetWinner]
    difference: RmseDifference | None


class RegressionResults(TypedDict):
    """`regression` of the JSON."""

    sentences: list[str]
    alone: bool
    reference: str | None
    within: float
    sets: dict[str, DataSet]
