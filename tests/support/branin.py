"""Branin's function as a trainable, scaled to a search space of learning rate and rho, and studies around it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from support.trainables import wait_for

from robustness.errors import Diverged
from robustness.study.loading import make_study
from robustness.study.study import Study
from robustness.trial import EpochResult, Trial

SPACE: dict[str, Any] = {
    "learning_rate": {"low": 1e-5, "high": 1e-3, "scale": "log"},
    "initial_rho": {"low": -10, "high": 0},
}
BEST = 0.397887
"""The least value of Branin's function."""


def branin(configuration: Mapping[str, Any]) -> float:
    """Branin's function over the space: [0, 1]^2 to [-5, 10] x [0, 15]."""
    u = (math.log10(configuration["learning_rate"]) + 5) / 2
    v = (float(configuration["initial_rho"]) + 10) / 10
    x, y = 15 * u - 5, 15 * v
    bowl = y - 5.1 / (4 * math.pi**2) * x**2 + 5 / math.pi * x - 6
    return bowl**2 + 10 * (1 - 1 / (8 * math.pi)) * math.cos(x) + 10


def score(configuration: Mapping[str, Any]) -> float:
    """Between 0 and 1, 1 at Branin's least value: monotone in it, as an AUC would be."""
    return math.exp(-(branin(configuration) - BEST) / 50)


def train(trial: Trial) -> Iterator[EpochResult]:
    """The best epoch is the second of three; a pre-training epoch and a later one count for nothing."""
    value = score(trial.hyperparameters)
    yield EpochResult(1, {trial.metric: 1.0}, pretraining=True)
    yield EpochResult(2, {trial.metric: value})
    yield EpochResult(3, {trial.metric: value / 2})


def train_slowly(trial: Trial) -> Iterator[EpochResult]:
    """Eight epochs, the first of pre-training, in which the score rises to its value; waits as `train_on_signal` does.

    In its last epoch but one it is a little lower, so that the best epoch is not the newest there.
    """
    if "folder" in trial.training:
        wait_for_signal(trial)
    value = score(trial.hyperparameters)
    yield EpochResult(1, {trial.metric: 1.0}, pretraining=True)
    for epoch in range(2, 9):
        yield EpochResult(epoch, {trial.metric: value * (epoch - (1.5 if epoch == 7 else 0)) / 8, "own": 1.0})


def train_with_faults(trial: Trial) -> Iterator[EpochResult]:
    """Too large a rho diverges, too large a learning rate runs out of memory."""
    if trial.hyperparameters["initial_rho"] > -3:
        raise Diverged(2, 1)
    if trial.hyperparameters["learning_rate"] > 3e-4:
        raise MemoryError
    yield from train(trial)


def train_on_signal(trial: Trial) -> Iterator[EpochResult]:
    """Waits before each run until a file of the run's number is in the folder, so that a test can kill it there."""
    wait_for_signal(trial)
    yield from train(trial)


def wait_for_signal(trial: Trial) -> None:
    folder = Path(str(trial.training["folder"]))
    (folder / f"{trial.key}.begun".replace("/", "-")).touch()
    wait_for(folder / f"{trial.key}.go".replace("/", "-"))


def branin_document(trainable: str = "train", **changes: Any) -> dict[str, Any]:
    document = {
        "name": "branin",
        "trainable": f"support.branin:{trainable}",
        "arms": ["only"],
        "space": SPACE,
        "sampling": {"seed": 0},
        "outcomes": {"learned_nothing": {"below": 0.4}, "good": {"at_least": 0.8}},
        "search": {"runs": 10},
    }
    return document | changes


def branin_study(trainable: str = "train", **changes: Any) -> Study:
    return make_study(branin_document(trainable, **changes), "branin.yaml")
