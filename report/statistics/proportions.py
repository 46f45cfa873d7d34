"""A fraction and how sure one can be of it."""

from __future__ import annotations

from scipy.stats import binomtest


def wilson(successes: int, trials: int, level: float = 0.95) -> tuple[float, float]:
    """Wilson's score interval for a fraction; (0, 1) where there are no trials."""
    if trials == 0:
        return 0.0, 1.0
    interval = binomtest(successes, trials).proportion_ci(confidence_level=level, method="wilson")
    return float(interval.low), float(interval.high)
