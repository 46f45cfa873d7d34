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
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import combinations
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypedDict

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from report.document import Numbers, Picture, Section
from report.drawing.axes import SINGLE, label_ends, mark_single, plain_numbers, powers_of_two
from report.drawing.style import INK, panel
from report.frames import StudyFrames
from report.judged_study import JudgedStudy
from report.words import DASH, number, text, with_error

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from report.analysis import Analysis

TRAINABLE = "gradient_noise"
TENFOLD = 10.0
VISIBLE = 0.01


class Wanted(TypedDict):
    """A width and sigma that the paper speaks of."""

    sigma: float
    channels: float


PAPER: Wanted = {"sigma": 0.3, "channels": 512}
"""Where the paper sees MFVI's variance explode, unless the study's reference has other figures."""


class NoisePoint(TypedDict):
    """The noise of an arm, width and sigma, with standard errors over replicates; None for a single one."""

    arm: str
    channels: int
    sigma: float
    weight_sd: float
    dimension: int
    replicates: int
    variance: float
    variance_error: float | None
    sd: float
    sd_error: float | None
    signal_to_noise: float | None
    signal_to_noise_error: float | None


Points: TypeAlias = Sequence[NoisePoint]


class Growth(TypedDict):
    """The sigmas at which noise explodes, by the three rules."""

    tenfold: float | None
    visible: float | None
    steepest: float
    slope: float


class Explosion(Growth):
    """The growth of the noise of one arm and width."""

    arm: str
    channels: int


class NoiseRatio(TypedDict):
    """The first arm's standard deviation over the second's."""

    arms: list[str]
    channels: int
    sigma: float
    ratio: float
    error: float | None


class Nearest(TypedDict):
    """The measured width and sigma nearest to the paper's."""

    sigma: float
    channels: int
    wanted: Wanted


class NoiseFigures(TypedDict):
    """All figures: what sentences are made from."""

    alone: bool
    points: list[NoisePoint]
    explosions: list[Explosion]
    ratios: list[NoiseRatio]
    at: Nearest | None


class GradientNoiseResults(NoiseFigures):
    """`gradient_noise` of the JSON."""

    sentences: list[str]


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
    return {"sentences": _sentences(noise, arms), **noise}


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
            relative = math.hypot(*(_nan(each["sd_error"]) / each["sd"] for each in (point, other)))
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


def _nan(error: float | None) -> float:
    """The error, NaN where it is not known."""
    return math.nan if error is None else error


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


def _sentences(noise: NoiseFigures, arms: Sequence[str]) -> list[str]:
    at = noise["at"]
    if at is None:
        return ["Nothing has been measured yet."]
    here = {p["arm"]: p for p in noise["points"] if (p["channels"], p["sigma"]) == (at["channels"], at["sigma"])}
    noises = ", ".join(
        f"{arm} {with_error(here[arm]['sd'], _nan(here[arm]['sd_error']))}" for arm in arms if arm in here
    )
    sentences = [
        f"At sigma {at['sigma']:g} and {at['channels']} channels the gradient's standard deviation is {noises}."
    ]
    pairs = {
        tuple(entry["arms"]): entry
        for entry in noise["ratios"]
        if (entry["channels"], entry["sigma"]) == (at["channels"], at["sigma"])
    }
    factors = [
        f"{first}'s is {with_error(entry['ratio'], _nan(entry['error']))} times {second}'s"
        for (first, second), entry in pairs.items()
    ]
    if factors:
        sentences.append(f"That is: {'; '.join(factors)}.")
    share = scaling_share(pairs)
    if share is not None:
        sentences.append(
            f"On a logarithmic scale {with_error(100 * share[0], 100 * share[1])} % of the factor between mfvi and "
            "radial is there with mfvi_scaled, which has radial's noise in each weight and no shared radius."
        )
    first = [entry for entry in noise["explosions"] if entry["arm"] == arms[0] and entry["tenfold"] is not None]
    if first:
        grown = ", ".join(f"{entry['tenfold']:.2g} ({entry['channels']} channels)" for entry in first)
        sentences.append(
            f"{arms[0]}'s noise is ten times what it is at the smallest sigma from this sigma on: {grown}."
        )
    return sentences


def scaling_share(pairs: Mapping[tuple[str, ...], NoiseRatio]) -> tuple[float, float] | None:
    """log(mfvi / mfvi_scaled) / log(mfvi / radial) of the noises at one point; None without the three arms.

    It is 1 - log(mfvi_scaled / radial) / log(mfvi / radial), whose error is nearly that of the first logarithm.
    """
    scaled, radial = pairs.get(("mfvi_scaled", "radial")), pairs.get(("mfvi", "radial"))
    if scaled is None or radial is None or not radial["ratio"] > 1:
        return None
    whole = math.log(radial["ratio"])
    return 1.0 - math.log(scaled["ratio"]) / whole, _nan(scaled["error"]) / scaled["ratio"] / whole


