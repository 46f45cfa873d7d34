"""A mean with its standard error."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike


def mean_with_error(values: ArrayLike) -> dict[str, float | None]:
    """Return the `mean` of values [n] and its `standard_error` s / sqrt(n), s unbiased; None for a single value."""
    sample = np.asarray(values, dtype=float)
    error = float(np.std(sample, ddof=1) / math.sqrt(len(sample))) if len(sample) > 1 else None
    return {"mean": float(sample.mean()), "standard_error": error}
