"""How the page shows gradient noise: four pictures and a table."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Literal

from report.document import Numbers, Picture, Section
from report.drawing.axes import SINGLE, label_ends, mark_single, plain_numbers, powers_of_two
from report.drawing.style import INK, panel
from report.sections.gradient_noise.entries import Explosion, GradientNoiseResults, Points
from report.words import DASH, number, text, with_error

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from report.analysis import Analysis


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
