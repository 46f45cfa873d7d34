"""The thresholds of the study, and the verdict at every other; the reader's own are part of `report.exploring`.

A trial without a score has learned nothing at every threshold. Where thresholds of `learned_nothing` differ between
trials, "the threshold" is the lowest, and all others rise and fall with it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NotRequired, TypedDict

import numpy as np
import pandas as pd

from report.comparison import at_threshold, favoured, paired_comparison, score_pairs
from report.document import Numbers, Section
from report.judged_study import JudgedStudy
from report.judging import distinct_thresholds, own_scores
from report.records.estimates import JudgedOutcome
from report.records.families import with_holm
from report.words import text
from robustness.sweep.outcomes import Judge

if TYPE_CHECKING:
    from report.analysis import Analysis

CHOICES = 51
"""Thresholds at which the verdict is tried."""


class NothingThreshold(TypedDict):
    """The threshold of `learned_nothing` at one epoch."""

    value: float
    inclusive: bool
    known: bool
    why: str


class NothingThresholds(TypedDict):
    """The threshold of `learned_nothing` at the best and at the last epoch."""

    best: NothingThreshold
    last: NothingThreshold


class GoodThreshold(TypedDict):
    """The threshold of `good`."""

    at_least: NotRequired[float]
    at_most: NotRequired[float]
    """In place of `at_least` where the metric is minimised."""


class TriedThreshold(TypedDict):
    """The comparison of two arms at another threshold."""

    threshold: float
    difference: float | None
    low: float | None
    high: float | None
    p_value: float | None
    p_adjusted: float | None
    favours: str | None


class Dependence(TypedDict):
    """How the verdict on two arms depends on the threshold."""

    arms: list[str]
    outcome: JudgedOutcome
    threshold: float
    favours: str | None
    holds_from: float
    holds_to: float
    favoured: list[str]
    at: list[TriedThreshold]


class ThresholdResults(TypedDict):
    """When a trial has learned nothing or is good, and the verdict at other thresholds."""

    learned_nothing: NothingThresholds
    good: GoodThreshold
    dependence: list[Dependence]


def results(study: JudgedStudy) -> ThresholdResults | None:
    """When a trial has learned nothing at each epoch, when it is good, and the verdict at other thresholds.

    None for a study without thresholds.
    """
    if not study.frames.has_thresholds:
        return None
    good = study.judges[study.frames.rule].good
    return {
        "learned_nothing": {"best": _nothing(study.judges["best"]), "last": _nothing(study.judges["last"])},
        "good": {"at_most": good} if study.frames.goal.minimizes else {"at_least": good},
        "dependence": _dependence(study),
    }


def _nothing(judge: Judge) -> NothingThreshold:
    return {"value": judge.nothing, "inclusive": judge.inclusive, "known": judge.known, "why": judge.why}


def _dependence(study: JudgedStudy) -> list[Dependence]:
    """For every two arms the primary outcome at other thresholds, and between which of them the verdict holds.

    At each threshold an arm is favoured by the same test as in the verdict, after the same correction over the study's
    comparisons.
    """
    frames, judge = study.frames, study.judges[study.frames.rule]
    own = judge.good if frames.primary == "good" else judge.nothing
    thresholds = sorted({*np.linspace(*study.score_range, CHOICES).tolist(), own})
    trials = _at_common_threshold(study)
    compared = frames.compared if frames.paired else []
    scores = {arms: score_pairs(trials, *arms, frames.rule, frames.goal) for arms in compared}
    scores = {arms: pairs for arms, pairs in scores.items() if not pairs.empty}
    tried: dict[tuple[str, str], list[TriedThreshold]] = {arms: [] for arms in scores}
    for threshold in thresholds:
        tables = {
            arms: at_threshold(pairs, frames.primary, threshold, study.sample, judge) for arms, pairs in scores.items()
        }
        family = [paired_comparison(arms, frames.primary, frames.rule, *tested) for arms, tested in tables.items()]
        for arms, entry in zip(scores, with_holm(family), strict=True):
            better = favoured(arms, entry["difference"], entry["p_adjusted"], more_is_better=frames.primary == "good")
            tried[arms].append(
                {
                    "threshold": threshold,
                    "difference": entry["difference"],
                    "low": entry["low"],
                    "high": entry["high"],
                    "p_value": entry["p_value"],
                    "p_adjusted": entry["p_adjusted"],
                    "favours": better,
                }
            )
    return [
        _holds(arms, frames.primary, own, entries)
        for arms, entries in tried.items()
        if entries[0]["p_value"] is not None
    ]


def _holds(arms: tuple[str, str], outcome: JudgedOutcome, own: float, tried: list[TriedThreshold]) -> Dependence:
    """The comparison of two arms at every threshold, and the range around the study's own over which it holds."""
    thresholds = [entry["threshold"] for entry in tried]
    start = end = thresholds.index(own)
    verdict = tried[start]["favours"]
    while start > 0 and tried[start - 1]["favours"] == verdict:
        start -= 1
    while end + 1 < len(tried) and tried[end + 1]["favours"] == verdict:
        end += 1
    return {
        "arms": list(arms),
        "outcome": outcome,
        "threshold": own,
        "favours": verdict,
        "holds_from": thresholds[start],
        "holds_to": thresholds[end],
        "favoured": sorted({str(entry["favours"]) for entry in tried if entry["favours"]}),
        "at": tried,
    }


