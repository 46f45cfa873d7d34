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
    permutations: int | None


class DecidingValue(Fraction):
    """A value at which significantly more or fewer of an arm's configurations have the primary outcome."""

    hyperparameter: str
    value: object
    elsewhere: float
    worse: bool
    p_value: float
    p_adjusted: float


class DecidingValues(TypedDict):
    """The values that are shown to matter to an arm, of so many tested, or why none could be tested."""

    tested: int
    values: list[DecidingValue]
    why_not: str | None


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
    """An arm's fractions without the values that are shown to be worse."""

    removed: dict[str, list[object]]
    configurations: int


class SensitivityResults(TypedDict):
    """Which hyperparameters and values the outcome depends on."""

    hyperparameters: dict[str, HyperparameterRates]
    two_way: list[TwoWay]
    importance: dict[str, ArmImportance]
    deciding_values: dict[str, DecidingValues]
    winners: dict[str, Winner | None]
    sensible_range: dict[str, SensibleRange | None]
