"""The noise of the NLL's gradient at the start: against sigma, the noise of each weight, and the width."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullLocator

from report.drawing.style import INK, Numbers, Picture, Section, label_ends, number, panel, text
from report.material import Material
from report.sections.gradient_noise_results import with_error

Points = Sequence[Mapping[str, Any]]


def gradient_noise_section(material: Material) -> Section | None:
    """Four pictures and a table of every point; None for studies of another kind, or before anything was measured."""
    found = material.analysis.get("gradient_noise")
    if not found or not found["points"]:
        return None
    at, points = found["at"], found["points"]
    wide = [p for p in points if p["channels"] == at["channels"]]
    deep = [p for p in points if p["sigma"] == at["sigma"]]
    where = f"{at['channels']} channels"
    paper = at["wanted"]["sigma"]
    pictures = [
        Picture(
            "gradient-noise-sigma",
            f"Noise against sigma, {where}",
            f"The standard deviation of the NLL's gradient against sigma on logarithmic axes, for {where}.",
            partial(_draw, material, wide, "sigma", "sd", "sigma", "gradient's standard deviation", paper),
        ),
        Picture(
            "gradient-noise-variance",
            f"Variance against sigma, {where}, linear axes",
            f"The variance of the NLL's gradient against sigma on linear axes, for {where}.",
            partial(_draw, material, wide, "sigma", "variance", "sigma", "gradient's variance", paper),
        ),
        Picture(
            "gradient-noise-weight",
            f"Noise against each weight's standard deviation, {where}",
            "The same against each weight's standard deviation, which is sigma / sqrt(D) for radial and mfvi_scaled.",
            partial(
                _draw,
                material,
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
                partial(_draw, material, deep, "channels", "sd", "channels", "gradient's standard deviation", None),
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
        for p in sorted(points, key=lambda p: (p["channels"], p["sigma"], material.arms.names.index(p["arm"])))
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
    return Section(
        "gradient-noise",
        "Gradient noise at the start",
        found["sentences"][0],
        tuple(pictures),
        Numbers(columns, rows),
        (
            "Of d NLL / d mu in the 3 x 3 convolution from C to C channels, before any training; "
            "± and bars are standard errors over replicates (initial means, pictures and draws).",
            f"The dotted line is sigma {paper:g}, from where the paper's figure explodes.",
            "Signal to noise is the length of the mean gradient over that of a single draw's noise.",
            *(_exploded(entry) for entry in found["explosions"] if entry["arm"] == material.arms.names[0]),
        ),
    )


def _exploded(entry: Mapping[str, Any]) -> str:
    parts = [
        f"{words} at sigma {entry[key]:.2g}"
        for key, words in (("tenfold", "ten times its first value"), ("visible", "1 % of its last variance"))
        if entry[key] is not None
    ]
    steep = f"steepest near sigma {entry['steepest']:.2g}, where it grows as sigma to the power {entry['slope']:.1f}"
    return f"{text(entry['arm'], 40)}, {entry['channels']} channels: {'; '.join([*parts, steep])}."


def _pair(value: float | None, error: float | None) -> str:
    if value is None:
        return "–"
    if error is None:
        return number(value)
    return with_error(value, error) if value >= 0.01 else f"{value:.2e} ± {error:.0e}"


def _draw(
    material: Material, points: Points, x: str, y: str, x_words: str, y_words: str, paper: float | None
) -> Figure:
    figure, axes = panel()
    ends = {}
    for arm in material.arms.names:
        own = sorted((p for p in points if p["arm"] == arm), key=lambda p: p[x])
        if not own:
            continue
        values = [p[y] for p in own]
        errors = [p[f"{y}_error"] or 0.0 for p in own]
        colour = material.arms.colour(arm)
        places = [p[x] for p in own]
        axes.errorbar(
            places,
            values,
            yerr=errors,
            color=colour,
            marker=material.arms.marker(arm),
            markersize=4.5,
            linewidth=1.6,
            capsize=2.5,
            linestyle=material.arms.dash(arm),
        )
        ends[arm] = (places[-1], values[-1])
    if y == "sd":
        axes.set_xscale("log")
        axes.set_yscale("log")
        _plain(axes, x)
    if paper is not None:
        axes.axvline(paper, color=INK, linewidth=1, linestyle=(0, (1, 2)))
    axes.set_xlabel(x_words)
    axes.set_ylabel(y_words)
    label_ends(axes, ends, material.arms)
    return figure


def _plain(axes: Axes, x: str) -> None:
    """Numbers in place of powers of ten."""
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(lambda value, _: number(value))
        axis.set_minor_formatter(lambda *_: "")
    if x == "channels":
        axes.xaxis.set_major_locator(LogLocator(base=2))
        axes.xaxis.set_minor_locator(NullLocator())
