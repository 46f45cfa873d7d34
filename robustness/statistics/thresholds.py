"""Where chance ends: the upper points of what untrained networks, or permuted labels, score."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


def upper_point(values: Sequence[float], level: float) -> float:
    """The smallest of the values that at most a share `level` of them exceeds."""
    return float(np.quantile(np.asarray(values, dtype=float), 1 - level, method="inverted_cdf"))
