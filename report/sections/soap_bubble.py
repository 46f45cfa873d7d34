"""The paper's soap bubble: the radius of draws, its two factors, one weight; theory as lines, draws as histograms."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from report.drawing.style import INK, PANEL, Numbers, Picture, Section, panel, text
from report.material import Material
from robustness.trainables.theory import densities

FAR_APART = 3.0
"""Arms whose radii are further apart than so many times what they take up get an axis each."""
VOLUME, GAUSSIAN = "#CC3311", "#117733"
"""The paper's red and green, in Tol's shades, which differ in lightness."""
POINTS = 400


def soap_bubble_section(material: Material) -> Section | None:
    """Radius, factors and marginal; None for studies of another kind, or before anything was drawn."""
    found = material.analysis.get("soap_bubble")
    if not found or not found["layers"]:
        return None
    layers: dict[int, dict[str, Mapping[str, Any]]] = {}
    for entry in found["layers"]:
        # Of replicates the first one is drawn.
        layers.setdefault(entry["dimension"], {}).setdefault(entry["arm"], entry)
    smallest, largest = min(layers), max(layers)
    pictures = [
        Picture(
            f"soap-bubble-radius-{dimension}",
            f"Distance from the mean, D = {dimension:,}",
            f"The density of the distance of a draw from its mean in units of sigma, for {dimension:,} weights: "
            + _moments(layers[dimension]),
            partial(_draw_radius, material, layers[dimension], dimension),
        )
        for dimension in dict.fromkeys((largest, smallest))
    ]
    pictures.append(
        Picture(
            f"soap-bubble-factors-{smallest}",
            f"Volume and Gaussian factor, D = {smallest:,}",
            f"On a logarithmic axis the volume factor r^{smallest - 1} rises, the Gaussian factor falls, and their "
            "product, scaled to a density, has a peak between them; draws of mfvi lie on it.",
            partial(_draw_factors, material, layers[smallest], smallest),
        )
    )
    pictures.append(
        Picture(
            f"soap-bubble-weight-{smallest}",
            f"One weight of a layer, D = {smallest:,}",
            "The density of a single weight's distance from its mean in units of sigma: the radial one is sharply "
            "peaked, the Gaussian one is not.",
            partial(_draw_weight, material, layers[smallest], smallest),
        )
    )
    rows = []
    for entry in found["layers"]:
        for what in ("radius", "weight"):
            test = entry[what]
            moments = (
                (f"{test['mean']:.4g} ± {test['sd']:.4g}", f"{test['theory_mean']:.4g} ± {test['theory_sd']:.4g}")
                if what == "radius"
                else (f"0 ± {test['sd']:.4g}", f"0 ± {test['theory_sd']:.4g}")
            )
            rows.append(
                (
                    text(entry["layer"], 40),
                    f"{entry['dimension']:,}",
                    text(entry["arm"], 60),
                    "distance" if what == "radius" else "one weight",
                    *moments,
                    f"{test['ks_distance']:.4f}",
                    f"{test['p_value']:.2g}",
                )
            )
    columns = ("Layer", "D", "Arm", "Of a draw", "Draws", "Theory", "KS distance", "p-value")
    return Section(
        "soap-bubble",
        "The soap bubble",
        found["sentences"][0],
        tuple(pictures),
        Numbers(columns, tuple(rows)),
        (
            "Lines are theory, bars and points are draws of the project's own layers; both are in units of sigma.",
            "D counts a layer's weights and biases, which a radial posterior normalises together.",
            "A radial weight's density is infinite at its mean, as the logarithm of the distance, for D > 1.",
        ),
    )


def _moments(arms: Mapping[str, Mapping[str, Any]]) -> str:
    parts = (f"{e['radius']['mean']:.2f} ± {e['radius']['sd']:.2f} for {text(arm, 40)}" for arm, e in arms.items())
    return f"{', '.join(parts)}."


def _density(method: str, dimension: int, radius: np.ndarray) -> np.ndarray:
    if method == "radial":
        return densities.radial_radius_density(radius)
    return densities.gaussian_radius_density(radius, dimension)


def _bars(axes: Axes, found: Mapping[str, Any], colour: str) -> None:
    edges, counts = np.array(found["edges"]), np.array(found["counts"])
    axes.stairs(counts / (counts.sum() * np.diff(edges)), edges, fill=True, color=colour, alpha=0.3)


def _ends(entry: Mapping[str, Any]) -> tuple[float, float]:
    edges = entry["radius"]["edges"]
    low, high = float(edges[0]), float(edges[-1])
    # A half-normal radius begins at 0.
    return (0.0 if low < 0.2 * high else low, high)


def _draw_radius(material: Material, arms: Mapping[str, Mapping[str, Any]], dimension: int) -> Figure:
    """All arms on one axis; on two beside each other, with one scale, where a bubble is far from the rest."""
    ends = {arm: _ends(entry) for arm, entry in arms.items()}
    order = sorted(arms, key=lambda arm: ends[arm])
    cut = len(order) == 2 and ends[order[1]][0] > FAR_APART * ends[order[0]][1]
    groups = [[arm] for arm in order] if cut else [order]
    if cut:
        figure = Figure(figsize=PANEL)
        left = figure.add_axes((0.12, 0.15, 0.4, 0.72))
        several = [left, figure.add_axes((0.58, 0.15, 0.4, 0.72), sharey=left)]
        several[1].tick_params(labelleft=False)
    else:
        figure, one = panel()
        several = [one]
    for axes, group in zip(several, groups, strict=True):
        low, high = min(ends[arm][0] for arm in group), max(ends[arm][1] for arm in group)
        radius = np.linspace(low, high, POINTS)
        for arm in group:
            colour = material.arms.colour(arm)
            _bars(axes, arms[arm]["radius"], colour)
            axes.plot(radius, _density(arms[arm]["method"], dimension, radius), color=colour, linewidth=1.6)
        axes.set_xlim(low, high)
        axes.set_ylim(bottom=0)
        if cut:
            axes.set_title(text(group[0]), fontweight="bold", color=INK)
    _legend(figure if not cut else None, material, order)
    several[0].set_ylabel("density")
    words = "distance from the mean, in sigmas"
    if cut:
        figure.supxlabel(words, fontsize=10.5, y=0.01)
    else:
        several[0].set_xlabel(words)
    return figure


def _legend(figure: Figure | None, material: Material, arms: list[str]) -> None:
    if figure is None:
        return
    axes = figure.axes[0]
    for arm in arms:
        axes.plot([], [], color=material.arms.colour(arm), linewidth=3, label=text(arm))
    figure.legend(loc="upper left", ncols=4, fontsize=9.5, handlelength=1.2, columnspacing=1.2)


def _draw_factors(material: Material, arms: Mapping[str, Mapping[str, Any]], dimension: int) -> Figure:
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
        colour = material.arms.colour(arm)
        density = np.log10(densities.gaussian_radius_density(radius, dimension))
        axes.plot(radius, density, color=colour, linewidth=1.8, label=f"density of {text(arm, 12)}")
        edges, counts = np.array(entry["radius"]["edges"]), np.array(entry["radius"]["counts"])
        seen = counts > 0
        heights = np.log10((counts / (counts.sum() * np.diff(edges)))[seen])
        axes.plot(((edges[1:] + edges[:-1]) / 2)[seen], heights, ".", color=colour, markersize=4)
    axes.set_ylim(-6.0, 4.0)
    axes.set_xlim(0, radius[-1])
    axes.yaxis.set_major_formatter(lambda value, _: f"1e{value:.0f}" if value else "1")
    axes.set_xlabel("distance from the mean, in sigmas")
    axes.set_ylabel("factor or density")
    figure.legend(loc="upper left", ncols=2, fontsize=9.5, handlelength=1.8, columnspacing=1.2)
    return figure


def _draw_weight(material: Material, arms: Mapping[str, Mapping[str, Any]], dimension: int) -> Figure:
    figure, axes = panel()
    end = 3.5
    # An even number of points leaves out 0, where the radial density is infinite.
    weight = np.linspace(-end, end, 2 * POINTS)
    highest = 0.0
    for arm, entry in arms.items():
        colour = material.arms.colour(arm)
        _bars(axes, entry["weight"], colour)
        if entry["method"] == "radial":
            density = densities.radial_weight_density(weight, dimension)
        else:
            density = densities.gaussian_weight_density(weight)
        axes.plot(weight, density, color=colour, linewidth=1.6)
        counts, edges = np.array(entry["weight"]["counts"]), np.array(entry["weight"]["edges"])
        highest = max(highest, float((counts / (counts.sum() * np.diff(edges))).max()))
    axes.set_xlim(-end, end)
    axes.set_ylim(0, 1.15 * highest)
    axes.set_xlabel("one weight's distance from its mean, in sigmas")
    axes.set_ylabel("density")
    _legend(figure, material, list(arms))
    return figure
