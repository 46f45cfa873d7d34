"""The judge: whether an ended trial learned nothing, is good, or lies between; or is excluded from the fractions.

    metric < nothing                     learned_nothing    (`inclusive`: metric <= nothing)
    metric >= good, and not the above    good
    anything else                        between

At the best epoch a diverged trial counts by the epochs it recorded; at the last epoch it learned nothing. Trials that
ran out of memory, timed out or failed are excluded. Pre-training epochs never count.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

from robustness.trial import COUNTED, EpochResult, Status

Outcome: TypeAlias = Literal["learned_nothing", "between", "good"]

SUMMARIES = ("best", "last")
"""The epochs at which a trial can be judged."""

UNTRAINED_NOTE = "untrained"
"""The note of a study in the store that holds its untrained networks' scores and the threshold made of them."""

CHANCE = 0.5
"""The AUC of a guess, and the threshold that stands in until that of untrained networks is known."""


def judged_epoch(
    epochs: Iterable[EpochResult], metric: str, rule: str, status: Status
) -> tuple[float | None, int | None]:
    """The metric and number of the epoch by which a trial is judged (`rule`: best or last), or None, None.

    The best is the first of equals.
    """
    counted = [
        (epoch.measures[metric], epoch.epoch) for epoch in epochs if not epoch.pretraining and metric in epoch.measures
    ]
    finite = [(value, number) for value, number in counted if math.isfinite(value)]
    if not finite or loses_metric(rule, status):
        return None, None
    return finite[-1] if rule == "last" else max(finite, key=lambda pair: (pair[0], -pair[1]))


def loses_metric(rule: str, status: Any) -> Any:
    """Whether a trial of this status has no metric at the `best` or `last` epoch; `status` may be an array."""
    return (status == "diverged") & (rule == "last")


@dataclass(frozen=True)
class Judge:
    """The thresholds of a study, and the outcome of a trial by them."""

    nothing: float
    """Learned nothing: the metric is below this."""
    good: float
    """Good: the metric is at least this."""
    inclusive: bool = False
    """Whether a metric equal to `nothing` has learned nothing, too: no better than an untrained network."""
    known: bool = True
    """False while the untrained networks' scores are not in the store and `CHANCE` stands in for their threshold."""
    why: str = ""
    """Where `nothing` comes from, in a sentence."""

    @staticmethod
    def of(document: Mapping[str, Any], untrained: Mapping[str, Any] | None) -> Judge:
        """The judge at the study's own epoch; until chance is known, no trial has learned nothing."""
        judge = judges(document, untrained)[document["outcomes"]["epoch"]]
        return judge if judge.known else replace(judge, nothing=math.nan)

    def outcome(self, status: Status | str, metric: float | None) -> Outcome | None:
        """The outcome of one trial; None while it runs and for trials that are excluded."""
        if status not in COUNTED:
            return None
        if metric is None or math.isnan(metric):
            return "learned_nothing" if status == "diverged" else None
        if self.has("learned_nothing", metric):
            return "learned_nothing"
        return "good" if self.has("good", metric) else "between"

    def has(self, outcome: str, metric: Any) -> Any:
        """Whether a metric, a number or an array of any shape, means `learned_nothing` or `good`; never both."""
        nothing = metric <= self.nothing if self.inclusive else metric < self.nothing
        # For truth values and arrays of them alike, `>` is "and not".
        return nothing if outcome == "learned_nothing" else (metric >= self.good) > nothing


def judges(document: Mapping[str, Any], untrained: Mapping[str, Any] | None) -> dict[str, Judge]:
    """The judges of a study at the best and at the last epoch.

    `nothing` is a number of the study file, or the upper point of the scores of untrained networks or guesses.
    """
    outcomes = document["outcomes"]
    rule, good = outcomes["learned_nothing"], float(outcomes["good"]["at_least"])
    if rule.get("below") is not None:
        fixed = Judge(float(rule["below"]), good, why=f"the study sets it: below {rule['below']:g}")
        return dict.fromkeys(SUMMARIES, fixed)
    level = float(rule.get("no_better_than_untrained") or rule["no_better_than_guessing"])
    return {summary: _beating_chance(untrained, summary, level, good) for summary in SUMMARIES}


def _beating_chance(note: Mapping[str, Any] | None, summary: str, level: float, good: float) -> Judge:
    if note is None:
        why = f"what chance scores has not been found out yet: {CHANCE} stands in for the threshold"
        return Judge(CHANCE, good, inclusive=True, known=False, why=why)
    part: Mapping[str, Any] = note.get("summaries", {}).get(summary) or note
    scores = [float(score) for score in part.get("scores", [])]
    if part.get("threshold") is not None:
        value = float(part["threshold"])
    else:
        # Loads numpy, which `status` does without.
        from robustness.sweep.chance import upper_point

        points = [upper_point(values, level) for values in (scores, _permuted(part.get("permutation"))) if values]
        value = max(points, default=CHANCE)
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
    return Judge(value, good, inclusive=True, why=why)


def _permuted(permutation: object) -> list[float]:
    """The permutations' scores, or their one threshold, in whichever form the note has them."""
    if isinstance(permutation, Mapping):
        permutation = permutation.get("scores", permutation.get("threshold", permutation.get("point")))
    if isinstance(permutation, (int, float)):
        return [float(permutation)]
    return [float(value) for value in permutation] if isinstance(permutation, (list, tuple)) else []
