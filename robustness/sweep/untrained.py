"""Scoring untrained networks: the job that a sweep runs once, before its first trial, where its study asks for it."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count
from typing import Any

import numpy as np

from robustness.errors import RobustnessError
from robustness.execution.protocol import Ending, Executor, Started
from robustness.plugins import find_trainable
from robustness.study.study import Study
from robustness.sweep.chance import Scored, chance_rule, make_note
from robustness.sweep.outcomes import cell_name
from robustness.sweep.plan import Plan
from robustness.sweep.sweep import terms_of
from robustness.trial import EpochResult, Trial, TrialKey

NETWORKS, NETWORKS_OF_ARM = 200, 100
"""How many untrained networks are scored at least, altogether and of each arm."""
NETWORKS_OF_CELL, NETWORKS_OF_GAIN = 20, 50
"""How many networks a cell has at least, if its threshold is made of them, or the gain that it requires."""
NETWORKS_AT_ONCE = 5
"""How many of them are one piece of work for a worker."""
RESAMPLES = 200
"""How often patients are resampled for the gains under no learning."""
MOST_VALUES = 8
"""With more values than these the initial rho is divided into quarters."""


Tally = Callable[[int, int], None]
"""Hears how many networks have been scored, of how many."""


def untrained_note(
    study: Study, plan: Plan, executor: Executor, stop: Callable[[], bool], tally: Tally | None = None
) -> dict[str, Any] | None:
    """The scores of untrained networks and the threshold made of them, for the store; None if it was stopped."""
    scored = score_networks(study, plan, executor, stop, tally)
    return None if scored is None else make_note(study, scored.networks, scored.mixed, scored.edges)


@dataclass(frozen=True)
class ScoredNetworks:
    """The untrained networks of a study."""

    networks: list[Scored]
    mixed: int
    """How many of the first have the plan's mix of configurations; the rest were added to small cells."""
    edges: list[float] | None
    """The edges of the cells' intervals of the initial rho."""


def score_networks(
    study: Study, plan: Plan, executor: Executor, stop: Callable[[], bool], tally: Tally | None = None
) -> ScoredNetworks | None:
    """Score the untrained networks that the study's rule needs; None if it was stopped."""
    scorer = find_trainable(study.trainable).untrained
    if scorer is None:
        raise RobustnessError(f"untrained networks of the trainable {study.trainable!r} cannot be scored")
    rule = chance_rule(study)
    edges = edges_of(plan)
    mixed = chosen(plan)
    least = NETWORKS_OF_CELL if rule.no_better_than_untrained is not None else 0
    least = NETWORKS_OF_GAIN if rule.no_better_than_start is not None else least
    networks = [*mixed, *further(plan, mixed, edges, least)]
    resamples = RESAMPLES if rule.no_better_than_start is not None else 0
    pieces = [networks[first : first + NETWORKS_AT_ONCE] for first in range(0, len(networks), NETWORKS_AT_ONCE)]
    collector = _Collector([len(piece) for piece in pieces], tally)
    terms = replace(terms_of(study), trial_timeout=None)
    work = (_piece(number, piece, plan, scorer, resamples) for number, piece in enumerate(pieces))
    executor.run(work, collector, terms, stop)
    if len(collector.scored) < len(pieces):
        return None
    scored = []
    for number, piece in enumerate(pieces):
        for place, key in enumerate(piece):
            curves = collector.scored[number]
            again = tuple(curves.get(f"resampled {place}", ()))
            first, second, *_ = curves[str(place)]
            scored.append(Scored(key.arm, _cell(plan, key, edges), first, second, again))
    return ScoredNetworks(scored, len(mixed), edges)


def covers(note: Mapping[str, Any], plan: Plan) -> bool:
    """Whether a note has a threshold for every trial of the plan; one from before there were cells has."""
    cells = note.get("by_cell")
    return not cells or all(_cell(plan, trial.key, note.get("edges")) in cells for trial in plan.drawn)


def edges_of(plan: Plan) -> list[float] | None:
    """The edges between quarters of the planned initial rhos; None if they have so few values that each is a cell."""
    drawn = (configuration.get("initial_rho") for configuration in plan.configurations)
    rhos = [float(rho) for rho in drawn if rho is not None]
    if len(set(rhos)) <= MOST_VALUES:
        return None
    return [float(edge) for edge in np.quantile(rhos, (0.25, 0.5, 0.75))]


def chosen(plan: Plan) -> list[TrialKey]:
    """Which configuration and arm each untrained network takes; the replicate counts how often it was taken before."""
    arms = list(dict.fromkeys(trial.arm for trial in plan.drawn))
    configurations = len(plan.configurations)
    of_arm = max(math.ceil(NETWORKS / len(arms)), NETWORKS_OF_ARM)
    if configurations >= of_arm:
        places = [(number * configurations // of_arm, 0) for number in range(of_arm)]
    else:
        places = [(number % configurations, number // configurations) for number in range(of_arm)]
    return [TrialKey(configuration, arm, again) for configuration, again in places for arm in arms]


def further(plan: Plan, keys: Sequence[TrialKey], edges: Sequence[float] | None, least: int) -> list[TrialKey]:
    """Networks that cells with fewer than `least` get in addition, from the configurations of the cell in turn."""
    taken = set(keys)
    of_cell: dict[str, list[TrialKey]] = {}
    for trial in plan.drawn:
        if trial.replicate == 0:
            of_cell.setdefault(_cell(plan, trial.key, edges), []).append(trial.key)
    added = []
    for cell, own in of_cell.items():
        missing = least - sum(_cell(plan, key, edges) == cell for key in keys)
        if missing > 0:
            places = (key._replace(replicate=again) for again in count() for key in own)
            fresh = (key for key in places if key not in taken)
            added += [next(fresh) for _ in range(missing)]
    return added


def _cell(plan: Plan, key: TrialKey, edges: Sequence[float] | None) -> str:
    return cell_name(key.arm, plan.configurations[key.configuration].get("initial_rho"), edges)


def _piece(number: int, networks: Sequence[TrialKey], plan: Plan, scorer: str, resamples: int) -> Trial:
    """A piece of work for a worker: one trial that scores several networks."""
    trials = [plan.trial(TrialKey(key.configuration, key.arm)) for key in networks]
    packed = [
        {"trial": trial, "stream": key.configuration + key.replicate * len(plan.configurations)}
        for trial, key in zip(trials, networks, strict=True)
    ]
    work = {"networks": packed, **({"resamples": resamples} if resamples else {})}
    return replace(trials[0], configuration=number, arm="untrained", hyperparameters=work, metric="", trainable=scorer)


class _Collector:
    """The observer that gathers the scores of all pieces."""

    def __init__(self, sizes: Sequence[int], tally: Tally | None) -> None:
        self.scored: dict[int, Mapping[str, Sequence[float]]] = {}
        self._sizes, self._tally = sizes, tally

    def started(self, key: TrialKey, attempt: int, where: Started) -> None:
        pass

    def epoch(self, key: TrialKey, result: EpochResult) -> None:
        self.scored[key.configuration] = result.curves
        if self._tally is not None:
            self._tally(sum(self._sizes[number] for number in self.scored), sum(self._sizes))

    def ended(self, key: TrialKey, ending: Ending) -> None:  # noqa: ARG002
        if ending.status != "finished":
            why = (ending.error or ending.status).strip().rpartition("\n")[2]
            raise RobustnessError(f"untrained networks cannot be scored: {why}")
