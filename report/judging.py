"""What each trial shows: it learned nothing, is good, or lies between; at the best and at the last epoch side by side.

`judge` adds these columns to the frame of trials (`report.frames`):

| column | meaning |
|---|---|
| counted | whether it counts for the fractions: finished or diverged, and something was measured |
| score_best, score_last | the number it is judged by, NaN if it does not count; `worst` where it has none |
| outcome_best, outcome_last | `learned_nothing`, `between` or `good`; <NA> if it does not count |
| paired | whether every arm's trial of its configuration and replicate counts; never on replicates of winners alone |
| reason | why it does not count: its status, or `not_measured`; <NA> if it counts |

At the best epoch a diverged trial counts by the epochs it recorded, at the last it learned nothing, with the score
`worst`: 0.5 for an AUC, else the lowest value in the study. So does a trial whose metric was never a number. Trials
that ran out of memory, timed out, failed or were pruned are left out, and so are those that have not ended.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from report.frames import StudyFrames
from robustness.statistics.thresholds import upper_point
from robustness.trial import COUNTED

SUMMARIES = ("best", "last")
OUTCOMES = ("learned_nothing", "good")
LEVELS = ("learned_nothing", "between", "good")
CHANCE = 0.5
"""The AUC of a guess, and what stands in for the untrained networks' threshold as long as that is not known."""


@dataclass(frozen=True)
class Threshold:
    """Up to where a trial has learned nothing."""

    value: float
    inclusive: bool
    """Whether a trial exactly at the value has learned nothing, too: it is no better than untrained networks."""
    known: bool
    """False while the untrained networks' scores are not in the store and the value stands in for them."""
    why: str
    """Where the value comes from, in a sentence."""

    def nothing(self, scores: pd.Series[float]) -> pd.Series[bool]:
        return scores <= self.value if self.inclusive else scores < self.value


@dataclass(frozen=True)
class Thresholds:
    """When a trial has learned nothing, for each summary, and when it is good."""

    learned_nothing: Mapping[str, Threshold]
    good: float

    def has(self, outcome: str, summary: str, scores: pd.Series[float]) -> pd.Series[bool]:
        """Which scores have an outcome; never good and nothing at once: nothing goes first."""
        nothing = self.learned_nothing[summary].nothing(scores)
        return nothing if outcome == "learned_nothing" else (scores >= self.good) & ~nothing

    def as_json(self) -> dict[str, Any]:
        return {
            "learned_nothing": {
                summary: {"value": t.value, "inclusive": t.inclusive, "known": t.known, "why": t.why}
                for summary, t in self.learned_nothing.items()
            },
            "good": {"at_least": self.good},
        }


def thresholds(frames: StudyFrames) -> Thresholds:
    """The thresholds of a study: fixed numbers, or the 99 % point of what untrained networks or guesses score."""
    outcomes = frames.document["outcomes"]
    rule = outcomes["learned_nothing"]
    if rule.get("below") is not None:
        fixed = Threshold(float(rule["below"]), False, True, f"the study sets it: below {rule['below']:g}")
        found = dict.fromkeys(SUMMARIES, fixed)
    else:
        level = float(rule.get("no_better_than_untrained") or rule["no_better_than_guessing"])
        found = {summary: _untrained(frames.untrained, summary, level) for summary in SUMMARIES}
    return Thresholds(found, float(outcomes["good"]["at_least"]))


def _untrained(note: Mapping[str, Any] | None, summary: str, level: float) -> Threshold:
    if note is None:
        return Threshold(
            CHANCE,
            True,
            False,
            f"what chance scores has not been found out yet: {CHANCE} stands in for the threshold",
        )
    part: Mapping[str, Any] = note.get("summaries", {}).get(summary) or note
    scores = [float(score) for score in part.get("scores", [])]
    permuted = part.get("permutation")
    points = [upper_point(values, level) for values in (scores, _numbers(permuted)) if values]
    value = float(part["threshold"]) if part.get("threshold") is not None else max(points, default=CHANCE)
    judged_as = str(part.get("summary", note.get("summary", summary)))
    evaluations = part.get("evaluations", note.get("evaluations"))
    if scores:
        why = (
            f"no better than the {100 * (1 - level):g} % point of {len(scores)} untrained networks, each judged by the "
            f"{judged_as} of {evaluations} evaluations, and never below the same point of permutations by patient"
        )
    else:
        why = (
            f"no better than the {100 * (1 - level):g} % point of guesses, labels permuted between patients, judged by "
            f"the {judged_as} of {evaluations} evaluations"
        )
    if judged_as != summary:
        why += f" (made for the {judged_as} epoch; at the {summary} it is the stricter one)"
    return Threshold(value, True, True, why)


def _numbers(permuted: object) -> list[float]:
    """The permutations' scores, or their one threshold, however the note has them."""
    if isinstance(permuted, Mapping):
        permuted = permuted.get("scores", permuted.get("threshold", permuted.get("point")))
    if isinstance(permuted, (int, float)):
        return [float(permuted)]
    return [float(value) for value in permuted] if isinstance(permuted, (list, tuple)) else []


def worst_score(frames: StudyFrames) -> float:
    """The score of a trial that has none: 0.5 for an AUC, else the lowest value that any trial had."""
    if frames.metric.endswith("auc"):
        return CHANCE
    lowest = frames.trials[list(SUMMARIES)].min().min()
    return float(lowest) if math.isfinite(lowest) else 0.0


def judge(frames: StudyFrames, limits: Thresholds) -> pd.DataFrame:
    """The frame of trials with the columns of this module's table."""
    trials = frames.trials.copy()
    ended = trials["status"].isin(COUNTED)
    # A trial that diverged in its first epoch has recorded nothing, and shows just that.
    counted = ended & (trials["measured"] | (trials["status"] == "diverged"))
    worst = worst_score(frames)
    trials["counted"] = counted
    for summary in SUMMARIES:
        scores = trials[summary].astype("float64")
        if summary == "last":
            scores = scores.mask(trials["status"] == "diverged")
        showed = counted & scores.notna()
        trials[f"score_{summary}"] = scores.fillna(worst).where(counted)
        outcome = np.select(
            [~counted, ~showed, *(limits.has(name, summary, scores) for name in OUTCOMES)],
            ["", "learned_nothing", *OUTCOMES],
            "between",
        )
        trials[f"outcome_{summary}"] = pd.array(outcome, dtype="string")
        trials.loc[~counted, f"outcome_{summary}"] = pd.NA
    reason = trials["status"].where(~ended, "not_measured").astype("string")
    trials["reason"] = reason.mask(counted)
    trials["paired"] = _paired(trials, frames.arms) & (trials["replicate"] < frames.replicates)
    return trials


def of_the_plan(judged: pd.DataFrame, frames: StudyFrames) -> pd.DataFrame:
    """The trials that fractions are over: further ones would count the winners' configurations more than the others."""
    return judged.loc[judged["replicate"] < frames.replicates]


def _paired(trials: pd.DataFrame, arms: list[str]) -> pd.Series[bool]:
    """Whether every arm counts in a trial's configuration and replicate.

    An arm of which no trial counts is not asked for: it would leave nothing to say about the others.
    """
    used = [arm for arm in arms if trials.loc[trials["arm"] == arm, "counted"].any()]
    asked = trials["counted"] & trials["arm"].isin(used)
    together = asked.groupby([trials["configuration"], trials["replicate"]]).transform("sum")
    return asked & (together == len(used))
