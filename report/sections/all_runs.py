"""Runs without a partner: where some trials that count are in no complete pair, the pairs and all runs side by side."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, TypedDict

import pandas as pd

from report.comparison import (
    has_outcome,
    independent_scores,
    independent_table,
    paired_comparison,
    second_minus_first,
    side_by_side,
)
from report.document import Numbers, Section
from report.frames import TASK_BLOCK
from report.judged_study import JudgedStudy
from report.records.comparisons import PairedComparison, ScoreComparison
from report.records.families import Uncorrected, with_holm
from report.words import OUTCOME_WORDS, TASK_UNIT, is_significant, mean_change, p_number, points, text
from robustness.errors import plural

if TYPE_CHECKING:
    from report.analysis import Analysis


class Run(TypedDict):
    """How many trials of an arm count, and how many of them are in a complete pair."""

    counted: int
    paired: int


class Reasons(TypedDict):
    """Why trials that count are in no complete pair."""

    lost: int
    """The trial of another arm has no result."""
    untried: int
    """Another arm was not run on this configuration, or not on this task."""
    extra: int
    """Every arm was, but not with this seed."""


class Alone(TypedDict):
    """The trials of two arms that count, and how many of them have no partner in the other."""

    arms: list[str]
    counted: int
    alone: int


class AllRuns(TypedDict):
    """All trials that count, compared as independent samples, where not all of them are paired."""

    arms: dict[str, Run]
    reasons: Reasons
    comparisons: list[Alone]
    outcomes: list[PairedComparison]
    scores: list[ScoreComparison]


def results(study: JudgedStudy) -> AllRuns | None:
    """Every comparison at the study's epoch over all trials that count; None where all of them are paired."""
    frames, judged = study.frames, study.planned
    alone = judged["counted"] & ~judged["paired"]
    if not frames.paired or study.sample.watch is not None or not alone.any():
        return None
    every = judged.assign(paired=judged["counted"])
    values = has_outcome(every, frames.primary, frames.rule)
    tables = [
        paired_comparison(pair, frames.primary, frames.rule, independent_table(every, values, *pair), None)
        for pair in (frames.compared if frames.has_thresholds else ())
    ]
    scores = [independent_scores(every, *pair, frames.rule, study.sample, frames.goal) for pair in frames.compared]
    return {
        "arms": {
            arm: {"counted": int(own["counted"].sum()), "paired": int(own["paired"].sum())}
            for arm in frames.arms
            for own in [judged[judged["arm"] == arm]]
        },
        "reasons": _reasons(judged, judged[alone], frames.arms),
        "comparisons": [_alone(judged, pair) for pair in frames.compared],
        "outcomes": with_holm(tables),
        "scores": with_holm([Uncorrected(entry) for entry in scores]),
    }


