"""What to try next: Optuna is asked, with all that the store knows of an arm's runs, by a sampler built for it.

Nothing is remembered between two questions, so a search that was killed and resumed proposes what an undisturbed one
would: the proposal depends on the study's seed, the arm, the run's number and what is known of the runs before it.
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
from robustness.metrics import METRICS
from robustness.space.options import Branches, Choices, Constant, Option, Options, Range, Scalar
from robustness.space.space import Configuration, Space
from robustness.study.sections import Search
from robustness.trial import ENDED, Status

MODEL_TRIES = 3
"""How often the model is asked before chance takes over: it may insist on what a condition forbids, or on a repeat."""
TRIES = 300
CHANCE = 0.5
"""The value of a run that diverged, as AUC or accuracy: no better than guessing."""


@dataclass(frozen=True)
class Run:
    """A run of the search: proposed, running or ended."""

    number: int
    hyperparameters: Mapping[str, Any]
    status: Status = "planned"
    score: float | None = None
    """The objective at the best epoch, where there is one."""
    values: Mapping[int, float] = field(default_factory=dict)
    """The objective at each epoch that counts, once the run has ended; kept where the search prunes."""


def propose(
    search: Search,
    space: Space,
    seed: int,
    arm: str,
    runs: Sequence[Run],
    metric: str,
    start: Mapping[str, Scalar] | None = None,
) -> Configuration:
    """The configuration of the arm's next run; `start` gives values from elsewhere for some of its options.

    It fulfils the space's conditions and repeats no earlier run, unless the space has nothing else.
    """
    number = len(runs)
    tried = [dict(run.hyperparameters) for run in runs]
    used_up = len({repr(sorted(values.items())) for values in tried}) == space.allowed()
    allowed: Configuration | None = None
    for attempt in range(TRIES):
        chance = search.sampler == "random" or attempt >= MODEL_TRIES
        sampler = _sampler(search, _seed(seed, arm, number, attempt), chance)
        configuration = _ask(sampler, space, runs, metric, start if attempt == 0 else None)
        if not space.accepts(configuration):
            continue
        allowed = configuration
        if used_up or configuration not in tried:
            return configuration
    if allowed is not None:
        return allowed
    raise SearchSpaceError(f"the space of arm {arm!r}: no configuration that its `where` allows was found")


def frozen(run: Run, space: Space, metric: str, runs: Sequence[Run]) -> FrozenTrial:
    """A run as Optuna's samplers understand it.

    Samplers ignore failed trials and would walk into the same fault again. So a run that diverged is complete, with the
    value of guessing, and one that ran out of memory or time has violated a constraint. A pruned run is complete with
    its best score so far: less than it would have come to, but enough to say that better runs are elsewhere.
    """
    parameters, distributions = parameters_of(space.options, run.hyperparameters)
    state, value = state_of(run, metric, runs)
    too_large = run.status in ("out_of_memory", "timed_out")
    return optuna.trial.create_trial(
        state=state,
        value=value,
        params=parameters,
        distributions=distributions,
        user_attrs={"status": run.status},
        constraints={"fits": 1.0 if too_large else -1.0} if state == TrialState.COMPLETE else None,
    )


def state_of(run: Run, metric: str, runs: Sequence[Run]) -> tuple[TrialState, float | None]:
    """Optuna's state and value of a run among all runs of its arm."""
    if run.status not in ENDED:
        return TrialState.RUNNING, None
    if run.status in ("finished", "pruned") and run.score is not None:
        return TrialState.COMPLETE, run.score
    if run.status in ("diverged", "out_of_memory", "timed_out"):
        return TrialState.COMPLETE, _worst(metric, runs)
    return TrialState.FAIL, None


def parameters_of(
    options: Options, configuration: Mapping[str, Any], path: str = ""
) -> tuple[dict[str, Any], dict[str, BaseDistribution]]:
    """Optuna's parameters of a configuration; one under a choice is named with it, as `optimizer.sgd.momentum`."""
    parameters: dict[str, Any] = {}
    distributions: dict[str, BaseDistribution] = {}
    for name, option in options.items:
        distribution = _distribution(option)
        if distribution is None or name not in configuration:
            continue
        parameters[path + name], distributions[path + name] = configuration[name], distribution
        for choice, below in option.branches if isinstance(option, Branches) else ():
            if choice == configuration[name]:
                further = parameters_of(below, configuration, f"{path}{name}.{choice}.")
                parameters |= further[0]
                distributions |= further[1]
    return parameters, distributions


@contextmanager
def quiet() -> Iterator[None]:
    """Optuna without its log lines and its warnings that an argument is experimental."""
    level = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
            yield
    finally:
        optuna.logging.set_verbosity(level)


def _ask(
    sampler: BaseSampler, space: Space, runs: Sequence[Run], metric: str, start: Mapping[str, Scalar] | None
) -> Configuration:
    with quiet():
        study = optuna.create_study(direction="maximize", sampler=sampler)
        constrained = any(run.status in ("out_of_memory", "timed_out") for run in runs)
        for run in runs:
            trial = frozen(run, space, metric, runs)
            if not constrained:
                # A constraint that nothing violates is one more model to fit, of a constant.
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
                found = trial.suggest_float(path + name, option.low, option.high, log=option.log)
                # Twelve digits, so that no machine's rounding shows.
                values[name] = min(max(float(f"{found:.12g}"), float(option.low)), float(option.high))
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


def _sampler(search: Search, seed: int, chance: bool) -> BaseSampler:
    with quiet():
        if chance:
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


def _worst(metric: str, runs: Sequence[Run]) -> float:
    """The value of a run that came to nothing: of guessing, or the lowest so far where the measure is a user's own."""
    if metric in METRICS:
        return CHANCE
    scores = [run.score for run in runs if run.status == "finished" and run.score is not None]
    return min((score for score in scores if math.isfinite(score)), default=0.0)
