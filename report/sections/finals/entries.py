"""The results of final models, entry by entry, as the JSON has them (`docs/report_json.md`, `finals`)."""

from __future__ import annotations

from typing import Literal, TypeAlias, TypedDict

Between: TypeAlias = Literal["between", "between_searches"]
"""The key of a standard error: between models of a search, or between searches."""


class MeanFigure(TypedDict):
    """The mean over an arm's models, with its standard errors; None where one is not known."""

    mean: float | None
    between: float | None
    between_searches: float | None


class ReferredAuc(MeanFigure):
    """The AUC of what is left after a fraction was referred."""

    referred: float
    error: float | None
    total_error: float | None


class ArmMeasures(TypedDict):
    """The other measures of an arm's models."""

    accuracy: MeanFigure
    nll: MeanFigure
    calibration_error: MeanFigure
    seconds_per_epoch: MeanFigure
    parameters: MeanFigure


class ReferralCurve(TypedDict):
    """The AUC by the fraction referred, with its 95 % band."""

    referred: list[float]
    auc: list[float | None]
    low: list[float | None]
    high: list[float | None]


class CalibrationBucket(TypedDict):
    """`robustness.statistics.calibration.Bucket`."""

    lower: float
    count: int
    probability: float
    share: float
    low: float
    high: float


class ModelFigures(TypedDict):
    """The figures of one model."""

    search: int
    run: int
    configuration: int
    replicate: int
    auc: list[float | None]
    accuracy: float | None
    nll: float | None
    calibration_error: float | None
    seconds_per_epoch: float | None
    parameters: float | None
    chosen_epoch: float | None


class FinalArm(ArmMeasures):
    """The figures of an arm's models."""

    models: int
    searches: int
    members: int | None
    made_of: str | None
    run: int | None
    refers: bool
    auc: list[ReferredAuc]
    referral: ReferralCurve
    calibration: list[CalibrationBucket]
    replicates: list[ModelFigures]
    reference: list[float] | None


class AucDifference(TypedDict):
    """`robustness.statistics.nested.Difference`, first arm minus second; None for what is not a finite number."""

    difference: float | None
    low: float | None
    high: float | None
    p_value: float | None
    degrees_of_freedom: float | None
    pictures_error: float | None
    models_error: float | None
    searches_error: float | None


class ReferredDifference(AucDifference):
    """The difference after a fraction was referred."""

    referred: float


class FinalComparison(AucDifference):
    """Two arms with nothing referred and, under `at`, at each referred fraction."""

    arms: list[str]
    searches: int
    at: list[ReferredDifference]
    p_adjusted: float | None
    p_among_all: float | None


class FinalFigures(TypedDict):
    """All figures: what sentences and cautions are made from."""

    alone: bool
    pictures: int
    patients: int
    classes: int
    positives: int | None
    resamples: int
    referred: list[float]
    best: str | None
    searches: int
    arms: dict[str, FinalArm]
    planned: list[str] | None
    comparisons: list[FinalComparison]
    reference: str | None


class FinalsResults(FinalFigures):
    """`finals` of the JSON."""

    sentences: list[str]
    cautions: list[str]
