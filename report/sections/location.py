"""Where the difference of the verdict lies: at which values of the hyperparameter on which it depends most.

Only a difference that depends on a hyperparameter after correction (`report.sections.interactions`) lies anywhere.
Where the verdict decides such differences of fractions, they lie where the arm with the larger fraction has the outcome
more often than it does overall. Where each arm is ahead at some value, the difference that changes most between two
values is named, and where each arm is furthest ahead in it. Else differences that depend on the same hyperparameter lie
at the values at which each of them is shown.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypedDict

from report.comparison import has_outcome
from report.judged_study import JudgedStudy
from report.records.estimates import JudgedOutcome, known
from report.sections.interactions.entries import AtLevel, Interaction, InteractionsResult
from report.sections.score_verdict import better_arm
from report.sections.sensitivity.levels import levels
from report.sections.verdict import decided
from report.words import is_significant


class Concentrated(TypedDict):
    """The arm that has the outcome most often, and the values at which it does so more often than overall."""

    arm: str
    count: int
    of: int
    elsewhere_count: int
    elsewhere_of: int


class Ahead(TypedDict):
    """The value at which an arm is furthest ahead of the other; its difference is that less the other's."""

    arm: str
    value: object
    difference: float
    low: float
    high: float


class ShownAt(TypedDict):
    """A value at which every difference is shown, with the smallest and the largest of them, without their sign."""

    value: object
    least: float
    most: float


class Location(TypedDict):
    """Where a difference lies, by the hyperparameter on which it depends."""

    comparisons: list[list[str]]
    """The arms of each comparison that this is about: of several alike, or the one with the largest change."""
    outcome: JudgedOutcome | None
    """None of scores."""
    hyperparameter: str
    p_adjusted: float
    """Of the interaction; the largest of several."""
    tested: int
    """Over how many hyperparameters it is corrected."""
    crossing: int
    """In how many comparisons either arm is ahead somewhere."""
    values: list[object]
    """Those at which the arm of `concentrated` has the outcome more often than overall; else empty."""
    concentrated: Concentrated | None
    ahead: list[Ahead]
    """Empty with `concentrated`."""
    shown: list[ShownAt]
    """Where no comparison crosses; else empty."""
    not_shown: list[object]
    """Values at which neither arm is shown to be ahead; empty with `concentrated`."""


@dataclass(frozen=True)
class _Found:
    """A comparison with the hyperparameter on which it depends most, and where which arm is ahead."""

    entry: InteractionsResult
    name: str
    everywhere: list[Ahead]
    """In the order of values, for the first arm before the second."""

    @property
    def ahead(self) -> list[Ahead]:
        """Where each arm is furthest ahead."""
        by_arm = ([each for each in self.everywhere if each["arm"] == arm] for arm in self.entry["arms"])
        return [max(own, key=lambda each: abs(each["difference"])) for own in by_arm if own]

    @property
    def values(self) -> list[object]:
        """Those at which either arm is ahead."""
        return [each["value"] for each in self.everywhere]

    @property
    def interaction(self) -> Interaction:
        return self.entry["hyperparameters"][self.name]

    @property
    def crosses(self) -> bool:
        return len(self.ahead) == 2

    @property
    def change(self) -> float:
        """How much the difference changes between two values."""
        values = [level["difference"] for level in self.interaction["levels"] if level["difference"] is not None]
        return max(values) - min(values) if values else 0.0


def location(study: JudgedStudy, interactions: Sequence[InteractionsResult]) -> Location | None:
    """Where the difference of the verdict lies; None where none is shown to depend on a hyperparameter."""
    every = [found for entry in interactions if (found := _strongest(study, entry)) is not None]
    verdicts = _decided(study)
    settled = [found for found in every if found.entry["arms"] in verdicts]
    if settled and study.frames.has_thresholds and not any(found.crosses for found in settled):
        return _concentrated(study, settled)
    chosen = settled or every
    crossing = [found for found in chosen if found.crosses]
    found = max(crossing or chosen, key=lambda each: each.change, default=None)
    if found is None or not found.ahead:
        return None
    alike = [found]
    if not crossing:
        # The same values and the same arm, so that one sentence is true of all.
        others = (
            each for each in chosen if each is not found and each.name == found.name and each.values == found.values
        )
        alike += [each for each in others if _common(found, each)]
    return _located(alike, found.ahead, len(crossing))


