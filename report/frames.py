"""The one frame that the report's parts share, read from the store.

Results: a row for each trial in the plan's order, with `configuration`, `arm`, `replicate`, a column for each
hyperparameter, `status`, `metric`, `metric_epoch`, and `outcome` (`learned_nothing`, `between`, `good`; None for a
trial that has not ended or is left out).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from report.statistics.pairs import PairCounts
from robustness.outcomes import UNTRAINED_NOTE, Judge

if TYPE_CHECKING:
    from robustness.store.studies import StudyStore

NOT_REPEATABLE = ("seconds", "attempts", "started", "ended", "worker", "device", "error")
"""Columns of trials that may differ between two runs of the same study."""


def results_frame(study: StudyStore) -> pd.DataFrame:
    """The results of a study (columns: see above); nothing in it depends on when, where or how often a trial ran."""
    judge = Judge.of(study.document(), study.note(UNTRAINED_NOTE))
    frame = study.trials().drop(columns=list(NOT_REPEATABLE))
    outcomes = [
        judge.outcome(str(status), float(metric))
        for status, metric in zip(frame["status"], frame["metric"], strict=True)
    ]
    return frame.assign(outcome=pd.Series(outcomes, index=frame.index, dtype="object"))


def pair_counts(results: pd.DataFrame, first: str, second: str, outcome: str) -> PairCounts:
    """In how many pairs two arms show an outcome; pairs with an arm that has not ended or is left out do not count."""
    table = results.pivot_table(
        index=["configuration", "replicate"], columns="arm", values="outcome", aggfunc="first", observed=True
    ).reindex(columns=[first, second])
    table = table.dropna()
    shown = table == outcome
    one, other = shown[first].astype(bool), shown[second].astype(bool)
    return PairCounts(
        both=int((one & other).sum()),
        first_only=int((one & ~other).sum()),
        second_only=int((~one & other).sum()),
        neither=int((~one & ~other).sum()),
    )
