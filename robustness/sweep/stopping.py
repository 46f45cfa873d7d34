r"""When a paired difference is decided: a confidence sequence that may be looked at after every pair.

A pair shows +1 (only the first arm has the outcome), -1 (only the second) or 0. With discordance q = P(+1) + P(-1) and
p = P(+1 | discordant) the difference is d = q (2p - 1). Under (q, p), after n pairs with b times +1 and c times -1,

    E1(p) = B(b + 1/2, c + 1/2) / B(1/2, 1/2) / (p^b (1 - p)^c)
    E2(q) = B(m + 1/2, n - m + 1/2) / B(1/2, 1/2) / (q^m (1 - q)^(n - m)),    m = b + c

and E1 E2 are nonnegative martingales that start at 1, and so is M = E1 (1 + E2) / 2. By Ville's inequality M reaches
1 / level at any time with at most the probability `level`. The confidence sequence is every d for which some (q, p)
with that d has M < 1 / level; the half of M that leaves E2 out costs a decision about d = 0 only a factor of two.

Only the longest finished prefix of the plan is looked at: trials that end early are not a fair sample.
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
    """What the pairs of the finished prefix say about the difference."""

    pairs: int
    first_only: int
    second_only: int
    low: float
    high: float
    """The confidence sequence for the difference, first arm minus second, at this look."""
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
    # E2 is least at the observed discordance.
    log_e2 = _log_mixture(discordant, pairs - discordant, discordant / pairs)
    log_e1 = _log_mixture(first_only, second_only, 0.5)
    return bool(log_e1 + np.logaddexp(0.0, log_e2) - math.log(2) >= -math.log(level))


def evidence(pairs: int, first_only: int, second_only: int, level: float) -> Evidence:
    """The confidence sequence after so many pairs, to within 1/100."""
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
    # Beyond |d| = q there is no such p.
    log_m = np.where((np.abs(d) <= q + 1e-12) & ~np.isnan(log_m), log_m, np.inf)
    kept = d[0][log_m.min(axis=0) < -math.log(level)]
    step = 2 / (_GRID - 1)
    low, high = (float(kept.min()) - step, float(kept.max()) + step) if kept.size else (-1.0, 1.0)
    if decided:
        # The grid's own width must not contradict the exact decision.
        low, high = (max(low, 0.0), high) if first_only > second_only else (low, min(high, 0.0))
    return Evidence(pairs, first_only, second_only, max(low, -1.0), min(high, 1.0), decided)


def _log_mixture(successes: int, failures: int, probability: float) -> float:
    return float(_log_mixture_array(successes, failures, np.asarray(probability)))


def _log_mixture_array(successes: int, failures: int, probability: NDArray[np.float64]) -> NDArray[np.float64]:
    likelihood = xlogy(successes, probability) + xlog1py(failures, -probability)
    result: NDArray[np.float64] = betaln(successes + 0.5, failures + 0.5) - _HALF - likelihood
    return result


class StoppingRule:
    """Watches the pairs in the plan's order; `decided` once the finished prefix excludes a difference of zero."""

    def __init__(self, pairs: int, level: float = 0.05, minimum_pairs: int = 1) -> None:
        self._shown: list[int | str | None] = ["open"] * pairs
        self._level = level
        self._minimum = minimum_pairs
        self._prefix = 0
        self._counts = {1: 0, -1: 0, 0: 0}
        self.decided = False

    def add(self, place: int, shows: int | None) -> bool:
        """A pair of the plan ended and shows +1, 0 or -1, or None if it is left out; gives whether it is decided."""
        self._shown[place] = shows
        while not self.decided and self._prefix < len(self._shown):
            shown = self._shown[self._prefix]
            if isinstance(shown, str):
                break
            self._prefix += 1
            if shown is None:
                continue
            self._counts[shown] += 1
            # Once decided, nothing more is counted: the evidence stays that of the deciding look.
            self.decided = self._looks() >= self._minimum and excludes_zero(*self._state(), self._level)
        return self.decided

    def evidence(self) -> Evidence:
        """What the finished prefix says now, or said when it was decided."""
        return evidence(*self._state(), self._level)

    def _looks(self) -> int:
        return sum(self._counts.values())

    def _state(self) -> tuple[int, int, int]:
        return self._looks(), self._counts[1], self._counts[-1]


def pair_shows(first: bool | None, second: bool | None) -> int | None:
    """What a pair shows: +1 if only the first arm has the outcome, -1 if only the second; None if one is left out."""
    return None if first is None or second is None else int(first) - int(second)


def first_decision(shown: Iterable[int], level: float, minimum_pairs: int = 1) -> int | None:
    """After how many pairs, in order, the difference is decided; None if it never is."""
    values = list(shown)
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
