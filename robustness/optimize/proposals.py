"""The next configuration of a search, proposed by an Optuna sampler that is built anew from the arm's stored runs.

A proposal depends only on the study's seed, the arm, the number of the search, the number of the run and the results of
the runs before it in that search, so a search that was killed and resumed makes the same proposals as an undisturbed
one.
"""

from __future__ import annotations

import hashlib
import math
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import optuna
from optuna.distributions import (
    BaseDistribution,
    CategoricalDistribution,
    FloatDistribution,
    IntDistribution,
)
from optuna.samplers import BaseSampler, GPSampler, RandomSampler, TPESampler
from optuna.trial import FrozenTrial, TrialState

from robustness.errors import SearchSpaceError
from robustness.goal import MAXIMIZE, Goal
from robustness.metrics import METRICS
from robustness.space.options import Branches, Choices, Constant, Option, Options, Range, Scalar
from robustness.space.space import Configuration, Space
from robustness.study.sections import Search
from robustness.trial import ENDED, Status

MODEL_TRIES = 3
"""Attempts before random sampling takes over: a model may keep proposing forbidden or repeated configurations."""
TRIES = 300
CHANCE = 0.5
"""The value of a run that diverged, as AUC or accuracy: no better than guessing."""


@dataclass(frozen=True)
class SearchRun:
    """A run of the search: proposed, running or ended."""

    number: int
    hyperparameters: Mapping[str, Any]
    status: Status = "planned"
    score: float | None = None
    """The objective at the best epoch, if any."""
    values: Mapping[int, float] = field(default_factory=dict)
    """The objective at each epoch after pre-training, once the run has ended; empty if the search does not prune."""


def propose(
    search: Search,
    space: Space,
    seed: int,
    arm: str,
    runs: Sequence[SearchRun],
    metric: str,
    start: Mapping[str, Scalar] | None = None,
    search_number: int = 0,
    goal: Goal = MAXIMIZE,
) -> Configuration:
    """The configuration of the next run of an arm's search, counted from 0; `start` fixes some of its parameters.

    It satisfies the space's conditions and repeats no earlier run, unless the space is exhausted.
    """
    number = len(runs)
    tried = [dict(run.hyperparameters) for run in runs]
    exhausted = len({repr(sorted(values.items())) for values in tried}) == space.allowed()
    allowed: Configuration | None = None
    for attempt in range(TRIES):
        random = search.sampler == "random" or attempt >= MODEL_TRIES
        # The seeds of the first search are those of a study that has only one.
        repeat = ("search", search_number) if search_number else ()
        sampler = _sampler(search, _seed(seed, arm, number, attempt, *repeat), random)
        configuration = _ask(sampler, space, runs, metric, start if attempt == 0 else None, goal)
        if not space.accepts(configuration):
            continue
        allowed = configuration
        if exhausted or configuration not in tried:
            return configuration
    if allowed is not None:
        return allowed
    raise SearchSpaceError(f"the space of arm {arm!r}: found no configuration that its `where` allows")


def frozen(run: SearchRun, space: Space, metric: str, runs: Sequence[SearchRun], goal: Goal = MAXIMIZE) -> FrozenTrial:
    """A run as a trial for Optuna's samplers.

    Samplers ignore failed trials and would propose their configurations again. So a run that diverged is complete with
    the value of guessing, and one that ran out of memory or time violates a constraint. A pruned run is complete with
    its best score so far, which is worse than its final score would be but tells the sampler to look elsewhere.
    """
    parameters, distributions = parameters_of(space.options, run.hyperparameters)
    state, value = state_of(run, metric, runs, goal)
    too_large = run.status in ("out_of_memory", "timed_out")
    return optuna.trial.create_trial(
        state=state,
        value=value,
        params=parameters,
        distributions=distributions,
        user_attrs={"status": run.status},
        constraints={"fits": 1.0 if too_large else -1.0} if state == TrialState.COMPLETE else None,
    )


def state_of(
    run: SearchRun, metric: str, runs: Sequence[SearchRun], goal: Goal = MAXIMIZE
) -> tuple[TrialState, float | None]:
    """Optuna's state and value of a run; `runs` are all runs of its arm."""
    if run.status not in ENDED:
        return TrialState.RUNNING, None
    if run.status in ("finished", "pruned") and run.score is not None:
        return TrialState.COMPLETE, run.score
    if run.status in ("diverged", "out_of_memory", "timed_out"):
        return TrialState.COMPLETE, _worst(metric, runs, goal)
    return TrialState.FAIL, None


