"""Comparisons of arms by their scores: wins, and the mean difference with its test."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from report.comparison.intervals import estimate
from report.comparison.pairs import Sample, by_configuration, normalised, side_by_side
from report.frames import TASK_BLOCK, StudyFrames
from report.judging import own_scores
from report.records.comparisons import ScoreComparison
from report.records.estimates import (
    Share,
)
from report.records.families import Uncorrected, with_holm
from robustness.goal import MAXIMIZE, Goal
from robustness.statistics.independent import METHOD as WELCH
from robustness.statistics.independent import permutation_p, score_test
from robustness.statistics.means import METHOD, mean_test
from robustness.statistics.paired import wilcoxon
from robustness.statistics.proportions import NO_OBSERVATIONS, Interval, wilson
from robustness.sweep.outcomes import SUMMARIES, Summary


def score_comparisons(
    judged: pd.DataFrame, frames: StudyFrames, sample: Sample, epochs: Sequence[Summary] = SUMMARIES
) -> list[ScoreComparison]:
    """Every comparison by score, at each epoch; `p_adjusted` is Holm's over the comparisons at one epoch."""
    entries: list[ScoreComparison] = []
    for summary in sorted(epochs, key=lambda name: name != frames.rule):
        entries += with_holm(
            [score_comparison(judged, *arms, summary, sample, frames.goal) for arms in frames.compared]
        )
    return entries


def score_comparison(
    judged: pd.DataFrame,
    first: str,
    second: str,
    summary: Summary,
    sample: Sample,
    goal: Goal = MAXIMIZE,
) -> Uncorrected[ScoreComparison]:
    """How often either of two arms scores better on a configuration, and the mean difference with its test."""
    if not sample.paired:
        return Uncorrected(independent_scores(judged, first, second, summary, sample, goal))
    scores = side_by_side(judged, _comparable(judged, summary, sample), [first, second])
    pairs = by_configuration(scores).to_numpy(dtype=float)
    differences = pairs[:, 0] - pairs[:, 1]
    tested = mean_test(differences)
    mean, low, high, method = estimate(differences, tested.interval)
    entry: ScoreComparison = {
        "arms": [first, second],
        "epoch": summary,
        "first_wins": _share(goal.oriented(differences) > 0),
        "second_wins": _share(goal.oriented(differences) < 0),
        "ties": _share(differences == 0),
        "mean_difference": mean,
        "low": low,
        "high": high,
        "interval": method,
        "median_difference": float(np.median(differences)) if len(differences) else None,
        "p_value": tested.p_value,
        "test": METHOD,
        "p_wilcoxon": wilcoxon(differences) if len(differences) else None,
        "p_adjusted": None,
    }
    return Uncorrected(entry) if sample.watch is None else Uncorrected(*sample.watch.by_score(entry, scores))


def mean_score(judged: pd.DataFrame, scores: pd.Series[Any], arm: str) -> float | None:
    """The mean of an arm's scores over configurations; None without any."""
    own = by_configuration(side_by_side(judged, scores, [arm]))[arm]
    return float(own.mean()) if len(own) else None


def _comparable(judged: pd.DataFrame, summary: Summary, sample: Sample) -> pd.Series[Any]:
    """The scores of trials, in standard deviations of their task where there are several.

    A restriction to a single task has the metric's own unit.
    """
    values = judged[f"score_{summary}"]
    places = set(judged.loc[judged["counted"], "replicate"] // TASK_BLOCK)
    if sample.tasks == 1 or (sample.whole is not None and len(places) == 1):
        return values
    return normalised(judged, values, sample.whole)


def independent_scores(
    judged: pd.DataFrame, first: str, second: str, summary: Summary, sample: Sample, goal: Goal
) -> ScoreComparison:
    """The comparison of the mean scores of two arms that share no configurations; a win is of every two of them."""
    values = _comparable(judged, summary, sample)
    paired = judged[judged["paired"]]
    a, b = (
        by_configuration(side_by_side(paired, values.reindex(paired.index), [arm])).to_numpy(dtype=float)[:, 0]
        for arm in (first, second)
    )
    tested = score_test(a, b)
    interval = NO_OBSERVATIONS if tested is None else tested.interval
    ahead = np.sign(goal.oriented(a[:, None] - b[None, :])).ravel()
    none = Interval.none("not of pairs")
    return {
        "arms": [first, second],
        "epoch": summary,
        "first_wins": _share(ahead > 0, none),
        "second_wins": _share(ahead < 0, none),
        "ties": _share(ahead == 0, none),
        "mean_difference": None if tested is None else tested.difference,
        "low": None if tested is None else interval.low,
        "high": None if tested is None else interval.high,
        "interval": interval.method,
        "median_difference": float(np.median(a) - np.median(b)) if len(a) and len(b) else None,
        "p_value": None if tested is None else tested.p_value,
        "test": WELCH,
        "p_wilcoxon": None,
        "p_permutation": permutation_p(a, b),
        "p_adjusted": None,
    }


def _share(values: NDArray[np.bool_], stated: Interval | None = None) -> Share:
    interval = stated or (wilson(float(values.mean()), len(values)) if len(values) else NO_OBSERVATIONS)
    mean, low, high, method = estimate(values.astype(float), interval)
    return {
        "count": int(values.sum()),
        "of": len(values),
        "fraction": mean,
        "low": low,
        "high": high,
        "interval": method,
    }


def score_pairs(judged: pd.DataFrame, first: str, second: str, summary: str, goal: Goal = MAXIMIZE) -> pd.DataFrame:
    """The scores [pairs, 2] of two arms for `at_threshold`: infinitely bad for a trial that reached none itself."""
    none = own_scores(judged, summary).isna() & judged["counted"]
    return side_by_side(judged, judged[f"score_{summary}"].mask(none, goal.oriented(-np.inf)), [first, second])
