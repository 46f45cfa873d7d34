"""The section `outcomes` of a study file: when a trial learned nothing, and when it is good."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import Field, SerializerFunctionWrapHandler, model_serializer, model_validator

from robustness.goal import Goal, GoalName, find_goal
from robustness.metrics import find_metric
from robustness.study.section import Section

Outcome = Literal["learned_nothing", "good"]


class LearnedNothing(Section):
    """When a trial counts as having learned nothing; set exactly one of the keys."""

    no_better_than_untrained: float | None = Field(default=None, gt=0, lt=0.5)
    """0.01: the metric is not above the 99th percentile of untrained networks of the same arm and initial rho, scored
    in the same way. Only for sweeps with a trainable that can score untrained networks, such as `classification`."""
    no_better_than_guessing: float | None = Field(default=None, gt=0, lt=0.5)
    """0.01: the metric is not above the 99th percentile of guesses scored in the same way, with labels permuted between
    patients. Only for the same sweeps."""
    no_better_than_start: float | None = Field(default=None, gt=0, lt=0.5)
    """0.01: the metric is not above the 99th percentile of guesses, or its gain over the trial's own untrained network
    is not above the 99th percentile of gains between untrained networks of the same arm and initial rho, on resampled
    patients. A good trial always learned. Only for the same sweeps."""
    below: float | None = None
    """The metric stays below this fixed number."""
    above: float | None = None
    """The metric, which is minimised, stays above this fixed number."""

    @model_validator(mode="after")
    def _exactly_one_key(self) -> LearnedNothing:
        if sum(value is not None for value in self.model_dump().values()) != 1:
            raise ValueError(
                "needs exactly one of no_better_than_untrained, no_better_than_guessing, no_better_than_start, below "
                "and above"
            )
        return self

    @model_serializer(mode="wrap")
    def _with_stable_keys(self, dump: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Omit later rules if they are not set, so that studies from before they existed keep their hash."""
        values: dict[str, Any] = dump(self)
        for name in ("no_better_than_guessing", "no_better_than_start", "above"):
            if values[name] is None:
                del values[name]
        return values

    @property
    def fixed(self) -> float | None:
        """The number that the study file sets; None where chance is measured."""
        return self.below if self.above is None else self.above

    @property
    def level(self) -> float | None:
        """The fraction of untrained networks or guesses above the threshold; None for a fixed number."""
        return self.no_better_than_untrained or self.no_better_than_guessing or self.no_better_than_start


class Good(Section):
    """When a trial counts as good; set exactly one of the keys."""

    at_least: float | None = None
    """The metric is at least this number."""
    at_most: float | None = None
    """The metric, which is minimised, is at most this number."""

    @model_validator(mode="after")
    def _exactly_one_key(self) -> Good:
        if (self.at_least is None) == (self.at_most is None):
            raise ValueError("needs exactly one of at_least and at_most")
        return self

    @model_serializer(mode="plain")
    def _one_key(self) -> dict[str, Any]:
        return {"at_least": self.at_least} if self.at_most is None else {"at_most": self.at_most}

    @property
    def limit(self) -> float:
        """The number itself."""
        return float(self.at_least if self.at_most is None else self.at_most)  # type: ignore[arg-type]


class Margins(Section):
    """Differences between arms that do not matter."""

    fraction: float | None = Field(default=None, gt=0, lt=1)
    """Of fractions: 0.05 is 5 points."""
    score: float | None = Field(default=None, gt=0)
    """Of mean scores, in units of the metric."""

    @model_validator(mode="after")
    def _one_is_given(self) -> Margins:
        if self.fraction is None and self.score is None:
            raise ValueError("needs fraction, score or both")
        return self


def without_defaults(outcomes: dict[str, Any]) -> dict[str, Any]:
    """Omit later keys at their defaults, so that studies from before they existed keep their hash."""
    later = {"goal": "maximize", "equivalent_within": None}
    return {key: value for key, value in outcomes.items() if key not in later or value != later[key]}


