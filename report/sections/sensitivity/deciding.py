"""The values of hyperparameters that are shown to matter to an arm, and its fractions without those that are worse."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from report.comparison import fraction_entry
from report.judged_study import JudgedStudy
from report.records.estimates import Fraction
from report.sections.sensitivity.entries import DecidingValue, DecidingValues, SensibleRange
from report.sections.sensitivity.importance import WATCHED, blocks_of, codes_of, study_space
from report.sections.sensitivity.levels import Levels
from robustness.statistics.importance import LEAST_CONFIGURATIONS, SIGNIFICANT
from robustness.statistics.levels import level_tests


def deciding_values(trials: pd.DataFrame, of: Mapping[str, Levels], arm: str, study: JudgedStudy) -> DecidingValues:
    """The values at which the primary outcome is significantly more or less frequent than at the arm's others.

    `trials` has the arm's outcomes, indexed by their configurations.
    """
    frames = study.frames
    has = trials[frames.primary].dropna()
    shares = has.groupby(level="configuration").mean()
    if study.sample.watch is not None:
        return {"tested": 0, "values": [], "why_not": WATCHED}
    if len(shares) < LEAST_CONFIGURATIONS:
        return {"tested": 0, "values": [], "why_not": f"it takes at least {LEAST_CONFIGURATIONS} configurations"}
    own = {name: each for name, each in of.items() if frames.applies(name, arm)}
    codes = codes_of(own, shares.index)
    tests = level_tests(codes, blocks_of(codes, study_space(frames)), shares.to_numpy(dtype=float))
    sign = 1 if frames.primary == "learned_nothing" else -1
    found: list[DecidingValue] = [
        {
            "hyperparameter": test.name,
            "value": own[test.name].labels[test.level],
            **rate_of(has[has.index.isin(_members(own[test.name], test.level))]),
            "elsewhere": test.elsewhere,
            "worse": sign * test.excess > 0,
            "p_value": test.p_value,
            "p_adjusted": test.p_adjusted,
        }
        for test in tests
        if test.p_adjusted < SIGNIFICANT
    ]
    return {"tested": len(tests), "values": found, "why_not": None}


def sensible_range(trials: pd.DataFrame, of: Mapping[str, Levels], deciding: DecidingValues) -> SensibleRange | None:
    """The arm's fractions without the values that are shown to be worse; None if none is, or nothing is left.

    The values are chosen from the same trials that are then counted, so the fractions are optimistically biased.
    """
    removed: dict[str, list[object]] = {}
    kept = np.ones(len(trials), dtype=bool)
    for entry in deciding["values"]:
        if entry["worse"]:
            each = of[entry["hyperparameter"]]
            removed.setdefault(entry["hyperparameter"], []).append(entry["value"])
            kept &= ~trials.index.isin(_members(each, each.labels.index(entry["value"])))
    left = trials[kept]
    if not removed or left.empty:
        return None
    return {
        "removed": removed,
        "configurations": left.index.nunique(),
        "learned_nothing": rate_of(left["learned_nothing"]),
        "good": rate_of(left["good"]),
    }


def rate_of(values: pd.Series[Any]) -> Fraction:
    """An outcome's fraction among trials, indexed by their configurations; NaN is no outcome."""
    values = values.dropna()
    return fraction_entry(values.reset_index(drop=True), values.index.to_series().reset_index(drop=True))


def _members(each: Levels, place: int) -> pd.Index:
    """The configurations at a level."""
    return each.of.index[(each.of == place).fillna(False).astype(bool)]
