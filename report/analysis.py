"""Everything that the report says about a study, as one structure that JSON can hold.

    analysis = analyse(study_store)       # or frames
    analysis.results                      # what `robustness report --format json` writes: docs/report_json.md
    analysis.frames, .judged, .judges    # what figures need beside it

The same store gives the same numbers: bootstrap seeds are fixed, and no time of day is part of it.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from report.comparison import (
    Sample,
    at_threshold,
    by_configuration,
    score_comparisons,
    score_pairs,
    side_by_side,
)
from report.frames import StudyFrames, load_frames
from report.judged_study import JudgedStudy
from report.judging import OUTCOMES
from report.sections.left_out_results import left_out
from report.sections.own_results import own_results, stands_alone
from report.sections.sensitivity_results import sensitivity
from report.sections.verdict import verdict
from report.words import SIGNIFICANT
from robustness.statistics.budget import REACHED, budget_band, budget_sizes, trials_needed
from robustness.statistics.profiles import above, area, profile_band
from robustness.statistics.proportions import mean_interval
from robustness.statistics.variance import variance_parts
from robustness.store import StudyStore
from robustness.sweep.outcomes import Judge
from robustness.trial import PENDING

GRID = 201
"""Thresholds of a profile."""
CHOICES = 51
"""Thresholds at which the verdict is tried."""


@dataclass(frozen=True)
class Analysis:
    """A study, judged and analysed."""

    frames: StudyFrames
    judges: Mapping[str, Judge]
    judged: pd.DataFrame
    """The frame of trials as `report.judging.judge` gives it."""
    sample: Sample
    results: Mapping[str, Any]
    """Plain values only; None where there is nothing to say."""


def analyse(study: StudyStore | StudyFrames) -> Analysis:
    """Read a study, which may be running, and compute all statistics of the report."""
    frames = study if isinstance(study, StudyFrames) else load_frames(study)
    judged = JudgedStudy.of(frames)
    return Analysis(frames, judged.judges, judged.trials, judged.sample, _plain(_results(judged)))


def as_json_text(results: Mapping[str, Any]) -> str:
    """The results as the JSON text that the command writes."""
    return json.dumps(results, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def _results(study: JudgedStudy) -> dict[str, Any]:
    frames, judged, sample = study.frames, study.planned, study.sample
    complete = not study.trials["status"].isin(PENDING).any()
    arms, paired = study.outcome_counts, study.comparisons
    low, high = study.score_range
    grid = np.linspace(low, high, GRID)
    profiles = _profiles(judged, frames, sample, grid)
    for arm, found in arms.items():
        found["profile_area"] = (profiles["arms"].get(arm) or {}).get("area")
    sampling = frames.document["sampling"]
    own = own_results(frames)
    sentences = [sentence for found in own.values() for sentence in found["sentences"]]
    if not stands_alone(own):
        sentences += verdict(frames, arms, paired)
    return {
        "study": frames.name,
        "complete": complete and all(found.get("complete", True) for found in own.values()),
        "metric": frames.metric,
        "epoch": frames.rule,
        "primary": frames.primary,
        "verdict": sentences,
        "sampling": {
            "strategy": sampling.get("strategy", "random"),
            "configurations": len(frames.configurations),
            "population": sample.population,
            "replicates": frames.replicates,
            "pairs": int(judged.loc[judged["paired"], ["configuration", "replicate"]].drop_duplicates().shape[0]),
        },
        "thresholds": {
            **_thresholds(study.judges),
            "dependence": _dependence(judged, frames, study.judges[frames.rule], sample, (low, high)),
        },
        "arms": arms,
        "paired": paired,
        "scores": score_comparisons(judged, frames, sample),
        "profiles": profiles,
        "budget": _budget(judged, frames, sample, arms),
        "variance": _variance(judged, frames),
        "sensitivity": sensitivity(judged, frames, sample),
        "stopped": frames.stopped,
        "left_out": left_out(judged, frames, sample),
        "reference": _reference(frames, arms),
        **own,
    }


def _thresholds(judges: Mapping[str, Judge]) -> dict[str, Any]:
    return {
        "learned_nothing": {
            summary: {"value": judge.nothing, "inclusive": judge.inclusive, "known": judge.known, "why": judge.why}
            for summary, judge in judges.items()
        },
        "good": {"at_least": judges["best"].good},
    }


def _scores(judged: pd.DataFrame, arm: str, summary: str) -> list[NDArray[np.float64]]:
    """The scores of an arm's trials in complete pairs, by configuration."""
    own = judged[judged["paired"] & (judged["arm"] == arm)]
    return [group.to_numpy(dtype=float) for _, group in own.groupby("configuration")[f"score_{summary}"]]


