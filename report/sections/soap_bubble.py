"""The paper's soap bubble: the radius of draws, its two factors, one weight; theory beside the draws.

Theory is drawn as lines, draws as histograms; Kolmogorov-Smirnov tests say how well the two agree.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, TypedDict

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from report.document import Numbers, Picture, Section
from report.drawing.style import INK, panel, two_panels
from report.frames import KEY
from report.judged_study import JudgedStudy
from report.words import SIGNIFICANT, plus_minus, text
from robustness.statistics.paired import holm
from robustness.trainables.theory import densities

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from report.analysis import Analysis

TRAINABLE = "soap_bubble"
CURVES = ("radius_edges", "radius_counts", "weight_edges", "weight_counts")


class DrawnValue(TypedDict):
    """A number that each draw has, beside its theory: the test of their agreement, and the histogram."""

    sd: float
    theory_sd: float
    ks_distance: float
    p_value: float
    edges: list[float]
    counts: list[float]


class DrawnRadius(DrawnValue):
    """The distance of a draw from its mean, which unlike a weight's has a mean other than 0."""

    mean: float
    theory_mean: float


class Layer(TypedDict):
    """The draws of one trial."""

    arm: str
    method: str
    replicate: int
    layer: str
    dimension: int
    samples: int
    radius: DrawnRadius
    weight: DrawnValue


class SoapBubbleResults(TypedDict):
    """`soap_bubble` of the JSON."""

    alone: bool
    sentences: list[str]
    layers: list[Layer]


def results(study: JudgedStudy) -> SoapBubbleResults | None:
    """Each layer and arm with its moments, tests and histograms; None for a study of another kind.

    `layers` is a list with an entry for each trial that has ended, those of low dimension first.
    """
    frames = study.frames
    if frames.document["trainable"] != TRAINABLE:
        return None
    methods = {str(arm["label"]): str(arm["method"]) for arm in frames.document["arms"]}
    curves = frames.curves.set_index([*KEY, "name"])["values"].to_dict() if len(frames.curves) else {}
    layers = []
    for _, row in frames.epochs.iterrows():
        key = tuple(row[KEY])
        own = {name: curves[(*key, name)] for name in CURVES}
        layers.append(_entry(row, methods[str(row["arm"])], own, frames.configurations))
    layers.sort(key=lambda entry: entry["dimension"])
    return {"alone": True, "sentences": _sentences(layers, frames.arms), "layers": layers}


def _entry(
    row: pd.Series[Any], method: str, curves: Mapping[str, Sequence[float]], configurations: pd.DataFrame
) -> Layer:
    dimension = int(row["dimension"])
    drawn = configurations.loc[row["configuration"]]
    mean, sd = densities.radial_radius_moments() if method == "radial" else densities.gaussian_radius_moments(dimension)
    return {
        "arm": row["arm"],
        "method": method,
        "replicate": int(row["replicate"]),
        "layer": f"{drawn['layer']} {int(drawn['inputs'])} to {int(drawn['outputs'])}",
        "dimension": dimension,
        "samples": int(row["samples"]),
        "radius": {
            "mean": row["radius_mean"],
            "sd": row["radius_sd"],
            "theory_mean": mean,
            "theory_sd": sd,
            "ks_distance": row["ks_distance"],
            "p_value": row["ks_p_value"],
            "edges": list(curves["radius_edges"]),
            "counts": list(curves["radius_counts"]),
        },
        "weight": {
            "sd": row["weight_sd"],
            "theory_sd": 1.0 / math.sqrt(dimension) if method == "radial" else 1.0,
            "ks_distance": row["weight_ks_distance"],
            "p_value": row["weight_ks_p_value"],
            "edges": list(curves["weight_edges"]),
            "counts": list(curves["weight_counts"]),
        },
    }


def _sentences(layers: Sequence[Layer], arms: Sequence[str]) -> list[str]:
    if not layers:
        return ["Nothing has been drawn yet."]
    sentences = []
    for dimension in sorted({entry["dimension"] for entry in layers}, reverse=True):
        here = [e for arm in arms for e in layers if e["dimension"] == dimension and e["arm"] == arm]
        first = {entry["arm"]: entry["radius"] for entry in reversed(here)}
        parts = ", ".join(
            f"{plus_minus(radius['mean'], radius['sd'], 2)} with {arm} "
            f"(theory {plus_minus(radius['theory_mean'], radius['theory_sd'], 2)})"
            for arm, radius in sorted(first.items(), key=lambda item: arms.index(item[0]))
        )
        sentences.append(f"Distance of a draw of {dimension:,} weights from its mean, in sigmas: {parts}.")
    tests = [test for entry in layers for _, test, _ in _tests(entry)]
    smallest = min(holm([test["p_value"] for test in tests]))
    largest = max(test["ks_distance"] for test in tests)
    verdict = "Samples and theory differ" if smallest < SIGNIFICANT else "Theory lies on the samples"
    sentences.append(
        f"{verdict}: of {len(tests)} Kolmogorov-Smirnov tests the largest distance is {largest:.4f}, the smallest "
        f"p-value {smallest:.2g} after Holm's correction."
    )
    return sentences


