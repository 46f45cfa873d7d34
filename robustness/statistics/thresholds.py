"""Thresholds above chance: upper quantiles of the scores of untrained networks or permuted labels."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


def upper_point(values: Sequence[float], level: float) -> float:
    """The 1 - `level` quantile: the smallest value that at most a share `level` of them exceeds."""
    return float(np.quantile(np.asarray(values, dtype=float), 1 - level, method="inverted_cdf"))
