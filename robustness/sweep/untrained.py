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
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from robustness.errors import RobustnessError
from robustness.execution.protocol import Ending, Executor, Started
from robustness.metrics import find_metric
from robustness.streams import Streams
from robustness.trial import EpochResult, Trial, TrialKey

if TYPE_CHECKING:
    from robustness.study.study import Study
    from robustness.sweep.plan import Plan
    from robustness.trainables.classification.batches import Pictures

NETWORKS = 200
"""How many untrained networks are scored, at least."""
NETWORKS_AT_ONCE = 5
"""How many of them are one piece of work for a worker."""
SCORINGS = 20_000
"""How many random scorings the permutations make, in groups of as many as a trial has evaluations."""
SCORER = "robustness.sweep.untrained:score"
REPLICATE = -1
"""The replicate of an untrained network in the keys of random streams: none of a trial's."""


@dataclass(frozen=True)
class Scored:
    """One untrained network: the metric of each of two draws, and of their mean."""

    cell: str
    first: float
    second: float
    centre: float


def untrained_note(study: Study, plan: Plan, executor: Executor, stop: Callable[[], bool]) -> dict[str, Any] | None:
    """The scores of untrained networks and the threshold made of them, for the store; None if it was stopped."""
    from robustness.sweep.sweep import terms_of

    if study.outcomes.learned_nothing.no_better_than_guessing is not None:
        return make_note(study, [])
    networks = chosen(plan)
    pieces = [networks[first : first + NETWORKS_AT_ONCE] for first in range(0, len(networks), NETWORKS_AT_ONCE)]
    collector = _Collector()
    terms = replace(terms_of(study), trial_timeout=None)
    executor.run((_piece(number, piece, plan) for number, piece in enumerate(pieces)), collector, terms, stop)
    if len(collector.scored) < len(pieces):
        return None
    values = [of_network for number in range(len(pieces)) for of_network in collector.scored[number]]
    cells = [f"{key.arm} {plan.configurations[key.configuration].get('initial_rho')}" for key in networks]
    return make_note(study, [Scored(cell, *of_network) for cell, of_network in zip(cells, values, strict=True)])


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
    streams = Streams(study.seed, 0, REPLICATE)
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


def _piece(number: int, networks: Sequence[TrialKey], plan: Plan) -> Trial:
    """A piece of work for a worker: one trial that scores several networks."""
    trials = [plan.trial(TrialKey(key.configuration, key.arm)) for key in networks]
    packed = [
        {"trial": trial, "stream": key.configuration + key.replicate * len(plan.configurations)}
        for trial, key in zip(trials, networks, strict=True)
    ]
    return replace(
        trials[0], configuration=number, arm="untrained", hyperparameters={"networks": packed}, trainable=SCORER
    )


def score(piece: Trial) -> Iterator[EpochResult]:
    """The trainable behind the scoring: one `EpochResult` with the curves of all networks of a piece."""
    scored = [_score(packed["trial"], packed["stream"]) for packed in piece.hyperparameters["networks"]]
    yield EpochResult(1, {"networks": len(scored)}, curves={str(i): values for i, values in enumerate(scored)})


def _score(trial: Trial, stream: int) -> list[float]:
    import torch

    from robustness.bnn.ensemble import Ensemble
    from robustness.methods import find_method, read_method_options
    from robustness.methods.method import Setting
    from robustness.tasks import load_task
    from robustness.trainables.classification.noise import StreamNoise
    from robustness.trainables.classification.training import pick_device, training_options
    from robustness.trainables.models import blueprint

    options = training_options(trial.training)
    device = pick_device(options.device)
    data = load_task(trial.task)
    streams = Streams(trial.seed, stream, REPLICATE)
    shape = blueprint(trial.model, data.channels, data.classes)
    own = read_method_options(trial.method, trial.method_options)
    setting = Setting(shape, trial.hyperparameters, own, options, streams)
    ensemble = Ensemble(find_method(trial.method).members(setting)).to(device)
    batches = _batches(_Task(trial.task), options.evaluation_batch_size, str(device))
    draws = []
    with torch.inference_mode():
        for draw in range(2 if ensemble.random else 1):
            weights = ensemble.sample(1, StreamNoise(streams, (draw,), "evaluation", device))
            logits = torch.cat([ensemble.logits(batch, weights) for batch in batches], dim=1)
            draws.append(logits.softmax(-1).mean(0).float().cpu().numpy())
    metric = measure(trial.metric)
    labels = data.validation.labels
    alone = [metric(labels, draw) for draw in draws]
    return [alone[0], alone[-1], metric(labels, np.mean(draws, axis=0))]


class _Task:
    """A task's options as the key of a cache."""

    def __init__(self, options: Mapping[str, Any]) -> None:
        self.options = options
        self._key = repr(sorted(options.items()))

    def __hash__(self) -> int:
        return hash(self._key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Task) and self._key == other._key


class _Batches:
    """The validation set in normalised batches, made once if they are small, and again each time if not."""

    def __init__(self, pictures: Pictures, size: int) -> None:
        self._pictures = pictures
        self._slices = [slice(start, start + size) for start in range(0, len(pictures), size)]
        small = pictures.images.numel() <= 2**25
        self._made = [pictures.batch(part) for part in self._slices] if small else None

    def __iter__(self) -> Iterator[Any]:
        return iter(self._made) if self._made is not None else map(self._pictures.batch, self._slices)


@lru_cache(maxsize=1)
def _batches(task: _Task, size: int, device: str) -> _Batches:
    import torch

    from robustness.tasks import load_task
    from robustness.trainables.classification.batches import Pictures

    data = load_task(task.options)
    return _Batches(Pictures.of(data, data.validation, torch.device(device)), size)


def measure(metric: str) -> Callable[[NDArray[np.int64], NDArray[Any]], float]:
    """The function of labels [n] and mean probabilities [n, classes] behind a study's metric."""
    function = find_metric(metric).function
    if function is None:
        raise RobustnessError(f"untrained networks cannot be scored by {metric!r}: it is not a built-in metric")
    return function


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
    from robustness.tasks import load_task

    split = load_task(study.task).validation
    groups = min(max(SCORINGS // evaluations, 200), 1000)
    metric = measure(study.outcomes.metric)
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
