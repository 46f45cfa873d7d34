"""Arms that are one method with different values of one numeric option: how the metric depends on that value, the dose.

    arms:
      - mfvi
      - {name: truncated_0.5, method: mfvi_truncated, threshold: 0.5}
      - {name: truncated_1, method: mfvi_truncated, threshold: 1.0}

Here `threshold` is the dose, and `mfvi` an arm without it. Where one hyperparameter alone differs between
configurations (say, the number of variational samples), there is a line for each of its values.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import stats

from report.comparison import by_configuration, side_by_side, with_holm
from report.frames import StudyFrames
from report.judged_study import JudgedStudy
from report.words import SIGNIFICANT, p_words
from robustness.statistics.paired import sign_flip
from robustness.statistics.proportions import LEVEL

MOST_LINES = 6


def dose(frames: StudyFrames) -> dict[str, Any] | None:
    """The metric by dose with intervals, and each dose against each arm without one; None where there are no doses.

    The unit is the configuration; where a line is one configuration, it is the replicate.
    """
    found = find_dose(frames)
    if found is None:
        return None
    method, option, doses = found
    without = [arm for arm in frames.arms if arm not in doses]
    judged = JudgedStudy.of(frames).trials
    scores = side_by_side(judged, judged[f"score_{frames.rule}"], frames.arms)
    by, groups = _groups(frames)
    lines, family = [], []
    for value, numbers in groups:
        own = scores[scores.index.get_level_values("configuration").isin(numbers)]
        units = own if len(numbers) == 1 else by_configuration(own)
        lines.append(
            {
                "value": value,
                "units": len(units),
                "doses": [{"arm": arm, "dose": doses[arm], **estimate(units[arm])} for arm in doses],
                "without": [{"arm": arm, **estimate(units[arm])} for arm in without],
            }
        )
        family += [
            {"value": value, "arm": arm, "dose": doses[arm], "against": other, **_difference(units[arm] - units[other])}
            for other in without
            for arm in doses
        ]
    results = {
        "method": method,
        "option": option,
        "by": by,
        "unit": "replicate" if len(groups[0][1]) == 1 else "configuration",
        "lines": lines,
        "differences": with_holm(family),
        # With a line for each configuration there is no sample of configurations to speak of.
        "alone": all(len(numbers) == 1 for _, numbers in groups),
    }
    return {**results, "sentences": _sentences(results, frames)}


def find_dose(frames: StudyFrames) -> tuple[str, str, dict[str, float]] | None:
    """The method, its option and each arm's value, in rising order: of three arms or more that differ in nothing else.

    Two values of an option are a comparison; a line needs three.
    """
    by_method: dict[str, list[Mapping[str, Any]]] = {}
    for arm in frames.document["arms"]:
        by_method.setdefault(str(arm["method"]), []).append(arm)
    for method, arms in by_method.items():
        names = sorted({name for arm in arms for name in arm.get("options") or {}})
        differing = [name for name in names if len({repr(arm["options"].get(name)) for arm in arms}) > 1]
        if len(arms) < 3 or len(differing) != 1:
            continue
        values = {str(arm["label"]): arm["options"].get(differing[0]) for arm in arms}
        if all(isinstance(value, int | float) and not isinstance(value, bool) for value in values.values()):
            ordered = sorted(values.items(), key=lambda item: float(item[1]))
            return method, differing[0], {label: float(value) for label, value in ordered}
    return None


def _groups(frames: StudyFrames) -> tuple[str | None, list[tuple[Any, list[int]]]]:
    """The one hyperparameter that varies with each of its values and their configurations; or all in one group."""
    if len(frames.varied) == 1:
        column = frames.configurations[frames.varied[0]]
        values = sorted(column.dropna().unique().tolist())
        if len(values) <= MOST_LINES and column.notna().all():
            return frames.varied[0], [(value, column.index[column == value].tolist()) for value in values]
    return None, [(None, frames.configurations.index.tolist())]


def estimate(values: pd.Series[Any]) -> dict[str, Any]:
    """The mean with Student's interval: mean +- t sd / sqrt(n); no ends for fewer than two values."""
    given = values.to_numpy(dtype=float)
    low, high = student_interval(given)
    return {"mean": float(given.mean()) if len(given) else None, "low": low, "high": high}


def student_interval(values: NDArray[np.float64], level: float = LEVEL) -> tuple[float | None, float | None]:
    """Student's interval of the mean of values [n]; None, None for fewer than two."""
    n = len(values)
    if n < 2:
        return None, None
    half = float(stats.t.ppf((1 + level) / 2, n - 1) * values.std(ddof=1) / math.sqrt(n))
    return float(values.mean()) - half, float(values.mean()) + half


def _difference(values: pd.Series[Any]) -> dict[str, Any]:
    found = estimate(values)
    return {
        "difference": found["mean"],
        "low": found["low"],
        "high": found["high"],
        "p_value": sign_flip(values.to_numpy(dtype=float)) if len(values) else None,
        "test": "sign-flip",
    }


def _sentences(results: Mapping[str, Any], frames: StudyFrames) -> list[str]:
    known = [entry for entry in results["differences"] if entry["difference"] is not None]
    if not known:
        return []
    metric = frames.metric.replace("_", " ").replace("auc", "AUC")
    option = results["option"].replace("_", " ")
    sentences = []
    for line in results["lines"]:
        own = [entry for entry in known if entry["value"] == line["value"]]
        if not own:
            continue
        best = max(own, key=lambda entry: entry["difference"])
        where = "" if results["by"] is None else f"With {results['by'].replace('_', ' ')} {line['value']:g}, "
        ends = "" if best["low"] is None else f", 95 % interval {best['low']:+.3f} to {best['high']:+.3f}"
        sentences.append(
            f"{where}{best['against']} gains most in {metric} from {option} {best['dose']:g}: "
            f"{best['difference']:+.3f} ({_mean(line, best['against'])} to {_mean(line, best['arm'])}{ends}; "
            f"{p_words(best['p_adjusted'])} after Holm's correction)."
        )
    better = [entry for entry in known if entry["p_adjusted"] < SIGNIFICANT and entry["difference"] > 0]
    worse = [entry for entry in known if entry["p_adjusted"] < SIGNIFICANT and entry["difference"] < 0]
    sentences.append(
        f"Of {len(known)} comparisons with an arm without {option}, {len(better)} are shown to be better at the "
        f"5 % level after Holm's correction over all of them, and {len(worse)} worse."
    )
    return sentences


def _mean(line: Mapping[str, Any], arm: str) -> str:
    return next(f"{entry['mean']:.3f}" for entry in (*line["doses"], *line["without"]) if entry["arm"] == arm)
