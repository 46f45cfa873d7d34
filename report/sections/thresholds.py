"""The thresholds of the study, and the verdict at every other; the reader's own are part of `report.exploring`.

A trial without a score has learned nothing at every threshold. Where thresholds of `learned_nothing` differ between
trials, "the threshold" is the lowest, and all others rise and fall with it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NotRequired, TypedDict

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from report.comparison import at_threshold, favoured, paired_comparison, score_pairs
from report.document import Numbers, Section
from report.judged_study import JudgedStudy
from report.judging import distinct_thresholds, own_scores
from report.records.estimates import JudgedOutcome
from report.records.families import with_holm
from report.sections.other_thresholds import Checked, checked
from report.words import listed, text
from robustness.errors import plural
from robustness.sweep.outcomes import Judge

if TYPE_CHECKING:
    from report.analysis import Analysis

CHOICES = 51
"""Thresholds at which the JSON has the verdict's test with its interval."""
MOST_NAMED = 3
"""More ranges than these stand in the table alone."""


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


class Dependence(Checked):
    """How the verdict on two arms depends on the threshold."""

    arms: list[str]
    outcome: JudgedOutcome
    threshold: float
    favours: str | None
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
    everywhere = checked(study, {arms: scores[arms] for arms in tried if tried[arms][0]["p_value"] is not None}, own)
    return [
        {
            "arms": list(arms),
            "outcome": frames.primary,
            "threshold": own,
            "favours": next(entry["favours"] for entry in tried[arms] if entry["threshold"] == own),
            **found,
            "favoured": [each["arm"] for each in found["favouring"]],
            "at": tried[arms],
        }
        for arms, found in everywhere.items()
    ]


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
    dependence = found["dependence"] if found else []
    numbers, notes = None, []
    if dependence:
        count, own = dependence[0]["checked"], dependence[0]["threshold"]
        columns = ("Arms", f"Favoured at {own:.3f}", "Unchanged", f"Favoured at, of {plural(count, 'threshold')}")
        numbers = Numbers(columns, tuple(_row(entry) for entry in dependence))
        notes.append(_what_is_checked(analysis, dependence[0]))
    yield Section("thresholds", "At other thresholds", _reading(analysis, dependence), (), numbers, tuple(notes))


def _row(entry: Dependence) -> tuple[str, ...]:
    favoured = (
        f"{text(each['arm'], 40)} at {each['count']:,} ({each['low']:.3f} to {each['high']:.3f})"
        for each in entry["favouring"]
    )
    return (
        " and ".join(text(arm, 40) for arm in entry["arms"]),
        text(entry["favours"], 40) if entry["favours"] else "neither",
        f"{entry['holds_from']:.3f} to {entry['holds_to']:.3f}",
        "; ".join(favoured) or "neither at any",
    )


def _what_is_checked(analysis: Analysis, entry: Dependence) -> str:
    """At which thresholds the test is done, and when it favours an arm."""
    compared = len(analysis.frames.compared)
    corrected = f" after {analysis.frames.correction} over {compared} comparisons" if compared > 1 else ""
    which = (
        "one between every two neighbouring scores, since the test changes only at a score"
        if entry["every"]
        else "an even sample of those between two neighbouring scores"
    )
    return (
        f"An arm is favoured at a threshold if the verdict's test is significant there{corrected}. Checked at "
        f"{plural(entry['checked'], 'threshold')}: {which}. “Unchanged” is the range around the study's own in which "
        "every one of them has the same answer. Nothing corrects for the number of thresholds."
    )


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


def _reading(analysis: Analysis, dependence: Sequence[Dependence]) -> str:
    """Over which thresholds the arm that the study's own threshold favours stays ahead."""
    own = analysis.good if analysis.primary == "good" else analysis.nothing
    words = "learned nothing" if analysis.primary == "learned_nothing" else "was good"
    lead = _elsewhere(dependence) or f"The study's own threshold for “{words}”, {own:.3f}, is one choice among many."
    return f"{lead}{_counted(analysis)}"


def _elsewhere(dependence: Sequence[Dependence]) -> str:
    """`mfvi stays behind radial at every threshold from 0.36 to 0.79; none favours it.`, or for no or several arms."""
    if not dependence:
        return ""
    decided = [entry for entry in dependence if entry["favours"]]
    favoured = {arm for entry in dependence for arm in entry["favoured"]}
    if not decided:
        if not favoured:
            return "No threshold favours any arm."
        return f"The study's own threshold favours no arm; others favour {_names(sorted(favoured))}."
    for place, words, none in ((1, "stays behind", "none favours it"), (0, "stays ahead of", "none favours another")):
        ends = [(_winner(entry), _loser(entry))[:: 1 if place == 0 else -1] for entry in decided]
        if len({each for each, _ in ends}) > 1:
            continue
        (arm, _), others = ends[0], [other for _, other in ends]
        low, high = max(entry["holds_from"] for entry in decided), min(entry["holds_to"] for entry in decided)
        own = [each for entry in dependence if arm in entry["arms"] for each in entry["favoured"]]
        rest = "" if any((each == arm) == (place == 1) for each in own) else f"; {none}"
        return f"{_name(arm)} {words} {_names(others)} at every threshold from {low:.3f} to {high:.3f}{rest}."
    ranges = "; ".join(
        f"{_name(_winner(entry))} stays ahead of {_name(_loser(entry))} from {entry['holds_from']:.3f} to "
        f"{entry['holds_to']:.3f}"
        for entry in decided[:MOST_NAMED]
    )
    more = f"; {len(decided) - MOST_NAMED} more are in the table" if len(decided) > MOST_NAMED else ""
    return f"At every threshold in these ranges the verdict is the same: {ranges}{more}."


def _winner(entry: Dependence) -> str:
    return str(entry["favours"])


def _loser(entry: Dependence) -> str:
    return next(arm for arm in entry["arms"] if arm != entry["favours"])


def _name(arm: str) -> str:
    return text(arm, 60)


def _names(arms: Sequence[str]) -> str:
    return listed([_name(arm) for arm in arms])


def _counted(analysis: Analysis) -> str:
    """How often either of two arms has more configurations beyond the threshold; nothing of more arms."""
    names = [text(arm, 60) for arm in analysis.arms.names]
    if len(names) != 2:
        return ""
    scores = analysis.goal.oriented(own_scores(analysis.pairs, analysis.epoch))
    first, second = (scores[analysis.pairs["arm"] == arm].to_numpy(dtype=float) for arm in analysis.arms.names)
    if not len(first) or not len(second):
        return ""
    grid = np.unique(np.concatenate([first, second]))
    grid = grid[np.isfinite(grid)]
    a, b = (_reaching(grid, scores) for scores in (first, second))
    ahead, behind = int((b > a).sum()), int((b < a).sum())
    if behind > ahead:
        names.reverse()
        ahead, behind = behind, ahead
    always = "" if behind else ", and at none is it behind"
    return (
        f" By counting alone, without a test, {names[1]} has more configurations {analysis.beyond} the threshold than "
        f"{names[0]} at {ahead} of the {len(grid)} thresholds that tell any two scores apart{always}."
    )


def _reaching(grid: NDArray[np.float64], scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """The share of scores at or above each threshold; a trial without a score is at none."""
    known = np.sort(scores[~np.isnan(scores)])
    return (len(known) - np.searchsorted(known, grid)) / len(scores)
