"""Differences of two arms whose figures are nested: models within searches within arms, all scored on one test set.

Model m of search k of arm a scores

    y_akm = mu_a + search_ak + model_akm + what the drawn test set adds,

and the question is about mu_1 - mu_2: what the arms reach on average over searches, trainings and test sets. An arm's
mean is the mean over its K_a searches of their means over models, so every search has the same weight. The difference
of two arms' means has the variance V + V_images. For the searches, V = V_1 + V_2 with

    V_a = s_a^2 / K_a,      degrees of freedom  f = V^2 / (V_1^2 / (K_1 - 1) + V_2^2 / (K_2 - 1)),

where s_a^2 is the variance of the arm's K_a search means (n - 1 in the denominator). Its expectation is the variance
between searches plus that of the mean over a search's models, so variation between models is already in it. The search
is the unit that was repeated, and f is Welch's and Satterthwaite's. V_images is the variance of the difference over
resamples of patients, the same patients for both arms, with the models as they are; it counts as known. The interval is

    difference -+ sqrt(t^2 V + z^2 V_images)

with the quantiles t of Student's distribution with f degrees of freedom and z of the normal distribution: Welch's
interval if the test set adds nothing, the normal one if the searches do not. The p-value is the level at which the
interval just reaches zero. (Student's interval with the degrees of freedom of V + V_images is shorter, but with two or
three searches covers too little if one arm varies far more than the other, which is what a study is about: its few
searches may happen to agree, and then it counts as nearly known.) `benchmarks/searches.py` measures the coverage.

An arm with one search has V_a = s^2 / r with r - 1 degrees of freedom for its r models, or nothing for a single model.
The interval is then about models of that search's winner and leaves out what another search would have changed; it is
Student's with the variance V + V_images and the degrees of freedom

    (V + V_images)^2 / (V_1^2 / f_1 + V_2^2 / f_2).

An ensemble and the arm whose models it consists of share their searches. They are compared search by search: V_1 + V_2
becomes s^2 / K for the K differences of search means, with K - 1 degrees of freedom.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special
from scipy.optimize import brentq

from robustness.statistics.proportions import LEVEL

SMALLEST = 1e-30
"""A p-value below this is given as this."""
Figures: TypeAlias = Mapping[int, Sequence[float]]
"""For each search of an arm the figures of its models."""


@dataclass(frozen=True)
class Difference:
    """Difference of two arms' means, with its confidence interval and p-value."""

    difference: float
    low: float
    high: float
    p_value: float
    degrees_of_freedom: float
    """Of the variation between searches or, if an arm has one search, of the whole difference; may be infinite."""
    pictures_error: float
    """Standard error over resamples of patients, with the models fixed."""
    models_error: float
    """Standard error between models of a search; NaN if a search of either arm has a single model."""
    searches_error: float
    """Standard error between searches, which contains that between models; NaN if an arm has a single search."""


def search_means(figures: Figures) -> NDArray[np.float64]:
    """The mean over the models of each search, [searches]."""
    return np.array([np.mean(models) for models in figures.values()], dtype=float)


def arm_mean(figures: Figures) -> float:
    """The mean of the search means."""
    return float(search_means(figures).mean())


def model_weights(searches: ArrayLike) -> NDArray[np.float64]:
    """The weight of each model in its arm's mean, from the search of each, [models]: every search counts the same."""
    _, place, models = np.unique(np.asarray(searches), return_inverse=True, return_counts=True)
    weights: NDArray[np.float64] = 1.0 / (len(models) * models[place])
    return weights


def between_searches(figures: Figures) -> float:
    """Standard error of an arm's mean between searches, sd / sqrt(searches); NaN for fewer than two."""
    means = search_means(figures)
    return float(means.std(ddof=1) / math.sqrt(len(means))) if len(means) > 1 else math.nan


def between_models(figures: Figures) -> float:
    """Standard error of an arm's mean between models of the same search; NaN if a search has fewer than two.

    sqrt(sum of s_k^2 / r_k) / K for the r_k models of each of K searches.
    """
    parts = [
        float(np.var(models, ddof=1)) / len(models) if len(models) > 1 else math.nan for models in figures.values()
    ]
    return math.sqrt(math.fsum(parts)) / len(parts)


def difference_of_arms(
    first: Figures, second: Figures, resampled: ArrayLike, shared: bool = False, level: float = LEVEL
) -> Difference:
    """Mean of the first arm minus that of the second; patients, models and searches are random.

    `resampled` are the differences of the arms' means over resamples of patients. With `shared`, both arms come from
    the same searches, as an ensemble and its members do.
    """
    samples: NDArray[np.float64] = np.asarray(resampled, dtype=float)
    samples = samples[np.isfinite(samples)]
    images = float(samples.std(ddof=1)) if len(samples) > 1 else math.nan
    difference = arm_mean(first) - arm_mean(second)
    if shared and len(first) > 1 and list(first) == list(second):
        gaps = search_means(first) - search_means(second)
        parts = [(float(gaps.var(ddof=1)) / len(gaps), len(gaps) - 1)]
        searches = math.sqrt(parts[0][0])
    else:
        parts = [part for arm in (first, second) if (part := _variance(arm)) is not None]
        searches = math.hypot(between_searches(first), between_searches(second))
    models = math.hypot(between_models(first), between_models(second))
    variance = math.fsum(part for part, _ in parts)
    if not math.isfinite(difference + images + variance) or images + variance <= 0:
        return Difference(difference, math.nan, math.nan, math.nan, math.nan, images, models, searches)
    repeated = min(len(first), len(second)) > 1
    student, normal = (variance, images**2) if repeated else (variance + images**2, 0.0)
    denominator = math.fsum(part**2 / freedom for part, freedom in parts)
    freedom = student**2 / denominator if denominator > 0 else math.inf
    width = partial(_half_width, math.sqrt(student), freedom, math.sqrt(normal))
    half = width(1 - level)
    p_value = _level_reaching(abs(difference), width)
    return Difference(difference, difference - half, difference + half, p_value, freedom, images, models, searches)


def _half_width(student: float, freedom: float, normal: float, tails: float) -> float:
    """Half of the interval that leaves out this probability, from two errors with their own quantiles."""
    t = -float(special.stdtrit(freedom, tails / 2)) if student else 0.0
    return math.hypot(t * student, float(special.ndtri(tails / 2)) * normal)


def _level_reaching(difference: float, width: Callable[[float], float]) -> float:
    """The probability outside the interval whose half width is the difference."""
    if width(SMALLEST) <= difference:
        return SMALLEST
    return math.exp(brentq(lambda log: width(math.exp(log)) - difference, math.log(SMALLEST), 0.0, xtol=1e-12))


def _variance(figures: Figures) -> tuple[float, int] | None:
    """The variance of an arm's mean and its degrees of freedom; None if it has a single model."""
    if len(figures) > 1:
        return between_searches(figures) ** 2, len(figures) - 1
    (models,) = figures.values()
    return (between_models(figures) ** 2, len(models) - 1) if len(models) > 1 else None
