"""Which hyperparameters and values the outcome depends on, arm by arm, over complete pairs at the study's epoch.

Values are levels: each value where there are few, else the quarters of a range. The unit is the configuration.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations, pairwise
from typing import Any

import numpy as np
import pandas as pd

from report.comparison import Sample, has_outcome
from report.frames import StudyFrames, is_missing
from report.judged_study import JudgedStudy
from report.judging import OUTCOMES
from robustness.optimize.importance import importance
from robustness.statistics.proportions import WHOLE_SPACE, Interval, fraction_interval

MOST_LEVELS = 12
QUARTERS = 4
NEAR = 0.02
"""A configuration is near the winner if its score is at most this much lower."""
MOST_FOR_IMPORTANCE = 2000
"""Importance is computed from at most this many configurations; more would change the third digit and take long."""
LEAST_CONFIGURATIONS = 3
"""A level with fewer configurations is not called the worst."""


@dataclass(frozen=True)
class Levels:
    """The levels of one hyperparameter: `labels` in order, and which of them each configuration has (<NA> if none)."""

    labels: list[Any]
    of: pd.Series[Any]


def levels(values: pd.Series[Any]) -> Levels:
    """The levels of a column of configurations: its values in order, or quarters of a range of many numbers."""
    known = values.dropna()
    different = sorted({plain(value) for value in known}, key=lambda value: (isinstance(value, str), value))
    if len(different) <= MOST_LEVELS:
        place = {value: number for number, value in enumerate(different)}
        return Levels(different, values.map(lambda v: pd.NA if is_missing(v) else place[plain(v)]).astype("Int64"))
    if not all(isinstance(value, (int, float)) for value in different):
        return Levels([], pd.Series(pd.NA, index=values.index, dtype="Int64"))
    numbers = known.astype(float)
    edges = np.unique(np.quantile(numbers, np.linspace(0, 1, QUARTERS + 1)))
    labels = [f"{low:.3g} to {high:.3g}" for low, high in pairwise(edges)]
    place_of = np.clip(np.searchsorted(edges, numbers, side="right") - 1, 0, len(labels) - 1)
    return Levels(labels, pd.Series(place_of, index=known.index).reindex(values.index).astype("Int64"))


def results(study: JudgedStudy) -> dict[str, Any]:
    """All of it, as `docs/report_json.md` describes it under `sensitivity`."""
    frames, sample = study.frames, study.sample
    units = {arm: arm_units(study.planned, arm, frames.rule) for arm in frames.arms}
    every = {name: levels(frames.configurations[name]) for name in frames.varied}
    of = {name: each for name, each in every.items() if len(each.labels) > 1}
    drawn = max((len(frame) for frame in units.values()), default=0)
    rates = {
        name: {
            "values": each.labels,
            "arms": {arm: _rates(frame, each, sample, drawn) for arm, frame in units.items()},
        }
        for name, each in of.items()
    }
    return {
        "hyperparameters": rates,
        "two_way": _two_way(units, of),
        "importance": {arm: _importance(frame, frames) for arm, frame in units.items()},
        "worst_value": {arm: _worst(rates, arm) for arm in units},
        "winners": {arm: _winner(frame, frames, arm) for arm, frame in units.items()},
        "sensible_range": {arm: _sensible(frame, of, rates, arm, sample) for arm, frame in units.items()},
    }


def arm_units(judged: pd.DataFrame, arm: str, summary: str) -> pd.DataFrame:
    """`score`, `learned_nothing` and `good` of each configuration in complete pairs, as means over its replicates."""
    own = judged[judged["paired"] & (judged["arm"] == arm)]
    frame = pd.DataFrame({"score": own[f"score_{summary}"].astype("float64")})
    for outcome in OUTCOMES:
        frame[outcome] = has_outcome(own, outcome, summary)
    return frame.groupby(own["configuration"]).mean()


def plain(value: Any) -> Any:
    """A value of a frame as plain Python; an integer that a gap in the column turned into a float is one again."""
    value = value.item() if hasattr(value, "item") else value
    return int(value) if isinstance(value, float) and value.is_integer() and abs(value) >= 2 else value


def _rates(units: pd.DataFrame, levels: Levels, sample: Sample, drawn: int) -> dict[str, list[dict[str, Any]]]:
    level = levels.of.reindex(units.index)
    members = [(level == n).fillna(False).astype(bool) for n in range(len(levels.labels))]
    rates: dict[str, list[dict[str, Any]]] = {}
    for outcome in OUTCOMES:
        rates[outcome] = [_rate(units[outcome][at], sample, drawn) for at in members]
    rates["score"] = [_middle(units["score"][at]) for at in members]
    return rates


def _rate(values: pd.Series[Any], sample: Sample, drawn: int) -> dict[str, Any]:
    """An outcome's fraction among configurations; each part of a finite space is as fully drawn as the whole."""
    n = len(values)
    population = None if sample.population is None or not drawn else max(n, round(n * sample.population / drawn))
    interval = fraction_interval(values, sample.replicated, population)
    if sample.population is not None and drawn < sample.population and interval.method == WHOLE_SPACE:
        interval = fraction_interval(values, sample.replicated, n + 1)
    return {"of": n, "count": float(values.sum()), **_ends(values, interval)}


def _ends(values: pd.Series[Any], interval: Interval) -> dict[str, Any]:
    if not len(values):
        return {"fraction": None, "low": None, "high": None}
    return {"fraction": float(values.mean()), "low": interval.low, "high": interval.high}


