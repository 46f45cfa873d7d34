"""Fractions of each arm and paired comparisons of arms, from the frame of judged trials to plain values.

The unit is the configuration. A fraction gets Wilson's interval, a difference of fractions Tango's with the score test
that it inverts; replicates count as many trials as they are worth (`robustness.statistics.clusters`). A mean difference
of scores gets Student's interval and test, widened for skewness. Over several tasks, fractions are compared by the
Mantel-Haenszel test, and scores in standard deviations of their task (`robustness.statistics.tasks`). Arms that share
no configurations are compared as independent samples (`robustness.statistics.independent`). Whatever the test, the
interval leaves out 0 exactly when `p_value` is below 0.05; neither is adjusted for other comparisons.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from report.frames import TASK_BLOCK, StudyFrames
from report.judging import OUTCOMES, own_scores
from report.records.comparisons import Change, Corrected, PairedComparison, PairedTable, ScoreComparison
from report.records.estimates import (
    ArmCounts,
    Difference,
    Fraction,
    FractionsByEpoch,
    JudgedOutcome,
    OutcomeFractions,
    Share,
)
from report.records.families import Evidence, Uncorrected, with_holm
from report.watched import Watch
from report.words import SIGNIFICANT
from robustness.errors import RobustnessError
from robustness.goal import MAXIMIZE, Goal
from robustness.space.samplers import SAMPLERS
from robustness.space.space import read_space
from robustness.statistics.clusters import configuration_means, effective_number
from robustness.statistics.independent import METHOD as WELCH
from robustness.statistics.independent import fraction_test, permutation_p, score_test
from robustness.statistics.means import METHOD, mean_test
from robustness.statistics.paired import PairedTest, Table, paired_test, sign_flip, wilcoxon
from robustness.statistics.proportions import NO_OBSERVATIONS, Interval, fraction_interval, wilson
from robustness.statistics.tasks import Pairs, stratified_test
from robustness.sweep.outcomes import SUMMARIES, Judge, Summary


@dataclass(frozen=True)
class Sample:
    """How configurations were drawn."""

    replicated: bool
    population: int | None
    """The size of the space, if configurations were drawn from it without repeats; None if it is infinite.

    A fact about the space: intervals do not depend on it, since another seed could change every outcome.
    """
    watch: Watch | None = None
    """How a sweep with `stop` was watched, which replaces every interval and test below; None without `stop`."""
    tasks: int = 1
    """How many tasks there are, which are the strata of a comparison."""
    paired: bool = True
    """Whether arms share their configurations; else they are independent samples."""

    @staticmethod
    def of(frames: StudyFrames) -> Sample:
        """How a study's configurations were drawn."""
        sampling = frames.document["sampling"]
        population = None
        sampler = SAMPLERS.get(sampling.get("strategy", "random"))
        if sampler is None or sampler.without_replacement:
            try:
                population = read_space(frames.document["space"], "space").allowed() if not frames.owners else None
            except (RobustnessError, KeyError):
                # Imported runs come without a search space.
                population = None
        tasks = max(1, len(frames.tasks))
        return Sample(frames.replicates * tasks > 1, population, Watch.of(frames), tasks, frames.paired)


def side_by_side(judged: pd.DataFrame, values: pd.Series[Any], arms: list[str]) -> pd.DataFrame:
    """Values of trials as a frame [pairs, arms], indexed by configuration and replicate: complete pairs only.

    `values` has the index of `judged`.
    """
    counted = judged["counted"] & judged["arm"].isin(arms)
    rows = judged.loc[counted, ["configuration", "replicate", "arm"]].assign(value=values[counted].astype("float64"))
    wide = rows.set_index(["configuration", "replicate", "arm"])["value"].unstack("arm")  # noqa: PD010
    return wide.reindex(columns=arms).dropna().sort_index()


def by_configuration(pairs: pd.DataFrame) -> pd.DataFrame:
    """The mean over the replicates of each configuration: [configurations, arms]."""
    return pairs.groupby(level="configuration", sort=True).mean()


def has_outcome(judged: pd.DataFrame, outcome: str, summary: str) -> pd.Series[Any]:
    """1 where a trial has the outcome, else 0."""
    return (judged[f"outcome_{summary}"] == outcome).fillna(False).astype("float64")


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
    mean, low, high, method = _estimate(configuration_means(values, owners), fraction_interval(values, owners))
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


