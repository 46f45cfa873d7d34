"""The judge for many trials at once: the rule of `robustness.sweep.outcomes` over arrays."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robustness.sweep.outcomes import Judge
from robustness.trial import COUNTED


def outcomes_of(
    judge: Judge,
    status: ArrayLike,
    metric: ArrayLike,
    measured: ArrayLike = False,
    threshold: ArrayLike | None = None,
) -> NDArray[np.object_]:
    """The outcomes [n] of trials, None for those that do not count.

    `metric` is NaN for a trial without one; it learned nothing if it diverged or was `measured` nevertheless.
    `threshold` [n] is each trial's own, where they differ (`thresholds_of`).
    """
    metric = np.asarray(metric, dtype=float)
    limit = None if threshold is None else np.asarray(threshold, dtype=float)
    outcomes = np.full(metric.shape, "between", dtype=object)
    outcomes[judge.has("good", metric, limit)] = "good"
    outcomes[judge.has("learned_nothing", metric, limit) | np.isnan(metric)] = "learned_nothing"
    outcomes[~counts(status, metric, measured)] = None
    return outcomes


def thresholds_of(
    judge: Judge, arms: Iterable[str], rhos: Iterable[object], starts: Iterable[float]
) -> NDArray[np.float64]:
    """The threshold of each trial [n] by its arm, initial rho (None if it has none) and start (NaN if unknown)."""
    trials = zip(arms, rhos, starts, strict=True)
    return np.array([judge.threshold(arm, rho, start) for arm, rho, start in trials], dtype=np.float64)


def counts(status: ArrayLike, metric: ArrayLike, measured: ArrayLike = False) -> NDArray[np.bool_]:
    """Which trials [n] count for the fractions: finished or diverged, and with anything to judge them by."""
    status = np.asarray(status, dtype=object)
    # A trial that diverged in its first epoch has recorded nothing, and shows just that.
    scored = ~np.isnan(np.asarray(metric, dtype=float))
    counted: NDArray[np.bool_] = np.isin(status, COUNTED) & (scored | np.asarray(measured) | (status == "diverged"))
    return counted
