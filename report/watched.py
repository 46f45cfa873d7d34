"""Statistics of a watched sweep, one that has or had a `stop` section: valid however often the evidence was looked at.

`Sample.watch` is the switch: with it, `report.comparison` replaces the interval and test of each comparison by a
confidence sequence and the p-value of the same bets (`robustness.statistics.sequential`), and Holm's correction by
closed testing. Fractions of an arm get confidence sequences, too. What has no such counterpart is left out.

A watched study is reported up to its first configuration that has not ended in every arm: trials that happened to end
before an earlier one are not a random sample.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from report.frames import StudyFrames
from report.words import OUTCOME_WORDS, SIGNIFICANT
from robustness.errors import RobustnessError
from robustness.metrics import find_metric
from robustness.space.space import read_space
from robustness.statistics.sequential import anytime_p, capital, closed, confidence_sequence
from robustness.sweep.stopping import ends_of_rounds
from robustness.trial import PENDING

TEST = "anytime-valid betting"
SIGN_TEST = "anytime-valid betting on the sign"
NONE = "none: not valid for a watched sweep"
NO_BANDS = "A watched sweep has no bands: they hold only for a number of configurations that was settled beforehand."
OUT_OF_ORDER = "ended_out_of_order"
"""The reason why a trial of a watched sweep that ended before an earlier configuration does not count."""


@dataclass(frozen=True)
class Evidence:
    """The e-process of a comparison, by configuration, and how its sweep was watched."""

    path: pd.Series[float]
    watch: Watch


@dataclass(frozen=True)
class Watch:
    """How a sweep was watched, as far as its statistics depend on it."""

    prefix: int
    """The first configuration that has not ended in every arm; past the last if all have."""
    ends: tuple[int, ...]
    """The configurations after which evidence is read: with strata, the last of each whole round."""
    planned: tuple[frozenset[str], str, str] | None
    """The arms, outcome and epoch of a single comparison that the study names in advance (`stop.arms`)."""
    score_range: tuple[float, float] | None
    """The range of the study's metric; None if it is unbounded or unknown."""

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
        return Watch(_finished_prefix(frames), ends, planned, find_metric(frames.metric).range)

    def by_outcome(self, entry: Mapping[str, Any], pairs: pd.DataFrame) -> dict[str, Any]:
        """The comparison of pairs [pairs, 2] of zeros and ones, with its evidence."""
        return self._tested(entry, _differences(pairs), (-1.0, 1.0), TEST)

    def by_score(self, entry: Mapping[str, Any], pairs: pd.DataFrame) -> dict[str, Any]:
        """The comparison of scores [pairs, 2]: of their mean if the metric is bounded, else of how often one is higher.

        The hypothesis about signs is that either arm is equally likely to score higher.
        """
        differences = _differences(pairs)
        tested = self._by_mean_or_sign(entry, differences)
        for key, wins in (
            ("first_wins", differences > 0),
            ("second_wins", differences < 0),
            ("ties", differences == 0),
        ):
            tested[key] = {**entry[key], **self.share(wins.astype(float))}
        return tested

    def difference(self, differences: pd.Series[Any]) -> dict[str, Any]:
        """The mean of differences of scores, by unit in the order of the plan, with its evidence."""
        entry = {"difference": float(differences.mean()) if len(differences) else None, "p_value": None}
        return self._by_mean_or_sign(entry, differences)

    def mean(self, values: pd.Series[Any]) -> dict[str, Any]:
        """The mean score of units in the order of the plan; a confidence sequence if the metric is bounded."""
        mean = {"mean": float(values.mean()) if len(values) else None, "low": None, "high": None, "interval": NONE}
        return mean if self.score_range is None else {**mean, **self._ends(values, *self.score_range)}

    def share(self, shares: pd.Series[Any]) -> dict[str, Any]:
        """`low`, `high` and `interval` of a mean of shares, by configuration."""
        return self._ends(shares, 0.0, 1.0)

    def with_sequences(self, counts: Mapping[str, Any], judged: pd.DataFrame, rule: str) -> dict[str, dict[str, Any]]:
        """The fractions of each arm (`report.comparison.outcome_counts`) with confidence sequences."""
        replaced = {}
        for arm, entry in counts.items():
            own = judged[judged["paired"] & (judged["arm"] == arm)]
            at: dict[str, dict[str, Any]] = {}
            for epoch, outcomes in entry["at"].items():
                at[epoch] = {}
                for outcome, fraction in outcomes.items():
                    has = (own[f"outcome_{epoch}"] == outcome).fillna(False).astype("float64")
                    at[epoch][outcome] = {**fraction, **self.share(has.groupby(own["configuration"]).mean())}
            replaced[arm] = {**entry, **at[rule], "at": at}
        return replaced

    def _by_mean_or_sign(self, entry: Mapping[str, Any], differences: pd.Series[Any]) -> dict[str, Any]:
        if self.score_range is None:
            return self._tested(entry, np.sign(differences), None, SIGN_TEST)
        reach = self.score_range[1] - self.score_range[0]
        return self._tested(entry, differences, (-reach, reach), TEST)

    def _tested(
        self, entry: Mapping[str, Any], values: pd.Series[Any], limits: tuple[float, float] | None, test: str
    ) -> dict[str, Any]:
        """The entry with the evidence of values within `limits`; without an interval if `limits` is None."""
        scale = 1.0 if limits is None else limits[1]
        seen = self._seen(values)
        units = [unit for unit, look in zip(_units(values), seen, strict=True) if look]
        evidence = capital(np.clip(values.to_numpy(dtype=float) / scale, -1, 1))[seen]
        path = pd.Series(evidence, index=pd.Index(units, tupleize_cols=False))
        none = {"low": None, "high": None, "interval": NONE}
        return {
            **entry,
            **(none if limits is None else self._ends(values, *limits)),
            "p_value": anytime_p(evidence) if len(values) else None,
            "test": test,
            # Of tests for a number of configurations that was settled beforehand.
            **{key: None for key in ("p_exact", "p_wilcoxon") if key in entry},
            "evidence": Evidence(path, self),
        }

    def _ends(self, values: pd.Series[Any], lowest: float, highest: float) -> dict[str, Any]:
        interval = confidence_sequence(values.to_numpy(dtype=float), lowest, highest, self._seen(values))
        if not len(values):
            return {"low": None, "high": None, "interval": interval.method}
        return {"low": interval.low, "high": interval.high, "interval": interval.method}

    def _seen(self, values: pd.Series[Any]) -> NDArray[np.bool_]:
        """Whether evidence is read after each value; a round whose last configuration is missing ends before it."""
        numbers = np.array([configuration for configuration, _ in _units(values)], dtype=int)
        ends = np.array([*self.ends, np.iinfo(np.int64).max])
        end = ends[np.searchsorted(ends, numbers)]
        # Units of one configuration, its replicates, are read one by one.
        last = np.append((end[1:] != end[:-1]) | (numbers[1:] == numbers[:-1]), [True])[: len(end)]
        seen: NDArray[np.bool_] = last & (end < self.prefix)
        return seen


def corrected(family: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The comparisons of one family with `p_adjusted` by closed testing; a planned comparison stands by itself."""
    alone = [entry for entry in family if _is_planned(entry)]
    others = [entry for entry in family if not _is_planned(entry) and entry["p_value"] is not None]
    p_adjusted = {id(entry): entry["p_value"] for entry in alone}
    if others:
        paths = pd.concat([entry["evidence"].path for entry in others], axis=1, keys=range(len(others)))
        together = paths.sort_index().ffill().fillna(1.0).to_numpy(dtype=float).T
        p_adjusted |= {id(entry): anytime_p(path) for entry, path in zip(others, closed(together), strict=True)}
    return [
        {**{key: value for key, value in entry.items() if key != "evidence"}, "p_adjusted": p_adjusted.get(id(entry))}
        for entry in family
    ]


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


def _is_planned(entry: Mapping[str, Any]) -> bool:
    planned = entry["evidence"].watch.planned
    key = (frozenset(entry.get("arms", ())), entry.get("outcome"), entry.get("epoch"))
    return planned is not None and key == planned
