"""The binomial distribution by scipy.special, since `scipy.stats` takes half a second longer to import."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import bdtrik, betainc, gammaln, xlog1py, xlogy

Floats: TypeAlias = NDArray[np.float64]


def pmf(k: ArrayLike, n: ArrayLike, p: ArrayLike) -> Floats:
    """Return P(X = k) for X ~ Binomial(n, p) and 0 <= k <= n."""
    k, n, p = _floats(k, n, p)
    ways = gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1)
    probability: Floats = np.exp(ways + xlogy(k, p) + xlog1py(n - k, -p))
    return probability


def cdf(k: ArrayLike, n: ArrayLike, p: ArrayLike) -> Floats:
    """Return P(X <= k) = I_{1 - p}(n - k, k + 1) for X ~ Binomial(n, p) and integers k; 0 below 0, 1 from n on."""
    k, n, p = _floats(k, n, p)
    inside = np.clip(k, 0.0, np.maximum(n - 1, 0.0))
    probability = np.asarray(betainc(np.maximum(n - inside, 1.0), inside + 1, 1 - p), dtype=float)
    return np.where(k < 0, 0.0, np.where(k >= n, 1.0, probability))


def sf(k: ArrayLike, n: ArrayLike, p: ArrayLike) -> Floats:
    """Return P(X > k) = I_p(k + 1, n - k) for X ~ Binomial(n, p) and integers k; 1 below 0, 0 from n on."""
    k, n, p = _floats(k, n, p)
    inside = np.clip(k, 0.0, np.maximum(n - 1, 0.0))
    probability = np.asarray(betainc(inside + 1, np.maximum(n - inside, 1.0), p), dtype=float)
    return np.where(k < 0, 1.0, np.where(k >= n, 0.0, probability))


def quantile(q: float, n: ArrayLike, p: float) -> Floats:
    """Return the smallest k with P(X <= k) >= q for X ~ Binomial(n, p)."""
    n = np.asarray(n, dtype=float)
    # The inverse is continuous; at an integer, rounding may have put it on either side.
    guess = np.where(n > 0, np.clip(np.ceil(bdtrik(q, np.maximum(n, 1.0), p)), 0.0, n), 0.0)
    lower = np.maximum(guess - 1, 0.0)
    guess = np.where(cdf(lower, n, p) >= q, lower, guess)
    least: Floats = np.where(cdf(guess, n, p) >= q, guess, np.minimum(guess + 1, n))
    return least


def _floats(*values: ArrayLike) -> tuple[Floats, ...]:
    return tuple(np.asarray(value, dtype=float) for value in values)
