"""Gains under no learning: how far a network can come out above its own start by luck alone.

A network that learned nothing is, to the validation set, another network of its arm and initial rho. Its gain over its
start is that from one untrained network i to another one, j, of the same cell:

    gain = max_e fold(a_j(e)) - fold(a_i),    fold(a) = max(a, 1 - a)

with as many networks j(1) .. j(E) as a trial has evaluations (E = 1 at the last epoch). The evaluations of a trial
resemble each other more than E networks do, so the rule errs on the side of "learned nothing". The null has two parts:

- sampling error: patients are resampled as clusters, the same resample for every network of a pair;
- variation between networks, which is what the spread of scores within the cell has beyond that sampling error.

With the scores a_i on the validation set, A_ib on the b-th resample and their mean m over the cell

    a*_ib = m + k (a_i - m) + (A_ib - a_i),    k^2 = max(1 - d^2 / s^2, 0)

s^2: variance of a_i over the cell; d^2: variance of A_ib - a_i over the cell, averaged over resamples. So resampled
scores vary as much within the cell as the scores themselves, or as the sampling error if that alone is more.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.stats import t

from robustness.sweep.chance_points import REPETITIONS, CellPoint, Floats

DRAWS = 200_000
"""Random pairs behind the gain of a cell."""
ERROR_DRAWS = 5_000
"""Random pairs behind each repetition with resampled networks."""
_CHUNK = 2**20


def gain_point(
    scores: Floats,
    resampled: Floats,
    evaluations: int,
    level: float,
    folded: bool,
    make_generator: Callable[[int], np.random.Generator],
) -> CellPoint:
    """The gain that a cell's networks exceed with probability `level`, and its error from the number of networks.

    `scores` [networks], `resampled` [networks, resamples].
    """

    def point(chosen: NDArray[np.intp], draws: int, generator: np.random.Generator) -> float:
        gains = random_gains(scores[chosen], resampled[chosen], evaluations, folded, draws, generator)
        return float(np.quantile(gains, 1 - level))

    count = len(scores)
    redrawn = make_generator(0).integers(count, size=(REPETITIONS, count))
    repeated = [point(chosen, ERROR_DRAWS, make_generator(2 + number)) for number, chosen in enumerate(redrawn)]
    return _with_error(point(np.arange(count), DRAWS, make_generator(1)), repeated, count)


def _with_error(value: float, repeated: list[float], networks: int) -> CellPoint:
    """The gain with the wider of two 95 % bootstrap intervals: percentiles, which are too low in small cells, and
    Student's on the logarithm, since a gain is a scale."""
    percentiles = CellPoint.of(value, repeated, networks)
    if min(value, *repeated) <= 0:
        return percentiles
    factor = math.exp(float(t.ppf(0.975, networks - 1)) * float(np.std(np.log(repeated), ddof=1)))
    return CellPoint(value, min(percentiles.low, value / factor), max(percentiles.high, value * factor), networks)


def random_gains(
    scores: Floats, resampled: Floats, evaluations: int, folded: bool, draws: int, generator: np.random.Generator
) -> Floats:
    """Gains [draws] of random networks of a cell over another one of it, on random resamples of the patients."""
    values = _with_both_parts(scores, resampled)
    if folded:
        values = np.maximum(values, 1 - values)
    networks, resamples = values.shape
    if networks < 2:
        raise ValueError("a cell needs at least two networks")
    parts = []
    rows = max(_CHUNK // evaluations, 1)
    for start in range(0, draws, rows):
        count = min(rows, draws - start)
        sample = generator.integers(resamples, size=(count, 1))
        begin = generator.integers(networks, size=(count, 1))
        # Any network of the cell but the one at the start.
        end = (begin + 1 + generator.integers(networks - 1, size=(count, evaluations))) % networks
        parts.append(values[end, sample].max(axis=1) - values[begin, sample][:, 0])
    return np.concatenate(parts)


def _with_both_parts(scores: Floats, resampled: Floats) -> Floats:
    """a* of the module's formula; [networks, resamples]."""
    deviations: Floats = resampled - scores[:, None]
    spread = float(scores.var(ddof=1)) if len(scores) > 1 else 0.0
    sampling = float(deviations.var(axis=0, ddof=1).mean()) if len(scores) > 1 else 0.0
    kept = math.sqrt(max(spread - sampling, 0.0) / spread) if spread > 0 else 0.0
    values: Floats = scores.mean() + kept * (scores - scores.mean())[:, None] + deviations
    return values
