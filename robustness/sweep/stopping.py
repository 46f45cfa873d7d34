"""Early stopping on evidence that is inspected after every configuration: `stop` in a study file.

The unit is the configuration. Once all of its trials have ended, it contributes to each comparison of two arms the mean
over its replicates of (first arm has the outcome) - (second arm has it), between -1 and 1. The hypothesis that this has
mean zero is tested by betting (`robustness.statistics.sequential`), several comparisons together by closed testing, so
that the probability of ever declaring a difference where there is none is at most `level`.

- Only the longest finished prefix of the plan counts, since trials that finish early are not a random sample. A
  configuration has finished when the trials of all arms have, so every comparison rests on the same configurations.
- Replicates of a configuration are dependent, and their mean is known only after the last of them. Therefore the plan
  of a study with `stop` runs all replicates of a configuration before the next one begins (`plan.make_plan`).
- A replicate in which either arm ran out of memory, timed out or failed is left out of the configuration's mean, as it
  is left out of the report's fractions. A configuration without a complete replicate is skipped: no bet is made on it.
- Strata of the space take turns, and the mean of a difference may vary between them. The product of their factors is a
  fair bet over a whole round (the geometric mean is at most the arithmetic), so evidence is read after whole rounds.
- Where configurations are drawn without repeats from a finite space, a run of differences to one side is followed by
  fewer of them, which makes false alarms rarer (`benchmarks/stopping.py`).
- With `equivalence`, a comparison is also closed once its arms are shown to be equivalent within the margin
  (`robustness.statistics.equivalence`); the probability of ever saying so of arms that differ by the margin is at most
  `level`, too.
- Futility only ends a sweep without a decision, so it cannot cause a false one.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from robustness.space.space import read_space
from robustness.statistics.equivalence import equivalence_capital
from robustness.statistics.sequential import Bets, anytime_p, chance_of_decision, closed, confidence_sequence
from robustness.study.arms import compared_arms
from robustness.study.outcome_sections import Outcomes
from robustness.study.sections import Stop
from robustness.trial import DEFAULT_CONFIGURATION, PENDING, TrialKey

if TYPE_CHECKING:
    from robustness.store.study_store import StudyStore
    from robustness.study.study import Study
    from robustness.sweep.outcomes import Outcome
    from robustness.sweep.plan import Plan
    from robustness.sweep.trial_judge import TrialJudge

Reason: TypeAlias = Literal["decided", "futility"]

WATCHED_NOTE = "watched"
"""The note of a study whose sweep has ever had a `stop` section: its statistics must allow for repeated looks."""
STOPPED_NOTE = "stopped"
"""The note of a sweep that its `stop` section ended: why, and the evidence of each comparison."""
FUTILITY_CHECKS = 20
"""How often futility is examined in the course of a sweep."""


def ends_of_rounds(strata: Sequence[Hashable]) -> list[bool]:
    """Whether each configuration, by its stratum in the plan's order, is the last of a round through the strata."""
    seen: set[Hashable] = set()
    ends = []
    for place, stratum in enumerate(strata):
        seen.add(stratum)
        last = place + 1 == len(strata) or strata[place + 1] in seen
        ends.append(last)
        if last:
            seen = set()
    return ends


def difference(first: Iterable[bool | None], second: Iterable[bool | None]) -> float | None:
    """The mean of (first - second) over replicates with both results; None if there is no such replicate."""
    pairs = [int(a) - int(b) for a, b in zip(first, second, strict=True) if a is not None and b is not None]
    return sum(pairs) / len(pairs) if pairs else None


