"""The fractions of each arm and their comparisons, paired or, for arms that share no configurations, unpaired."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from report.comparison.intervals import estimate
from report.comparison.pairs import Sample, by_task, has_outcome, side_by_side
from report.comparison.scores import mean_score
from report.frames import StudyFrames
from report.judging import OUTCOMES
from report.records.comparisons import PairedComparison, PairedTable
from report.records.estimates import (
    ArmCounts,
    Fraction,
    FractionsByEpoch,
    JudgedOutcome,
    OutcomeFractions,
)
from report.records.families import Evidence, Uncorrected, with_holm
from robustness.statistics.clusters import configuration_means, effective_number
from robustness.statistics.independent import fraction_test
from robustness.statistics.paired import PairedTest, Table, paired_test
from robustness.statistics.proportions import NO_OBSERVATIONS, fraction_interval
from robustness.statistics.tasks import stratified_test
from robustness.sweep.outcomes import SUMMARIES, Judge, Summary


def fraction(judged: pd.DataFrame, arm: str, outcome: str, summary: str) -> Fraction:
    """An outcome's fraction in an arm, over complete pairs, as `fraction_entry` has it."""
    own = judged[judged["paired"] & (judged["arm"] == arm)]
    return fraction_entry(has_outcome(own, outcome, summary), own["configuration"])


def fraction_entry(values: pd.Series[Any], owners: pd.Series[Any]) -> Fraction:
    """The fraction of outcomes [trials], 0 or 1, of the configurations `owners` [trials], as a mean over these.

    `count` and `of` are trials; `configurations`, `replicates` (the most of any configuration) and `effective` (the
    number of independent trials that they are worth) say what the fraction is over; `low`, `high`, `interval`.
    """
    _, sizes = np.unique(owners.to_numpy(), return_counts=True)
    mean, low, high, method = estimate(configuration_means(values, owners), fraction_interval(values, owners))
    return {
        "count": int(values.sum()),
        "of": len(values),
        "configurations": len(sizes),
        "replicates": int(sizes.max()) if len(sizes) else 0,
        "effective": effective_number(values, owners),
        "fraction": mean,
        "low": low,
        "high": high,
        "interval": method,
    }


def outcome_counts(judged: pd.DataFrame, frames: StudyFrames) -> dict[str, ArmCounts]:
    """For each arm its fractions at the study's epoch and, under `at`, at the best and at the last one."""
    counts: dict[str, ArmCounts] = {}
    for arm in frames.arms:
        own = judged[judged["arm"] == arm]
        paired = own[own["paired"]]
        outcomes = judged if frames.has_thresholds else judged.iloc[:0]
        at: FractionsByEpoch = {"best": _fractions(outcomes, arm, "best"), "last": _fractions(outcomes, arm, "last")}
        scores = paired[f"score_{frames.rule}"]
        diverged = (paired["status"] == "diverged").to_numpy()
        good_at_best = (paired["outcome_best"] == "good").to_numpy(dtype=bool)
        counts[arm] = {
            "trials": len(own),
            "counted": int(own["counted"].sum()),
            "paired": len(paired),
            "configurations": int(paired["configuration"].nunique()),
            **at[frames.rule],
            "best": frames.goal.best(scores.tolist()),
            "median": float(scores.median()) if len(scores) else None,
            "mean": mean_score(paired, scores, arm),
            "at": at,
            "diverged": int(diverged.sum()),
            "good_then_diverged": int((diverged & good_at_best).sum()),
        }
    return counts


def _fractions(judged: pd.DataFrame, arm: str, summary: Summary) -> OutcomeFractions:
    return {
        "learned_nothing": fraction(judged, arm, "learned_nothing", summary),
        "good": fraction(judged, arm, "good", summary),
    }


def compare(
    judged: pd.DataFrame, first: str, second: str, outcome: JudgedOutcome, summary: Summary, sample: Sample
) -> Uncorrected[PairedComparison]:
    """The 2 x 2 table of an outcome in two arms, the paired difference with its interval, and the test."""
    values = has_outcome(judged, outcome, summary)
    if not sample.paired:
        table = independent_table(judged, values, first, second)
        return paired_comparison((first, second), outcome, summary, table, None)
    pairs = side_by_side(judged, values, [first, second])
    return paired_comparison((first, second), outcome, summary, *compare_pairs(pairs, sample, exact=True))


def paired_comparison(
    arms: tuple[str, str], outcome: JudgedOutcome, summary: Summary, table: PairedTable, evidence: Evidence | None
) -> Uncorrected[PairedComparison]:
    """A table with the names of what it compares, before correction."""
    entry: PairedComparison = {
        "arms": list(arms),
        "outcome": outcome,
        "epoch": summary,
        **table,
        "p_adjusted": None,
    }
    return Uncorrected(entry, evidence, (frozenset(arms), outcome, summary))


