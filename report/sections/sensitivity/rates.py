"""Which hyperparameters and values the outcome depends on, arm by arm, over complete pairs at the study's epoch.

The unit is the configuration.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from report.comparison import has_outcome, normalised
from report.frames import StudyFrames, own_column
from report.judged_study import JudgedStudy
from report.judging import OUTCOMES
from report.sections.hyperparameters import values_of
from report.sections.sensitivity.deciding import deciding_values, rate_of, sensible_range
from report.sections.sensitivity.entries import (
    HyperparameterRates,
    LevelRates,
    MiddleScore,
    ReferenceWinner,
    SensitivityResults,
    TwoWay,
    TwoWayTables,
    Winner,
)
from report.sections.sensitivity.importance import importance_results
from report.sections.sensitivity.levels import Levels, levels, plain
from robustness.goal import Goal

NEAR = 0.02
"""A configuration is near the winner if its score is at most this much worse."""


def results(study: JudgedStudy) -> SensitivityResults:
    """All of it, as `docs/report_json.md` describes it under `sensitivity`."""
    frames = study.frames
    outcomes = frames.has_thresholds
    trials = {arm: arm_trials(study.planned, arm, frames.rule, outcomes) for arm in frames.arms}
    units = {arm: frame.groupby(level="configuration").mean() for arm, frame in trials.items()}
    every = {name: levels(frames.configurations[name]) for name in frames.varied}
    of = {name: each for name, each in every.items() if len(each.labels) > 1}
    rates: dict[str, HyperparameterRates] = {
        name: {
            "values": each.labels,
            "arms": {
                arm: _rates(frame, units[arm], each, frames.goal)
                for arm, frame in trials.items()
                if frames.applies(name, arm)
            },
        }
        for name, each in of.items()
    }
    deciding = {arm: deciding_values(frame, of, arm, study) for arm, frame in trials.items()}
    return {
        "hyperparameters": rates,
        "two_way": _two_way(trials, of, frames),
        "importance": importance_results(_for_importance(study, units), of, study),
        "deciding_values": deciding,
        "winners": {arm: _winner(frame, frames, arm) for arm, frame in units.items()},
        "sensible_range": {arm: sensible_range(frame, of, deciding[arm]) for arm, frame in trials.items()},
    }


def arm_trials(judged: pd.DataFrame, arm: str, summary: str, judged_by_outcome: bool = True) -> pd.DataFrame:
    """`score`, `learned_nothing` and `good` of each trial in complete pairs, indexed by its configuration.

    The outcomes are NaN in a study without thresholds.
    """
    own = judged[judged["paired"] & (judged["arm"] == arm)]
    frame = pd.DataFrame({"score": own[f"score_{summary}"].astype("float64")})
    for outcome in OUTCOMES:
        frame[outcome] = has_outcome(own, outcome, summary) if judged_by_outcome else np.nan
    return frame.set_index(pd.Index(own["configuration"], name="configuration"))


def _rates(trials: pd.DataFrame, units: pd.DataFrame, levels: Levels, goal: Goal) -> LevelRates:
    members = [levels.of.index[(levels.of == n).fillna(False).astype(bool)] for n in range(len(levels.labels))]
    return {
        "learned_nothing": [rate_of(trials.loc[trials.index.isin(at), "learned_nothing"]) for at in members],
        "good": [rate_of(trials.loc[trials.index.isin(at), "good"]) for at in members],
        "score": [_middle(units.loc[units.index.isin(at), "score"], goal) for at in members],
    }


def _middle(scores: pd.Series[Any], goal: Goal) -> MiddleScore:
    if not len(scores):
        return {"median": None, "best": None}
    return {"median": float(scores.median()), "best": goal.best(scores.tolist())}


def _for_importance(study: JudgedStudy, units: Mapping[str, pd.DataFrame]) -> Mapping[str, pd.DataFrame]:
    """The scores of each configuration; with several tasks in standard deviations of each task."""
    if study.sample.tasks == 1:
        return units
    planned, name = study.planned, f"score_{study.frames.rule}"
    scaled = planned.assign(**{name: normalised(planned, planned[name])})
    trials = {arm: arm_trials(scaled, arm, study.frames.rule, study.frames.has_thresholds) for arm in units}
    return {arm: frame.groupby(level="configuration").mean() for arm, frame in trials.items()}


def _two_way(trials: Mapping[str, pd.DataFrame], of: Mapping[str, Levels], frames: StudyFrames) -> list[TwoWay]:
    """Trials for every two hyperparameters: tables [levels of the first, levels of the second] of each arm."""
    tables_of_pairs: list[TwoWay] = []
    for first, second in combinations(of, 2):
        a, b = of[first], of[second]
        shape = (len(a.labels), len(b.labels))
        arms: dict[str, TwoWayTables] = {}
        for arm, frame in trials.items():
            if not (frames.applies(first, arm) and frames.applies(second, arm)):
                continue
            rows, columns = a.of.reindex(frame.index), b.of.reindex(frame.index)
            used = (rows.notna() & columns.notna()).to_numpy()
            cell = (rows[used].astype(int).to_numpy(), columns[used].astype(int).to_numpy())
            count, nothing, good = (np.zeros(shape) for _ in range(3))
            np.add.at(count, cell, 1.0)
            np.add.at(nothing, cell, frame["learned_nothing"].to_numpy()[used])
            np.add.at(good, cell, frame["good"].to_numpy()[used])
            arms[arm] = {"of": count.tolist(), "learned_nothing": nothing.tolist(), "good": good.tolist()}
        if any(np.any(tables["of"]) for tables in arms.values()):
            tables_of_pairs.append({"hyperparameters": [first, second], "values": [a.labels, b.labels], "arms": arms})
    return tables_of_pairs


def _winner(units: pd.DataFrame, frames: StudyFrames, arm: str) -> Winner | None:
    """The configuration with the best score, how many come near it, and where the reference's winner stands."""
    reference = (frames.document.get("reference") or {}).get("winners", {}).get(arm)
    if units.empty:
        return None
    oriented = frames.goal.oriented(units["score"].to_numpy())
    number = int(units.index.to_numpy()[oriented.argmax()])
    near = int((oriented >= oriented.max() - NEAR).sum())
    return {
        "configuration": number,
        "hyperparameters": _values(frames, number, arm),
        "score": float(units["score"].to_numpy()[oriented.argmax()]),
        "near": {"within": NEAR, "count": near, "of": len(units), "fraction": near / len(units)},
        "reference": None if reference is None else _reference_winner(units, frames, reference),
    }


def _reference_winner(units: pd.DataFrame, frames: StudyFrames, reference: Mapping[str, object]) -> ReferenceWinner:
    same = _same(frames.configurations.loc[units.index], reference)
    scores = units["score"]
    return {
        "hyperparameters": dict(reference),
        "configuration": int(same[0]) if same else None,
        "score": float(scores[same[0]]) if same else None,
        "rank": int(frames.goal.better(scores, scores[same[0]]).sum()) + 1 if same else None,
    }


def _values(frames: StudyFrames, number: int, arm: str) -> dict[str, object]:
    names = [name for name in frames.hyperparameters if frames.applies(name, arm)]
    return {
        name.removeprefix(own_column(arm, "")): plain(value) for name, value in values_of(frames, number, names).items()
    }


def _same(drawn: pd.DataFrame, reference: Mapping[str, object]) -> list[Any]:
    """The configurations that agree with every value of the reference."""
    same = pd.Series(set(reference) <= set(drawn.columns), index=drawn.index)
    for name in set(reference) & set(drawn.columns):
        same &= (drawn[name] == reference[name]).fillna(False).astype(bool)
    return drawn.index[same].tolist()