class StoppingRule:
    """Follows the configurations in the plan's order; `reason` is set once the finished prefix may end the sweep."""

    def __init__(
        self,
        comparisons: int,
        configurations: int,
        terms: Stop,
        ends: Sequence[bool] | None = None,
        margin: float | None = None,
    ) -> None:
        self.terms = terms
        self.margin = margin
        """That of equivalence, if that may end the sweep, too."""
        self.configurations = 0
        """The length of the finished prefix; it no longer grows once the sweep may end."""
        self.reason: Reason | None = None
        self.differences: list[list[float]] = [[] for _ in range(comparisons)]
        """Of each comparison, without skipped configurations."""
        self.looks: list[list[bool]] = [[] for _ in range(comparisons)]
        """Whether evidence was read after each of the differences."""
        self.ends = [True] * configurations if ends is None else list(ends)
        """Whether evidence is read after each configuration of the plan."""
        self._waiting: dict[int, Sequence[float | None]] = {}
        self._bets = Bets(comparisons)
        self._highest = np.ones(comparisons)
        self._corrected = np.ones(comparisons)
        self._within = np.ones(comparisons)

    def add(self, place: int, differences: Sequence[float | None]) -> bool:
        """Record a finished configuration's difference in each comparison; return whether the sweep may end."""
        self._waiting[place] = differences
        while self.reason is None and self.configurations in self._waiting:
            self._extend(self._waiting.pop(self.configurations))
        return self.reason is not None

    @property
    def p_values(self) -> list[float]:
        """The anytime-valid p-value of each comparison by itself."""
        return [anytime_p([value]) for value in self._highest]

    @property
    def p_adjusted(self) -> list[float]:
        """The same after the correction by closed testing."""
        return [anytime_p([value]) for value in self._corrected]

    @property
    def decided(self) -> list[bool]:
        """Whether each comparison is decided."""
        return self._below_level(self.p_adjusted)

    @property
    def equivalent(self) -> list[bool]:
        """Whether the arms of each comparison are shown to be equivalent, corrected by closed testing likewise."""
        return self._below_level([anytime_p([value]) for value in self._within])

    def _below_level(self, p_values: Sequence[float]) -> list[bool]:
        enough = [len(values) >= self.terms.minimum_pairs for values in self.differences]
        return [many and p < self.terms.level for many, p in zip(enough, p_values, strict=True)]

    def _extend(self, differences: Sequence[float | None]) -> None:
        look = self.ends[self.configurations]
        self.configurations += 1
        for values, looks, value in zip(self.differences, self.looks, differences, strict=True):
            if value is not None:
                values.append(value)
                looks.append(look)
            elif look and looks:
                looks[-1] = True
        evidence = self._bets.add([0.0 if value is None else value for value in differences])
        if not look:
            return
        self._highest = np.maximum(self._highest, evidence)
        self._corrected = np.maximum(self._corrected, closed(evidence[:, None])[:, 0])
        if self.margin is not None:
            within = [equivalence_capital(values, self.margin)[-1] if values else 1.0 for values in self.differences]
            self._within = np.maximum(self._within, closed(np.array(within)[:, None])[:, 0])
        decided = [either or other for either, other in zip(self.decided, self.equivalent, strict=True)]
        if all(decided) or (any(decided) and self.terms.when == "any"):
            self.reason = "decided"
        elif self._futile(decided):
            self.reason = "futility"

    def _futile(self, decided: Sequence[bool]) -> bool:
        """Whether every open comparison is unlikely to be decided, even by its own evidence without correction."""
        planned = len(self.ends)
        remaining, step = planned - self.configurations, max(1, planned // FUTILITY_CHECKS)
        limit = self.terms.futility
        if limit is None or not remaining or self.configurations < self.terms.minimum_pairs:
            return False
        if self.configurations % step:
            return False
        return all(
            done or chance_of_decision(values, remaining, self.terms.level, seed=self.configurations) < limit
            for values, done in zip(self.differences, decided, strict=True)
        )


@dataclass(frozen=True)
class Watched:
    """What decides when a sweep stops: its `stop` section, and what that refers to."""

    terms: Stop
    outcomes: Outcomes
    labels: Sequence[str]
    compared: Sequence[tuple[str, str]]
    replicates: int
    configurations: Sequence[Mapping[str, Any]]
    """In the plan's order."""
    stratify: Sequence[str]

    @staticmethod
    def of(study: Study, plan: Plan) -> Watched | None:
        """That of a study; None without `stop`."""
        if study.stop is None:
            return None
        labels, replicates = [arm.label for arm in study.arms], study.sampling.replicates
        drawn, stratify = plan.configurations, study.space.stratify
        return Watched(study.stop, study.outcomes, labels, study.compared, replicates, drawn, stratify)

    @staticmethod
    def stored(document: Mapping[str, Any], configurations: Mapping[int, Mapping[str, Any]]) -> Watched | None:
        """That of a stored study, which takes none of the code that the study names; None without `stop`."""
        if not document.get("stop"):
            return None
        labels = [str(arm["label"]) for arm in document["arms"]]
        return Watched(
            Stop.model_validate(document["stop"], strict=False),
            Outcomes.model_validate(document["outcomes"], strict=False),
            labels,
            compared_arms(labels, document.get("compare_with")),
            int(document["sampling"]["replicates"]),
            [values for number, values in sorted(configurations.items()) if number != DEFAULT_CONFIGURATION],
            read_space(document["space"], "space").stratify,
        )


class Decision:
    """Early stopping of a study by its `stop` section, from the outcomes of its trials in any order."""

    def __init__(self, watched: Watched | None) -> None:
        self._rule: StoppingRule | None = None
        self._outcomes: dict[int, dict[tuple[str, int], bool | None]] = {}
        if watched is None:
            return
        terms, outcomes, drawn = watched.terms, watched.outcomes, watched.configurations
        self._outcome = terms.outcome or outcomes.primary
        self._labels = watched.labels
        self._replicates = watched.replicates
        self.comparisons = watched_comparisons(watched.compared, terms.arms)
        strata = [tuple(values[name] for name in watched.stratify) for values in drawn]
        ends = ends_of_rounds(strata) if watched.stratify else None
        margin = outcomes.fraction_margin if terms.equivalence else None
        self._rule = StoppingRule(len(self.comparisons), len(drawn), terms, ends, margin)

    @staticmethod
    def of(study: Study, plan: Plan, judge: TrialJudge, store: StudyStore) -> Decision:
        """The decision after all trials that have ended in the store."""
        decision = Decision(Watched.of(study, plan))
        for trial in store.results():
            if trial.status not in PENDING:
                decision.add(trial.key, judge.outcome(trial.key, trial.status, trial.metric))
        return decision

    def add(self, key: TrialKey, outcome: Outcome | None) -> None:
        """Record the outcome of an ended trial; None leaves its replicate out."""
        if self._rule is None or key.arm not in self._labels or key.replicate >= self._replicates or key.of_default:
            return
        known = self._outcomes.setdefault(key.configuration, {})
        known[key.arm, key.replicate] = None if outcome is None else outcome == self._outcome
        if len(known) == len(self._labels) * self._replicates:
            shown = {arm: [known[arm, replicate] for replicate in range(self._replicates)] for arm in self._labels}
            differences = [difference(shown[first], shown[second]) for first, second in self.comparisons]
            self._rule.add(key.configuration, differences)

    @property
    def reason(self) -> Reason | None:
        """Why the sweep may end; None as long as it should go on."""
        return None if self._rule is None else self._rule.reason

    @property
    def looks(self) -> list[bool]:
        """Whether evidence is read after each configuration of the plan."""
        return [] if self._rule is None else self._rule.ends

    def evidence(self) -> list[dict[str, Any]]:
        """The evidence of each comparison so far; empty without `stop`."""
        rule = self._rule
        if rule is None:
            return []
        level = rule.terms.level
        comparisons = []
        rows = zip(
            self.comparisons, rule.differences, rule.looks, rule.p_values, rule.p_adjusted, rule.decided, strict=True
        )
        for place, (arms, values, looks, p_value, p_adjusted, decided) in enumerate(rows):
            interval = confidence_sequence(values, looks=looks, level=1 - level)
            comparisons.append(
                {
                    "arms": list(arms),
                    "pairs": len(values),
                    "difference": sum(values) / len(values) if values else None,
                    "low": None if math.isnan(interval.low) else interval.low,
                    "high": None if math.isnan(interval.high) else interval.high,
                    "p_value": p_value,
                    "p_adjusted": p_adjusted,
                    "decided": decided,
                    **({} if rule.margin is None else {"equivalent": rule.equivalent[place]}),
                }
            )
        return comparisons

    def note(self) -> dict[str, Any]:
        """The evidence behind the end of the sweep, as the store keeps it; empty if it goes on."""
        rule = self._rule
        if rule is None or rule.reason is None:
            return {}
        comparisons = self.evidence()
        note = {
            "reason": rule.reason,
            "outcome": self._outcome,
            "level": rule.terms.level,
            "configurations": rule.configurations,
            "comparisons": comparisons,
        }
        # The keys of the time when a sweep had one comparison.
        return note | {key: value for key, value in comparisons[0].items() if len(comparisons) == 1}


def watched_comparisons(compared: Sequence[tuple[str, str]], arms: Sequence[str] | None) -> list[tuple[str, str]]:
    """The comparisons that a `stop` section tests: those of the report, or the one of its two `arms`."""
    return [pair for pair in compared if arms is None or set(pair) == set(arms)]
