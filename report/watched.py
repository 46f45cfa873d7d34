"""Statistics of a watched sweep, one that has or had a `stop` section: valid however often the evidence was looked at.

`Sample.watch` is the switch: with it, `report.comparison` replaces the interval and test of each comparison by a
confidence sequence and the p-value of the same bets (`robustness.statistics.sequential`), and Holm's correction by
closed testing. Fractions of an arm get confidence sequences, too. What has no such counterpart is left out.

A watched study is reported up to its first configuration that has not ended in every arm: trials that happened to end
before an earlier one are not a random sample.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, TypeVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from report.frames import StudyFrames
from report.records.comparisons import PairedTable, ScoreComparison, Tested, TestedDifference
from report.records.estimates import (
    ArmCounts,
    Ends,
    Fraction,
    FractionsByEpoch,
    JudgedOutcome,
    Mean,
    OutcomeFractions,
    Share,
)
from report.records.families import Compared, Evidence
from report.words import OUTCOME_WORDS, SIGNIFICANT, text
from robustness.errors import RobustnessError
from robustness.goal import MAXIMIZE, Goal
from robustness.metrics import find_metric
from robustness.space.space import read_space
from robustness.statistics.proportions import LEVEL
from robustness.statistics.sequential import anytime_p, capital, confidence_sequence, one_sided_capital
from robustness.sweep.outcomes import Summary
from robustness.sweep.stopping import ends_of_rounds
from robustness.trial import PENDING

TEST = "anytime-valid betting"
SIGN_TEST = "anytime-valid betting on the sign"
NOT_FIXED = "not valid for a watched sweep"
NONE = f"none: {NOT_FIXED}"
OF_PARTS = "confidence sequences of the parts"
NO_BANDS = "A watched sweep has no bands: they hold only for a number of configurations that was settled beforehand."
OUT_OF_ORDER = "ended_out_of_order"
"""The reason why a trial of a watched sweep that ended before an earlier configuration does not count."""

Side: TypeAlias = Literal["above", "below"]

_NO_ENDS: Ends = {"low": None, "high": None, "interval": NONE}
_Entry = TypeVar("_Entry", bound=Tested)


@dataclass(frozen=True)
class Watch:
    """How a sweep was watched, as far as its statistics depend on it."""

    prefix: int
    """The first configuration that has not ended in every arm; past the last if all have."""
    ends: tuple[int, ...]
    """The configurations after which evidence is read: with strata, the last of each whole round."""
    planned: Compared | None
    """The arms, outcome and epoch of a single comparison that the study names in advance (`stop.arms`)."""
    score_range: tuple[float, float] | None
    """The range of the study's metric; None if it is unbounded or unknown."""
    goal: Goal = MAXIMIZE

    @staticmethod
    def of(frames: StudyFrames) -> Watch | None:
        """How a study was watched; None if it never was."""
        terms = frames.watched
        if terms is None:
            return None
        try:
            names = read_space(frames.document["space"], "space").stratify
        except (RobustnessError, KeyError):
            names = ()
        numbers = frames.configurations.index
        strata = list(frames.configurations[list(names)].itertuples(index=False, name=None)) if names else list(numbers)
        looks = ends_of_rounds(strata) if names else [True] * len(numbers)
        ends = tuple(int(number) for number, look in zip(numbers, looks, strict=True) if look)
        arms = terms.get("arms")
        outcome = str(terms.get("outcome") or frames.primary)
        planned = (frozenset(map(str, arms)), outcome, frames.rule) if arms else None
        bounds = find_metric(frames.metric).range
        bounded = bounds if bounds is not None and all(map(math.isfinite, bounds)) else None
        return Watch(_finished_prefix(frames), ends, planned, bounded, frames.goal)

    def by_outcome(self, entry: PairedTable, pairs: pd.DataFrame) -> tuple[PairedTable, Evidence]:
        """The comparison of pairs [pairs, 2] of zeros and ones, with its evidence."""
        tested, evidence = self._tested(entry, _differences(pairs), (-1.0, 1.0), TEST)
        tested["p_exact"] = None  # its test is for a number of configurations that was settled beforehand
        return tested, evidence

    def by_score(self, entry: ScoreComparison, pairs: pd.DataFrame) -> tuple[ScoreComparison, Evidence]:
        """The comparison of scores [pairs, 2]: of their mean if the metric is bounded, else of how often one is higher.

        The hypothesis about signs is that either arm is equally likely to score higher.
        """
        differences = _differences(pairs)
        tested, evidence = self._by_mean_or_sign(entry, differences, self.score_limits)
        tested["p_wilcoxon"] = None  # its test is for a number of configurations that was settled beforehand
        better = self.goal.oriented(differences)
        tested["first_wins"] = self._wins(entry["first_wins"], better > 0)
        tested["second_wins"] = self._wins(entry["second_wins"], better < 0)
        tested["ties"] = self._wins(entry["ties"], differences == 0)
        return tested, evidence

    def _wins(self, share: Share, wins: pd.Series[bool]) -> Share:
        return {**share, **self.share(wins.astype(float))}

    @property
    def score_limits(self) -> tuple[float, float] | None:
        """The least and largest difference of two scores; None if the metric is unbounded or unknown."""
        if self.score_range is None:
            return None
        reach = self.score_range[1] - self.score_range[0]
        return -reach, reach

    def difference(self, differences: pd.Series[Any]) -> tuple[TestedDifference, Evidence]:
        """The mean of differences of scores, by unit in the order of the plan, with its evidence."""
        return self.tested(differences, self.score_limits)

    def tested(
        self, differences: pd.Series[Any], limits: tuple[float, float] | None
    ) -> tuple[TestedDifference, Evidence]:
        """The mean of differences within `limits`, by unit in the order of the plan; without limits, by their sign."""
        entry: TestedDifference = {
            "difference": float(differences.mean()) if len(differences) else None,
            "p_value": None,
            **_NO_ENDS,
            "test": TEST,
        }
        return self._by_mean_or_sign(entry, differences, limits)

    def equivalence(self, differences: pd.Series[Any], largest: float, margin: float) -> pd.Series[float]:
        """The e-process that the mean of differences of at most `largest` lies within the margin, at each look."""
        sides = [self.one_sided(differences, largest, margin, side) for side in ("above", "below")]
        smaller = np.minimum(sides[0].to_numpy(dtype=float), sides[1].to_numpy(dtype=float))
        return pd.Series(smaller, index=sides[0].index)

    def one_sided(self, differences: pd.Series[Any], largest: float, margin: float, side: Side) -> pd.Series[float]:
        """The e-process that the mean is `above` minus the margin, or `below` it."""
        seen = self._seen(differences)
        scaled = np.clip(differences.to_numpy(dtype=float) / largest, -1, 1)
        # A margin as large as the largest difference leaves nothing to bet on.
        edge = min(margin / largest, 1 - 1e-9)
        path = one_sided_capital(scaled, -edge, "up") if side == "above" else one_sided_capital(scaled, edge, "down")
        return pd.Series(path[seen], index=self._looks(differences, seen))

    def combined(
        self, parts: Sequence[tuple[float, pd.Series[Any]]], lowest: float, highest: float
    ) -> tuple[float | None, Ends]:
        """The weighted sum of the means of parts (weight, values by configuration), and its ends.

        Each of k parts has a confidence sequence at 1 - 5 % / k; all hold at once with 95 % probability.
        """
        weighed = [(weight, values) for weight, values in parts if weight]
        if not weighed or not all(len(values) for _, values in weighed):
            return None, {"low": None, "high": None, "interval": "none: no observations in a part"}
        level = 1 - (1 - LEVEL) / len(weighed)
        sequences = [
            confidence_sequence(values.to_numpy(dtype=float), lowest, highest, self._seen(values), level)
            for _, values in weighed
        ]
        mean = sum(weight * float(values.mean()) for weight, values in weighed)
        low = sum(weight * each.low for (weight, _), each in zip(weighed, sequences, strict=True))
        high = sum(weight * each.high for (weight, _), each in zip(weighed, sequences, strict=True))
        return mean, {"low": low, "high": high, "interval": OF_PARTS}

    def mean(self, values: pd.Series[Any]) -> Mean:
        """The mean score of units in the order of the plan; a confidence sequence if the metric is bounded."""
        ends = _NO_ENDS if self.score_range is None else self._ends(values, *self.score_range)
        return {"mean": float(values.mean()) if len(values) else None, **ends}

    def share(self, shares: pd.Series[Any]) -> Ends:
        """`low`, `high` and `interval` of a mean of shares, by configuration."""
        return self._ends(shares, 0.0, 1.0)

    def with_sequences(
        self, counts: Mapping[str, ArmCounts], judged: pd.DataFrame, rule: Summary
    ) -> dict[str, ArmCounts]:
        """The fractions of each arm (`report.comparison.outcome_counts`) with confidence sequences."""
        replaced: dict[str, ArmCounts] = {}
        for arm, entry in counts.items():
            own = judged[judged["paired"] & (judged["arm"] == arm)]
            at: FractionsByEpoch = {
                "best": self._outcomes(entry["at"]["best"], own, "best"),
                "last": self._outcomes(entry["at"]["last"], own, "last"),
            }
            replaced[arm] = {**entry, **at[rule], "at": at}
        return replaced

    def _outcomes(self, fractions: OutcomeFractions, own: pd.DataFrame, epoch: Summary) -> OutcomeFractions:
        return {
            "learned_nothing": self._fraction(fractions["learned_nothing"], own, "learned_nothing", epoch),
            "good": self._fraction(fractions["good"], own, "good", epoch),
        }

    def _fraction(self, fraction: Fraction, own: pd.DataFrame, outcome: JudgedOutcome, epoch: Summary) -> Fraction:
        has = (own[f"outcome_{epoch}"] == outcome).fillna(False).astype("float64")
        return {**fraction, **self.share(has.groupby(own["configuration"]).mean())}

    def _by_mean_or_sign(
        self, entry: _Entry, differences: pd.Series[Any], limits: tuple[float, float] | None
    ) -> tuple[_Entry, Evidence]:
        if limits is None:
            return self._tested(entry, np.sign(differences), None, SIGN_TEST)
        return self._tested(entry, differences, limits, TEST)

    def _tested(
        self, entry: _Entry, values: pd.Series[Any], limits: tuple[float, float] | None, test: str
    ) -> tuple[_Entry, Evidence]:
        """The entry with the test of values within `limits`, and the evidence; no interval if `limits` is None."""
        scale = 1.0 if limits is None else limits[1]
        seen = self._seen(values)
        evidence = capital(np.clip(values.to_numpy(dtype=float) / scale, -1, 1))[seen]
        path = pd.Series(evidence, index=self._looks(values, seen))
        ends = _NO_ENDS if limits is None else self._ends(values, *limits)
        tested = copy(entry)
        tested["low"], tested["high"], tested["interval"] = ends["low"], ends["high"], ends["interval"]
        tested["p_value"] = anytime_p(evidence) if len(values) else None
        tested["test"] = test
        return tested, Evidence(path, self.planned)

    def _ends(self, values: pd.Series[Any], lowest: float, highest: float) -> Ends:
        interval = confidence_sequence(values.to_numpy(dtype=float), lowest, highest, self._seen(values))
        if not len(values):
            return {"low": None, "high": None, "interval": interval.method}
        return {"low": interval.low, "high": interval.high, "interval": interval.method}

    def _looks(self, values: pd.Series[Any], seen: NDArray[np.bool_]) -> pd.Index[Any]:
        """The units after which evidence is read."""
        return pd.Index([u for u, look in zip(_units(values), seen, strict=True) if look], tupleize_cols=False)

    def _seen(self, values: pd.Series[Any]) -> NDArray[np.bool_]:
        """Whether evidence is read after each value; a round whose last configuration is missing ends before it."""
        numbers = np.array([configuration for configuration, _ in _units(values)], dtype=int)
        ends = np.array([*self.ends, np.iinfo(np.int64).max])
        end = ends[np.searchsorted(ends, numbers)]
        # Units of one configuration, its replicates, are read one by one.
        last = np.append((end[1:] != end[:-1]) | (numbers[1:] == numbers[:-1]), [True])[: len(end)]
        seen: NDArray[np.bool_] = last & (end < self.prefix)
        return seen


