"""The best configuration of each arm, tuned on the first replicate and trained again on the others.

Where a replicate is a split of the data, a study compares its configurations on the first split alone, and shows how
the chosen ones do on the rest. A study file says so with one key:

    winners: {by: data_set, replicates: 20, fewer: {protein: 5}}

`by` names the hyperparameter that each value of which has a winner of its own (left out, an arm has one in all);
`replicates` counts the first one, on which the choice was made, and `fewer` gives the values that have less of them.

    added = plan_winners(terms, plan, store)     after every trial of the plan has ended, and harmless before

Nothing here is random or depends on the order in which trials ended, so a resumed study chooses the same, unless
`--retry` gave it other results.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from robustness.study.sections import Winners
from robustness.trial import COUNTED, ENDED, Trial, TrialKey

if TYPE_CHECKING:
    from robustness.store.study_store import StudyStore
    from robustness.sweep.plan import Plan

Value: TypeAlias = str | int | float | bool | None


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

    Of equal ones the lowest configuration wins. A place none of whose trials has a metric has no winner.
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


def to_follow(terms: Winners, arms: int, configurations: Iterable[Mapping[str, Any]]) -> int:
    """How many further trials there will be, if every place has a winner."""
    values = dict.fromkeys(_value(configuration, terms) for configuration in configurations)
    return arms * sum(terms.replicates_of(value) - 1 for value in values)


def plan_winners(terms: Winners | None, plan: Plan, store: StudyStore) -> list[TrialKey]:
    """Write the winners' further trials that the store lacks, and give them; nothing before all of the plan has ended.

    What the store holds decides, so a sweep that was killed at any moment chooses and plans the same.
    """
    if terms is None:
        return []
    states = store.states()
    if any(states.get(trial.key) not in ENDED for trial in plan.trials):
        return []
    drawn = store.configurations()
    tried = [
        Tried(trial.key, drawn[trial.key.configuration], trial.metric)
        for trial in store.results()
        if trial.status in COUNTED
    ]
    trials = further_trials(plan.trials, choose(tried, terms), terms)
    new = [trial for trial in trials if trial.key not in states]
    store.add(new)
    return [trial.key for trial in new]


def _value(hyperparameters: Mapping[str, Any], terms: Winners) -> Value:
    value: Value = None if terms.by is None else hyperparameters[terms.by]
    return value