def _reasons(judged: pd.DataFrame, alone: pd.DataFrame, arms: Sequence[str]) -> Reasons:
    tasks = judged["replicate"] // TASK_BLOCK
    ran = dict(
        zip(
            zip(judged["configuration"], judged["replicate"], judged["arm"], strict=True),
            judged["counted"],
            strict=True,
        )
    )
    tried = set(zip(judged["configuration"], tasks, judged["arm"], strict=True))
    found: Reasons = {"lost": 0, "untried": 0, "extra": 0}
    for configuration, replicate in zip(alone["configuration"], alone["replicate"], strict=True):
        missing = [arm for arm in arms if not ran.get((configuration, replicate, arm), False)]
        if any((configuration, replicate, arm) in ran for arm in missing):
            found["lost"] += 1
        elif all((configuration, replicate // TASK_BLOCK, arm) in tried for arm in missing):
            found["extra"] += 1
        else:
            found["untried"] += 1
    return found


def _alone(judged: pd.DataFrame, arms: tuple[str, str]) -> Alone:
    counted = judged[judged["counted"] & judged["arm"].isin(arms)]
    pairs = side_by_side(judged, judged["counted"].astype(float), list(arms))
    return {"arms": list(arms), "counted": len(counted), "alone": len(counted) - 2 * len(pairs)}


def sections(analysis: Analysis) -> Iterator[Section]:
    """The pairs beside all runs; none where all of them are paired."""
    every = analysis.results["all_runs"]
    if every is None:
        return
    rows = []
    alone = {tuple(entry["arms"]): entry for entry in every["comparisons"]}
    for entry in every["outcomes"]:
        paired = next(
            each
            for each in analysis.results["paired"]
            if (each["arms"], each["epoch"], each["outcome"]) == (entry["arms"], entry["epoch"], entry["outcome"])
        )
        what = OUTCOME_WORDS[entry["outcome"]]
        rows.append((*_names(entry["arms"], what, alone), *_outcome(paired), *_outcome(entry)))
    for score in every["scores"]:
        pairs = next(
            each
            for each in analysis.results["scores"]
            if (each["arms"], each["epoch"]) == (score["arms"], score["epoch"])
        )
        rows.append((*_names(score["arms"], _mean(analysis), alone), *_score(pairs), *_score(score)))
    runs = ", ".join(
        f"{run['counted'] - run['paired']} of {run['counted']} of {text(arm, 60)}" for arm, run in every["arms"].items()
    )
    columns = ("Difference", "What", "Runs without a partner", "Pairs", "p", "All runs", "p")
    notes = (
        "A paired test uses every pair of its two arms, also where a third has no such run; runs without a partner in "
        "the other arm are left out.",
        "All runs are compared as independent samples, in which every configuration counts by the mean of its runs, on "
        "each task alike. The test then no longer subtracts what both arms share on a configuration, so its interval "
        "may be much wider even where few runs were added.",
    )
    yield Section(
        "all-runs",
        "Runs without a partner",
        f"{_opening(analysis, every)} They are {runs}.",
        (),
        Numbers(columns, tuple(rows)),
        notes,
    )


def disagreement(analysis: Analysis) -> Iterator[str]:
    """A caution where runs without a partner are many, or would change the verdict."""
    every = analysis.results["all_runs"]
    if every is None:
        return
    yield f"{_opening(analysis, every)} “Runs without a partner” compares all runs."
    for entry in every["outcomes"]:
        paired = next(
            each
            for each in analysis.results["paired"]
            if (each["arms"], each["epoch"], each["outcome"]) == (entry["arms"], entry["epoch"], entry["outcome"])
        )
        if is_significant(entry["p_value"]) != is_significant(paired["p_value"]):
            names = " and ".join(text(arm, 60) for arm in entry["arms"])
            yield f"The verdict on {names} differs between the complete pairs and all runs."


def _opening(analysis: Analysis, every: AllRuns) -> str:
    """How many runs are in no set of all arms, why, and what leaves them out."""
    counted = sum(run["counted"] for run in every["arms"].values())
    alone = counted - sum(run["paired"] for run in every["arms"].values())
    reasons = every["reasons"]
    why = {
        "extra seeds that not every arm has at that configuration": reasons["extra"],
        "of configurations that not every arm was run on": reasons["untried"],
        "of configurations on which another arm has no result": reasons["lost"],
    }
    given = [(words, count) for words, count in why.items() if count]
    listed_reasons = given[0][0] if len(given) == 1 else "; ".join(f"{words}: {count:,}" for words, count in given)
    left_out = "fractions and means of the arms leave" if analysis.frames.has_thresholds else "means of the arms leave"
    verb = "is" if alone == 1 else "are"
    return (
        f"{alone:,} of {plural(counted, 'run')} {verb} not shared by all arms ({listed_reasons}): {left_out} "
        f"{'it' if alone == 1 else 'them'} out."
    )


def _mean(analysis: Analysis) -> str:
    """What is compared, with its unit."""
    unit = f", {TASK_UNIT}" if len(analysis.frames.tasks) > 1 else ""
    return f"mean {analysis.metric_words}{unit}"


def _names(arms: list[str], what: str, alone: Mapping[tuple[str, ...], Alone]) -> tuple[str, str, str]:
    own = alone[tuple(arms)]
    return " minus ".join(text(arm, 60) for arm in reversed(arms)), what, f"{own['alone']:,} of {own['counted']:,}"


def _outcome(entry: PairedComparison) -> tuple[str, str]:
    return points(second_minus_first(entry, entry["difference"])), p_number(entry["p_value"])


def _score(entry: ScoreComparison) -> tuple[str, str]:
    return mean_change(second_minus_first(entry, entry["mean_difference"])), p_number(entry["p_value"])