class Judgement(Section):
    """What counts as success and what as failure; without thresholds, trials are compared by their scores alone."""

    metric: str = Field(default="validation_auc", min_length=1, max_length=100)
    """The measure that an epoch is judged by."""
    goal: GoalName = "maximize"
    """`maximize` or `minimize`: whether a higher or a lower metric is better. By default that of a built-in metric, and
    `maximize` for any other."""
    epoch: Literal["best", "last"] = "best"
    """The epoch that a trial is judged by."""
    learned_nothing: LearnedNothing | None = None
    """When a trial has learned nothing; leave out both thresholds, or neither."""
    good: Good | None = None
    """When a trial is good."""
    primary: Outcome | None = "learned_nothing"
    """The outcome that the study's verdict is about; none in a study without thresholds."""
    equivalent_within: Annotated[float, Field(gt=0, lt=1)] | Margins | None = None
    """0.05: arms whose fractions differ by less than 5 points are equivalent; or a margin for fractions and one for
    scores, `{fraction: 0.05, score: 0.01}`. Does not affect trials."""

    @model_validator(mode="before")
    @classmethod
    def _with_defaults(cls, data: Any) -> Any:
        """The goal of a built-in metric, and no primary outcome without thresholds, where the study does not say."""
        if not isinstance(data, Mapping):
            return data
        filled = dict(data)
        metric = filled.get("metric", "validation_auc")
        known = find_metric(metric).goal if isinstance(metric, str) else None
        if known is not None:
            filled.setdefault("goal", known)
        if filled.get("learned_nothing") is None and filled.get("good") is None:
            filled.setdefault("primary", None)
        return filled

    @model_validator(mode="after")
    def _goal_is_that_of_the_metric(self) -> Self:
        known = find_metric(self.metric).goal
        if known is not None and known != self.goal:
            raise ValueError(f"goal must be {known} for {self.metric}, found {self.goal}")
        return self

    @model_validator(mode="after")
    def _thresholds_suit_the_goal(self) -> Self:
        nothing, good = self.learned_nothing, self.good
        if nothing is None and good is None:
            if self.primary is not None:
                raise ValueError(f"primary is {self.primary}, whose threshold is missing: set it, or leave out primary")
            return self
        if nothing is None or good is None:
            missing, present = ("learned_nothing", "good") if nothing is None else ("good", "learned_nothing")
            raise ValueError(f"{missing} is missing beside {present}: set both thresholds, or leave out both")
        if self.primary is None:
            raise ValueError("primary must be learned_nothing or good in a study with thresholds, found null")
        keys = ("above", "at_most") if self.goal == "minimize" else ("below", "at_least")
        for section, wrong in (
            ("learned_nothing", "below"),
            ("learned_nothing", "above"),
            ("good", "at_least"),
            ("good", "at_most"),
        ):
            if wrong not in keys and getattr(getattr(self, section), wrong) is not None:
                right = keys[0] if section == "learned_nothing" else keys[1]
                raise ValueError(
                    f"{section}.{wrong} is on the wrong side, since {self.metric} has the goal {self.goal}: "
                    f"set {section}.{right}"
                )
        if nothing.level is not None and self.goal == "minimize":
            raise ValueError(
                f"learned_nothing: what chance scores is not measured for {self.metric}, which is minimised; "
                "set {above: number}"
            )
        fixed, side = nothing.fixed, "below" if self.goal == "minimize" else "above"
        if fixed is not None and find_goal(self.goal).better(fixed, good.limit):
            raise ValueError(
                f"learned_nothing.{keys[0]} ({fixed}) must not be {side} good.{keys[1]} ({good.limit}); "
                "otherwise a trial could be good and have learned nothing"
            )
        return self

    @model_serializer(mode="wrap")
    def _with_stable_keys(self, dump: SerializerFunctionWrapHandler) -> dict[str, Any]:
        return without_defaults(dump(self))

    @property
    def fraction_margin(self) -> float | None:
        """The margin of equivalence of fractions, if the study sets one."""
        within = self.equivalent_within
        return within.fraction if isinstance(within, Margins) else within

    @property
    def direction(self) -> Goal:
        """The goal as a record."""
        return find_goal(self.goal)

    @property
    def records_start(self) -> bool:
        """Whether trials are judged by their gain over their own start."""
        return self.learned_nothing is not None and self.learned_nothing.no_better_than_start is not None

    @property
    def measures_chance(self) -> bool:
        """Whether the threshold of `learned_nothing` has to be measured before the first trial."""
        return self.learned_nothing is not None and self.learned_nothing.level is not None


class Outcomes(Judgement):
    """How the study judges its trials, and how else the report does."""

    secondary: list[Judgement] = []
    """Further judgements of the same trials, each with its own metric, epoch, thresholds and margins: the report also
    compares the arms by each of them. They affect neither trials nor the verdict."""

    @model_validator(mode="after")
    def _secondary_judgements_are_others(self) -> Self:
        seen = {(self.metric, self.epoch)}
        for place, other in enumerate(self.secondary):
            if other.measures_chance:
                raise ValueError(
                    f"secondary.{place}.learned_nothing: must be a number, {{below: ...}} or {{above: ...}}"
                )
            if (other.metric, other.epoch) in seen:
                raise ValueError(f"secondary.{place}: {other.metric} at the {other.epoch} epoch is judged already")
            seen.add((other.metric, other.epoch))
        return self

    @model_serializer(mode="wrap")
    def _with_stable_keys(self, dump: SerializerFunctionWrapHandler) -> dict[str, Any]:
        values = without_defaults(dump(self))
        if not values["secondary"]:
            del values["secondary"]
        return values