FAR_APART = 3.0
"""Two arms get an axis each if one begins at more than this multiple of where the other ends."""
VOLUME, GAUSSIAN = "#CC3311", "#117733"
"""The paper's red and green, in Tol's shades, which differ in lightness."""
POINTS = 400


def sections(analysis: Analysis) -> Iterator[Section]:
    """Radius, factors and marginal; none for studies of another kind, or before anything was drawn."""
    bubble: SoapBubbleResults | None = analysis.results.get("soap_bubble")
    if not bubble or not bubble["layers"]:
        return
    layers: dict[int, dict[str, Layer]] = {}
    for entry in bubble["layers"]:
        # Of replicates the first one is drawn.
        layers.setdefault(entry["dimension"], {}).setdefault(entry["arm"], entry)
    smallest, largest = min(layers), max(layers)
    pictures = [
        Picture(
            f"soap-bubble-radius-{dimension}",
            f"Distance from the mean, D = {dimension:,}",
            f"The density of the distance of a draw from its mean in units of sigma, for {dimension:,} weights: "
            + _moments(layers[dimension]),
            partial(_draw_radius, analysis, layers[dimension], dimension),
        )
        for dimension in dict.fromkeys((largest, smallest))
    ]
    pictures.append(
        Picture(
            f"soap-bubble-factors-{smallest}",
            f"Volume and Gaussian factor, D = {smallest:,}",
            f"On a logarithmic axis the volume factor r^{smallest - 1} rises, the Gaussian factor falls, and their "
            "product, scaled to a density, has a peak between them; draws of mfvi lie on it.",
            partial(_draw_factors, analysis, layers[smallest], smallest),
        )
    )
    pictures.append(
        Picture(
            f"soap-bubble-weight-{smallest}",
            f"One weight of a layer, D = {smallest:,}",
            "The density of a single weight's distance from its mean in units of sigma: the radial one is sharply "
            "peaked, the Gaussian one is not.",
            partial(_draw_weight, analysis, layers[smallest], smallest),
        )
    )
    rows = [
        (
            text(entry["layer"], 40),
            f"{entry['dimension']:,}",
            text(entry["arm"], 60),
            what,
            f"{mean:.4g} ± {test['sd']:.4g}",
            f"{theory_mean:.4g} ± {test['theory_sd']:.4g}",
            f"{test['ks_distance']:.4f}",
            f"{test['p_value']:.2g}",
        )
        for entry in bubble["layers"]
        for what, test, (mean, theory_mean) in _tests(entry)
    ]
    columns = ("Layer", "D", "Arm", "Of a draw", "Draws", "Theory", "KS distance", "p-value")
    yield Section(
        "soap-bubble",
        "The soap bubble",
        bubble["sentences"][0],
        tuple(pictures),
        Numbers(columns, tuple(rows)),
        (
            "Lines are theory, bars and points are draws of the project's own layers; both are in units of sigma.",
            "D counts a layer's weights and biases, which a radial posterior normalises together.",
            "A radial weight's density is infinite at its mean, as the logarithm of the distance, for D > 1.",
        ),
    )


def _tests(entry: Layer) -> Iterator[tuple[str, DrawnValue, tuple[float, float]]]:
    """What was drawn: its words, its figures, and its mean beside theory's, which is 0 for a weight."""
    yield "distance", entry["radius"], (entry["radius"]["mean"], entry["radius"]["theory_mean"])
    yield "one weight", entry["weight"], (0.0, 0.0)


def _moments(arms: Mapping[str, Layer]) -> str:
    radii = {arm: entry["radius"] for arm, entry in arms.items()}
    parts = (f"{plus_minus(each['mean'], each['sd'], 2)} for {text(arm, 40)}" for arm, each in radii.items())
    return f"{', '.join(parts)}."


def _density(method: str, dimension: int, radius: NDArray[np.float64]) -> NDArray[np.float64]:
    if method == "radial":
        return densities.radial_radius_density(radius)
    return densities.gaussian_radius_density(radius, dimension)