def _shares(groups: list[NDArray[np.float64]], grid: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.stack([above(group, grid).mean(axis=0) for group in groups])


def _profiles(judged: pd.DataFrame, frames: StudyFrames, sample: Sample, grid: NDArray[np.float64]) -> dict[str, Any]:
    found: dict[str, Any] = {"thresholds": grid.tolist(), "arms": {}, "differences": []}
    ends = (float(grid[0]), float(grid[-1]))
    for arm in frames.arms:
        groups = _scores(judged, arm, frames.rule)
        if not groups:
            continue
        band = profile_band(_shares(groups, grid), sample.population)
        areas = np.array([area(group, *ends).mean() for group in groups])
        interval = mean_interval(areas, sample.population)
        found["arms"][arm] = {
            "fraction": band.middle.tolist(),
            "low": band.low.tolist(),
            "high": band.high.tolist(),
            "area": float(areas.mean()),
            "area_low": interval.low,
            "area_high": interval.high,
        }
    scores = judged[f"score_{frames.rule}"]
    for first, second in frames.compared:
        pairs = side_by_side(judged, scores, [first, second])
        if pairs.empty:
            continue
        values = pairs.to_numpy(dtype=float)
        number = pairs.index.get_level_values("configuration").to_numpy()
        _, start = np.unique(number, return_index=True)
        size = np.diff([*start, len(number)])[:, None]
        difference = above(values[:, 0], grid) - above(values[:, 1], grid)
        band = profile_band(np.add.reduceat(difference, start, axis=0) / size, sample.population, lowest=-1.0)
        means = by_configuration(pairs.apply(lambda column: area(column, *ends))).to_numpy(dtype=float)
        areas = means[:, 0] - means[:, 1]
        interval = mean_interval(areas, sample.population)
        found["differences"].append(
            {
                "arms": [first, second],
                "difference": band.middle.tolist(),
                "low": band.low.tolist(),
                "high": band.high.tolist(),
                "area": float(areas.mean()),
                "area_low": interval.low,
                "area_high": interval.high,
            }
        )
    return found


def _budget(
    judged: pd.DataFrame, frames: StudyFrames, sample: Sample, arms: Mapping[str, Mapping[str, Any]]
) -> dict[str, Any]:
    found: dict[str, Any] = {"chance": REACHED, "arms": {}}
    for arm in frames.arms:
        groups = _scores(judged, arm, frames.rule)
        if not groups:
            continue
        sizes = budget_sizes(sum(len(group) for group in groups))
        band = budget_band(groups, sizes)
        good = arms[arm]["good"]
        needed = {
            key: trials_needed(min(1.0, good[end]), sample.population)
            for key, end in (("needed", "fraction"), ("needed_low", "high"), ("needed_high", "low"))
        }
        found["arms"][arm] = {
            "trials": sizes,
            "expected": band.middle.tolist(),
            "low": band.low.tolist(),
            "high": band.high.tolist(),
            **needed,
        }
    return found


def _variance(judged: pd.DataFrame, frames: StudyFrames) -> dict[str, Any] | None:
    found = {}
    for arm in frames.arms:
        parts = variance_parts(_scores(judged, arm, frames.rule))
        if parts is not None:
            found[arm] = {"hyperparameters": parts.hyperparameters, "seed": parts.seed, "share": parts.share}
    return found or None


def _dependence(
    judged: pd.DataFrame,
    frames: StudyFrames,
    judge: Judge,
    sample: Sample,
    ends: tuple[float, float],
) -> list[dict[str, Any]]:
    """For every two arms the primary outcome at other thresholds, and between which of them the verdict stays."""
    own = judge.good if frames.primary == "good" else judge.nothing
    found = []
    for first, second in frames.compared:
        tried = []
        scores = score_pairs(judged, first, second, frames.rule)
        if scores.empty:
            continue
        for limit in sorted({*np.linspace(*ends, CHOICES).tolist(), own}):
            entry = at_threshold(scores, frames.primary, limit, sample, judge.inclusive)
            keys = ("threshold", "difference", "low", "high", "p_value")
            tried.append(
                {**{key: entry[key] for key in keys}, "favours": _favours(entry, first, second, frames.primary)}
            )
        if not tried or tried[0]["p_value"] is None:
            continue
        limits_tried = [entry["threshold"] for entry in tried]
        start = end = limits_tried.index(own)
        says = tried[start]["favours"]
        while start > 0 and tried[start - 1]["favours"] == says:
            start -= 1
        while end + 1 < len(tried) and tried[end + 1]["favours"] == says:
            end += 1
        found.append(
            {
                "arms": [first, second],
                "outcome": frames.primary,
                "threshold": own,
                "favours": says,
                "holds_from": limits_tried[start],
                "holds_to": limits_tried[end],
                "favoured": sorted({str(entry["favours"]) for entry in tried if entry["favours"]}),
                "at": tried,
            }
        )
    return found


def _favours(entry: Mapping[str, Any], first: str, second: str, outcome: str) -> str | None:
    if entry["p_value"] is None or entry["p_value"] >= SIGNIFICANT or not entry["difference"]:
        return None
    return first if (entry["difference"] > 0) == (outcome == "good") else second


def _reference(frames: StudyFrames, arms: Mapping[str, Mapping[str, Any]]) -> dict[str, Any] | None:
    """The reference's fractions beside the study's own; `inside` if its figure lies within our interval."""
    reference = frames.document.get("reference")
    if not reference:
        return None
    rows = []
    for outcome in OUTCOMES:
        for arm, value in (reference.get(outcome) or {}).items():
            ours = (arms.get(arm) or {}).get(outcome)
            known = ours is not None and ours["fraction"] is not None
            rows.append(
                {
                    "arm": arm,
                    "outcome": outcome,
                    "reference": value,
                    "ours": ours["fraction"] if known and ours else None,
                    "low": ours["low"] if known and ours else None,
                    "high": ours["high"] if known and ours else None,
                    "inside": bool(ours["low"] <= value <= ours["high"]) if known and ours else None,
                }
            )
    return {
        "label": reference.get("label", "reference"),
        "pairs": reference.get("pairs"),
        "fractions": rows,
        "winners": reference.get("winners") or {},
        "auc_after_referral": reference.get("auc_after_referral") or {},
        "figures": reference.get("figures") or {},
    }


def _plain(value: Any) -> Any:
    """The value as JSON has it: no numpy, and None for what is not a finite number."""
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, (np.generic, np.ndarray)):
        return _plain(value.tolist())
    if value is pd.NA:
        return None
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value
