"""The judge: whether an ended trial learned nothing, is good, or lies between; or is excluded from the fractions.

    metric < threshold                   learned_nothing    (`inclusive`: metric <= threshold)
    metric >= good, and not the above    good
    anything else                        between

For a metric that is minimised, every sign is reversed. In a study without thresholds, every trial with a metric is
`between`.

The threshold is one number, or it depends on the trial's cell, which is its arm and initial rho
(`no_better_than_untrained`), or also on its start (`no_better_than_start`):

    threshold = max(guessing, folded start + gain of the cell),    folded a = max(a, 1 - a)

By the last rule a trial that is good never learned nothing. At the best epoch a diverged trial counts by the epochs it
recorded; at the last epoch it learned nothing, and so did a finished trial whose metric was never a number. Trials that
ran out of memory, timed out or failed are excluded. Epochs of pre-training, and the start, never count.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias

from robustness.goal import MAXIMIZE, Goal, goal_in
from robustness.trial import COUNTED, EpochResult, Status

Outcome: TypeAlias = Literal["learned_nothing", "between", "good"]
End: TypeAlias = Literal["value", "low", "high"]
"""A threshold's value, or an end of its stated error."""
Summary: TypeAlias = Literal["best", "last"]

SUMMARIES: tuple[Summary, Summary] = ("best", "last")
"""The epochs at which a trial can be judged."""

UNTRAINED_NOTE = "untrained"
"""The note of a study in the store that holds its untrained networks' scores and the threshold made of them."""

CHANCE = 0.5
"""The AUC of a guess, and the threshold that stands in until that of untrained networks is known."""

CHANCE_RULES = ("no_better_than_start", "no_better_than_untrained", "no_better_than_guessing")
"""The rules of `learned_nothing` whose thresholds are measured; exactly one of them is set, or a fixed number."""

_NO_START = 1.0
"""The start of a trial that recorded none: no gain can be shown."""


