"""Comparisons over tasks, simulated: how often two equal arms are told apart.

    python benchmarks/strata.py              two minutes; --studies N for other precision, --json for JSON

The score of an arm is the sum of normal effects of the task, the configuration, the configuration on the task, the
seed, and of the arm in one of these ways, whose mean is zero:

    seeds     arms differ by their seeds alone
    apart     an arm is better or worse on a configuration, anew on each task
    shared    an arm is better or worse on a configuration, alike on all tasks

A trial has the outcome if its score is above 0; the effects of tasks let that be rare on some and usual on others. Of
the three arms of a study the first two are compared, over all tasks. `unpaired` compares scores of arms that share no
configurations, in standard deviations of their task.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).parent))

from results import Result, parser, show

from robustness.statistics.independent import score_test
from robustness.statistics.tasks import Pairs, stratified_mean, stratified_test

LEVEL = 0.05
MODELS = {"seeds": (0.0, 0.0), "apart": (1.0, 0.0), "shared": (0.0, 1.0)}
"""Standard deviations of an arm's effect on a configuration: on each task anew, and alike on all."""


@dataclass(frozen=True)
class Rates:
    """The shares of studies of equal arms that are significant at 5 %."""

    model: str
    fractions: float
    scores: float


def simulated(
    rng: np.random.Generator, model: str, tasks: int, configurations: int, replicates: int
) -> NDArray[np.float64]:
    """Scores [tasks, configurations, replicates, 2 arms] of equal arms."""
    apart, shared = MODELS[model]
    scores = rng.normal(size=(tasks, 1, 1, 1)) + 0.5 * rng.normal(size=(1, configurations, 1, 1))
    scores = scores + 0.5 * rng.normal(size=(tasks, configurations, 1, 1))
    scores = scores + apart * rng.normal(size=(tasks, configurations, 1, 2))
    scores = scores + shared * rng.normal(size=(1, configurations, 1, 2))
    return scores + 0.7 * rng.normal(size=(tasks, configurations, replicates, 2))


def false_positives(studies: int, configurations: int, tasks: int, replicates: int, seed: int) -> Iterator[Rates]:
    """The rates of each model."""
    rng = np.random.default_rng(seed)
    owners = np.repeat(np.arange(configurations), replicates)
    for model in MODELS:
        by_fraction = by_score = 0
        for _ in range(studies):
            scores = simulated(rng, model, tasks, configurations, replicates).reshape(tasks, -1, 2)
            outcomes = (scores > 0).astype(float)
            tested = stratified_test([Pairs(each[:, 0], each[:, 1], owners) for each in outcomes])
            by_fraction += tested is not None and tested.p_value < LEVEL
            # The unit of a task: each configuration of each arm counts once, by the mean of its replicates.
            spreads = scores.reshape(tasks, configurations, replicates, 2).mean(axis=2).reshape(tasks, -1).std(axis=1)
            mean = stratified_mean([Pairs(e[:, 0], e[:, 1], owners) for e in scores], spreads.tolist())
            by_score += mean is not None and mean[1].p_value is not None and mean[1].p_value < LEVEL
        yield Rates(model, by_fraction / studies, by_score / studies)


def unpaired_rate(model: str, studies: int, configurations: int, tasks: int, replicates: int, seed: int) -> float:
    """The share of studies whose scores differ significantly where each equal arm has its own configurations."""
    rng = np.random.default_rng([seed, 1])
    found = 0
    for _ in range(studies):
        scores = simulated(rng, model, tasks, 2 * configurations, replicates)
        arms = np.stack([scores[:, :configurations, :, 0], scores[:, configurations:, :, 1]])
        own = arms.mean(axis=3)  # of a configuration on a task, over replicates
        scales = own.std(axis=(0, 2), ddof=1, keepdims=True)
        first, second = ((own - own.mean(axis=(0, 2), keepdims=True)) / scales).mean(axis=1)
        tested = score_test(first, second)
        found += tested is not None and tested.p_value is not None and tested.p_value < LEVEL
    return found / studies


def figures(studies: int, seed: int) -> Iterator[Result]:
    """The rates of several sizes of studies."""
    for tasks in (2, 3, 6):
        for configurations in (12, 30):
            for replicates in (1, 3):
                for rates in false_positives(studies, configurations, tasks, replicates, seed):
                    name = f"{tasks} tasks, {configurations} configurations, {replicates} replicates, {rates.model}"
                    yield Result(f"{name}: fractions", rates.fractions, "", most=0.055)
                    yield Result(f"{name}: scores", rates.scores, "", most=0.055)
                    apart = unpaired_rate(rates.model, studies, configurations, tasks, replicates, seed)
                    yield Result(f"{name}: scores, unpaired", apart, "", most=0.055)


def main() -> int:
    options = parser(__doc__)
    options.add_argument("--studies", type=int, default=4000, help="simulated studies of each case")
    options.add_argument("--seed", type=int, default=0)
    arguments = options.parse_args()
    return show(figures(arguments.studies, arguments.seed), arguments.json)


if __name__ == "__main__":
    sys.exit(main())
