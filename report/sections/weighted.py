"""Strata drawn more densely than others: that fractions are of the drawn mix, and the estimates for the whole space.

`stratify` gives each choice of an option its equal share of the draws, though one choice may have three times as many
configurations as another. Fractions and comparisons then describe that mix. Here each stratum counts by its share of
the space instead.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypedDict

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from report.comparison import by_configuration, has_outcome, second_minus_first, side_by_side
from report.document import Numbers, Section
from report.frames import StudyFrames
from report.judged_study import JudgedStudy
from report.judging import OUTCOMES
from report.records.comparisons import Corrected
from report.records.estimates import Difference, Ends, JudgedOutcome, known
from report.records.families import Uncorrected, with_holm
from report.watched import NONE, Watch
from report.words import (
    OUTCOME_WORDS,
    exact_percent,
    is_significant,
    named_values,
    p_number,
    percent,
    points,
    text,
)
from robustness.errors import RobustnessError
from robustness.space.space import read_space
from robustness.statistics.strata import WeightedEstimate, weighted_difference, weighted_fraction

if TYPE_CHECKING:
    from report.analysis import Analysis


@dataclass(frozen=True)
class Strata:
    """The strata of a finite space, in their order."""

    choices: list[dict[str, object]]
    sizes: list[int]
    of: pd.Series[Any]
    """The place of each configuration's stratum, indexed by its number."""

    @property
    def weights(self) -> NDArray[np.float64]:
        return np.array(self.sizes, dtype=float) / sum(self.sizes)


def find_strata(frames: StudyFrames) -> Strata | None:
    """The strata of a study's space; None without `stratify`, or where they cannot be counted."""
    try:
        sizes = read_space(frames.document["space"], "space").stratum_sizes()
    except (RobustnessError, KeyError):
        # Imported runs come without a search space.
        return None
    if sizes is None or len(sizes) < 2:
        return None
    of = pd.Series(-1, index=frames.configurations.index)
    for place, (choices, _) in enumerate(sizes):
        same = pd.Series(True, index=of.index)
        for name, value in choices.items():
            same &= frames.configurations[name] == value
        of[same] = place
    return Strata([dict(choices) for choices, _ in sizes], [size for _, size in sizes], of)


class Stratum(TypedDict):
    """A stratum: its choices, and how many configurations were drawn of how many in the space."""

    choices: dict[str, object]
    drawn: int
    in_space: int


class WeightedFraction(Ends):
    """A fraction in which each stratum counts by its share of the space."""

    fraction: float
    effective: float


class WeightedFractions(TypedDict):
    """An arm's weighted fractions at the study's epoch."""

    learned_nothing: WeightedFraction
    good: WeightedFraction


class WeightedDifference(Difference, Corrected):
    """A difference of two arms, first minus second, in which each stratum counts by its share of the space."""

    arms: list[str]
    outcome: JudgedOutcome
    effective: float | None


class WeightedResults(TypedDict):
    """The strata, and the fractions and differences weighted to the space."""

    by: list[str]
    strata: list[Stratum]
    arms: dict[str, WeightedFractions]
    paired: list[WeightedDifference]


def results(study: JudgedStudy) -> WeightedResults | None:
    """The strata, and the fractions and differences weighted to the space; None where they were drawn in proportion.

    That is where no stratum of the complete pairs is more than one configuration away from its share of the space.
    """
    frames, judged, watch = study.frames, study.planned, study.sample.watch
    strata = find_strata(frames)
    if strata is None:
        return None
    paired = judged.loc[judged["paired"], "configuration"].unique()
    drawn = np.bincount(strata.of[paired], minlength=len(strata.sizes)) if len(paired) else np.zeros(0)
    if not len(paired) or not drawn.all() or np.all(np.abs(drawn - len(paired) * strata.weights) <= 1):
        return None
    return {
        "by": list(strata.choices[0]),
        "strata": [
            {"choices": choices, "drawn": int(count), "in_space": size}
            for choices, count, size in zip(strata.choices, drawn, strata.sizes, strict=True)
        ],
        "arms": {
            arm: {
                "learned_nothing": _fraction(judged, arm, "learned_nothing", frames.rule, strata, watch),
                "good": _fraction(judged, arm, "good", frames.rule, strata, watch),
            }
            for arm in frames.arms
            if (judged["paired"] & (judged["arm"] == arm)).any()
        },
        "paired": [
            entry
            for outcome in sorted(OUTCOMES, key=lambda name: name != frames.primary)
            for entry in with_holm(
                [
                    Uncorrected(_difference(judged, arms, outcome, frames.rule, strata, watch))
                    for arms in frames.compared
                ]
            )
        ],
    }


def _fraction(
    judged: pd.DataFrame, arm: str, outcome: JudgedOutcome, summary: str, strata: Strata, watch: Watch | None
) -> WeightedFraction:
    own = judged[judged["paired"] & (judged["arm"] == arm)]
    owners, has = own["configuration"], has_outcome(own, outcome, summary)
    estimate = weighted_fraction(has, owners, owners.map(strata.of), strata.weights)
    ends = _ends(estimate) if watch is None else _sequences(watch, has.groupby(owners).mean(), strata, 0.0)
    return {"fraction": estimate.value, **ends, "effective": estimate.effective}


