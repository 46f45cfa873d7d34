"""The difference of two arms at each level of a hyperparameter, tests of interaction, and other spaces."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from report.comparison import by_configuration, has_outcome, side_by_side
from report.judged_study import JudgedStudy
from report.records.estimates import Ends, JudgedOutcome
from report.sections.interactions.entries import AtLevel, Interaction, InteractionsResult, OtherShare, OtherSpace
from report.sections.sensitivity.importance import importance_of, study_space
from report.sections.sensitivity.levels import Levels, levels
from report.watched import Watch
from robustness.statistics.importance import Importances
from robustness.statistics.interactions import pair_interactions
from robustness.statistics.means import mean_test
from robustness.statistics.other_spaces import SHARES, reweighted, splits
from robustness.statistics.paired import paired_test
from robustness.statistics.proportions import NO_OBSERVATIONS, Interval
from robustness.sweep.stopping import watched_comparisons

NOT_TESTED = "a watched sweep has this test only if these two arms and this outcome alone decided when it stopped"


def results(study: JudgedStudy) -> list[InteractionsResult]:
    """For every comparison, by the primary outcome or, without thresholds, by scores; none without pairs."""
    frames = study.frames
    if not frames.paired:
        return []
    every = {name: levels(frames.configurations[name]) for name in frames.varied}
    of = {name: each for name, each in every.items() if len(each.labels) > 1}
    return [_result(study, arms, of) for arms in frames.compared] if of else []


def _result(study: JudgedStudy, arms: tuple[str, str], of: Mapping[str, Levels]) -> InteractionsResult:
    frames, judged = study.frames, study.planned
    outcome = frames.primary if frames.has_thresholds else None
    values = judged[f"score_{frames.rule}"] if outcome is None else has_outcome(judged, outcome, frames.rule)
    pairs = side_by_side(judged, values, list(arms))
    units = by_configuration(pairs)
    differences = units[arms[0]] - units[arms[1]]
    watch = study.sample.watch
    known = differences if watch is None else tested_differences(study, arms, differences)
    found = Importances({}, NOT_TESTED) if known is None else importance_of(of, study_space(frames), known)
    codes = {name: each.of.reindex(units.index).fillna(-1).to_numpy(dtype=np.int64) for name, each in of.items()}
    together = pair_interactions(differences.to_numpy(dtype=float), codes) if found.of and watch is None else []
    hyperparameters: dict[str, Interaction] = {}
    for name, each in of.items():
        entry = found.of.get(name)
        hyperparameters[name] = {
            "explained": None if entry is None else entry.explained,
            "low": None if entry is None or watch is not None else entry.low,
            "high": None if entry is None or watch is not None else entry.high,
            "p_value": None if entry is None else entry.p_value,
            "p_adjusted": None if entry is None else entry.p_adjusted,
            "levels": [_at_level(pairs, outcome, label, each, place, watch) for place, label in enumerate(each.labels)],
        }
    return {
        "arms": list(arms),
        "outcome": outcome,
        "why_not": found.why_not,
        "permutations": found.permutations,
        "hyperparameters": hyperparameters,
        "pairs": [
            {
                "hyperparameters": list(each.names),
                "explained": each.explained,
                "p_value": each.p_value,
                "p_adjusted": each.p_adjusted,
            }
            for each in together
        ],
        "other_space": None
        if outcome is None or not len(units)
        else _other_space(pairs, differences, of, codes, watch),
    }


def tested_differences(study: JudgedStudy, arms: tuple[str, str], differences: pd.Series[Any]) -> pd.Series[Any] | None:
    """Of a watched sweep, the differences up to its end if nothing else decided when that was; else None.

    A hyperparameter that these differences do not depend on is exchangeable given all of them, and so given the end.
    """
    frames = study.frames
    terms, stopped = frames.watched or {}, frames.stopped
    watched = watched_comparisons(frames.compared, terms.get("arms"))
    if watched != [arms] or (terms.get("outcome") or frames.primary) != frames.primary or not frames.has_thresholds:
        return None
    # Notes of earlier versions count pairs.
    end = len(frames.configurations) if stopped is None else int(stopped.get("configurations") or stopped["pairs"])
    if study.sample.watch is None or study.sample.watch.prefix < end:
        return None
    return differences[differences.index < end]


def _at_level(
    pairs: pd.DataFrame, outcome: JudgedOutcome | None, label: Any, each: Levels, place: int, watch: Watch | None
) -> AtLevel:
    members = each.of.index[(each.of == place).fillna(False).astype(bool)]
    own = pairs[pairs.index.get_level_values("configuration").isin(members)]
    first, second = (own[arm].to_numpy(dtype=float) for arm in own.columns)
    units = by_configuration(own)
    difference: float | None = None
    interval = NO_OBSERVATIONS
    if len(own) and watch is not None:
        limits = watch.score_limits if outcome is None else (-1.0, 1.0)
        entry, _ = watch.tested(units.iloc[:, 0] - units.iloc[:, 1], limits)
        ends: Ends = {"low": entry["low"], "high": entry["high"], "interval": entry["interval"]}
        return {"value": label, "configurations": len(units), "difference": entry["difference"], **ends}
    if len(own) and outcome is not None:
        tested = paired_test(first > 0, second > 0, own.index.get_level_values("configuration"))
        difference, interval = tested.difference, tested.interval
    elif len(own):
        values = (units.iloc[:, 0] - units.iloc[:, 1]).to_numpy(dtype=float)
        difference, interval = float(values.mean()), mean_test(values).interval
    return {"value": label, "configurations": len(units), "difference": difference, **_ends(interval)}


def _label(value: object) -> str | int | float | bool:
    """A level as JSON has it."""
    return value if isinstance(value, (str, int, float)) else str(value)


def _ends(interval: Interval) -> Ends:
    return {"low": interval.low, "high": interval.high, "interval": interval.method}


def _other_space(
    pairs: pd.DataFrame,
    differences: pd.Series[Any],
    of: Mapping[str, Levels],
    codes: Mapping[str, NDArray[np.int64]],
    watch: Watch | None,
) -> OtherSpace | None:
    """The widest reach of any split of any hyperparameter that all configurations have."""
    best = None
    for name, each in of.items():
        if codes[name].min() < 0:
            continue
        ordered = all(isinstance(label, (int, float)) and not isinstance(label, bool) for label in each.labels)
        ranged = any(" to " in str(label) for label in each.labels)
        found = splits(differences.to_numpy(dtype=float), codes[name], ordered or ranged)
        if found and (best is None or found[0].reach > best[1].reach):
            best = (name, found[0])
    if best is None:
        return None
    name, split = best
    owners = pairs.index.get_level_values("configuration")
    level = of[name].of.reindex(owners).to_numpy(dtype=np.int64)
    inside = np.isin(level, split.group)
    first, second = (pairs[arm].to_numpy(dtype=float) for arm in pairs.columns)
    curve: list[OtherShare]
    if watch is None:
        curve = [
            {"share": share, "difference": estimate.value, **_ends(estimate.interval)}
            for share, estimate in zip(SHARES, reweighted(first, second, owners, inside), strict=True)
        ]
    else:
        group = np.isin(codes[name], split.group)
        sides = (differences[~group], differences[group])
        joined = [watch.combined(list(zip((1 - share, share), sides, strict=True)), -1.0, 1.0) for share in SHARES]
        curve = [
            {"share": share, "difference": value, **ends} for share, (value, ends) in zip(SHARES, joined, strict=True)
        ]
    values = [_label(of[name].labels[place]) for place in split.group]
    return {
        "hyperparameter": name,
        "values": values,
        "drawn": float(np.isin(codes[name], split.group).mean()),
        "without": split.without,
        "within": split.within,
        "curve": curve,
    }
