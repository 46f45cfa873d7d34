r"""Early stopping: a confidence sequence for a paired difference, valid when inspected after every pair.

A pair scores +1 (only the first arm has the outcome), -1 (only the second) or 0. With discordance q = P(+1) + P(-1) and
p = P(+1 | discordant) the difference is d = q (2p - 1). Under (q, p), after n pairs with b times +1 and c times -1,

    E1(p) = B(b + 1/2, c + 1/2) / B(1/2, 1/2) / (p^b (1 - p)^c)
    E2(q) = B(m + 1/2, n - m + 1/2) / B(1/2, 1/2) / (q^m (1 - q)^(n - m)),    m = b + c

and E1 E2 are nonnegative martingales that start at 1, and so is M = E1 (1 + E2) / 2. By Ville's inequality M ever
reaches 1 / level with probability at most `level`. The confidence sequence contains every d for which some (q, p) with
that d has M < 1 / level; including E1 alone in M makes a decision about d = 0 cost only a factor of two.

Only the longest finished prefix of the plan is used, because trials that finish early are not a random sample.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaln, xlog1py, xlogy

from robustness.trial import PENDING, TrialKey

if TYPE_CHECKING:
    from robustness.store.study_store import StudyStore
    from robustness.study.study import Study
    from robustness.sweep.outcomes import Judge, Outcome
    from robustness.sweep.plan import Plan

_GRID = 201
_HALF = float(betaln(0.5, 0.5))


@dataclass(frozen=True)
class Evidence:
    """Evidence of the finished prefix of pairs about the difference."""

    pairs: int
    first_only: int
    second_only: int
    low: float
    high: float
    """Current confidence sequence of the difference, first arm minus second."""
    decided: bool
    """Whether zero is excluded."""

    @property
    def difference(self) -> float:
        return (self.first_only - self.second_only) / self.pairs if self.pairs else math.nan


def excludes_zero(pairs: int, first_only: int, second_only: int, level: float) -> bool:
    """Whether the sequence excludes a difference of zero: M >= 1 / level for p = 1/2 and every q."""
    discordant = first_only + second_only
    if discordant == 0:
        return False
    # E2 is smallest at the observed discordance.
    log_e2 = _log_mixture(discordant, pairs - discordant, discordant / pairs)
    log_e1 = _log_mixture(first_only, second_only, 0.5)
    return bool(log_e1 + np.logaddexp(0.0, log_e2) - math.log(2) >= -math.log(level))


def evidence(pairs: int, first_only: int, second_only: int, level: float) -> Evidence:
    """Confidence sequence after `pairs` pairs, to within 1/100."""
    decided = excludes_zero(pairs, first_only, second_only, level)
    if pairs == 0:
        return Evidence(0, 0, 0, -1.0, 1.0, False)
    discordant = first_only + second_only
    q = np.linspace(0.0, 1.0, _GRID)[:, None]
    d = np.linspace(-1.0, 1.0, _GRID)[None, :]
    with np.errstate(divide="ignore", invalid="ignore"):
        p = np.where(q > 0, (1 + d / q) / 2, np.where(d == 0, 0.5, np.nan))
        log_e1 = _log_mixture_array(first_only, second_only, np.clip(p, 0.0, 1.0))
        log_e2 = _log_mixture_array(discordant, pairs - discordant, q)
        log_m = log_e1 + np.logaddexp(0.0, log_e2) - math.log(2)
    # No p exists for |d| > q.
    log_m = np.where((np.abs(d) <= q + 1e-12) & ~np.isnan(log_m), log_m, np.inf)
    kept = d[0][log_m.min(axis=0) < -math.log(level)]
    step = 2 / (_GRID - 1)
    low, high = (float(kept.min()) - step, float(kept.max()) + step) if kept.size else (-1.0, 1.0)
    if decided:
        # The resolution of the grid must not contradict the exact decision.
        low, high = (max(low, 0.0), high) if first_only > second_only else (low, min(high, 0.0))
    return Evidence(pairs, first_only, second_only, max(low, -1.0), min(high, 1.0), decided)


def _log_mixture(successes: int, failures: int, probability: float) -> float:
    return float(_log_mixture_array(successes, failures, np.asarray(probability)))


def _log_mixture_array(successes: int, failures: int, probability: NDArray[np.float64]) -> NDArray[np.float64]:
    likelihood = xlogy(successes, probability) + xlog1py(failures, -probability)
    result: NDArray[np.float64] = betaln(successes + 0.5, failures + 0.5) - _HALF - likelihood
    return result


class StoppingRule:
    """Follows the pairs in the plan's order; `decided` once the finished prefix excludes a difference of zero."""

    def __init__(self, pairs: int, level: float = 0.05, minimum_pairs: int = 1) -> None:
        self._scores: list[int | str | None] = ["open"] * pairs
        self._level = level
        self._minimum = minimum_pairs
        self._prefix = 0
        self._counts = {1: 0, -1: 0, 0: 0}
        self.decided = False

    def add(self, place: int, score: int | None) -> bool:
        """Record the score +1, 0 or -1 of a finished pair (None if it is excluded); return whether it is decided."""
        self._scores[place] = score
        while not self.decided and self._prefix < len(self._scores):
            current = self._scores[self._prefix]
            if isinstance(current, str):
                break
            self._prefix += 1
            if current is None:
                continue
            self._counts[current] += 1
            # Counting stops with the decision, so the evidence remains that of the deciding pair.
            self.decided = self._pairs() >= self._minimum and excludes_zero(*self._state(), self._level)
        return self.decided

    def evidence(self) -> Evidence:
        """Evidence of the finished prefix, frozen once it is decided."""
        return evidence(*self._state(), self._level)

    def _pairs(self) -> int:
        return sum(self._counts.values())

    def _state(self) -> tuple[int, int, int]:
        return self._pairs(), self._counts[1], self._counts[-1]


