"""Winners: the best configuration of each arm on the first replicate, trained on further replicates.

If replicates are splits of the data, all configurations are compared on the first split only, and the winners are
evaluated on the others. The study file asks for this with one key:

    winners: {by: data_set, replicates: 20, fewer: {protein: 5}}

An arm has a winner for each value of the hyperparameter `by`, or a single one without it. `replicates` includes the
first replicate; `fewer` sets a smaller number for some values.

    added = plan_winners(terms, plan, store)     after every trial of the plan has ended; does nothing before

The choice does not depend on chance or on the order in which trials end, so a resumed study chooses the same winners
unless `--retry` changed its results.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from robustness.goal import MAXIMIZE, Goal, goal_in
from robustness.study.sections import Winners
from robustness.trial import COUNTED, ENDED, Trial, TrialKey

if TYPE_CHECKING:
    from robustness.store.study_store import StudyStore
    from robustness.sweep.plan import Plan

Value: TypeAlias = str | int | float | bool | None


class Place(NamedTuple):
    """An arm and a value of the hyperparameter `by`, which have one winner."""

    arm: str
    value: Value = None


@dataclass(frozen=True)
class Candidate:
    """A trial that has ended."""

    key: TrialKey
    hyperparameters: Mapping[str, Any]
    metric: float | None
    """The study's metric at the epoch that judges the trial; None or NaN if it has none."""


def choose(candidates: Iterable[Candidate], terms: Winners, goal: Goal = MAXIMIZE) -> dict[Place, TrialKey]:
    """The trial with the best metric on the first replicate, for each place.

    Among equals the lowest configuration wins. A place has no winner if none of its trials has a metric.
    """
    best: dict[Place, Candidate] = {}
    for candidate in sorted(candidates, key=lambda trial: trial.key):
        metric = candidate.metric
        if candidate.key.replicate != 0 or metric is None or math.isnan(metric):
            continue
        place = Place(candidate.key.arm, _value(candidate.hyperparameters, terms))
        holder = best.get(place)
        # The holder always has a metric, which the type does not say.
        if holder is None or holder.metric is None or goal.better(metric, holder.metric):
            best[place] = candidate
    return {place: trial.key for place, trial in best.items()}


def further_trials(trials: Sequence[Trial], winners: Mapping[Place, TrialKey], terms: Winners) -> tuple[Trial, ...]:
    """The trials of winners on replicates after the first, in running order: the arms of a replicate together.

    `trials` are those of the plan; `winners` is the result of `choose`.
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


def count_further(terms: Winners, arms: int, configurations: Iterable[Mapping[str, Any]]) -> int:
    """The number of further trials if every place has a winner."""
    values = dict.fromkeys(_value(configuration, terms) for configuration in configurations)
    return arms * sum(terms.replicates_of(value) - 1 for value in values)


def count_stored(document: Mapping[str, Any], configurations: Iterable[Mapping[str, Any]]) -> int:
    """The same number for the stored document of a study."""
    return count_further(Winners.model_validate(document["winners"]), len(document["arms"]), configurations)


def plan_winners(terms: Winners | None, plan: Plan, store: StudyStore) -> list[TrialKey]:
    """Add the missing further trials of winners to the store and return their keys; none before the plan has ended.

    The choice depends only on the store, so a sweep that was killed at any moment plans the same trials.
    """
    if terms is None:
        return []
    states = store.states()
    if any(states.get(trial.key) not in ENDED for trial in plan.trials):
        return []
    configurations = store.configurations()
    candidates = [
        Candidate(trial.key, configurations[trial.key.configuration], trial.metric)
        for trial in store.results()
        if trial.status in COUNTED and not trial.key.of_default
    ]
    trials = further_trials(plan.drawn, choose(candidates, terms, goal_in(store.document())), terms)
    new = [trial for trial in trials if trial.key not in states]
    store.add(new)
    return [trial.key for trial in new]


def _value(hyperparameters: Mapping[str, Any], terms: Winners) -> Value:
    value: Value = None if terms.by is None else hyperparameters[terms.by]
    return value
