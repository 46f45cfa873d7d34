"""Shares of the variance of scores with their intervals: hyperparameters, task, seed, and streams of the seed.

In the one-way model of `variance`, the share of hyperparameters is (F - 1) / (F - 1 + r0) for F = MSB / MSW. Its
interval is Student's for the jackknife of log F over configurations (Arvesen 1969), which needs no normal scores, put
through that formula.

On several tasks, with scores y[configuration, task, replicate], the mean squares of configurations, tasks and their
interaction, each over the next, give four components; intervals are jackknives over configurations (`jackknife`).
Their logit scale has no 0, so the lower end is 0 unless the F test of the component is significant at 2.5 %: of
configurations and of tasks over the interaction, of the interaction over the seed.

Streams that were varied one at a time have the variance v_s within configurations, averaged over them, and the share
v_s / sum of v; its interval is likewise a jackknife. With r values of each of S streams, one of which they have in
common, a configuration has T = 1 + S (r - 1) trials. If streams add up, the variance of its mean is that of
hyperparameters and w sum of v,

    w = ((T - r + 1) / T)^2 + (r - 1) / T^2,

so the share of hyperparameters is (F - 1) / (F - 1 + 1 / w) for F = (variance of the means) / (w sum of v), with the
interval as above. Trials that share the other streams are no replicates: their mean squares would count what they share
as an effect of hyperparameters, as this still does with streams that were never varied.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import fdtrc, stdtrit

from robustness.statistics.jackknife import jackknife_interval, without_each
from robustness.statistics.proportions import LEVEL, Interval, enough_draws, resampling
from robustness.statistics.variance import variance_parts

Floats: TypeAlias = NDArray[np.float64]
FEW = 12
"""With fewer configurations, shares have no interval."""
TOO_FEW = Interval.none(f"fewer than {FEW} configurations")


@dataclass(frozen=True)
class Share:
    """A share of the variance of scores, with its interval."""

    value: float
    interval: Interval


def hyperparameter_share(groups: list[NDArray[np.float64]]) -> Share | None:
    """The share of hyperparameters in the variance, by the scores of each configuration; None as `variance_parts`."""
    filled = [np.asarray(group, dtype=float) for group in groups if len(group)]
    parts = variance_parts(filled)
    if parts is None or math.isnan(parts.share):
        return None
    k = len(filled)
    if k < FEW:
        return Share(parts.share, TOO_FEW)
    sizes = np.array([len(group) for group in filled], dtype=float)
    sums = np.array([group.sum() for group in filled])
    inside = np.array([((group - group.mean()) ** 2).sum() for group in filled])
    # The whole sample first, then the samples without one configuration each.
    count, total, squares, rest = (
        part.sum() - np.concatenate([[0.0], part]) for part in (sizes, sums, sums**2 / sizes, inside)
    )
    configurations = np.concatenate([[k], np.full(k, k - 1)])
    between = (squares - total**2 / count) / (configurations - 1)
    within = rest / (count - configurations)
    usual = (float(count[0]) - float((sizes**2).sum()) / float(count[0])) / (k - 1)
    return Share(parts.share, _of_log_ratio(between, within, usual, parts.share))


def share_beside_streams(streams: Mapping[str, ArrayLike]) -> Share | None:
    """The share of hyperparameters beside streams that were varied one at a time, [configurations, replicates] each.

    None as `variance_parts`: with fewer than two configurations, or where nothing varies.
    """
    scores = [np.asarray(each, dtype=float) for each in streams.values()]
    k, r = scores[0].shape
    variances = np.sum([each.var(axis=1, ddof=1) for each in scores], axis=0)
    trials = 1 + len(scores) * (r - 1)
    means = (scores[0][:, 0] + np.sum([each[:, 1:].sum(axis=1) for each in scores], axis=0)) / trials
    w = ((trials - r + 1) / trials) ** 2 + (r - 1) / trials**2
    if k < 2 or not (np.ptp(means) > 0 or variances.any()):
        return None
    inside = float(variances.mean())
    own = max(0.0, float(means.var(ddof=1)) - w * inside)
    value = own / (own + inside)
    if k < FEW:
        return Share(value, TOO_FEW)
    weights = np.concatenate([np.ones((1, k)), 1 - np.eye(k)])
    count = weights.sum(axis=1)
    centred = means - means.mean()
    between = (weights @ centred**2 - (weights @ centred) ** 2 / count) / (count - 1)
    return Share(value, _of_log_ratio(between, w * (weights @ variances) / count, 1 / w, value))


def crossed_shares(scores: ArrayLike) -> dict[str, Share]:
    """The shares of `hyperparameters`, `task`, `interaction` and `seed` in scores [configurations, tasks, replicates].

    Without replicates (one each), the seed cannot be told from the interaction, and there is no `seed`.
    """
    y: Floats = np.asarray(scores, dtype=float)
    k = len(y)
    observed = _crossed(np.ones((1, k)), y)
    names = ("hyperparameters", "task", "interaction", "seed")[: 4 if y.shape[2] > 1 else 3]
    if np.isnan(observed).any():
        return dict.fromkeys(names, Share(math.nan, Interval.none("all scores are equal")))
    if k < FEW:
        return {name: Share(float(observed[0, place]), TOO_FEW) for place, name in enumerate(names)}
    shares = _with_intervals(
        names, observed[0], _crossed(without_each(k), y), _crossed(resampling(k, enough_draws(k), 0), y)
    )
    for name, p_value in zip(names, _tests(y), strict=False):
        interval = shares[name].interval
        if p_value >= (1 - LEVEL) / 2 and interval.low > 0:
            shares[name] = Share(shares[name].value, replace(interval, low=0.0))
    return shares


def stream_shares(streams: Mapping[str, ArrayLike]) -> dict[str, Share]:
    """The share of each stream in the variance of the seed, from scores [configurations, replicates] of each.

    Row i of every stream is configuration i, and the first column the trial that the streams have in common.
    """
    variances = np.stack([np.asarray(scores, dtype=float).var(axis=1, ddof=1) for scores in streams.values()])
    k = variances.shape[1]
    total = float(variances.mean(axis=1).sum())
    if total <= 0:
        none = Interval.none("no stream changes the score")
        return {name: Share(math.nan, none) for name in streams}
    observed = variances.mean(axis=1) / total
    if k < FEW:
        return {name: Share(float(value), TOO_FEW) for name, value in zip(streams, observed, strict=True)}
    sums = [weights @ variances.T for weights in (without_each(k), resampling(k, enough_draws(k), 0))]
    without, resampled = (part / np.where(part.sum(axis=1) > 0, part.sum(axis=1), np.nan)[:, None] for part in sums)
    return _with_intervals(tuple(streams), observed, without, resampled)


def _with_intervals(names: tuple[str, ...], observed: Floats, without: Floats, resampled: Floats) -> dict[str, Share]:
    """Shares [names] with the jackknife's intervals on the logit scale or, at 0 and 1, the percentile bootstrap's."""
    ends = np.nanquantile(resampled, [(1 - LEVEL) / 2, (1 + LEVEL) / 2], axis=0)
    shares = {}
    for place, name in enumerate(names):
        own = jackknife_interval(float(observed[place]), without[:, place], "logit")
        percentile = Interval(float(ends[0, place]), float(ends[1, place]), "percentile bootstrap")
        shares[name] = Share(float(observed[place]), percentile if own is None else own)
    return shares


def _of_log_ratio(between: Floats, within: Floats, replicates: float, value: float) -> Interval:
    """The interval of a share from the mean squares of the whole sample and without each of k configurations, [1 + k].

    It is Student's for the jackknife of log F.
    """
    k = len(between) - 1
    if within.min() <= 0 or between.min() <= 0:
        return Interval.none("all replicates or all configurations agree")
    logs = np.log(between / within)
    pseudo = k * logs[0] - (k - 1) * logs[1:]
    half = float(stdtrit(k - 1, (1 + LEVEL) / 2)) * float(pseudo.std(ddof=1)) / math.sqrt(k)
    low, high = (_share_of(math.exp(float(pseudo.mean()) + side * half), replicates) for side in (-1, 1))
    return Interval(min(low, value), max(high, value), "jackknife of log F")


def _share_of(ratio: float, replicates: float) -> float:
    """The share of hyperparameters for F."""
    return max(0.0, (ratio - 1) / (ratio - 1 + replicates))


def _tests(y: Floats) -> list[float]:
    """The p-values of the F tests of configurations, tasks and, with replicates, their interaction."""
    k, tasks, replicates = y.shape
    configuration, task, both, error = (float(square[0]) for square in _mean_squares(np.ones((1, k)), y))
    freedom = (k - 1) * (tasks - 1)
    ratios = [(configuration, k - 1, both, freedom), (task, tasks - 1, both, freedom)]
    if replicates > 1:
        ratios.append((both, freedom, error, k * tasks * (replicates - 1)))
    return [float(fdtrc(of, per, above / below)) if below > 0 else 0.0 for above, of, below, per in ratios]


def _crossed(weights: Floats, y: Floats) -> Floats:
    """Shares [draws, 4] if configurations occur as often as the weights [draws, k] say."""
    _, tasks, replicates = y.shape
    n = weights.sum(axis=1)
    configuration, task, both, error = _mean_squares(weights, y)
    parts = np.stack(
        [
            np.maximum(0.0, (configuration - both) / (tasks * replicates)),
            np.maximum(0.0, (task - both) / (replicates * n)),
            np.maximum(0.0, (both - error) / replicates),
            error,
        ],
        axis=1,
    )
    total = parts.sum(axis=1, keepdims=True)
    shares: Floats = parts / np.where(total > 0, total, np.nan)
    return shares


def _mean_squares(weights: Floats, y: Floats) -> tuple[Floats, Floats, Floats, Floats]:
    """The mean squares [draws] of configurations, tasks, their interaction and the seed."""
    _, tasks, replicates = y.shape
    cells, rows = y.mean(axis=2), y.mean(axis=(1, 2))
    n = weights.sum(axis=1)
    columns = weights @ cells / n[:, None]
    grand = columns.mean(axis=1)
    of_rows = weights @ rows**2 / n - grand**2
    of_columns = ((columns - grand[:, None]) ** 2).sum(axis=1)
    squares = (weights @ (cells**2).sum(axis=1)) / n - (columns**2).sum(axis=1) - tasks * of_rows
    rest = weights @ ((y - cells[:, :, None]) ** 2).sum(axis=(1, 2)) / n
    error = rest / (tasks * (replicates - 1)) if replicates > 1 else np.zeros(len(n))
    both = replicates * n * squares / ((n - 1) * (tasks - 1))
    configuration = tasks * replicates * n * of_rows / (n - 1)
    task = replicates * n * of_columns / (tasks - 1)
    return configuration, task, both, error
