"""What a trial must beat to have learned anything: guesses, untrained networks, or its own start.

The note that the store keeps has the threshold of the study's rule and, whatever the rule, the scores of untrained
networks, so that the report can say how many of those it would pass. A trial is judged by the best (or last) of its
evaluations, and so is an untrained network: with weight noise each of its evaluations comes out differently. Evaluating
each as often as a trial would cost as much as the sweep, so each is evaluated twice, with as many draws of the weights
as trials are, and the rest follows from the two:

    score = centre + sd max(z_1 .. z_E),    z_e ~ N(0, 1),    sd^2 = mean over the cell of (a_1 - a_2)^2 / 2

a_1, a_2: the metric of each evaluation; centre: their mean, drawn towards its cell's mean by as much as its own noise
widens it. A cell is an arm and an initial rho. Whatever the rule, no threshold is below that of guesses
(`robustness.sweep.guessing`), which is the luck of a finite validation set.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from robustness.metrics import find_metric, metric_function
from robustness.streams import NO_REPLICATE, Streams
from robustness.study.outcome_sections import LearnedNothing
from robustness.study.study import Study
from robustness.sweep.chance_points import CellPoint, Floats, cell_points
from robustness.sweep.gains import gain_point
from robustness.sweep.guessing import Guesses, guess
from robustness.tasks import load_task


@dataclass(frozen=True)
class Scored:
    """One untrained network: the metric of each of two evaluations, and of the first on resampled patients."""

    arm: str
    cell: str
    first: float
    second: float
    resampled: tuple[float, ...] = ()


def make_note(
    study: Study, scored: Sequence[Scored], mixed: int = 0, edges: Sequence[float] | None = None
) -> dict[str, Any]:
    """The note that the store keeps: thresholds for both ways of judging, the study's own in front.

    The first `mixed` networks have the mix of configurations that the plan has; more were added to small cells. `edges`
    are those of the cells' intervals of the initial rho.
    """
    evaluations = counted_epochs(study)
    level = _level(study)
    guesses = _guesses(study, 1 - (1 - level) ** (1 / evaluations))
    summaries = {name: _summary(study, scored, guesses, name) for name in ("best", "last")}
    return {
        "level": level,
        "arms": [network.arm for network in scored],
        "cells": [network.cell for network in scored],
        "mixed": mixed,
        "edges": None if edges is None else list(edges),
        "folded": _is_folded(study),
        "starts": [network.first for network in scored],
        **summaries[study.outcomes.epoch],
        "summaries": summaries,
    }


def _summary(study: Study, scored: Sequence[Scored], guesses: Guesses, summary: str) -> dict[str, Any]:
    """The threshold of trials that are judged by their best or by their last evaluation, and what it was made of."""
    evaluations = counted_epochs(study)
    judged = evaluations if summary == "best" else 1
    level = _level(study)
    luck = guesses.point(level, judged)
    note: dict[str, Any] = {
        "summary": summary,
        "evaluations": evaluations,
        "scores": [],
        "permutation": luck.as_note(),
        "threshold": luck.value,
    }
    if not scored:
        return note
    streams = Streams(study.seed, 0, NO_REPLICATE)
    scores = extrapolated(scored, judged, streams.numpy("diagnostics"))
    note["scores"] = scores.tolist()
    note["networks"] = {"count": len(scored), "evaluations": 2}
    rule = chance_rule(study)
    if rule.no_better_than_untrained is not None:
        cells, arms = [network.cell for network in scored], [network.arm for network in scored]
        floor = CellPoint(luck.value, luck.low, luck.high, 0)
        points = cell_points(scores, cells, arms, level, streams.numpy("diagnostics", 2))
        by_cell = {cell: point.at_least(floor) for cell, point in points.items()}
        note["threshold"] = min(point.value for point in by_cell.values())
    elif rule.no_better_than_start is not None:
        by_cell = _gains(study, scored, judged, streams)
    else:
        return note
    note["by_cell"] = {cell: point.as_note() for cell, point in by_cell.items()}
    return note


def _gains(study: Study, scored: Sequence[Scored], evaluations: int, streams: Streams) -> dict[str, CellPoint]:
    """The gain that each cell requires."""
    points = {}
    for cell in dict.fromkeys(network.cell for network in scored):
        own = [network for network in scored if network.cell == cell]
        scores = np.array([network.first for network in own])
        resampled = np.array([network.resampled for network in own])
        # The same random pairs for every cell: a cell's gain does not depend on which others there are.
        points[cell] = gain_point(
            scores,
            np.where(np.isnan(resampled), scores[:, None], resampled),
            evaluations,
            _level(study),
            _is_folded(study),
            lambda number: streams.numpy("diagnostics", 3, number),
        )
    return points


def chance_rule(study: Study) -> LearnedNothing:
    """The rule of a study that measures what chance scores."""
    if study.outcomes.learned_nothing is None:
        raise ValueError(f"the study {study.name!r} has no thresholds")
    return study.outcomes.learned_nothing


def _is_folded(study: Study) -> bool:
    """Whether a metric below 1/2 is as far from chance as the same distance above it."""
    return find_metric(study.outcomes.metric).chance == 0.5 or load_task(study.task).classes == 2


def _level(study: Study) -> float:
    """The share of untrained networks, or of guesses, that the threshold leaves above it."""
    return chance_rule(study).level or 0.01


def counted_epochs(study: Study) -> int:
    """How many epochs of a trial count: those after pre-training that have the metric."""
    first, last = int(study.training["pretrain_epochs"]) + 1, int(study.training["epochs"])
    if study.outcomes.metric.startswith("training_"):
        # Measured at the last epoch alone.
        return 1
    every = 1 if study.outcomes.metric.startswith("train_") else int(study.training.get("evaluate_every", 1))
    return len({*range(first, last + 1)} & {*range(every, last + 1, every), last})


def extrapolated(scored: Sequence[Scored], evaluations: int, generator: np.random.Generator) -> Floats:
    """The score of each network as if it had been evaluated so often, best taken; shape [networks]."""
    first, second = (np.array([getattr(network, name) for network in scored]) for name in ("first", "second"))
    if evaluations == 1:
        return first
    scores = (first + second) / 2
    luck = generator.standard_normal((len(scored), evaluations)).max(axis=1)
    cells = np.array([network.cell for network in scored])
    for cell in dict.fromkeys(cells.tolist()):
        here = cells == cell
        variance = float(np.mean((first[here] - second[here]) ** 2)) / 2
        if variance == 0:
            continue
        mean, spread = float(scores[here].mean()), float(scores[here].var())
        if spread > 0:
            kept = math.sqrt(max(spread - variance / 2, 0.0) / spread)
            scores[here] = mean + kept * (scores[here] - mean)
        scores[here] += math.sqrt(variance) * luck[here]
    clipped: Floats = np.clip(scores, 0.0, 1.0)
    return clipped


def _guesses(study: Study, extreme: float) -> Guesses:
    """Random guesses of the images that the study's metric is about."""
    data = load_task(study.task)
    split = data.train if study.outcomes.metric.startswith(("train_", "training_")) else data.validation
    generator = Streams(study.seed, 0, NO_REPLICATE).numpy("diagnostics", 1)
    return guess(split.labels, split.patients, metric_function(study.outcomes.metric), extreme, generator)


def upper_quantile(values: Sequence[float], level: float) -> float:
    """Return the smallest of the values that at most a share `level` of them exceeds."""
    return float(np.quantile(np.asarray(values, dtype=float), 1 - level, method="inverted_cdf"))
