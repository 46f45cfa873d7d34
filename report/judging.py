"""The outcome of every trial, at the best and at the last epoch side by side.

`judge_trials` adds these columns to the frame of trials (`report.frames`):

| column | meaning |
|---|---|
| counted | whether it counts for the fractions: finished or diverged, and something was measured |
| score_best, score_last | the number it is judged by, NaN if it does not count; `worst_scores` where it has none |
| threshold_best, threshold_last | the threshold of `learned_nothing` for this trial |
| outcome_best, outcome_last | `learned_nothing`, `between` or `good`; <NA> if it does not count |
| paired | whether every arm's trial of its configuration and replicate counts; never on replicates of winners alone |
| reason | why it does not count: its status, or `not_measured`; <NA> if it counts |

Arms that share no configurations have no pairs: there `paired` is `counted`.

The rule is that of `robustness.sweep.outcomes`. A trial that learned nothing and has no score, because it diverged
or because its metric was never a number, gets the worst: chance where the metric knows it (0.5 for an AUC), else the
worst score of any trial on its task. What a trial measures on its way to NaN is no score, so that a loss of 1e35 just
before the end does not stand in for every diverged trial.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from report.frames import KEY, TASK_BLOCK, StudyFrames
from report.records.estimates import JudgedOutcome
from robustness.metrics import find_metric
from robustness.sweep.outcome_arrays import counts, outcomes_of, thresholds_of
from robustness.sweep.outcomes import SUMMARIES, Judge, loses_metric
from robustness.trial import COUNTED

OUTCOMES: tuple[JudgedOutcome, JudgedOutcome] = ("learned_nothing", "good")


def judge_trials(
    frames: StudyFrames, judges: Mapping[str, Judge], worst: Mapping[int, float] | None = None
) -> pd.DataFrame:
    """The frame of trials with the columns of this module's table.

    A trial without a score gets the `worst` of its task, by default that of these trials.
    """
    trials = frames.trials.copy()
    counted = _counted(trials)
    stand_in = _places(trials).map(worst_scores(frames) if worst is None else worst)
    trials["counted"] = counted
    for summary in SUMMARIES:
        scores = own_scores(trials, summary)
        trials[f"score_{summary}"] = scores.fillna(stand_in).where(counted)
        thresholds = trial_thresholds(frames, trials, judges[summary])
        trials[f"threshold_{summary}"] = thresholds
        outcomes = outcomes_of(judges[summary], trials["status"], scores, trials["measured"], thresholds)
        trials[f"outcome_{summary}"] = pd.array(outcomes, dtype="string")
    reason = trials["status"].where(~trials["status"].isin(COUNTED), "not_measured").astype("string")
    trials["reason"] = reason.mask(counted)
    planned = trials["replicate"] % TASK_BLOCK < frames.replicates
    trials["paired"] = (_paired(trials, frames.arms) if frames.paired else counted) & planned
    return trials


def trial_thresholds(frames: StudyFrames, trials: pd.DataFrame, judge: Judge) -> NDArray[np.float64]:
    """The threshold of `learned_nothing` for each trial."""
    if not judge.cells:
        return np.full(len(trials), judge.nothing)
    rhos: Iterable[Any] = [None] * len(trials)
    if "initial_rho" in frames.configurations:
        rhos = trials["configuration"].map(frames.configurations["initial_rho"])
    keys = pd.MultiIndex.from_frame(trials[KEY])
    return thresholds_of(judge, trials["arm"], rhos, frames.starts.reindex(keys))


def distinct_thresholds(trials: pd.DataFrame, summary: str) -> list[float]:
    """The thresholds of `learned_nothing` of the trials that count, at the `best` or `last` epoch, in order."""
    counted = trials.loc[trials["counted"], f"threshold_{summary}"].astype("float64")
    return sorted(counted.dropna().unique().tolist())


def own_scores(trials: pd.DataFrame, summary: str) -> pd.Series[float]:
    """The metric of each trial at the `best` or `last` epoch; NaN where it has none."""
    return trials[summary].astype("float64").mask(loses_metric(summary, trials["status"]))


def worst_scores(frames: StudyFrames) -> dict[int, float]:
    """The score of a trial without one, by the place of its task.

    That of chance, such as 0.5 for an AUC, else the worst score of any trial on that task, at either epoch.
    """
    trials = frames.trials
    places = _places(trials)
    chance = find_metric(frames.metric).chance
    if chance is not None:
        return dict.fromkeys(places.tolist(), chance)
    scores = pd.DataFrame({summary: own_scores(trials, summary) for summary in SUMMARIES}).where(
        _counted(trials), np.nan
    )
    # If no trial on a task has a score, they are all alike, whatever stands in for it.
    return {
        int(place): float(frames.goal.worst(own[np.isfinite(own)].tolist(), default=0.0))
        for place, rows in scores.groupby(places)
        for own in [rows.to_numpy(dtype=float)]
    }


def _counted(trials: pd.DataFrame) -> pd.Series[bool]:
    return pd.Series(counts(trials["status"], trials["best"], trials["measured"]), index=trials.index)


def _places(trials: pd.DataFrame) -> pd.Series[int]:
    """The place of each trial's task."""
    return trials["replicate"] // TASK_BLOCK


def _paired(trials: pd.DataFrame, arms: list[str]) -> pd.Series[bool]:
    """Whether every arm counts in a trial's configuration and replicate.

    An arm without a single trial that counts is not required: it would leave nothing to say about the others.
    """
    used = [arm for arm in arms if trials.loc[trials["arm"] == arm, "counted"].any()]
    required = trials["counted"] & trials["arm"].isin(used)
    together = required.groupby([trials["configuration"], trials["replicate"]]).transform("sum")
    return required & (together == len(used))
