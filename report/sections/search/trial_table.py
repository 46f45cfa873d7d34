"""The table of all trials of an optimised study: the runs of each arm's search, then its final models."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pandas as pd

from report.sections.search.runs import best_scores, objective_goal_of
from report.words import DASH, metric_words, number, score, spaced, text
from robustness.trial import TrialKey

if TYPE_CHECKING:
    from report.analysis import Analysis
    from report.sections.finals.entries import FinalsResults
    from report.sections.search.entries import SearchResults


def search_rows(analysis: Analysis, most: int) -> tuple[tuple[str, ...], tuple[tuple[str, ...], ...], int]:
    """The columns, at most `most` rows, one for each trial, and the number of trials."""
    frames = analysis.frames
    scores = best_scores(frames, _objective(analysis), objective_goal_of(frames))
    tests = _tests(analysis)
    places = {arm: place for place, arm in enumerate(frames.arms)}
    trials = frames.trials
    trials = trials.assign(
        place=trials["arm"].map(places).fillna(len(places)), later=(trials["stage"] == "final").astype(int)
    ).sort_values(["place", "search", "later", "run", "replicate"])
    rows: list[tuple[str, ...]] = []
    row: Any
    for row in trials.head(most).itertuples():
        drawn = frames.configurations.loc[row.configuration]
        test = tests.get(TrialKey(row.configuration, row.arm, row.replicate)) if row.stage == "final" else None
        rows.append(
            (
                text(row.arm, 40),
                row.stage,
                *((str(row.search + 1),) if frames.searches > 1 else ()),
                str(row.run + 1),
                str(row.replicate + 1) if row.stage == "final" else DASH,
                *(DASH if pd.isna(drawn[name]) else number(drawn[name]) for name in analysis.hyperparameters),
                score(scores.get((row.configuration, row.arm, row.replicate))),
                score(test),
                spaced(row.status),
            )
        )
    hyperparameters = (text(name, 40) for name in analysis.hyperparameters)
    repeat = ("search",) if frames.searches > 1 else ()
    columns = ("arm", "stage", *repeat, "run", "model", *hyperparameters, "score", "test AUC", "status")
    return columns, tuple(rows), len(trials)


def search_caption(analysis: Analysis) -> str:
    """The caption of the table."""
    words = metric_words(_objective(analysis))
    return (
        f"Each trial: runs of the search, and final models under the run that found them. Score: {words}, best epoch."
    )


def _tests(analysis: Analysis) -> dict[TrialKey, float]:
    """The AUC on the test set of each final model."""
    finals: FinalsResults | None = analysis.results.get("finals")
    return {
        TrialKey(model["configuration"], arm, model["replicate"]): auc
        for arm, each in (finals["arms"].items() if finals else ())
        for model in each["replicates"]
        if (auc := model["auc"][0]) is not None
    }


def _objective(analysis: Analysis) -> str:
    search: SearchResults = analysis.results["search"]
    return search["objective"]
