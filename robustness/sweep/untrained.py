"""Scoring untrained networks: the job that a sweep runs once, before its first trial, where its study asks for it."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from robustness.errors import RobustnessError
from robustness.execution.protocol import Ending, Executor, Started
from robustness.plugins import find_trainable
from robustness.study.study import Study
from robustness.sweep.chance import Scored, make_note
from robustness.sweep.plan import Plan
from robustness.sweep.sweep import terms_of
from robustness.trial import EpochResult, Trial, TrialKey

NETWORKS = 200
"""How many untrained networks are scored, at least."""
NETWORKS_AT_ONCE = 5
"""How many of them are one piece of work for a worker."""


def untrained_note(study: Study, plan: Plan, executor: Executor, stop: Callable[[], bool]) -> dict[str, Any] | None:
    """The scores of untrained networks and the threshold made of them, for the store; None if it was stopped."""
    if study.outcomes.learned_nothing.no_better_than_guessing is not None:
        return make_note(study, [])
    scorer = find_trainable(study.trainable).untrained
    if scorer is None:
        raise RobustnessError(f"untrained networks of the trainable {study.trainable!r} cannot be scored")
    networks = chosen(plan)
    pieces = [networks[first : first + NETWORKS_AT_ONCE] for first in range(0, len(networks), NETWORKS_AT_ONCE)]
    collector = _Collector()
    terms = replace(terms_of(study), trial_timeout=None)
    executor.run((_piece(number, piece, plan, scorer) for number, piece in enumerate(pieces)), collector, terms, stop)
    if len(collector.scored) < len(pieces):
        return None
    values = [of_network for number in range(len(pieces)) for of_network in collector.scored[number]]
    cells = [f"{key.arm} {plan.configurations[key.configuration].get('initial_rho')}" for key in networks]
    return make_note(study, [Scored(cell, *of_network) for cell, of_network in zip(cells, values, strict=True)])


def chosen(plan: Plan) -> list[TrialKey]:
    """Which configuration and arm each untrained network takes; the replicate counts how often it was taken before."""
    arms = list(dict.fromkeys(trial.arm for trial in plan.trials))
    configurations = len(plan.configurations)
    of_arm = math.ceil(NETWORKS / len(arms))
    if configurations >= of_arm:
        places = [(number * configurations // of_arm, 0) for number in range(of_arm)]
    else:
        places = [(number % configurations, number // configurations) for number in range(of_arm)]
    return [TrialKey(configuration, arm, again) for configuration, again in places for arm in arms]


def _piece(number: int, networks: Sequence[TrialKey], plan: Plan, scorer: str) -> Trial:
    """A piece of work for a worker: one trial that scores several networks."""
    trials = [plan.trial(TrialKey(key.configuration, key.arm)) for key in networks]
    packed = [
        {"trial": trial, "stream": key.configuration + key.replicate * len(plan.configurations)}
        for trial, key in zip(trials, networks, strict=True)
    ]
    return replace(
        trials[0], configuration=number, arm="untrained", hyperparameters={"networks": packed}, trainable=scorer
    )


class _Collector:
    """The observer that gathers the scores of all pieces."""

    def __init__(self) -> None:
        self.scored: dict[int, list[tuple[float, float, float]]] = {}

    def started(self, key: TrialKey, attempt: int, where: Started) -> None:
        pass

    def epoch(self, key: TrialKey, result: EpochResult) -> None:
        self.scored[key.configuration] = [(a, b, centre) for a, b, centre in result.curves.values()]

    def ended(self, key: TrialKey, ending: Ending) -> None:  # noqa: ARG002
        if ending.status != "finished":
            raise RobustnessError(f"untrained networks cannot be scored: {ending.status}: {ending.error}")