def pair_shows(first: bool | None, second: bool | None) -> int | None:
    """Score of a pair: +1 if only the first arm has the outcome, -1 if only the second; None if one is excluded."""
    return None if first is None or second is None else int(first) - int(second)


def first_decision(scores: Iterable[int], level: float, minimum_pairs: int = 1) -> int | None:
    """Number of pairs, in order, after which the difference is decided; None if it never is."""
    values = list(scores)
    rule = StoppingRule(len(values), level, minimum_pairs)
    for place, value in enumerate(values):
        if rule.add(place, value):
            return place + 1
    return None


class Decision:
    """Early stopping of a study by its `stop` section: first arm against second, pairs in the plan's order."""

    def __init__(self, study: Study, plan: Plan) -> None:
        self._stop = study.stop
        self._outcome = (study.stop.outcome if study.stop else None) or study.outcomes.primary
        self._arms = tuple(arm.label for arm in study.arms[:2])
        pairs = dict.fromkeys((trial.replicate, trial.configuration) for trial in plan.trials)
        self._places = {pair: place for place, pair in enumerate(pairs)}
        self._shown: dict[tuple[int, int], dict[str, bool | None]] = {}
        self._rule: StoppingRule | None = None
        if self._stop is not None and len(self._arms) == 2:
            self._rule = StoppingRule(len(pairs), self._stop.level, self._stop.minimum_pairs)

    @staticmethod
    def of(study: Study, plan: Plan, judge: Judge, store: StudyStore) -> Decision:
        """The decision after all trials that have ended in the store."""
        decision = Decision(study, plan)
        for trial in store.results():
            if trial.status not in PENDING:
                decision.add(trial.key, judge.outcome(trial.status, trial.metric))
        return decision

    def add(self, key: TrialKey, outcome: Outcome | None) -> None:
        """Record the outcome of an ended trial; None excludes its pair."""
        if self._rule is None or key.arm not in self._arms:
            return
        pair = (key.replicate, key.configuration)
        shown = self._shown.setdefault(pair, {})
        shown[key.arm] = None if outcome is None else outcome == self._outcome
        if len(shown) == 2:
            self._rule.add(self._places[pair], pair_shows(shown[self._arms[0]], shown[self._arms[1]]))

    @property
    def decided(self) -> bool:
        return self._rule is not None and self._rule.decided

    def note(self) -> Mapping[str, Any]:
        """The evidence behind the decision, as the store keeps it for the report."""
        if self._rule is None or self._stop is None:
            return {}
        evidence = self._rule.evidence()
        return {
            "outcome": self._outcome,
            "arms": list(self._arms),
            "level": self._stop.level,
            "pairs": evidence.pairs,
            "first_only": evidence.first_only,
            "second_only": evidence.second_only,
            "difference": evidence.difference,
            "low": evidence.low,
            "high": evidence.high,
        }