def compare_pairs(pairs: pd.DataFrame, sample: Sample, exact: bool = False) -> tuple[PairedTable, Evidence | None]:
    """The comparison of pairs [pairs, 2] of zeros and ones; `p_value` is None if there is no pair.

    It has the exact test only if asked. The evidence is that of a watched sweep.
    """
    values = pairs.to_numpy(dtype=float)
    owners = pairs.index.get_level_values("configuration")
    table = Table.of(values[:, 0] > 0, values[:, 1] > 0)
    tested = _tested(values, pairs, sample) if table.pairs else None
    interval = NO_OBSERVATIONS if tested is None else tested.interval
    sizes = owners.value_counts()
    entry: PairedTable = {
        "pairs": table.pairs,
        "configurations": len(sizes),
        "replicates": int(sizes.max()) if len(sizes) else 0,
        "effective": 0.0 if tested is None else tested.effective,
        "both": table.both,
        "only_first": table.only_first,
        "only_second": table.only_second,
        "neither": table.neither,
        "difference": None if tested is None else tested.difference,
        "low": None if tested is None else interval.low,
        "high": None if tested is None else interval.high,
        "interval": interval.method,
        "p_value": None if tested is None else tested.p_value,
        "test": "score" if sample.tasks == 1 else "Mantel-Haenszel",
        "p_exact": tested.p_exact if tested is not None and exact else None,
    }
    return (entry, None) if sample.watch is None else sample.watch.by_outcome(entry, pairs)


def _tested(values: NDArray[np.float64], pairs: pd.DataFrame, sample: Sample) -> PairedTest:
    """The test of pairs of zeros and ones; with several tasks, stratified by task."""
    owners = pairs.index.get_level_values("configuration")
    if sample.tasks == 1:
        return paired_test(values[:, 0] > 0, values[:, 1] > 0, owners)
    found = stratified_test(by_task(pairs))
    if found is None:
        raise ValueError("there are no pairs")
    differences = configuration_means(values[:, 0] - values[:, 1], owners)
    return PairedTest(found.difference, found.interval, found.p_value, differences, found.effective)


def independent_table(judged: pd.DataFrame, values: pd.Series[Any], first: str, second: str) -> PairedTable:
    """The comparison of an outcome, 0 or 1, in two arms that share no configurations."""
    rows = [judged["paired"] & (judged["arm"] == arm) for arm in (first, second)]
    a, b = (values[chosen] for chosen in rows)
    own, other = (judged.loc[chosen, "configuration"] for chosen in rows)
    tested = fraction_test(a, own, b, other)
    interval = NO_OBSERVATIONS if tested is None else tested.interval
    sizes = [each.value_counts() for each in (own, other)]
    return {
        "pairs": 0,
        "configurations": sum(len(each) for each in sizes),
        "replicates": max((int(each.max()) for each in sizes if len(each)), default=0),
        "effective": 0.0 if tested is None else sum(tested.effective),
        "both": None,
        "only_first": None,
        "only_second": None,
        "neither": None,
        "difference": None if tested is None else tested.difference,
        "low": None if tested is None else interval.low,
        "high": None if tested is None else interval.high,
        "interval": interval.method,
        "p_value": None if tested is None else tested.p_value,
        "test": "Newcombe",
        "p_exact": None,
    }


def comparisons(
    judged: pd.DataFrame, frames: StudyFrames, sample: Sample, epochs: Sequence[Summary] = SUMMARIES
) -> list[PairedComparison]:
    """Every comparison, both outcomes, at each epoch; `p_adjusted` is Holm's over the comparisons of one outcome.

    Without thresholds there are none.
    """
    entries: list[PairedComparison] = []
    if not frames.has_thresholds:
        return entries
    for summary in sorted(epochs, key=lambda name: name != frames.rule):
        for outcome in sorted(OUTCOMES, key=lambda name: name != frames.primary):
            entries += with_holm([compare(judged, *arms, outcome, summary, sample) for arms in frames.compared])
    return entries


def at_threshold(
    scores: pd.DataFrame, outcome: JudgedOutcome, limit: float, sample: Sample, judge: Judge
) -> tuple[PairedTable, Evidence | None]:
    """The comparison if the threshold of `outcome` were `limit`, for a judge that is otherwise the study's."""
    goal, worst = judge.goal, judge.goal.oriented(-math.inf)
    if outcome == "learned_nothing":
        other = Judge(limit, -worst, judge.inclusive, goal=goal)
    else:
        other = Judge(worst, limit, goal=goal)
    has = other.has(outcome, scores.to_numpy(dtype=float)).astype(float)
    pairs = pd.DataFrame(has, index=scores.index, columns=scores.columns)
    return compare_pairs(pairs, sample)
