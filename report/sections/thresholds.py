"""The thresholds of the study, the verdict at every other, and the sliders with which a reader chooses.

The page's script judges every trial at any threshold by the rule of `robustness.sweep.outcomes`. A trial without a
score has learned nothing at every threshold; it is a null in the scores.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import stats

from report.comparison import at_threshold, favoured, score_pairs
from report.document import Section
from report.judged_study import JudgedStudy
from report.judging import OUTCOMES, own_scores
from report.words import share_cell, text
from robustness.statistics.proportions import LEVEL, effective_number

if TYPE_CHECKING:
    from report.analysis import Analysis

CHOICES = 51
"""Thresholds at which the verdict is tried."""


def results(study: JudgedStudy) -> dict[str, Any]:
    """When a trial has learned nothing at each epoch, when it is good, and the verdict at other thresholds."""
    return {
        "learned_nothing": {
            summary: {"value": judge.nothing, "inclusive": judge.inclusive, "known": judge.known, "why": judge.why}
            for summary, judge in study.judges.items()
        },
        "good": {"at_least": study.judges[study.frames.rule].good},
        "dependence": _dependence(study),
    }


def _dependence(study: JudgedStudy) -> list[dict[str, Any]]:
    """For every two arms the primary outcome at other thresholds, and between which of them the verdict holds."""
    frames, judge = study.frames, study.judges[study.frames.rule]
    own = judge.good if frames.primary == "good" else judge.nothing
    thresholds = sorted({*np.linspace(*study.score_range, CHOICES).tolist(), own})
    dependence = []
    for arms in frames.compared:
        scores = score_pairs(study.planned, *arms, frames.rule)
        if scores.empty:
            continue
        tried = []
        for threshold in thresholds:
            entry = at_threshold(scores, frames.primary, threshold, study.sample, judge.inclusive)
            better = favoured(arms, entry["difference"], entry["p_value"], more_is_better=frames.primary == "good")
            keys = ("threshold", "difference", "low", "high", "p_value")
            tried.append({**{key: entry[key] for key in keys}, "favours": better})
        if tried[0]["p_value"] is None:
            continue
        start = end = thresholds.index(own)
        verdict = tried[start]["favours"]
        while start > 0 and tried[start - 1]["favours"] == verdict:
            start -= 1
        while end + 1 < len(tried) and tried[end + 1]["favours"] == verdict:
            end += 1
        dependence.append(
            {
                "arms": list(arms),
                "outcome": frames.primary,
                "threshold": own,
                "favours": verdict,
                "holds_from": thresholds[start],
                "holds_to": thresholds[end],
                "favoured": sorted({str(entry["favours"]) for entry in tried if entry["favours"]}),
                "at": tried,
            }
        )
    return dependence


def slider_data(analysis: Analysis) -> dict[str, Any]:
    """The data of the page's script: each arm's scores over complete pairs, and the effective size of the sample."""
    pairs, sample = analysis.pairs, analysis.study.sample
    scores = own_scores(pairs, analysis.epoch)
    arms = []
    for arm in analysis.arms.names:
        own = scores[pairs["arm"] == arm].tolist()
        effective = effective_number(len(own), sample.population)
        wilson = not sample.replicated and len(own) > 0 and math.isfinite(effective)
        values = [None if math.isnan(score) else score for score in own]
        arms.append({"name": text(arm, 60), "scores": values, "effective": effective if wilson else None})
    return {
        "arms": arms,
        "inclusive": analysis.judge.inclusive,
        "levels": {"learned_nothing": analysis.nothing, "good": analysis.good},
        "z": float(stats.norm.ppf((1 + LEVEL) / 2)),
    }


def sections(analysis: Analysis) -> Iterator[Section]:
    """The sliders, as they stand before any script runs; none without a score."""
    data = slider_data(analysis)
    scores = [score for arm in data["arms"] for score in arm["scores"] if score is not None]
    if not scores:
        return
    levels = data["levels"]
    low = math.floor(100 * min([*scores, *levels.values()])) / 100
    high = math.ceil(100 * max([*scores, *levels.values()])) / 100
    sign = "at most" if data["inclusive"] else "below"
    controls = [
        {"outcome": "learned_nothing", "label": f"Learned nothing: {sign}"},
        {"outcome": "good", "label": "Good: at least"},
    ]
    for control in controls:
        level = levels[control["outcome"]]
        control |= {"value": repr(level), "shown": f"{level:.3f}"}
    slider = {
        "low": f"{low:.2f}",
        "high": f"{max(high, low + 0.01):.2f}",
        "epoch": analysis.epoch,
        "wilson": any(arm["effective"] is not None for arm in data["arms"]),
        "rows": _rows(analysis),
        "controls": controls,
    }
    yield Section("thresholds", "Choose your own thresholds", _reading(analysis, data), slider=slider)


def _rows(analysis: Analysis) -> list[dict[str, Any]]:
    rows = []
    for place, (arm, entries) in enumerate(analysis.outcomes(analysis.epoch).items()):
        row: dict[str, Any] = {"arm": text(arm, 60), "place": place}
        for outcome in OUTCOMES:
            width = f"{100 * entries[outcome]['fraction']:.4g}" if entries[outcome]["of"] else "0"
            row[outcome] = {"text": share_cell(entries[outcome]), "width": width}
        rows.append(row)
    return rows


def _reading(analysis: Analysis, data: Mapping[str, Any]) -> str:
    """Over which thresholds the arm that the study's own threshold favours stays ahead."""
    own = data["levels"][analysis.primary]
    words = "learned nothing" if analysis.primary == "learned_nothing" else "was good"
    if len(data["arms"]) != 2:
        return f"The study's own threshold of {own:.3f} for “{words}” is one choice among many; here is every other."
    first, second = (
        np.array([-math.inf if score is None else score for score in arm["scores"]]) for arm in data["arms"]
    )
    grid = np.unique(np.concatenate([first, second]))
    grid = grid[np.isfinite(grid)]
    above = [(float((first >= level).mean()), float((second >= level).mean())) for level in grid]
    ahead = [b > a for a, b in above].count(True)
    behind = [b < a for a, b in above].count(True)
    names = [arm["name"] for arm in data["arms"]]
    if behind > ahead:
        names.reverse()
        ahead, behind = behind, ahead
    always = "" if behind else ", and at none is it behind"
    return (
        f"{names[1]} has more configurations above the threshold than {names[0]} at {ahead} of the {len(grid)} "
        f"thresholds that tell any two scores apart{always}."
    )
