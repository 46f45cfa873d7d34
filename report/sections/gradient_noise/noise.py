"""The noise of the NLL's gradient at the start, by sigma and width: where it explodes, and how much of it is scaling.

"Explodes" has no threshold in nature, so there are three, each a sigma found by interpolation on logarithmic axes:

| key | where |
|---|---|
| `tenfold` | the standard deviation is ten times what it is at the smallest sigma |
| `visible` | the variance is 1 % of what it is at the largest sigma: where it leaves the axis of a linear plot |
| `steepest` | the middle of the step between two sigmas in which noise grows as the highest power of sigma, `slope` |
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from report.frames import StudyFrames
from report.judged_study import JudgedStudy
from report.sections.gradient_noise.entries import (
    GradientNoiseResults,
    Growth,
    Nearest,
    NoiseFigures,
    NoisePoint,
    NoiseRatio,
    Points,
    Wanted,
    error_or_nan,
)
from report.sections.gradient_noise.sentences import sentences

TRAINABLE = "gradient_noise"
TENFOLD = 10.0
VISIBLE = 0.01
PAPER: Wanted = {"sigma": 0.3, "channels": 512}
"""Where the paper sees MFVI's variance explode, unless the study's reference has other figures."""


def results(study: JudgedStudy) -> GradientNoiseResults | None:
    """The noise of each arm, width and sigma with its standard error over replicates; None for other studies."""
    frames = study.frames
    if frames.document["trainable"] != TRAINABLE:
        return None
    arms, points = frames.arms, noise_points(frames)
    at = _nearest_to_paper(points, frames)
    noise: NoiseFigures = {
        "alone": True,
        "points": points,
        "explosions": [
            {"arm": arm, "channels": channels, **explosion(_of(points, arm, channels))}
            for arm in arms
            for channels in sorted({p["channels"] for p in points})
            if len(_of(points, arm, channels)) > 1
        ],
        "ratios": ratios(points, arms),
        "at": at,
    }
    return {"sentences": sentences(noise, arms), **noise}


def noise_points(frames: StudyFrames) -> list[NoisePoint]:
    """For each arm, width and sigma the mean variance over replicates, and its root; errors by the delta method."""
    drawn = frames.epochs.merge(frames.configurations, left_on="configuration", right_index=True)
    points: list[NoisePoint] = []
    for arm in frames.arms:
        own = drawn.loc[drawn["arm"] == arm]
        for _, group in own.groupby(["channels", "sigma"]):
            variance, variance_error = _mean(group["noise_variance"])
            signal, signal_error = _mean(group["signal_to_noise"])
            points.append(
                {
                    "arm": arm,
                    "channels": int(group["channels"].iloc[0]),
                    "sigma": float(group["sigma"].iloc[0]),
                    "weight_sd": float(group["weight_sd"].iloc[0]),
                    "dimension": int(group["dimension"].iloc[0]),
                    "replicates": len(group),
                    "variance": variance,
                    "variance_error": variance_error,
                    "sd": math.sqrt(variance),
                    "sd_error": None if variance_error is None else _error_of_root(variance, variance_error),
                    "signal_to_noise": signal,
                    "signal_to_noise_error": signal_error,
                }
            )
    return points


def explosion(points: Points) -> Growth:
    """Where the noise of one arm and width explodes, by the three rules; `points` go from low to high sigma."""
    sigma = np.log([p["sigma"] for p in points])
    noise = np.log([p["sd"] for p in points])
    slopes = np.diff(noise) / np.diff(sigma)
    steepest = int(np.argmax(slopes))
    return {
        "tenfold": _passes(sigma, noise, noise[0] + math.log(TENFOLD)),
        "visible": _passes(sigma, noise, noise[-1] + 0.5 * math.log(VISIBLE)),
        "steepest": float(np.exp(sigma[steepest : steepest + 2].mean())),
        "slope": float(slopes[steepest]),
    }


def ratios(points: Points, arms: Sequence[str]) -> list[NoiseRatio]:
    """For each two arms, width and sigma the first's standard deviation over the second's, with its error."""
    entries: list[NoiseRatio] = []
    for first, second in combinations(arms, 2):
        others = {(p["channels"], p["sigma"]): p for p in points if p["arm"] == second}
        for point in points:
            other = others.get((point["channels"], point["sigma"]))
            if point["arm"] != first or other is None or not other["sd"] > 0:
                continue
            ratio = point["sd"] / other["sd"]
            relative = math.hypot(*(error_or_nan(each["sd_error"]) / each["sd"] for each in (point, other)))
            entries.append(
                {
                    "arms": [first, second],
                    "channels": point["channels"],
                    "sigma": point["sigma"],
                    "ratio": ratio,
                    "error": ratio * relative if math.isfinite(relative) else None,
                }
            )
    return entries


def _passes(sigma: NDArray[np.float64], noise: NDArray[np.float64], level: float) -> float | None:
    """The first sigma at which log noise reaches the level from below, between two points on a straight line."""
    for i in range(1, len(sigma)):
        if noise[i - 1] < level <= noise[i]:
            share = (level - noise[i - 1]) / (noise[i] - noise[i - 1])
            return float(np.exp(sigma[i - 1] + share * (sigma[i] - sigma[i - 1])))
    return None


def _mean(values: pd.Series[Any]) -> tuple[float, float | None]:
    """Mean and standard error; no error from a single value."""
    numbers = values.to_numpy(dtype=float)
    error = float(numbers.std(ddof=1) / math.sqrt(len(numbers))) if len(numbers) > 1 else None
    return float(numbers.mean()), error


def _error_of_root(variance: float, error: float) -> float | None:
    """The standard error of a variance's root, by the delta method."""
    return error / (2 * math.sqrt(variance)) if variance > 0 else None


def _of(points: Points, arm: str, channels: int) -> list[NoisePoint]:
    return [p for p in points if p["arm"] == arm and p["channels"] == channels]


def _nearest_to_paper(points: Points, frames: StudyFrames) -> Nearest | None:
    """The width and sigma of the points nearest to where the paper sees an explosion."""
    if not points:
        return None
    reference = (frames.document.get("reference") or {}).get("figures") or {}
    wanted: Wanted = {
        "sigma": float(reference.get("sigma", PAPER["sigma"])),
        "channels": float(reference.get("channels", PAPER["channels"])),
    }
    return {
        "sigma": min({p["sigma"] for p in points}, key=lambda sigma: abs(math.log(sigma / wanted["sigma"]))),
        "channels": min({p["channels"] for p in points}, key=lambda width: abs(math.log(width / wanted["channels"]))),
        "wanted": wanted,
    }