def parameters_of(
    options: Options, configuration: Mapping[str, Any], path: str = ""
) -> tuple[dict[str, Any], dict[str, BaseDistribution]]:
    """A configuration as Optuna's parameters; options under a choice are named like `optimizer.sgd.momentum`."""
    parameters: dict[str, Any] = {}
    distributions: dict[str, BaseDistribution] = {}
    for name, option in options.items:
        distribution = _distribution(option)
        if distribution is None or name not in configuration:
            continue
        parameters[path + name], distributions[path + name] = configuration[name], distribution
        for choice, below in option.branches if isinstance(option, Branches) else ():
            if choice == configuration[name]:
                nested = parameters_of(below, configuration, f"{path}{name}.{choice}.")
                parameters |= nested[0]
                distributions |= nested[1]
    return parameters, distributions


@contextmanager
def quiet() -> Iterator[None]:
    """Silence Optuna's log and its warnings about experimental arguments."""
    level = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
            yield
    finally:
        optuna.logging.set_verbosity(level)


def _ask(
    sampler: BaseSampler,
    space: Space,
    runs: Sequence[SearchRun],
    metric: str,
    start: Mapping[str, Scalar] | None,
    goal: Goal,
) -> Configuration:
    with quiet():
        study = optuna.create_study(direction=goal.name, sampler=sampler)
        constrained = any(run.status in ("out_of_memory", "timed_out") for run in runs)
        for run in runs:
            trial = frozen(run, space, metric, runs, goal)
            if not constrained:
                # A sampler would fit a model to a constraint even if no run violates it.
                trial.system_attrs.clear()
            study.add_trial(trial)
        if start:
            study.enqueue_trial(dict(start))
        return space.in_order(_suggest(study.ask(), space.options, ""))


def _suggest(trial: optuna.Trial, options: Options, path: str) -> Configuration:
    values: Configuration = {}
    for name, option in options.items:
        match option:
            case Constant(value=value):
                values[name] = value
            case Choices(values=choices):
                values[name] = trial.suggest_categorical(path + name, choices)
            case Range() if option.integer:
                values[name] = trial.suggest_int(path + name, int(option.low), int(option.high), log=option.log)
            case Range():
                value = trial.suggest_float(path + name, option.low, option.high, log=option.log)
                # Twelve digits hide differences in rounding between machines.
                values[name] = min(max(float(f"{value:.12g}"), float(option.low)), float(option.high))
            case Branches(branches=branches):
                choice = trial.suggest_categorical(path + name, [choice for choice, _ in branches])
                below = dict(branches)[choice]
                values |= {name: choice, **_suggest(trial, below, f"{path}{name}.{choice}.")}
    return values


def _distribution(option: Option) -> BaseDistribution | None:
    match option:
        case Choices(values=values):
            return CategoricalDistribution(values)
        case Range() if option.integer:
            return IntDistribution(int(option.low), int(option.high), log=option.log)
        case Range():
            return FloatDistribution(option.low, option.high, log=option.log)
        case Branches(branches=branches):
            return CategoricalDistribution([choice for choice, _ in branches])
    return None


def _sampler(search: Search, seed: int, random: bool) -> BaseSampler:
    with quiet():
        if random:
            return RandomSampler(seed=seed)
        if search.sampler == "tpe":
            return TPESampler(
                seed=seed,
                n_startup_trials=search.startup,
                multivariate=True,
                group=True,
                constant_liar=True,
            )
        return GPSampler(
            seed=seed,
            n_startup_trials=search.startup,
            deterministic_objective=False,
            warn_independent_sampling=False,
        )


def _seed(*parts: object) -> int:
    digest = hashlib.sha256("/".join(("proposal", *map(str, parts))).encode()).digest()
    return int.from_bytes(digest[:4], "little")


def _worst(metric: str, runs: Sequence[SearchRun], goal: Goal) -> float:
    """The value of a run without a result: that of guessing or, for a loss or a user's own metric, the worst so far."""
    if metric in METRICS and not goal.minimizes:
        return CHANCE
    scores = [run.score for run in runs if run.status == "finished" and run.score is not None]
    return float(goal.worst((score for score in scores if math.isfinite(score)), default=0.0))
