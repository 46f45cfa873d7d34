"""PED-ANOVA by Optuna, with its defaults set explicitly, since they change between releases."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import optuna
from numpy.typing import NDArray
from optuna.distributions import CategoricalDistribution, FloatDistribution
from optuna.importance import PedAnovaImportanceEvaluator


def ped_anova(
    configurations: Sequence[Mapping[str, Any]], scores: NDArray[np.float64], quantile: float
) -> dict[str, float]:
    """Return the unnormalised importance of each hyperparameter for reaching the best `quantile` of the scores [n]."""
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
        return evaluator.evaluate(study)
    finally:
        optuna.logging.set_verbosity(verbosity)


def _distribution(values: Sequence[Any]) -> Any:
    numbers = [value for value in values if isinstance(value, (int, float)) and not isinstance(value, bool)]
    if len(numbers) == len(values) and len(set(numbers)) > 10:
        low, high = float(min(numbers)), float(max(numbers))
        return FloatDistribution(low, high, log=low > 0 and high / low >= 100)
    return CategoricalDistribution(sorted({_plain(value) for value in values}, key=str))


def _value(value: Any, distribution: Any) -> Any:
    return float(value) if type(distribution).__name__ == "FloatDistribution" else _plain(value)


def _plain(value: Any) -> Any:
    return value.item() if hasattr(value, "item") else value
