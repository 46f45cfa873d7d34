"""How well untrained networks score: what a trial must beat to have learned anything.

At least 200 untrained networks, spread over the planned configurations and arms, are scored on the validation set. A
trial is judged by the best (or last) of its evaluations, and so is an untrained network: with weight noise each of its
evaluations comes out differently. To evaluate each as often as a trial has epochs would cost as much as the sweep, so
each is drawn twice, and the rest follows from the two:

    score = centre + sd max(z_1 .. z_E),    z_e ~ N(0, 1),    sd^2 = mean over the cell of (a_1 - a_2)^2 / 2

a_1, a_2: the metric of each draw alone; centre: of their mean, drawn towards its cell's mean by as much as its own
noise widens it. A cell is an arm and an initial rho. The sd of a single draw bounds that of an evaluation with more
draws from above. The second threshold permutes labels between patients: the luck of a finite validation set. A study
may ask for that one alone (`no_better_than_guessing`): on real pictures an untrained network can happen to see what
tells the classes apart, such as brightness, and the best of 99 % of such networks may be more than can be learned.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robustness.metrics import metric_function
from robustness.streams import NO_REPLICATE, Streams
from robustness.study.study import Study
from robustness.tasks import load_task

SCORINGS = 20_000
"""How many random scorings the permutations make, in groups of as many as a trial has evaluations."""


@dataclass(frozen=True)
class Scored:
    """One untrained network: the metric of each of two draws, and of their mean."""

    cell: str
    first: float
    second: float
    centre: float


def make_note(study: Study, scored: Sequence[Scored]) -> dict[str, Any]:
    """The note that the store keeps: thresholds for both ways of judging, the study's own in front."""
    summaries = {name: _summary(study, scored, name) for name in ("best", "last")}
    return {
        "level": _level(study),
        "cells": [network.cell for network in scored],
        **summaries[study.outcomes.epoch],
        "summaries": summaries,
    }


def _summary(study: Study, scored: Sequence[Scored], summary: str) -> dict[str, Any]:
    """The threshold of trials that are judged by their best or by their last evaluation, and what it was made of."""
    evaluations = counted_epochs(study)
    judged = evaluations if summary == "best" else 1
    streams = Streams(study.seed, 0, NO_REPLICATE)
    lucky = permuted(study, judged, streams.numpy("diagnostics", 1))
    of_luck = float(np.quantile(lucky, 1 - _level(study)))
    note: dict[str, Any] = {
        "summary": summary,
        "evaluations": evaluations,
        "scores": [],
        "permutation": {"count": len(lucky), "point": of_luck},
        "threshold": of_luck,
    }
    if scored:
        scores = extrapolated(scored, judged, streams.numpy("diagnostics"))
        of_networks = float(np.quantile(scores, 1 - _level(study)))
        note["scores"] = [float(score) for score in scores]
        note["networks"] = {"count": len(scored), "draws": 2, "point": of_networks}
        note["threshold"] = max(of_networks, of_luck)
    return note


def _level(study: Study) -> float:
    """The share of untrained networks, or of guesses, that the threshold leaves above it."""
    return study.outcomes.learned_nothing.level or 0.01


def counted_epochs(study: Study) -> int:
    """How many epochs of a trial count."""
    return int(study.training["epochs"]) - int(study.training["pretrain_epochs"])


def extrapolated(scored: Sequence[Scored], evaluations: int, generator: np.random.Generator) -> NDArray[np.float64]:
    """The score of each network as if it had been evaluated so often, best taken; shape [networks]."""
    scores = np.array([network.centre for network in scored])
    luck = np.zeros(len(scored))
    if evaluations > 1:
        luck = generator.standard_normal((len(scored), evaluations)).max(axis=1)
    cells = np.array([network.cell for network in scored])
    for cell in dict.fromkeys(cells):
        here = cells == cell
        pairs = [(n.first, n.second) for n, inside in zip(scored, here, strict=True) if inside]
        variance = float(np.mean([(first - second) ** 2 for first, second in pairs])) / 2
        if variance == 0:
            continue
        mean, spread = float(scores[here].mean()), float(scores[here].var())
        if evaluations > 1 and spread > 0:
            kept = math.sqrt(max(spread - variance / 2, 0.0) / spread)
            scores[here] = mean + kept * (scores[here] - mean)
        scores[here] += math.sqrt(variance) * luck[here]
    clipped: NDArray[np.float64] = np.clip(scores, 0.0, 1.0)
    return clipped


def permuted(study: Study, evaluations: int, generator: np.random.Generator) -> NDArray[np.float64]:
    """The best of so many scorings that know nothing, labels permuted between patients; shape [groups]."""
    split = load_task(study.task).validation
    groups = min(max(SCORINGS // evaluations, 200), 1000)
    metric = metric_function(study.outcomes.metric)
    return best_of_permuted(split.labels, split.patients, evaluations, groups, metric, generator)


def best_of_permuted(
    labels: NDArray[np.int64],
    patients: NDArray[np.int64],
    evaluations: int,
    repeats: int,
    metric: Callable[[NDArray[np.int64], NDArray[Any]], float],
    generator: np.random.Generator,
) -> NDArray[np.float64]:
    """The best metric of `evaluations` permutations, found so many times; shape [repeats].

    The labels of a patient stay together and go to another patient with as many pictures; the scores are random for
    each patient, the same for all pictures of one: the worst that pictures which look alike can do.
    """
    _, patient, sizes = np.unique(patients, return_inverse=True, return_counts=True)
    classes = int(labels.max()) + 1
    order = np.argsort(patient, kind="stable")
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    groups = [np.flatnonzero(sizes == size) for size in np.unique(sizes)]
    values = np.empty((repeats, evaluations))
    for row in range(repeats):
        for column in range(evaluations):
            drawn = generator.random((len(sizes), classes))
            given = labels.copy()
            for group in groups:
                to = generator.permutation(group)
                places = starts[group][:, None] + np.arange(sizes[group[0]])
                given[order[places]] = labels[order[starts[to][:, None] + np.arange(sizes[group[0]])]]
            values[row, column] = metric(given, (drawn / drawn.sum(1, keepdims=True))[patient])
    best: NDArray[np.float64] = values.max(axis=1)
    return best


def upper_point(values: Sequence[float], level: float) -> float:
    """Return the smallest of the values that at most a share `level` of them exceeds."""
    return float(np.quantile(np.asarray(values, dtype=float), 1 - level, method="inverted_cdf"))
