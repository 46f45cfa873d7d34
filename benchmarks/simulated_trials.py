"""A trainable for benchmarks that does nothing and does not import torch."""

from __future__ import annotations

from collections.abc import Iterator

from robustness.trial import EpochResult, Trial


def empty(trial: Trial) -> Iterator[EpochResult]:
    """A single epoch that takes no time."""
    yield EpochResult(1, {trial.metric: 0.5})


def trials(count: int) -> Iterator[Trial]:
    """`count` empty trials."""
    return (Trial("benchmark", 0, number, "arm", trainable="simulated_trials:empty") for number in range(count))