def _common(first: _Found, second: _Found) -> bool:
    """Whether one arm is ahead in both comparisons, or behind in both."""
    (a,), (b,) = first.ahead, second.ahead
    losers = [next(arm for arm in each.entry["arms"] if arm != each.ahead[0]["arm"]) for each in (first, second)]
    return a["arm"] == b["arm"] or losers[0] == losers[1]


def _decided(study: JudgedStudy) -> list[list[str]]:
    """The arms of the comparisons that the verdict calls different."""
    frames = study.frames
    if not frames.has_thresholds:
        own = [entry for entry in study.score_comparisons if entry["epoch"] == frames.rule]
        return [entry["arms"] for entry in own if better_arm(entry, frames) is not None]
    tested = [e for e in study.comparisons if (e["epoch"], e["outcome"]) == (frames.rule, frames.primary)]
    return [entry["arms"] for entry in tested if decided(entry) is not None]


def _strongest(study: JudgedStudy, entry: InteractionsResult) -> _Found | None:
    shown = {name: each for name, each in entry["hyperparameters"].items() if is_significant(each["p_adjusted"])}
    if not shown:
        return None
    name = max(shown, key=lambda each: shown[each]["explained"] or 0.0)
    return _Found(entry, name, list(_ahead(study, entry, shown[name]["levels"])))


def _ahead(study: JudgedStudy, entry: InteractionsResult, at: Sequence[AtLevel]) -> Iterator[Ahead]:
    """Each arm at each value at which it is ahead, by an interval that leaves out 0."""
    more_is_better = not study.frames.goal.minimizes if entry["outcome"] is None else entry["outcome"] == "good"
    first, second = entry["arms"]
    for arm in (first, second):
        for level in at:
            if level["difference"] is None or level["low"] is None or level["high"] is None:
                continue
            ends = (level["low"], level["high"]) if arm == first else (-level["high"], -level["low"])
            if ends[0] > 0 if more_is_better else ends[1] < 0:
                difference = level["difference"] if arm == first else -level["difference"]
                yield Ahead(arm=arm, value=level["value"], difference=difference, low=ends[0], high=ends[1])


def _concentrated(study: JudgedStudy, settled: Sequence[_Found]) -> Location | None:
    """The values at which the arm with the largest fraction has the outcome more often than overall."""
    frames = study.frames
    shares = {arm: known(study.outcome_counts[arm][frames.primary]["fraction"]) for arm in frames.arms}
    arm = max((arm for found in settled for arm in found.entry["arms"]), key=lambda each: shares[each])
    own = [found for found in settled if arm in found.entry["arms"]]
    name = max(own, key=lambda each: each.interaction["explained"] or 0.0).name
    of = levels(frames.configurations[name])
    judged = study.planned[study.planned["paired"] & (study.planned["arm"] == arm)]
    has = has_outcome(judged, frames.primary, frames.rule)
    place = judged["configuration"].map(of.of).fillna(-1).astype(int)
    often = [each for each in range(len(of.labels)) if has[place == each].mean() > has.mean()]
    inside = place.isin(often)
    if inside.all() or not inside.any():
        return None
    concentrated: Concentrated = {
        "arm": arm,
        "count": int(has[inside].sum()),
        "of": int(inside.sum()),
        "elsewhere_count": int(has[~inside].sum()),
        "elsewhere_of": int((~inside).sum()),
    }
    values = [of.labels[each] for each in often]
    return _located([found for found in own if found.name == name], [], 0, values, concentrated)


def _located(
    found: Sequence[_Found],
    ahead: list[Ahead],
    crossing: int = 0,
    values: Sequence[object] = (),
    concentrated: Concentrated | None = None,
) -> Location:
    first, at = found[0], [level["value"] for level in found[0].interaction["levels"]]
    shown: list[ShownAt] = []
    for value in [] if crossing or concentrated else first.values:
        sizes = [abs(each["difference"]) for one in found for each in one.everywhere if each["value"] == value]
        shown.append({"value": value, "least": min(sizes), "most": max(sizes)})
    return {
        "comparisons": [each.entry["arms"] for each in found],
        "outcome": found[0].entry["outcome"],
        "hyperparameter": found[0].name,
        "p_adjusted": max(known(each.interaction["p_adjusted"]) for each in found),
        "tested": sum(each["p_value"] is not None for each in found[0].entry["hyperparameters"].values()),
        "crossing": crossing,
        "values": list(values),
        "concentrated": concentrated,
        "ahead": ahead,
        "shown": shown,
        "not_shown": [] if concentrated else [value for value in at if value not in first.values],
    }
