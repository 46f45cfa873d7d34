"""The best configuration of each arm, tuned on the first replicate and trained again on the others.

Where a replicate is a split of the data, a study compares its configurations on the first split alone, and shows how
the chosen ones do on the rest. A study file says so with one key:

    winners: {by: data_set, replicates: 20, fewer: {protein: 5}}

`by` names the hyperparameter that each value of which has a winner of its own (left out, an arm has one in all);
`replicates` counts the first one, on which the choice was made, and `fewer` gives the values that have less of them.

    winners = choose(tried, terms)               after every trial of replicate 0 has ended
    trials = further_trials(plan.trials, winners, terms)

Nothing here is random or depends on the order in which trials ended, so a resumed study chooses the same.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, NamedTuple, TypeAlias

from pydantic import Field

from robustness.errors import StudyFileError, one_of
from robustness.study_sections import Section
from robustness.trial import Trial, TrialKey

Value: TypeAlias = str | int | float | bool | None


class Winners(Section):
    """How winners are chosen, and on how many replicates they are trained."""

    by: str | None = Field(default=None, min_length=1)
    """The hyperparameter each value of which has a winner of its own; left out, an arm has one in all."""
    replicates: int = Field(ge=2, le=10_000)
    """On how many replicates a winner is trained, the first one included."""
    fewer: dict[str, Annotated[int, Field(ge=1)]] = Field(default_factory=dict)
    """For values of `by`: on how many replicates instead."""

    def replicates_of(self, value: Value) -> int:
        return self.fewer.get(str(value), self.replicates)


class Place(NamedTuple):
    """What there is one winner of: an arm, and a value of the hyperparameter that the study chooses by."""

    arm: str
    value: Value = None


@dataclass(frozen=True)
class Tried:
    """A trial that has ended."""

    key: TrialKey
    hyperparameters: Mapping[str, Any]
    metric: float | None
    """The study's measure at the epoch that judges the trial; None or NaN if it has none. Higher is better."""


def choose(tried: Iterable[Tried], terms: Winners) -> dict[Place, TrialKey]:
    """The trial of the first replicate with the highest metric, for each arm and value.

    Of equal ones the lowest configuration wins. A place none of whose trials has a metric has no winner. Raises
    StudyFileError if a configuration lacks the hyperparameter.
    """
    best: dict[Place, Tried] = {}
    for candidate in sorted(tried, key=lambda trial: trial.key):
        metric = candidate.metric
        if candidate.key.replicate != 0 or metric is None or math.isnan(metric):
            continue
        place = Place(candidate.key.arm, _value(candidate.hyperparameters, terms))
        holder = best.get(place)
        # A holder always has a metric: it was a candidate before.
        if holder is None or holder.metric is None or metric > holder.metric:
            best[place] = candidate
    return {place: trial.key for place, trial in best.items()}


def further_trials(trials: Sequence[Trial], winners: Mapping[Place, TrialKey], terms: Winners) -> tuple[Trial, ...]:
    """The winners' trials on the replicates after the first, in running order: the arms of a split together.

    `trials` are those of the plan; `winners` come from `choose`.
    """
    by_key = {trial.key: trial for trial in trials}
    values = dict.fromkeys(_value(trial.hyperparameters, terms) for trial in trials)
    arms = dict.fromkeys(trial.arm for trial in trials)
    return tuple(
        replace(by_key[winners[Place(arm, value)]], replicate=replicate, checkpoint=None)
        for value in values
        for replicate in range(1, terms.replicates_of(value))
        for arm in arms
        if Place(arm, value) in winners
    )


def check_winners(terms: Winners, trials: Sequence[Trial]) -> None:
    """Raise StudyFileError unless every configuration has the hyperparameter, and `fewer` names values it takes."""
    values = {str(_value(trial.hyperparameters, terms)) for trial in trials}
    for name, count in terms.fewer.items():
        if terms.by is None:
            raise StudyFileError("winners.fewer: needs winners.by, the hyperparameter whose values it names")
        if name not in values:
            raise StudyFileError(f"winners.fewer: {one_of(f'value of {terms.by}:', name, values)}")
        if count > terms.replicates:
            raise StudyFileError(f"winners.fewer.{name}: must be at most {terms.replicates}, found {count}")


def _value(hyperparameters: Mapping[str, Any], terms: Winners) -> Value:
    if terms.by is None:
        return None
    if terms.by not in hyperparameters:
        raise StudyFileError(f"winners.by: {one_of('hyperparameter', terms.by, hyperparameters)}")
    value: Value = hyperparameters[terms.by]
    return value