def _finished_prefix(frames: StudyFrames) -> int:
    still = frames.trials.loc[frames.trials["status"].isin(PENDING), "configuration"]
    numbers = still if len(still) else frames.configurations.index + 1
    return int(numbers.min() if len(still) else numbers.max()) if len(numbers) else 0


def watched_sentence(frames: StudyFrames, watch: Watch) -> str:
    """Whether and why a watched sweep stopped, and what its intervals and p-values are worth."""
    valid = "Intervals and p-values are valid however often the evidence was looked at."
    note, planned = frames.stopped, len(frames.configurations)
    if note is None:
        if watch.prefix < planned:
            return f"The sweep goes on until the evidence is decisive, now after {watch.prefix} configurations. {valid}"
        return f"The evidence was checked after every configuration and did not stop the sweep. {valid}"
    after = f"after {note.get('configurations', note.get('pairs'))} of {planned} configurations"
    if note.get("reason") == "futility":
        undecided = [" and ".join(entry["arms"]) for entry in note["comparisons"] if not entry["decided"]]
        which = f" ({'; '.join(undecided)})" if len(note["comparisons"]) > 1 else ""
        return (
            f"The sweep stopped for futility {after}: not decided{which}, and the rest would probably not decide it. "
            f"{valid}"
        )
    alike = [" and ".join(entry["arms"]) for entry in note.get("comparisons", []) if entry.get("equivalent")]
    if alike:
        valid = f"Equivalent within the study's margin: {text('; '.join(alike), 200)}. {valid}"
    outcome = note.get("outcome", frames.primary)
    about = "" if outcome == frames.primary else f" about “{OUTCOME_WORDS[outcome]}”"
    level = f"{100 * note.get('level', SIGNIFICANT):g} %"
    return f"The sweep stopped {after}, when the evidence{about} was decisive at the {level} level. {valid}"


