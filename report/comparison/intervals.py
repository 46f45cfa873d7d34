"""A mean with its interval, as entries of the results have them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from robustness.statistics.proportions import Interval


def estimate(values: NDArray[np.float64], interval: Interval) -> tuple[float | None, float | None, float | None, str]:
    """The mean, with the ends and the method of its interval; None without any values."""
    if len(values) == 0:
        return None, None, None, interval.method
    return float(np.mean(values)), interval.low, interval.high, interval.method
