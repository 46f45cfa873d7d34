"""The verdict's test wherever another threshold tells any two scores apart.

All thresholds in the gap between two neighbouring scores lead to the same outcomes, so one test in each gap is one at
every threshold.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias, TypedDict

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from report.comparison import at_threshold, favoured, paired_comparison
from report.judged_study import JudgedStudy
from report.records.comparisons import PairedTable
from report.records.families import Evidence, with_holm
from robustness.goal import Goal

MOST_GAPS = 400
"""Of more gaps than these an even sample is tested."""
MOST_WATCHED = 50
"""Of a watched sweep, whose tests take longer."""
Arms: TypeAlias = tuple[str, str]


class Favouring(TypedDict):
    """In how many of the gaps that were checked an arm is favoured, and the ends of the lowest and the highest."""

    arm: str
    count: int
    low: float
    high: float


class Checked(TypedDict):
    """The verdict on two arms in the gaps between neighbouring scores."""

    checked: int
    every: bool
    """Whether no gap is left out."""
    holds_from: float
    holds_to: float
    favouring: list[Favouring]


@dataclass(frozen=True)
class Gaps:
    """Gaps between neighbouring scores, and the one of the study's own threshold."""

    scores: NDArray[np.float64]
    """Every different score, in order."""
    chosen: NDArray[np.int64]
    """Gap g ends at score g; the first and the last are beyond all scores."""
    own: int
    threshold: float
    """The study's own."""

    @staticmethod
    def of(scores: Iterable[NDArray[np.float64]], threshold: float, upper: bool, most: int) -> Gaps:
        """At most so many; a score at the threshold is above its gap if `upper`, else below it."""
        every = np.unique(np.concatenate([each.ravel() for each in scores]))
        every = every[np.isfinite(every)]
        own = int(np.searchsorted(every, threshold, side="left" if upper else "right"))
        inner = np.arange(1, max(1, len(every)))
        if len(inner) > most:
            inner = inner[np.linspace(0, len(inner) - 1, most).round().astype(int)]
        return Gaps(every, np.union1d(inner, [own]).astype(np.int64), own, threshold)

    @property
    def every(self) -> bool:
        """Whether no gap between two scores is left out."""
        return len(set(self.chosen.tolist()) - {0, len(self.scores)}) >= len(self.scores) - 1

    def ends(self, gap: int) -> tuple[float, float]:
        """The scores around a gap; beyond all scores, the study's threshold."""
        low = float(self.scores[gap - 1]) if gap else self.threshold
        return low, float(self.scores[gap]) if gap < len(self.scores) else self.threshold

    def inside(self, gap: int) -> float:
        """A threshold in a gap: the study's own in its own gap."""
        return self.threshold if gap == self.own else sum(self.ends(gap)) / 2


def checked(study: JudgedStudy, scores: Mapping[Arms, pd.DataFrame], own: float) -> dict[Arms, Checked]:
    """For every two arms, from their pairs of scores [pairs, 2], where the verdict is the same as at `own`.

    An arm is favoured by the same test as in the verdict, after the same correction over the study's comparisons.
    """
    if not scores:
        return {}
    judge = study.judges[study.frames.rule]
    values = {arms: pairs.to_numpy(dtype=float) for arms, pairs in scores.items()}
    upper = _is_upper(study.frames.goal, judge.inclusive and study.frames.primary == "learned_nothing")
    gaps = Gaps.of(values.values(), own, upper, MOST_GAPS if study.sample.watch is None else MOST_WATCHED)
    tested: dict[tuple[Arms, int], tuple[PairedTable, Evidence | None]] = {}
    winners: dict[Arms, list[str | None]] = {arms: [] for arms in scores}
    for gap in gaps.chosen.tolist():
        limit, family = gaps.inside(gap), []
        for arms, pairs in scores.items():
            # Only scores of these two arms change their outcomes.
            below = (arms, int((values[arms] <= gaps.ends(gap)[0]).sum()) if gap else -1)
            if below not in tested:
                tested[below] = at_threshold(pairs, study.frames.primary, limit, study.sample, judge)
            family.append(paired_comparison(arms, study.frames.primary, study.frames.rule, *tested[below]))
        for arms, entry in zip(scores, with_holm(family), strict=True):
            more_is_better = study.frames.primary == "good"
            winner = favoured(arms, entry["difference"], entry["p_adjusted"], more_is_better=more_is_better)
            winners[arms].append(winner)
    return {arms: _around(gaps, found) for arms, found in winners.items()}


def _is_upper(goal: Goal, inclusive: bool) -> bool:
    """Whether a score at the threshold has the same outcome as the scores above it."""
    return goal.minimizes == inclusive


def _around(gaps: Gaps, winners: Sequence[str | None]) -> Checked:
    """The gaps around the study's own with the same winner, and those in which each arm is favoured."""
    chosen = gaps.chosen.tolist()
    start = end = chosen.index(gaps.own)
    while start > 0 and winners[start - 1] == winners[end]:
        start -= 1
    while end + 1 < len(chosen) and winners[end + 1] == winners[start]:
        end += 1
    favouring: list[Favouring] = []
    for arm in sorted({winner for winner in winners if winner is not None}):
        own = [gap for gap, winner in zip(chosen, winners, strict=True) if winner == arm]
        low, high = gaps.ends(own[0])[0], gaps.ends(own[-1])[1]
        favouring.append({"arm": arm, "count": len(own), "low": low, "high": high})
    return {
        "checked": len(chosen),
        "every": gaps.every,
        "holds_from": gaps.ends(chosen[start])[0],
        "holds_to": gaps.ends(chosen[end])[1],
        "favouring": favouring,
    }