def judged_epoch(
    epochs: Iterable[EpochResult], metric: str, rule: str, status: Status, goal: Goal = MAXIMIZE
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
    return finite[-1] if rule == "last" else max(finite, key=lambda pair: (goal.oriented(pair[0]), -pair[1]))


def loses_metric(rule: str, status: Any) -> Any:
    """Whether a trial of this status has no metric at the `best` or `last` epoch; `status` may be an array."""
    return (status == "diverged") & (rule == "last")


def cell_name(arm: str, rho: Any, edges: Sequence[float] | None = None) -> str:
    """The cell of a trial: its arm and initial rho, or the interval between `edges` in which a varied rho lies."""
    if rho is None or rho != rho:
        return arm
    if edges is None:
        return f"{arm} {float(rho):g}"
    return f"{arm} {bisect_left(edges, float(rho)) + 1}/{len(edges) + 1}"


@dataclass(frozen=True)
class Judge:
    """The thresholds of a study, and the outcome of a trial by them."""

    nothing: float
    """Learned nothing: the metric is worse than this; the lowest threshold where they differ between trials."""
    good: float
    """Good: the metric is this or better."""
    inclusive: bool = False
    """Whether a metric equal to the threshold has learned nothing, too: no better than an untrained network."""
    known: bool = True
    """False while the untrained networks' scores are not in the store and `CHANCE` stands in for their threshold."""
    why: str = ""
    """Where the threshold comes from, in a sentence."""
    cells: Mapping[str, float] = field(default_factory=dict)
    """The threshold of each cell (`cell_name`) or, with `gains`, the gain that it requires; empty if one for all."""
    gains: bool = False
    """Whether a trial is judged by its gain over its own start, too."""
    folded: bool = True
    """Whether a start below 1/2 counts as the same distance above it."""
    edges: tuple[float, ...] | None = None
    """The edges of the cells' intervals of the initial rho; None if each of its values is a cell."""
    goal: Goal = MAXIMIZE

    @staticmethod
    def of(document: Mapping[str, Any], untrained: Mapping[str, Any] | None) -> Judge:
        """The judge at the study's own epoch; until chance is known, no trial has learned nothing."""
        judge = judges(document, untrained)[document["outcomes"]["epoch"]]
        return judge if judge.known else replace(judge, nothing=math.nan)

    def threshold(self, arm: str, rho: Any = None, start: float | None = None) -> float:
        """The threshold of a trial of this arm and initial rho; a cell that is not known has the strictest."""
        return self.threshold_in(cell_name(arm, rho, self.edges), start) if self.cells else self.nothing

    def threshold_in(self, cell: str, start: float | None = None) -> float:
        """The threshold of a trial of this cell."""
        if not self.cells:
            return self.nothing
        own = self.cells.get(cell, max(self.cells.values()))
        if not self.gains:
            return own
        begun = _NO_START if start is None or start != start else start
        return max(self.nothing, (max(begun, 1 - begun) if self.folded else begun) + own)

    def outcome(
        self, status: Status | str, metric: float | None, threshold: float | None = None, measured: bool = False
    ) -> Outcome | None:
        """The outcome of one trial; None while it runs and for trials that are excluded.

        `threshold` is its own where they differ. A trial without a metric learned nothing if it diverged, or if epochs
        were `measured` nevertheless.
        """
        if status not in COUNTED:
            return None
        if metric is None or math.isnan(metric):
            return "learned_nothing" if measured or status == "diverged" else None
        if self.has("learned_nothing", metric, threshold):
            return "learned_nothing"
        return "good" if self.has("good", metric, threshold) else "between"

    def has(self, outcome: str, metric: Any, threshold: Any = None) -> Any:
        """Whether a metric, a number or an array of any shape, means `learned_nothing` or `good`; never both."""
        limit = self.nothing if threshold is None else threshold
        worse_than = self.goal.at_least_as_good if self.inclusive else self.goal.better
        nothing = worse_than(limit, metric)
        good = self.goal.at_least_as_good(metric, self.good)
        # For truth values and arrays of them alike, `>` is "and not".
        if self.gains:
            nothing = nothing > good
        return nothing if outcome == "learned_nothing" else good > nothing


def judges(document: Mapping[str, Any], untrained: Mapping[str, Any] | None, end: End = "value") -> dict[str, Judge]:
    """The judges of a study at the best and at the last epoch, with thresholds at their values or ends of their error.

    The threshold is a number of the study file, or the upper point of the scores of untrained networks or guesses.
    """
    outcomes, goal = document["outcomes"], goal_in(document)
    rule = outcomes.get("learned_nothing")
    if rule is None:
        return dict.fromkeys(SUMMARIES, Judge(math.nan, math.nan, why="the study sets no thresholds", goal=goal))
    side, at = ("above", "at_most") if goal.minimizes else ("below", "at_least")
    good = float(outcomes["good"][at])
    if rule.get(side) is not None:
        fixed = Judge(float(rule[side]), good, why=f"the study sets it: {side} {rule[side]:g}", goal=goal)
        return dict.fromkeys(SUMMARIES, fixed)
    name = next(name for name in CHANCE_RULES if rule.get(name))
    if untrained is None:
        why = f"what chance scores has not been found out yet: {CHANCE} stands in for the threshold"
        gains = name == "no_better_than_start"
        return dict.fromkeys(SUMMARIES, Judge(CHANCE, good, inclusive=True, known=False, why=why, gains=gains))
    return {summary: _beating_chance(untrained, summary, name, float(rule[name]), good, end) for summary in SUMMARIES}


def _beating_chance(note: Mapping[str, Any], summary: str, rule: str, level: float, good: float, end: End) -> Judge:
    part: Mapping[str, Any] = note.get("summaries", {}).get(summary) or note
    by_cell: Mapping[str, Any] = (part.get("by_cell") or {}) if rule != "no_better_than_guessing" else {}
    cells = {cell: float(entry[end]) for cell, entry in by_cell.items()}
    gains = rule == "no_better_than_start"
    edges = note.get("edges")
    return Judge(
        min(cells.values()) if cells and not gains else _common_threshold(part, rule, level, end),
        good,
        inclusive=True,
        why=_why(note, part, summary, rule, level),
        cells=cells,
        gains=gains,
        folded=bool(note.get("folded", True)),
        edges=None if edges is None else tuple(float(edge) for edge in edges),
    )


def _common_threshold(part: Mapping[str, Any], rule: str, level: float, end: End) -> float:
    """The threshold that is the same for all trials."""
    permutation = part.get("permutation")
    if rule != "no_better_than_untrained" and isinstance(permutation, Mapping):
        stated = permutation.get("point" if end == "value" else end)
        if stated is not None:
            return float(stated)
    if part.get("threshold") is not None:
        return float(part["threshold"])
    # Loads numpy, which `status` does without.
    from robustness.sweep.chance import upper_quantile

    scores = [float(score) for score in part.get("scores", [])]
    points = [upper_quantile(values, level) for values in (scores, _permuted(permutation)) if values]
    return max(points, default=CHANCE)


def _why(note: Mapping[str, Any], part: Mapping[str, Any], summary: str, rule: str, level: float) -> str:
    """Where the threshold comes from."""
    judged_as = str(part.get("summary", note.get("summary", summary)))
    evaluations = part.get("evaluations", note.get("evaluations"))
    point = f"{100 * (1 - level):g} % point"
    judged = f"judged by the {judged_as} of {evaluations} evaluations"
    why = f"no better than the {point} of guesses, labels permuted between patients, {judged}"
    networks, by_cell = len(part.get("scores", [])), part.get("by_cell") or {}
    if rule == "no_better_than_start":
        why += (
            f"; or no further above its own start than the {point} of gains from one untrained network to another of "
            f"the same arm and initial rho, on resampled patients ({networks} networks)"
        )
    elif rule == "no_better_than_untrained" and networks:
        why = (
            f"no better than the {point} of {_networks(networks, by_cell)}, each {judged}, "
            "and never below the same point of permutations by patient"
        )
    if judged_as != summary:
        why += f" (made for the {judged_as} epoch; at the {summary} it is the stricter one)"
    return why


def _networks(count: int, by_cell: Mapping[str, Any]) -> str:
    """`20 to 35 untrained networks of the same arm and initial_rho, 210 in all`."""
    own = sorted({int(entry["networks"]) for entry in by_cell.values() if "networks" in entry})
    if not by_cell:
        return f"{count} untrained networks"
    sizes = " to ".join(str(size) for size in dict.fromkeys(own[:1] + own[-1:]))
    return f"{sizes} untrained networks of the same arm and initial_rho, {count} in all".lstrip()


def _permuted(permutation: object) -> list[float]:
    """The permutations' scores, or their one threshold, in whichever form the note has them."""
    if isinstance(permutation, Mapping):
        permutation = permutation.get("scores", permutation.get("threshold", permutation.get("point")))
    if isinstance(permutation, (int, float)):
        return [float(permutation)]
    return [float(value) for value in permutation] if isinstance(permutation, (list, tuple)) else []
