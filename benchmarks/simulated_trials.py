"""Trainables for benchmarks that do nothing and do not import torch."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterator

from robustness.trial import EpochResult, Trial


def empty(trial: Trial) -> Iterator[EpochResult]:
    """A single epoch that takes no time."""
    yield EpochResult(1, {trial.metric: 0.5})


def short(trial: Trial) -> Iterator[EpochResult]:
    """A few epochs of `training.pause` seconds, whose scores depend on nothing but the trial."""
    for epoch in range(1, int(trial.training["epochs"]) + 1):
        time.sleep(float(trial.training["pause"]))
        words = (trial.seed, trial.configuration, trial.arm, trial.replicate, epoch, *trial.hyperparameters.values())
        digest = hashlib.sha256("/".join(map(str, words)).encode()).digest()
        score = int.from_bytes(digest[:6], "little") / 2**48
        yield EpochResult(epoch, {trial.metric: score, "loss": 1 - score}, curves={"steps": [score, 1 - score]})


def busy(trial: Trial) -> Iterator[EpochResult]:
    """Epochs of `training.steps` steps that keep the processor busy."""
    for epoch in range(1, int(trial.training["epochs"]) + 1):
        total = 0
        for step in range(int(trial.training["steps"])):
            total += step * step % 7
        digest = hashlib.sha256(f"{trial.configuration}/{trial.arm}/{epoch}/{total}".encode()).digest()
        yield EpochResult(epoch, {trial.metric: digest[0] / 256, "loss": 1.0})


def trials(count: int) -> Iterator[Trial]:
    """`count` empty trials."""
    return (Trial("benchmark", 0, number, "arm", trainable="simulated_trials:empty") for number in range(count))