def _heights(histogram: DrawnValue) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The edges of the bins and the density in each."""
    edges, counts = np.array(histogram["edges"]), np.array(histogram["counts"])
    return edges, counts / (counts.sum() * np.diff(edges))


def _bars(axes: Axes, histogram: DrawnValue, colour: str) -> None:
    edges, heights = _heights(histogram)
    axes.stairs(heights, edges, fill=True, color=colour, alpha=0.3)


def _ends(entry: Layer) -> tuple[float, float]:
    edges = entry["radius"]["edges"]
    low, high = float(edges[0]), float(edges[-1])
    # A half-normal radius begins at 0.
    return (0.0 if low < 0.2 * high else low, high)


def _draw_radius(analysis: Analysis, arms: Mapping[str, Layer], dimension: int) -> Figure:
    """All arms on one axis; on two beside each other, with one scale, where a bubble is far from the rest."""
    ends = {arm: _ends(entry) for arm, entry in arms.items()}
    order = sorted(arms, key=lambda arm: ends[arm])
    cut = len(order) == 2 and ends[order[1]][0] > FAR_APART * ends[order[0]][1]
    groups = [[arm] for arm in order] if cut else [order]
    if cut:
        figure, both = two_panels()
        several = list(both)
    else:
        figure, one = panel()
        several = [one]
    for axes, group in zip(several, groups, strict=True):
        low, high = min(ends[arm][0] for arm in group), max(ends[arm][1] for arm in group)
        radius = np.linspace(low, high, POINTS)
        for arm in group:
            colour = analysis.arms.colour(arm)
            _bars(axes, arms[arm]["radius"], colour)
            axes.plot(radius, _density(arms[arm]["method"], dimension, radius), color=colour, linewidth=1.6)
        axes.set_xlim(low, high)
        axes.set_ylim(bottom=0)
        if cut:
            axes.set_title(text(group[0]), fontweight="bold", color=INK)
    if not cut:
        _legend(figure, analysis, order)
    several[0].set_ylabel("density")
    words = "distance from the mean, in sigmas"
    if cut:
        figure.supxlabel(words, fontsize=10.5, y=0.01)
    else:
        several[0].set_xlabel(words)
    return figure


def _legend(figure: Figure, analysis: Analysis, arms: list[str]) -> None:
    axes = figure.axes[0]
    for arm in arms:
        axes.plot([], [], color=analysis.arms.colour(arm), linewidth=3, label=text(arm))
    figure.legend(loc="upper left", ncols=4, fontsize=9.5, handlelength=1.2, columnspacing=1.2)


def _draw_factors(analysis: Analysis, arms: Mapping[str, Layer], dimension: int) -> Figure:
    figure, axes = panel()
    top = max(entry["radius"]["edges"][-1] for entry in arms.values())
    radius = np.linspace(0.02 * top, 1.05 * top, POINTS)
    volume = densities.log_volume_factor(radius, dimension) / np.log(10)
    gaussian = densities.log_gaussian_factor(radius) / np.log(10)
    axes.plot(radius, volume, color=VOLUME, linewidth=1.6, linestyle=(0, (5, 2)), label=f"volume r^{dimension - 1}")
    axes.plot(radius, gaussian, color=GAUSSIAN, linewidth=1.6, linestyle=(0, (2, 1.5)), label="Gaussian exp(-r²/2)")
    for arm, entry in arms.items():
        if entry["method"] == "radial":
            continue
        colour = analysis.arms.colour(arm)
        density = np.log10(densities.gaussian_radius_density(radius, dimension))
        axes.plot(radius, density, color=colour, linewidth=1.8, label=f"density of {text(arm, 12)}")
        edges, heights = _heights(entry["radius"])
        seen = heights > 0
        axes.plot(((edges[1:] + edges[:-1]) / 2)[seen], np.log10(heights[seen]), ".", color=colour, markersize=4)
    axes.set_ylim(-6.0, 4.0)
    axes.set_xlim(0, radius[-1])
    axes.yaxis.set_major_formatter(lambda value, _: f"1e{value:.0f}" if value else "1")
    axes.set_xlabel("distance from the mean, in sigmas")
    axes.set_ylabel("factor or density")
    figure.legend(loc="upper left", ncols=2, fontsize=9.5, handlelength=1.8, columnspacing=1.2)
    return figure


def _draw_weight(analysis: Analysis, arms: Mapping[str, Layer], dimension: int) -> Figure:
    figure, axes = panel()
    end = 3.5
    # An even number of points leaves out 0, where the radial density is infinite.
    weight = np.linspace(-end, end, 2 * POINTS)
    highest = 0.0
    for arm, entry in arms.items():
        colour = analysis.arms.colour(arm)
        _bars(axes, entry["weight"], colour)
        if entry["method"] == "radial":
            density = densities.radial_weight_density(weight, dimension)
        else:
            density = densities.gaussian_weight_density(weight)
        axes.plot(weight, density, color=colour, linewidth=1.6)
        highest = max(highest, float(_heights(entry["weight"])[1].max()))
    axes.set_xlim(-end, end)
    axes.set_ylim(0, 1.15 * highest)
    axes.set_xlabel("one weight's distance from its mean, in sigmas")
    axes.set_ylabel("density")
    _legend(figure, analysis, list(arms))
    return figure