def _middle(scores: pd.Series[Any]) -> dict[str, Any]:
    if not len(scores):
        return {"median": None, "best": None}
    return {"median": float(scores.median()), "best": float(scores.max())}


def _two_way(units: Mapping[str, pd.DataFrame], of: Mapping[str, Levels]) -> list[dict[str, Any]]:
    """Counts for every two hyperparameters: tables [levels of the first, levels of the second] of each arm."""
    tables_of_pairs = []
    for first, second in combinations(of, 2):
        a, b = of[first], of[second]
        shape = (len(a.labels), len(b.labels))
        arms = {}
        for arm, frame in units.items():
            rows, columns = a.of.reindex(frame.index), b.of.reindex(frame.index)
            used = (rows.notna() & columns.notna()).to_numpy()
            cell = (rows[used].astype(int).to_numpy(), columns[used].astype(int).to_numpy())
            tables = {}
            for key, weights in (("of", np.ones(len(frame))), *((name, frame[name].to_numpy()) for name in OUTCOMES)):
                table = np.zeros(shape)
                np.add.at(table, cell, weights[used])
                tables[key] = table.tolist()
            arms[arm] = tables
        if any(np.any(tables["of"]) for tables in arms.values()):
            tables_of_pairs.append({"hyperparameters": [first, second], "values": [a.labels, b.labels], "arms": arms})
    return tables_of_pairs


def _importance(units: pd.DataFrame, frames: StudyFrames) -> dict[str, Any]:
    units = units.iloc[:MOST_FOR_IMPORTANCE]
    drawn = frames.configurations.loc[units.index, frames.varied]
    columns = {name: [plain(value) for value in drawn[name]] for name in frames.varied}
    rows = [
        {name: columns[name][row] for name in frames.varied if not is_missing(columns[name][row])}
        for row in range(len(drawn))
    ]
    shares = importance(rows, units["score"].to_numpy())
    return {"shares": dict(shares.shares), "quantile": shares.quantile, "why_not": shares.why_not}


def _worst(rates: Mapping[str, Any], arm: str) -> dict[str, Any] | None:
    """The value that most often goes with learning nothing; of equals the one with the most configurations."""
    candidates = [
        {"hyperparameter": name, "value": value, **entry}
        for name, rate in rates.items()
        for value, entry in zip(rate["values"], rate["arms"][arm]["learned_nothing"], strict=True)
        if entry["of"] >= LEAST_CONFIGURATIONS and entry["fraction"] > 0
    ]
    return max(candidates, key=lambda entry: (entry["fraction"], entry["of"]), default=None)


def _winner(units: pd.DataFrame, frames: StudyFrames, arm: str) -> dict[str, Any] | None:
    """The configuration with the highest score, how many come near it, and where the reference's winner stands."""
    reference = (frames.document.get("reference") or {}).get("winners", {}).get(arm)
    if units.empty:
        return None
    number = int(units.index.to_numpy()[units["score"].to_numpy().argmax()])
    highest = float(units["score"].max())
    near = int((units["score"] >= highest - NEAR).sum())
    winner: dict[str, Any] = {
        "configuration": number,
        "hyperparameters": _values(frames, number),
        "score": highest,
        "near": {"within": NEAR, "count": near, "of": len(units), "fraction": near / len(units)},
        "reference": None,
    }
    if reference is not None:
        same = _same(frames.configurations.loc[units.index], reference)
        scores = units["score"]
        winner["reference"] = {
            "hyperparameters": dict(reference),
            "configuration": int(same[0]) if same else None,
            "score": float(scores[same[0]]) if same else None,
            "rank": int((scores > scores[same[0]]).sum()) + 1 if same else None,
        }
    return winner


def _values(frames: StudyFrames, number: int) -> dict[str, Any]:
    row = frames.configurations.loc[number]
    return {str(name): plain(value) for name, value in row.items() if not is_missing(value)}


def _same(drawn: pd.DataFrame, reference: Mapping[str, Any]) -> list[Any]:
    """The configurations that agree with every value of the reference."""
    same = pd.Series(set(reference) <= set(drawn.columns), index=drawn.index)
    for name in set(reference) & set(drawn.columns):
        same &= (drawn[name] == reference[name]).fillna(False).astype(bool)
    return drawn.index[same].tolist()


def _sensible(
    units: pd.DataFrame, of: Mapping[str, Levels], rates: Mapping[str, Any], arm: str, sample: Sample
) -> dict[str, Any]:
    """The arm's fractions without its worst value of each hyperparameter.

    The worst has the largest fraction that learned nothing; of equals, with the lowest median score. It is
    chosen by the same trials that are then counted, so the fractions are optimistically biased.
    """
    removed: dict[str, Any] = {}
    kept = pd.Series(True, index=units.index)
    for name, levels in of.items():
        entries = rates[name]["arms"][arm]
        used = [n for n in range(len(levels.labels)) if entries["learned_nothing"][n]["of"]]
        if len(used) < 2:
            continue
        worst = min(used, key=lambda n: (-entries["learned_nothing"][n]["fraction"], entries["score"][n]["median"]))
        removed[name] = levels.labels[worst]
        kept &= (levels.of.reindex(units.index) != worst).fillna(True).astype(bool)
    left = units[kept]
    return {
        "removed": removed,
        "configurations": len(left),
        **{outcome: _rate(left[outcome], Sample(sample.replicated, None), 0) for outcome in OUTCOMES},
    }
