"""The results of this section, as `docs/report_json.md` describes them under `sensitivity`."""

from __future__ import annotations

from typing import TypedDict

from report.records.estimates import Fraction, OutcomeFractions


class MiddleScore(TypedDict):
    """The scores of the configurations with one value of a hyperparameter."""

    median: float | None
    best: float | None


class LevelRates(TypedDict):
    """An arm's fractions and scores for each value of a hyperparameter."""

    learned_nothing: list[Fraction]
    good: list[Fraction]
    score: list[MiddleScore]


class HyperparameterRates(TypedDict):
    """The values of a hyperparameter, and each arm's fractions by value."""

    values: list[object]
    arms: dict[str, LevelRates]


class TwoWayTables(TypedDict):
    """Counts of an arm's trials: [values of the first hyperparameter, values of the second]."""

    of: list[list[float]]
    learned_nothing: list[list[float]]
    good: list[list[float]]


class TwoWay(TypedDict):
    """Two hyperparameters with their values, and each arm's tables."""

    hyperparameters: list[str]
    values: list[list[object]]
    arms: dict[str, TwoWayTables]


class ImportanceEntry(TypedDict):
    """The importance of a hyperparameter for an arm's scores."""

    explained: float
    low: float
    high: float
    chance: float
    p_value: float
    p_adjusted: float
    within_null: bool


class ArmImportance(TypedDict):
    """The importance of each hyperparameter for an arm, or why it is unknown."""

    hyperparameters: dict[str, ImportanceEntry]
    shares: dict[str, float]
    quantile: None
    why_not: str | None


class WorstValue(Fraction):
    """The value that most often goes with learning nothing, and its fraction."""

    hyperparameter: str
    value: object


class NearWinner(TypedDict):
    """How many configurations come within so much of the best score."""

    within: float
    count: int
    of: int
    fraction: float


class ReferenceWinner(TypedDict):
    """The reference's best configuration, and where it stands among ours if it was drawn."""

    hyperparameters: dict[str, object]
    configuration: int | None
    score: float | None
    rank: int | None


class Winner(TypedDict):
    """An arm's best configuration."""

    configuration: int
    hyperparameters: dict[str, object]
    score: float
    near: NearWinner
    reference: ReferenceWinner | None


class SensibleRange(OutcomeFractions):
    """An arm's fractions without its worst value of each hyperparameter."""

    removed: dict[str, object]
    configurations: int


class SensitivityResults(TypedDict):
    """Which hyperparameters and values the outcome depends on."""

    hyperparameters: dict[str, HyperparameterRates]
    two_way: list[TwoWay]
    importance: dict[str, ArmImportance]
    worst_value: dict[str, WorstValue | None]
    winners: dict[str, Winner | None]
    sensible_range: dict[str, SensibleRange]
