"""A mean with its standard error."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike


def mean_with_error(values: ArrayLike) -> dict[str, float | None]:
    """The `mean` of values [n] and its `standard_error`, s / sqrt(n) with s unbiased; None for a single one."""
    given = np.asarray(values, dtype=float)
    error = float(np.std(given, ddof=1) / math.sqrt(len(given))) if len(given) > 1 else None
    return {"mean": float(given.mean()), "standard_error": error}
