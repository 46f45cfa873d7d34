"""Replicates of a configuration are alike: how many independent values the values of several configurations are worth.

With a correlation rho between the replicates of a configuration, the mean over k configurations of the means over their
r_i replicates is as precise as the mean of

    n = k / (rho + (1 - rho) mean(1 / r_i))

independent values: between k, if replicates always agree, and the number of values, if they are unrelated. The estimate
of rho is that of the analysis of variance, (MSB - MSW) / (MSB + (r0 - 1) MSW), held within 0 and 1 and then shrunk
towards 1, as if one more configuration had shown replicates that agree: (1 + m rho) / (1 + m), where m configurations
have a value other than the most frequent one. Few such configurations say little about rho, and none says nothing: then
each configuration counts once.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray


def effective_number(values: ArrayLike, owners: ArrayLike) -> float:
    """Return n above for values [v], such as outcomes 0 and 1, of the configurations `owners` [v]; 0 without values."""
    sample, numbers, sizes = _grouped(values, owners)
    if not len(sample):
        return 0.0
    rho = within_correlation(sample, numbers)
    return float(len(sizes) / (rho + (1 - rho) * np.mean(1 / sizes)))


def within_correlation(values: ArrayLike, owners: ArrayLike) -> float:
    """Return the shrunk estimate of rho above, from 0 to 1; 1 where no configuration has more than one value."""
    sample, numbers, sizes = _grouped(values, owners)
    configurations, total = len(sizes), float(len(sample))
    if configurations < 2 or total == configurations:
        return 1.0
    kinds, counts = np.unique(sample, return_counts=True)
    informative = len(np.unique(numbers[sample != kinds[counts.argmax()]]))
    means = np.bincount(numbers, weights=sample) / sizes
    between = float((sizes * (means - sample.mean()) ** 2).sum()) / (configurations - 1)
    within = float(((sample - means[numbers]) ** 2).sum()) / (total - configurations)
    usual_size = (total - float((sizes**2).sum()) / total) / (configurations - 1)
    spread = between + (usual_size - 1) * within
    rho = float(np.clip((between - within) / spread, 0.0, 1.0)) if spread > 0 else 1.0
    return (1 + informative * rho) / (1 + informative)


def configuration_means(values: ArrayLike, owners: ArrayLike) -> NDArray[np.float64]:
    """Return the mean of the values of each configuration, in the order of their numbers."""
    sample, numbers, sizes = _grouped(values, owners)
    means: NDArray[np.float64] = np.bincount(numbers, weights=sample, minlength=len(sizes)) / sizes
    return means


def discordance(first: ArrayLike, second: ArrayLike, owners: ArrayLike) -> tuple[float, float, float]:
    """Return the pairs with the outcome in the first and in the second arm only, and all, of the effective number."""
    a, b = np.asarray(first, dtype=bool), np.asarray(second, dtype=bool)
    only_first, only_second = (float(configuration_means(only, owners).mean()) for only in (a & ~b, b & ~a))
    n = effective_number(a.astype(float) - b.astype(float), owners)
    return n * only_first, n * only_second, n


def _grouped(values: ArrayLike, owners: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.int64]]:
    """Return the values, the place of each one's configuration, and the number of values of each configuration."""
    sample: NDArray[np.float64] = np.asarray(values, dtype=float)
    _, numbers, sizes = np.unique(np.asarray(owners), return_inverse=True, return_counts=True)
    return sample, numbers, sizes