def _sequences(watch: Watch, means: pd.Series[Any], strata: Strata, lowest: float) -> Ends:
    """The ends for means by configuration, from `lowest` to 1, by confidence sequences of the strata."""
    stratum = strata.of[means.index]
    parts = [(weight, means[stratum == place]) for place, weight in enumerate(strata.weights.tolist())]
    return watch.combined(parts, lowest, 1.0)[1]


def _difference(
    judged: pd.DataFrame,
    arms: tuple[str, str],
    outcome: JudgedOutcome,
    summary: str,
    strata: Strata,
    watch: Watch | None,
) -> WeightedDifference:
    pairs = side_by_side(judged, has_outcome(judged, outcome, summary), list(arms))
    owners = pairs.index.get_level_values("configuration")
    stratum = strata.of[owners].to_numpy()
    if len(np.unique(stratum)) < len(strata.sizes):
        return {
            "arms": list(arms),
            "outcome": outcome,
            "difference": None,
            "low": None,
            "high": None,
            "effective": None,
            "p_value": None,
            "interval": "none: a stratum has no pair",
            "test": "score",
            "p_adjusted": None,
        }
    first, second = (pairs[arm].to_numpy() for arm in arms)
    estimate = weighted_difference(first, second, owners, stratum, strata.weights)
    units = by_configuration(pairs)
    ends = _ends(estimate) if watch is None else _sequences(watch, units[arms[0]] - units[arms[1]], strata, -1.0)
    return {
        "arms": list(arms),
        "outcome": outcome,
        "difference": estimate.value,
        **ends,
        "effective": estimate.effective,
        # The strata's sequences have no p-value of their weighted sum.
        "p_value": estimate.p_value if watch is None else None,
        "test": "score" if watch is None else NONE,
        "p_adjusted": None,
    }


def _ends(estimate: WeightedEstimate) -> Ends:
    interval = estimate.interval
    return {"low": interval.low, "high": interval.high, "interval": interval.method}


def drawn_mix(analysis: Analysis, fractions: str = "Fractions") -> Iterator[str]:
    """A line that fractions are of the drawn mix, with the counts; none where strata were drawn in proportion."""
    weighted = analysis.results["weighted"]
    if weighted is not None:
        strata = " and ".join(
            f"{entry['drawn']} of {entry['in_space']:,} configurations with {named_values(entry['choices'])}"
            for entry in weighted["strata"]
        )
        yield f"{fractions} are of the drawn mix: {strata}."


def sections(analysis: Analysis) -> Iterator[Section]:
    """The weighted fractions and differences of the primary outcome; none where strata were drawn in proportion."""
    weighted = analysis.results["weighted"]
    if weighted is None:
        return
    did = "were good" if analysis.primary == "good" else OUTCOME_WORDS[analysis.primary]
    shares = {arm: entry[analysis.primary] for arm, entry in weighted["arms"].items()}
    ends = {arm: (known(entry["low"]), known(entry["high"])) for arm, entry in shares.items()}
    cells = (
        f"{text(arm, 60)} {percent(entry['fraction'])} % ({percent(ends[arm][0])}-{percent(ends[arm][1])} %)"
        for arm, entry in shares.items()
    )
    reading = f"Share of the space's configurations that {did}, with 95 % intervals: {', '.join(cells)}"
    rows = [
        (
            text(arm, 60),
            exact_percent(entry["fraction"]),
            f"{exact_percent(ends[arm][0])} to {exact_percent(ends[arm][1])}",
            "",
            "",
        )
        for arm, entry in shares.items()
    ]
    own = [entry for entry in weighted["paired"] if entry["outcome"] == analysis.primary]
    tested = [entry for entry in own if entry["p_value"] is not None]
    for entry in own:
        if entry["difference"] is None:
            continue
        change = second_minus_first(entry, entry["difference"])
        first, second = (text(arm, 60) for arm in entry["arms"])
        rows.append(
            (f"{second} minus {first}", points(change), "", p_number(entry["p_value"]), p_number(entry["p_adjusted"]))
        )
    significant = sum(is_significant(entry["p_adjusted"]) for entry in tested)
    if len(tested) == 1:
        word = "" if significant else "not "
        reading += f"; the difference is {word}statistically significant (p = {p_number(tested[0]['p_value'])})"
    elif tested:
        reading += f"; {significant} of {len(tested)} differences are significant after Holm's correction over them"
    notes = (
        *drawn_mix(analysis, "Elsewhere, fractions"),
        "Here each of these strata counts by its share of the space. All other comparisons and tests on this page "
        "are of the drawn mix, too.",
    )
    if analysis.study.sample.watch is not None:
        notes = (*notes, "Intervals join confidence sequences of the strata; there is no test of their weighted sum.")
    columns = ("What", "In the space", "95 % interval", "p", analysis.frames.corrected)
    # A single comparison needs no correction.
    shown = slice(None) if len(analysis.frames.compared) > 1 else slice(-1)
    numbers = Numbers(tuple(columns)[shown], tuple(tuple(row)[shown] for row in rows))
    yield Section("weighted", "Weighted to the space", f"{reading}.", (), numbers, notes)