def up_to(prefix: int, trials: pd.DataFrame) -> pd.DataFrame:
    """The judged trials, of which those from configuration `prefix` on do not count."""
    beyond = trials["configuration"] >= prefix
    reason = trials["reason"].mask(beyond & trials["counted"], OUT_OF_ORDER)
    return trials.assign(
        counted=trials["counted"] & ~beyond, paired=trials["paired"] & ~beyond, reason=reason.astype("string")
    )


def without_intervals(part: Any) -> Any:
    """Results of a section without the ends of their intervals and bands."""
    if isinstance(part, Mapping):
        ends = {key for key in part if key in ("low", "high") or key.endswith(("area_low", "area_high"))}
        kept = {key: None if key in ends else without_intervals(value) for key, value in part.items()}
        return kept | ({"interval": NONE} if "interval" in part else {})
    if isinstance(part, list):
        return [without_intervals(item) for item in part]
    return part


def _differences(pairs: pd.DataFrame) -> pd.Series[Any]:
    """First minus second of pairs [pairs, 2], as means over replicates, by configuration."""
    means = pairs.groupby(level="configuration", sort=True).mean()
    return means.iloc[:, 0] - means.iloc[:, 1]


def _units(values: pd.Series[Any]) -> list[tuple[int, int]]:
    """The configuration and replicate of each value; replicate 0 for means over replicates."""
    return [(int(unit[0]), int(unit[1])) if isinstance(unit, tuple) else (int(unit), 0) for unit in values.index]
