"""Trainables of the benchmarks: one that does nothing, without torch."""

from __future__ import annotations

from collections.abc import Iterator

from robustness.trial import EpochResult, Trial


def empty(trial: Trial) -> Iterator[EpochResult]:
    """One epoch, at once."""
    yield EpochResult(1, {trial.metric: 0.5})


def trials(count: int) -> Iterator[Trial]:
    """So many empty trials."""
    return (Trial("benchmark", 0, number, "arm", trainable="simulated_trials:empty") for number in range(count))
