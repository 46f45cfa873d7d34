"""What a study of gradient noise shows: the noise by sigma and width, where it explodes, and how much of it is scaling.

"Explodes" has no threshold in nature, so three are given, each a sigma found by interpolation on logarithmic axes:

| key | where |
|---|---|
| `tenfold` | the standard deviation is ten times what it is at the smallest sigma |
| `visible` | the variance is 1 % of what it is at the largest sigma: where it leaves the axis of a linear plot |
| `steepest` | the middle of the step between two sigmas in which noise grows as the highest power of sigma, `slope` |
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from report.frames import StudyFrames

TRAINABLE = "gradient_noise"
TENFOLD = 10.0
VISIBLE = 0.01
PAPER = {"sigma": 0.3, "channels": 512}
"""Where the paper sees MFVI's variance explode, unless the study's reference gives other figures."""


def gradient_noise(frames: StudyFrames) -> dict[str, Any] | None:
    """The noise of each arm, width and sigma with its standard error over replicates; None for other studies."""
    if frames.document["trainable"] != TRAINABLE:
        return None
    arms, points = frames.arms, noise_points(frames)
    at = _looked_at(points, frames)
    found: dict[str, Any] = {
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
    return {"sentences": _sentences(found, arms), **found}


def noise_points(frames: StudyFrames) -> list[dict[str, Any]]:
    """For each arm, width and sigma the mean variance over replicates, and its root; errors by the delta method."""
    drawn = frames.epochs.merge(frames.configurations, left_on="configuration", right_index=True)
    points = []
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
                    "sd_error": variance_error / (2 * math.sqrt(variance)) if variance > 0 else math.nan,
                    "signal_to_noise": signal,
                    "signal_to_noise_error": signal_error,
                }
            )
    return points


def explosion(points: Sequence[Mapping[str, Any]]) -> dict[str, float | None]:
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


def ratios(points: Sequence[Mapping[str, Any]], arms: Sequence[str]) -> list[dict[str, Any]]:
    """For each two arms, width and sigma the first's standard deviation over the second's, with its error."""
    found = []
    for first, second in combinations(arms, 2):
        others = {(p["channels"], p["sigma"]): p for p in points if p["arm"] == second}
        for point in points:
            other = others.get((point["channels"], point["sigma"]))
            if point["arm"] != first or other is None or not other["sd"] > 0:
                continue
            ratio = point["sd"] / other["sd"]
            relative = math.hypot(point["sd_error"] / point["sd"], other["sd_error"] / other["sd"])
            found.append(
                {
                    "arms": [first, second],
                    "channels": point["channels"],
                    "sigma": point["sigma"],
                    "ratio": ratio,
                    "error": ratio * relative,
                }
            )
    return found


def _passes(sigma: np.ndarray, noise: np.ndarray, level: float) -> float | None:
    """The first sigma at which log noise reaches the level from below, between two points on a straight line."""
    for i in range(1, len(sigma)):
        if noise[i - 1] < level <= noise[i]:
            share = (level - noise[i - 1]) / (noise[i] - noise[i - 1])
            return float(np.exp(sigma[i - 1] + share * (sigma[i] - sigma[i - 1])))
    return None


def _mean(values: pd.Series[Any]) -> tuple[float, float]:
    """Mean and standard error; no error from a single value."""
    numbers = values.to_numpy(dtype=float)
    error = numbers.std(ddof=1) / math.sqrt(len(numbers)) if len(numbers) > 1 else math.nan
    return float(numbers.mean()), float(error)


def _of(points: Sequence[Mapping[str, Any]], arm: str, channels: int) -> list[Mapping[str, Any]]:
    return [p for p in points if p["arm"] == arm and p["channels"] == channels]


def _looked_at(points: Sequence[Mapping[str, Any]], frames: StudyFrames) -> dict[str, Any] | None:
    """The width and sigma of the points nearest to where the paper sees an explosion."""
    if not points:
        return None
    reference = (frames.document.get("reference") or {}).get("figures") or {}
    wanted = {name: float(reference.get(name, value)) for name, value in PAPER.items()}
    near = {
        name: min({p[name] for p in points}, key=lambda value, name=name: abs(math.log(value / wanted[name])))  # type: ignore[misc]
        for name in wanted
    }
    return {**near, "wanted": wanted}


def _sentences(found: Mapping[str, Any], arms: Sequence[str]) -> list[str]:
    at = found["at"]
    if at is None:
        return ["Nothing has been measured yet, so there is nothing to say."]
    here = {p["arm"]: p for p in found["points"] if (p["channels"], p["sigma"]) == (at["channels"], at["sigma"])}
    noises = ", ".join(f"{arm} {with_error(here[arm]['sd'], here[arm]['sd_error'])}" for arm in arms if arm in here)
    told = [f"At sigma {at['sigma']:g} and {at['channels']} channels the gradient's standard deviation is {noises}."]
    pairs = {
        tuple(entry["arms"]): entry
        for entry in found["ratios"]
        if (entry["channels"], entry["sigma"]) == (at["channels"], at["sigma"])
    }
    factors = [
        f"{first}'s is {with_error(entry['ratio'], entry['error'])} times {second}'s"
        for (first, second), entry in pairs.items()
    ]
    if factors:
        told.append(f"That is: {'; '.join(factors)}.")
    share = scaling_share(pairs)
    if share is not None:
        told.append(
            f"On a logarithmic scale {with_error(100 * share[0], 100 * share[1])} % of the factor between mfvi and "
            "radial is there with mfvi_scaled, which has radial's noise in each weight and no shared radius."
        )
    first = [entry for entry in found["explosions"] if entry["arm"] == arms[0] and entry["tenfold"] is not None]
    if first:
        grown = ", ".join(f"{entry['tenfold']:.2g} ({entry['channels']} channels)" for entry in first)
        told.append(f"{arms[0]}'s noise is ten times what it is at the smallest sigma from this sigma on: {grown}.")
    return told


def scaling_share(pairs: Mapping[tuple[str, ...], Mapping[str, Any]]) -> tuple[float, float] | None:
    """log(mfvi / mfvi_scaled) / log(mfvi / radial) of the noises at one point; None without the three arms.

    It is 1 - log(mfvi_scaled / radial) / log(mfvi / radial), whose error is nearly that of the first logarithm.
    """
    scaled, radial = pairs.get(("mfvi_scaled", "radial")), pairs.get(("mfvi", "radial"))
    if scaled is None or radial is None or not radial["ratio"] > 1:
        return None
    whole = math.log(radial["ratio"])
    return 1.0 - math.log(scaled["ratio"]) / whole, scaled["error"] / scaled["ratio"] / whole


def with_error(value: float, error: float) -> str:
    """`0.139 ± 0.004`, to the digits that the error leaves."""
    if not math.isfinite(error) or error <= 0:
        return f"{value:.3g}"
    digits = max(0, 1 - math.floor(math.log10(error)))
    return f"{value:.{digits}f} ± {error:.{digits}f}"