def _at_common_threshold(study: JudgedStudy) -> pd.DataFrame:
    """The planned trials with scores that the lowest threshold judges as their own thresholds judge their scores."""
    judge, rule = study.judges[study.frames.rule], study.frames.rule
    if study.frames.primary == "good" or not judge.cells:
        return study.planned
    scores = study.planned[f"score_{rule}"] - (study.planned[f"threshold_{rule}"] - judge.nothing)
    if judge.gains:
        # A good trial has learned at every threshold.
        scores = scores.mask(study.planned[f"outcome_{rule}"] == "good", np.inf)
    return study.planned.assign(**{f"score_{rule}": scores})


def sections(analysis: Analysis) -> Iterator[Section]:
    """Whether another threshold would change the verdict; none without a score or without thresholds."""
    if not analysis.frames.has_thresholds or own_scores(analysis.pairs, analysis.epoch).isna().all():
        return
    found = analysis.results["thresholds"]
    rows = tuple(
        (
            " and ".join(text(arm, 40) for arm in entry["arms"]),
            text(entry["favours"], 40) if entry["favours"] else "neither",
            f"{entry['holds_from']:.3f} to {entry['holds_to']:.3f}",
            ", ".join(text(arm, 40) for arm in entry["favoured"]) or "neither",
        )
        for entry in (found["dependence"] if found else ())
    )
    columns = ("Arms", "Favoured at the study's threshold", "Holds from", "Favoured at any threshold")
    numbers = Numbers(columns, rows) if rows else None
    yield Section("thresholds", "At other thresholds", _reading(analysis), numbers=numbers)


def dashed_lines(analysis: Analysis) -> str:
    """What the dashed lines of pictures of scores are; empty without thresholds."""
    if not analysis.frames.has_thresholds:
        return ""
    if not analysis.judge.cells:
        return "Dashed lines are the study's own thresholds."
    own = distinct_thresholds(analysis.study.planned, analysis.epoch)
    lowest = "of guessing, below which none" if analysis.judge.gains else "the lowest"
    return (
        f"Dashed lines are the threshold of good and {lowest} of {len(own)} thresholds of having learned nothing"
        f"{' lies' if analysis.judge.gains else ''}; the verdict uses each trial's own, so shares at this line differ."
    )


def _tested(analysis: Analysis) -> str:
    """Where the verdict's own test of two arms, done at each threshold alone, has the same answer."""
    found = analysis.results["thresholds"]
    dependence = found["dependence"] if found else []
    if len(dependence) != 1:
        return ""
    (entry,) = dependence
    favoured = f"favours {text(entry['favours'], 60)}" if entry["favours"] else "shows no difference"
    return (
        f"The test of the verdict, repeated at each threshold alone, {favoured} from {entry['holds_from']:.3f} to "
        f"{entry['holds_to']:.3f}. "
    )


def _reading(analysis: Analysis) -> str:
    """Over which thresholds the arm that the study's own threshold favours stays ahead."""
    own = analysis.good if analysis.primary == "good" else analysis.nothing
    words = "learned nothing" if analysis.primary == "learned_nothing" else "was good"
    names = [text(arm, 60) for arm in analysis.arms.names]
    if len(names) != 2:
        return f"The study's own threshold for “{words}”, {own:.3f}, is one choice among many."
    scores = analysis.goal.oriented(own_scores(analysis.pairs, analysis.epoch))
    first, second = (scores[analysis.pairs["arm"] == arm].to_numpy(dtype=float) for arm in analysis.arms.names)
    grid = np.unique(np.concatenate([first, second]))
    grid = grid[np.isfinite(grid)]
    # A trial without a score is at no threshold.
    above = [(float((first >= level).mean()), float((second >= level).mean())) for level in grid]
    ahead = [b > a for a, b in above].count(True)
    behind = [b < a for a, b in above].count(True)
    if behind > ahead:
        names.reverse()
        ahead, behind = behind, ahead
    always = "" if behind else ", and at none is it behind"
    return (
        f"{_tested(analysis)}By counting alone, without a test, {names[1]} has more"
        f" configurations {analysis.beyond} the threshold than {names[0]} at {ahead} of the "
        f"{len(grid)} thresholds that tell any two scores apart{always}."
    )
