"""Importance of hyperparameters for reaching the best configurations: PED-ANOVA, as Optuna computes it.

It compares the distribution of a hyperparameter among the best configurations with that among all; a hyperparameter
that only some configurations have is judged within those. Optuna's defaults are set explicitly, since they change.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

LEAST_ABOVE = 5
"""The least number of best configurations for a meaningful result."""
SMALLEST_QUANTILE = 0.1
LARGEST_QUANTILE = 0.5


@dataclass(frozen=True)
class Importance:
    """The importance of each hyperparameter, largest first, as shares that add up to 1; empty if unknown."""

    shares: Mapping[str, float]
    quantile: float
    """The share of configurations that count as the best."""
    why_not: str | None = None
    """The reason if the importance is unknown."""


def importance(configurations: Sequence[Mapping[str, Any]], scores: NDArray[np.float64]) -> Importance:
    """The importance of each hyperparameter for the scores [n]; configurations need not have the same hyperparameters.

    Numbers with more than ten different values are treated as continuous.
    """
    n = len(scores)
    quantile = max(SMALLEST_QUANTILE, LEAST_ABOVE / n) if n else 1.0
    if quantile > LARGEST_QUANTILE:
        return Importance({}, quantile, f"it takes at least {int(LEAST_ABOVE / LARGEST_QUANTILE)} configurations")
    cutoff = np.sort(scores)[::-1][int(np.ceil(quantile * n)) - 1]
    if (scores >= cutoff).mean() > LARGEST_QUANTILE:
        return Importance({}, quantile, "too many configurations tie for the best")
    # Here, because most reports have too few configurations to need Optuna.
    import optuna
    from optuna.importance import PedAnovaImportanceEvaluator

    names = dict.fromkeys(name for configuration in configurations for name in configuration)
    spread = {name: _distribution([c[name] for c in configurations if name in c]) for name in names}
    verbosity = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    try:
        study = optuna.create_study(direction="maximize", sampler=optuna.samplers.RandomSampler(seed=0))
        study.add_trials(
            [
                optuna.trial.create_trial(
                    params={name: _value(value, spread[name]) for name, value in configuration.items()},
                    distributions={name: spread[name] for name in configuration},
                    value=float(score),
                )
                for configuration, score in zip(configurations, scores, strict=True)
            ]
        )
        evaluator = PedAnovaImportanceEvaluator(target_quantile=quantile, region_quantile=1.0, evaluate_on_local=True)
        raw = evaluator.evaluate(study)
    finally:
        optuna.logging.set_verbosity(verbosity)
    whole = sum(raw.values())
    if not whole > 0:
        return Importance({}, quantile, "no hyperparameter varies among the best configurations")
    ordered = sorted(raw.items(), key=lambda item: (-item[1], item[0]))
    return Importance({name: value / whole for name, value in ordered}, quantile)


def _distribution(values: Sequence[Any]) -> Any:
    from optuna.distributions import CategoricalDistribution, FloatDistribution

    numbers = [value for value in values if isinstance(value, (int, float)) and not isinstance(value, bool)]
    if len(numbers) == len(values) and len(set(numbers)) > 10:
        low, high = float(min(numbers)), float(max(numbers))
        return FloatDistribution(low, high, log=low > 0 and high / low >= 100)
    return CategoricalDistribution(sorted({_plain(value) for value in values}, key=str))


def _value(value: Any, distribution: Any) -> Any:
    return float(value) if type(distribution).__name__ == "FloatDistribution" else _plain(value)


def _plain(value: Any) -> Any:
    return value.item() if hasattr(value, "item") else value
