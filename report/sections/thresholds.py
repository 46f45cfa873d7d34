"""The threshold slider: what the page's script needs to judge every trial at any threshold.

A trial has learned nothing if its score is below the lower threshold (or at it, where that comes from untrained
networks), and is good from the upper one on unless it has learned nothing: as in `report.judging`. A trial without any
score has learned nothing at every threshold; it is a null in the scores.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy import stats

from report.comparison import Sample
from report.drawing.style import text
from report.judging import own_scores
from report.material import Material
from report.sections.outcomes import share
from robustness.statistics.proportions import LEVEL, effective_number

OUTCOMES = ("learned_nothing", "good")


def slider_data(material: Material, sample: Sample) -> dict[str, Any]:
    """What the script reads: each arm's scores over complete pairs, and how sure a fraction of them is."""
    pairs, epoch = material.pairs, material.epoch
    raw = own_scores(pairs, epoch)
    arms = []
    for arm in material.arms.names:
        own = raw[pairs["arm"] == arm]
        effective = effective_number(len(own), sample.population)
        wilson = not sample.replicated and len(own) > 0 and math.isfinite(effective)
        scores = [None if math.isnan(score) else score for score in own.tolist()]
        arms.append({"name": text(arm, 60), "scores": scores, "effective": effective if wilson else None})
    judge = material.judges[epoch]
    return {
        "arms": arms,
        "inclusive": judge.inclusive,
        "levels": {"learned_nothing": judge.nothing, "good": material.good},
        "z": float(stats.norm.ppf((1 + LEVEL) / 2)),
    }


def slider(material: Material, data: dict[str, Any]) -> dict[str, Any] | None:
    """What the template shows before any script runs; None without a score."""
    scores = [score for arm in data["arms"] for score in arm["scores"] if score is not None]
    if not scores:
        return None
    levels = data["levels"]
    low = math.floor(100 * min([*scores, *levels.values()])) / 100
    high = math.ceil(100 * max([*scores, *levels.values()])) / 100
    entries = material.outcomes(material.epoch)
    sign = "at most" if data["inclusive"] else "below"
    rows = []
    for place, arm in enumerate(material.arms.names):
        row: dict[str, Any] = {"arm": text(arm, 60), "place": place}
        for outcome in OUTCOMES:
            entry = entries[arm][outcome]
            width = f"{100 * entry['fraction']:.4g}" if entry["of"] else "0"
            row[outcome] = {"text": share(entry), "width": width}
        rows.append(row)
    controls = [
        {"outcome": "learned_nothing", "label": f"Learned nothing: {sign}"},
        {"outcome": "good", "label": "Good: at least"},
    ]
    for control in controls:
        level = levels[control["outcome"]]
        control |= {"value": repr(level), "shown": f"{level:.3f}"}
    return {
        "reading": _reading(material, data),
        "low": f"{low:.2f}",
        "high": f"{max(high, low + 0.01):.2f}",
        "epoch": material.epoch,
        "wilson": any(arm["effective"] is not None for arm in data["arms"]),
        "rows": rows,
        "controls": controls,
    }


def _reading(material: Material, data: dict[str, Any]) -> str:
    """Over which thresholds the arm that the study's own threshold favours stays ahead."""
    own = data["levels"][material.primary]
    words = "learned nothing" if material.primary == "learned_nothing" else "was good"
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
