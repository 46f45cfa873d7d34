"""Student's interval of a statistic from its values without each configuration in turn (Tukey 1958).

With T the statistic of all n configurations and T_(i) that without configuration i, on a scale g on which its
distribution is closer to normal, the pseudo-values are n g(T) - (n - 1) g(T_(i)), and their standard error

    s^2 = (n - 1) / n sum_i (g(T_(i)) - mean g(T_(.)))^2

is on average not too small (Efron and Stein 1981). Its degrees of freedom are Satterthwaite's: with
h_i = g(T_(i)) - mean, 2 / (sum h_i^4 / (sum h_i^2)^2 - 1 / n), at most n - 1, so that an error that rests on a few
configurations is not taken for known.
"""

from __future__ import annotations

import math
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit, stdtrit

from robustness.statistics.proportions import LEVEL, Interval

Floats: TypeAlias = NDArray[np.float64]
METHOD = "jackknife"


def satterthwaite(influence: Floats) -> float:
    """The degrees of freedom above for values h_i [n] about zero."""
    n, squares = len(influence), influence**2
    excess = float((squares**2).sum()) / float(squares.sum()) ** 2 - 1 / n
    return n - 1.0 if excess <= 0 else max(1.0, min(n - 1.0, 2 / excess))


def without_each(n: int) -> Floats:
    """Weights [n, n] of the samples without one of n configurations each."""
    return 1.0 - np.eye(n)


def jackknife_interval(whole: float, without: Floats, scale: Literal["identity", "logit"]) -> Interval | None:
    """The interval of a statistic from its values `without` [n] each configuration.

    None where the scale does not exist, as that of a share of 0 or 1; then another method is called for.
    """
    if scale == "logit":
        if not 0 < whole < 1 or without.min() <= 0 or without.max() >= 1:
            return None
        whole, without = float(logit(whole)), logit(without)
    n = len(without)
    influence = without - without.mean()
    error = math.sqrt((n - 1) / n * float((influence**2).sum()))
    if error <= 1e-12 * max(1.0, abs(whole)):
        return None
    half = float(stdtrit(satterthwaite(influence), (1 + LEVEL) / 2)) * error
    ends = np.array([whole - half, whole + half])
    low, high = (expit(ends) if scale == "logit" else ends).tolist()
    return Interval(low, high, METHOD)