def sections(analysis: Analysis) -> Iterator[Section]:
    """Four pictures and a table of every point; none for studies of another kind, or before anything was measured."""
    noise: GradientNoiseResults | None = analysis.results.get("gradient_noise")
    if not noise or noise["at"] is None:
        return
    at, points = noise["at"], noise["points"]
    wide = [p for p in points if p["channels"] == at["channels"]]
    deep = [p for p in points if p["sigma"] == at["sigma"]]
    where = f"{at['channels']} channels"
    paper = at["wanted"]["sigma"]
    pictures = [
        Picture(
            "gradient-noise-sigma",
            f"Noise against sigma, {where}",
            f"The standard deviation of the NLL's gradient against sigma on logarithmic axes, for {where}.",
            partial(_draw, analysis, wide, "sigma", "sd", "sigma", "gradient's standard deviation", paper),
        ),
        Picture(
            "gradient-noise-variance",
            f"Variance against sigma, {where}, linear axes",
            f"The variance of the NLL's gradient against sigma on linear axes, for {where}.",
            partial(_draw, analysis, wide, "sigma", "variance", "sigma", "gradient's variance", paper),
        ),
        Picture(
            "gradient-noise-weight",
            f"Noise against each weight's standard deviation, {where}",
            "The same against each weight's standard deviation, which is sigma / sqrt(D) for radial and mfvi_scaled.",
            partial(
                _draw,
                analysis,
                wide,
                "weight_sd",
                "sd",
                "standard deviation of a weight",
                "gradient's standard deviation",
                None,
            ),
        ),
    ]
    if len({p["channels"] for p in deep}) > 1:
        pictures.append(
            Picture(
                "gradient-noise-width",
                f"Noise against width, sigma {at['sigma']:g}",
                f"The standard deviation of the NLL's gradient against the width, at sigma {at['sigma']:g}.",
                partial(_draw, analysis, deep, "channels", "sd", "channels", "gradient's standard deviation", None),
            )
        )
    rows = tuple(
        (
            str(p["channels"]),
            f"{p['sigma']:g}",
            text(p["arm"], 60),
            number(p["weight_sd"]),
            _pair(p["sd"], p["sd_error"]),
            _pair(p["variance"], p["variance_error"]),
            _pair(p["signal_to_noise"], p["signal_to_noise_error"]),
        )
        for p in sorted(points, key=lambda p: (p["channels"], p["sigma"], analysis.arms.names.index(p["arm"])))
    )
    columns = (
        "Channels",
        "Sigma",
        "Arm",
        "Sd of a weight",
        "Gradient's sd",
        "Gradient's variance",
        "Signal to noise",
    )
    yield Section(
        "gradient-noise",
        "Gradient noise at the start",
        noise["sentences"][0],
        tuple(pictures),
        Numbers(columns, rows),
        (
            "Of d NLL / d mu in the 3 x 3 convolution from C to C channels, before any training; "
            "± and bars are standard errors over replicates (initial means, pictures and draws).",
            f"The dotted line is sigma {paper:g}, from where the paper's figure explodes.",
            "Signal to noise is the length of the mean gradient over that of a single draw's noise.",
            *(_exploded(entry) for entry in noise["explosions"] if entry["arm"] == analysis.arms.names[0]),
            *((SINGLE,) if any(point["replicates"] == 1 for point in noise["points"]) else ()),
        ),
    )


def _exploded(entry: Explosion) -> str:
    parts = [
        f"{words} at sigma {sigma:.2g}"
        for sigma, words in (
            (entry["tenfold"], "ten times its first value"),
            (entry["visible"], "1 % of its last variance"),
        )
        if sigma is not None
    ]
    steep = f"steepest near sigma {entry['steepest']:.2g}, where it grows as sigma to the power {entry['slope']:.1f}"
    return f"{text(entry['arm'], 40)}, {entry['channels']} channels: {'; '.join([*parts, steep])}."


def _pair(value: float | None, error: float | None) -> str:
    if value is None:
        return DASH
    if error is None:
        return number(value)
    return with_error(value, error) if value >= 0.01 else f"{value:.2e} ± {error:.0e}"


def _draw(
    analysis: Analysis,
    points: Points,
    x: Literal["sigma", "weight_sd", "channels"],
    y: Literal["sd", "variance"],
    x_words: str,
    y_words: str,
    paper: float | None,
) -> Figure:
    figure, axes = panel()
    ends = {}
    for arm in analysis.arms.names:
        own = sorted((p for p in points if p["arm"] == arm), key=lambda p: p[x])
        if not own:
            continue
        values = [p[y] for p in own]
        errors = [(p["sd_error"] if y == "sd" else p["variance_error"]) or 0.0 for p in own]
        colour = analysis.arms.colour(arm)
        places = [p[x] for p in own]
        axes.errorbar(
            places,
            values,
            yerr=errors,
            color=colour,
            marker=analysis.arms.marker(arm),
            markersize=4.5,
            linewidth=1.6,
            capsize=2.5,
            linestyle=analysis.arms.dash(arm),
        )
        for point in own:
            if point["replicates"] == 1:
                mark_single(axes, point[x], point[y], colour, analysis.arms.marker(arm))
        ends[arm] = (places[-1], values[-1])
    if y == "sd":
        axes.set_xscale("log")
        axes.set_yscale("log")
        plain_numbers(axes.xaxis)
        plain_numbers(axes.yaxis)
        if x == "channels":
            powers_of_two(axes.xaxis)
    if paper is not None:
        axes.axvline(paper, color=INK, linewidth=1, linestyle=(0, (1, 2)))
    axes.set_xlabel(x_words)
    axes.set_ylabel(y_words)
    label_ends(axes, ends, analysis.arms)
    return figure
