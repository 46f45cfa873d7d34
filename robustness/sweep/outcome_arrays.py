"""The judge for many trials at once: the rule of `robustness.sweep.outcomes` over arrays."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from robustness.sweep.outcomes import Judge
from robustness.trial import COUNTED


def outcomes_of(judge: Judge, status: ArrayLike, metric: ArrayLike, measured: ArrayLike = False) -> NDArray[np.object_]:
    """The outcomes [n] of trials, None for those that do not count.

    `metric` is NaN for a trial without one; it learned nothing if it diverged or was `measured` nevertheless.
    """
    metric = np.asarray(metric, dtype=float)
    outcomes = np.full(metric.shape, "between", dtype=object)
    outcomes[judge.has("good", metric)] = "good"
    outcomes[judge.has("learned_nothing", metric) | np.isnan(metric)] = "learned_nothing"
    outcomes[~counts(status, metric, measured)] = None
    return outcomes


def counts(status: ArrayLike, metric: ArrayLike, measured: ArrayLike = False) -> NDArray[np.bool_]:
    """Which trials [n] count for the fractions: finished or diverged, and with anything to judge them by."""
    status = np.asarray(status, dtype=object)
    # A trial that diverged in its first epoch has recorded nothing, and shows just that.
    scored = ~np.isnan(np.asarray(metric, dtype=float))
    counted: NDArray[np.bool_] = np.isin(status, COUNTED) & (scored | np.asarray(measured) | (status == "diverged"))
    return counted