def compare(
    judged: pd.DataFrame, first: str, second: str, outcome: JudgedOutcome, summary: Summary, sample: Sample
) -> Uncorrected[PairedComparison]:
    """The 2 x 2 table of an outcome in two arms, the paired difference with its interval, and the test."""
    values = has_outcome(judged, outcome, summary)
    if not sample.paired:
        table = independent_table(judged, values, first, second)
        return paired_comparison((first, second), outcome, summary, table, None)
    pairs = side_by_side(judged, values, [first, second])
    return paired_comparison((first, second), outcome, summary, *compare_pairs(pairs, sample))


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


def compare_pairs(pairs: pd.DataFrame, sample: Sample) -> tuple[PairedTable, Evidence | None]:
    """The comparison of pairs [pairs, 2] of zeros and ones; `p_value` is None if there is no pair.

    The evidence is that of a watched sweep.
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
        "p_exact": None if tested is None else tested.p_exact,
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
    exact = sign_flip(configuration_means(values[:, 0] - values[:, 1], owners))
    return PairedTest(found.difference, found.interval, found.p_value, exact, found.effective)


def by_task(pairs: pd.DataFrame) -> list[Pairs]:
    """Pairs [pairs, 2] as those of each task that has any."""
    places = pairs.index.get_level_values("replicate") // TASK_BLOCK
    parts = [pairs[places == place] for place in sorted(set(places))]
    return [
        Pairs(
            part.iloc[:, 0].to_numpy(dtype=float),
            part.iloc[:, 1].to_numpy(dtype=float),
            part.index.get_level_values("configuration").to_numpy(),
        )
        for part in parts
    ]


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
    mean, low, high, method = _estimate(differences, tested.interval)
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


def _comparable(judged: pd.DataFrame, summary: Summary, sample: Sample) -> pd.Series[Any]:
    """The scores of trials, in standard deviations where there are several tasks."""
    values = judged[f"score_{summary}"]
    return values if sample.tasks == 1 else normalised(judged, values)


def normalised(judged: pd.DataFrame, values: pd.Series[Any]) -> pd.Series[Any]:
    """Scores in standard deviations of all trials on their task that count, so that tasks can be averaged."""
    tasks = judged["replicate"] // TASK_BLOCK
    counted = values.where(judged["counted"]).astype("float64")
    centre = counted.groupby(tasks).transform("mean")
    scale = counted.groupby(tasks).transform("std", ddof=1)
    return (values - centre) / scale.where(scale > 0, 1.0)


def independent_scores(
    judged: pd.DataFrame, first: str, second: str, summary: Summary, sample: Sample, goal: Goal
) -> ScoreComparison:
    """The comparison of the mean scores of two arms that share no configurations; a win is of every two of them."""
    values = _comparable(judged, summary, sample)
    rows = [judged["paired"] & (judged["arm"] == arm) for arm in (first, second)]
    a, b = (values[chosen].groupby(judged.loc[chosen, "configuration"]).mean().to_numpy(dtype=float) for chosen in rows)
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
    mean, low, high, method = _estimate(values.astype(float), interval)
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


def second_minus_first(entry: Corrected, difference: float | None) -> Change:
    """A comparison as the second arm minus the first; `difference` is the entry's own, first minus second."""
    low, high = entry["low"], entry["high"]
    return {
        "difference": None if difference is None else 0.0 - difference,
        "low": None if high is None else 0.0 - high,
        "high": None if low is None else 0.0 - low,
        "interval": entry["interval"],
        "p_value": entry["p_value"],
        "p_adjusted": entry["p_adjusted"],
        "test": entry["test"],
    }


def turned(entry: Difference) -> tuple[float | None, float | None, float | None]:
    """A difference of the first arm less the second with its ends, as the second less the first, as pages show it."""
    ends = (entry["difference"], entry["high"], entry["low"])
    difference, low, high = (None if value is None else 0.0 - value for value in ends)
    return difference, low, high


def favoured(
    arms: Sequence[str], difference: float | None, p_value: float | None, *, more_is_better: bool
) -> str | None:
    """The better of two arms by their difference, first minus second; None unless it is significant."""
    if p_value is None or p_value >= SIGNIFICANT or not difference:
        return None
    return str(arms[0] if (difference > 0) == more_is_better else arms[1])


def _estimate(values: NDArray[np.float64], interval: Interval) -> tuple[float | None, float | None, float | None, str]:
    """The mean, with the ends and the method of its interval; None without any values."""
    if len(values) == 0:
        return None, None, None, interval.method
    return float(np.mean(values)), interval.low, interval.high, interval.method
