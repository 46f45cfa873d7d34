"""Runs without a partner: where some trials that count are in no complete pair, the pairs and all runs side by side."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, TypedDict

from report.comparison import (
    has_outcome,
    independent_scores,
    independent_table,
    paired_comparison,
    second_minus_first,
)
from report.document import Numbers, Section
from report.judged_study import JudgedStudy
from report.records.comparisons import PairedComparison, ScoreComparison
from report.records.families import Uncorrected, with_holm
from report.words import OUTCOME_WORDS, is_significant, mean_change, p_number, points, text
from robustness.errors import plural

if TYPE_CHECKING:
    from report.analysis import Analysis


class Run(TypedDict):
    """How many trials of an arm count, and how many of them are in a complete pair."""

    counted: int
    paired: int


class AllRuns(TypedDict):
    """All trials that count, compared as independent samples, where not all of them are paired."""

    arms: dict[str, Run]
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
        "outcomes": with_holm(tables),
        "scores": with_holm([Uncorrected(entry) for entry in scores]),
    }


def sections(analysis: Analysis) -> Iterator[Section]:
    """The pairs beside all runs; none where all of them are paired."""
    every = analysis.results["all_runs"]
    if every is None:
        return
    rows = []
    for entry in every["outcomes"]:
        paired = next(
            each
            for each in analysis.results["paired"]
            if (each["arms"], each["epoch"], each["outcome"]) == (entry["arms"], entry["epoch"], entry["outcome"])
        )
        rows.append((*_names(entry["arms"], OUTCOME_WORDS[entry["outcome"]]), *_outcome(paired), *_outcome(entry)))
    for score in every["scores"]:
        pairs = next(
            each
            for each in analysis.results["scores"]
            if (each["arms"], each["epoch"]) == (score["arms"], score["epoch"])
        )
        rows.append((*_names(score["arms"], f"mean {analysis.metric_words}"), *_score(pairs), *_score(score)))
    runs = ", ".join(
        f"{run['counted'] - run['paired']} of {run['counted']} of {text(arm, 60)}" for arm, run in every["arms"].items()
    )
    columns = ("Difference", "What", "Pairs", "p", "All runs", "p")
    notes = (
        "Pairs compare both arms on the same configurations. All runs, compared as independent samples, use every run, "
        "but arms may have been tried on different configurations: where the two differ, that is why.",
    )
    yield Section(
        "all-runs",
        "Runs without a partner",
        f"Runs that count but are in no complete pair: {runs}. No fraction and no paired test includes them.",
        (),
        Numbers(columns, tuple(rows)),
        notes,
    )


def disagreement(analysis: Analysis) -> Iterator[str]:
    """A caution where runs without a partner are many, or would change the verdict."""
    every = analysis.results["all_runs"]
    if every is None:
        return
    alone = sum(run["counted"] - run["paired"] for run in every["arms"].values())
    yield (
        f"{plural(alone, 'run')} that count have no partner, so pairs leave them out; the section on runs without a "
        "partner compares all runs."
    )
    for entry in every["outcomes"]:
        paired = next(
            each
            for each in analysis.results["paired"]
            if (each["arms"], each["epoch"], each["outcome"]) == (entry["arms"], entry["epoch"], entry["outcome"])
        )
        if is_significant(entry["p_value"]) != is_significant(paired["p_value"]):
            names = " and ".join(text(arm, 60) for arm in entry["arms"])
            yield f"The verdict on {names} differs between the complete pairs and all runs."


def _names(arms: list[str], what: str) -> tuple[str, str]:
    return " minus ".join(text(arm, 60) for arm in reversed(arms)), what


def _outcome(entry: PairedComparison) -> tuple[str, str]:
    return points(second_minus_first(entry, entry["difference"])), p_number(entry["p_value"])


def _score(entry: ScoreComparison) -> tuple[str, str]:
    return mean_change(second_minus_first(entry, entry["mean_difference"])), p_number(entry["p_value"])
