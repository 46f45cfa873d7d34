"""A mean with its standard error, or with Student's interval."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from robustness.statistics.proportions import LEVEL


def mean_with_error(values: ArrayLike) -> dict[str, float | None]:
    """Return the `mean` of values [n] and its `standard_error` s / sqrt(n), s unbiased; None for a single value."""
    sample = np.asarray(values, dtype=float)
    error = float(np.std(sample, ddof=1) / math.sqrt(len(sample))) if len(sample) > 1 else None
    return {"mean": float(sample.mean()), "standard_error": error}


def student_interval(values: NDArray[np.float64], level: float = LEVEL) -> tuple[float | None, float | None]:
    """Return Student's interval of the mean of values [n]; None, None for fewer than two."""
    n = len(values)
    if n < 2:
        return None, None
    half = float(stats.t.ppf((1 + level) / 2, n - 1) * values.std(ddof=1) / math.sqrt(n))
    return float(values.mean()) - half, float(values.mean()) + half
