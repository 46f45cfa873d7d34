"""Regression: each arm's RMSE and log-likelihood on each data set, beside the reference's."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from report.drawing.style import INK, Numbers, Picture, Section, panel, text
from report.material import Material
from report.sections.continual_results import cell_words


def regression_section(material: Material) -> Section | None:
    """The table of all sets and arms, and where there is a reference two pictures beside it."""
    found = material.analysis.get("regression")
    if not found or not any(entry["arms"] for entry in found["sets"].values()):
        return None
    pictures = []
    if any(entry["test_rmse"]["reference"] for _, _, entry in _each(found)):
        worse = [f"{name} {text(arm)}" for name, arm, entry in _each(found) if entry["test_rmse"]["within"] is False]
        pictures = [
            Picture(
                "regression-rmse",
                "RMSE against the reference's",
                "Test RMSE over the reference's for each data set and arm, with two standard errors; more than two of "
                f"the reference's above it: {', '.join(worse) or 'none'}.",
                partial(_draw_rmse, material, found),
            ),
            Picture(
                "regression-likelihood",
                "Log-likelihood against what the RMSE allows",
                "Test log-likelihood against that of a Gaussian with the RMSE as its scale, for each data set and arm, "
                "ours and the reference's; on the diagonal the two agree.",
                partial(_draw_likelihood, material, found),
            ),
        ]
    label = text(found["reference"] or "reference", 40)
    columns = (
        "Data set",
        "Arm",
        "Splits",
        "Chosen",
        "RMSE",
        label,
        "Within 2 s.e.",
        "Log-likelihood",
        label,
        "RMSE allows",
    )
    rows = tuple(
        (
            text(name, 40),
            text(arm, 40),
            str(entry["splits"]),
            cell_words(entry["hyperparameters"]),
            _figure(entry["test_rmse"]),
            _theirs(entry["test_rmse"]),
            {True: "yes", False: "no", None: "–"}[entry["test_rmse"]["within"]],
            _figure(entry["test_log_likelihood"]),
            _theirs(entry["test_log_likelihood"]),
            f"{entry['implied']:.2f}",
        )
        for name, arm, entry in _each(found)
    )
    gap = np.array([entry["test_log_likelihood"]["mean"] - entry["implied"] for _, _, entry in _each(found)])
    reading = (
        f"Our log-likelihoods lie between {gap.min():+.2f} and {gap.max():+.2f} nats from what the RMSE allows; "
        f"every mean is over {_splits(found)} splits, with its standard error."
    )
    notes = (
        "An arm's learning rate and batch size are chosen on the first split, for each data set.",
        "RMSE allows: the log-likelihood of a Gaussian whose scale is the RMSE; a figure far from it contradicts that.",
    )
    return Section("regression", "Data set by data set", reading, tuple(pictures), Numbers(columns, rows), notes)


def _each(found: Mapping[str, Any]) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    for name, entry in found["sets"].items():
        for arm, own in entry["arms"].items():
            yield name, arm, own


def _splits(found: Mapping[str, Any]) -> str:
    counts = sorted({entry["splits"] for _, _, entry in _each(found)})
    return str(counts[0]) if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"


def _figure(entry: Mapping[str, Any]) -> str:
    mean, error = entry["mean"], entry["standard_error"]
    digits = 4 if abs(mean) < 0.1 else 3 if abs(mean) < 1 else 2
    return f"{mean:.{digits}f}" + ("" if error is None else f" ± {error:.{digits}f}")


def _theirs(entry: Mapping[str, Any]) -> str:
    if entry["reference"] is None:
        return "–"
    return f"{entry['reference']:.2f} ± {entry['reference_error']:.2f}"


def _draw_rmse(material: Material, found: Mapping[str, Any]) -> Figure:
    figure, axes = panel(height=4.6)
    names = list(found["sets"])
    arms = material.arms.names
    for place, name in enumerate(names):
        for turn, arm in enumerate(arms):
            entry = found["sets"][name]["arms"].get(arm)
            if entry is None or not entry["test_rmse"]["reference"]:
                continue
            figures = entry["test_rmse"]
            y = place + (turn - (len(arms) - 1) / 2) * 0.3
            theirs, spread = figures["reference"], 2 * figures["reference_error"] / figures["reference"]
            axes.plot(
                [max(1 - spread, 0.02), 1 + spread], [y, y], color=INK, alpha=0.25, linewidth=6, solid_capstyle="butt"
            )
            ratio, error = figures["mean"] / theirs, 2 * (figures["standard_error"] or 0) / theirs
            axes.errorbar(
                ratio, y, xerr=[[min(error, 0.9 * ratio)], [error]], color=material.arms.colour(arm),
                marker=material.arms.marker(arm), markersize=5, linewidth=1.4, capsize=2,
            )  # fmt: skip
    axes.axvline(1, color=INK, linewidth=0.9)
    axes.set_xscale("log")
    ticks = [0.1, 0.2, 0.5, 1, 1.5, 2, 3, 5]
    low, high = axes.get_xlim()
    shown = [tick for tick in ticks if low <= tick <= high]
    axes.set_xticks(shown, [f"{tick:g}" for tick in shown])
    axes.set_xticks([], minor=True)
    axes.set_yticks(range(len(names)), [text(name, 16) for name in names])
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.set_xlabel("test RMSE over the reference's; below 1 is better")
    for arm in arms:
        axes.plot([], [], color=material.arms.colour(arm), marker=material.arms.marker(arm), label=text(arm, 18))
    axes.plot([], [], color=INK, alpha=0.25, linewidth=6, label="reference, ± 2 s.e.")
    figure.legend(loc="upper left", ncols=3, fontsize=9.5, handlelength=1.4, columnspacing=1.2)
    return figure


def _draw_likelihood(material: Material, found: Mapping[str, Any]) -> Figure:
    figure, axes = panel(height=4.6)
    seen: list[float] = []
    for _, arm, entry in _each(found):
        colour, marker = material.arms.colour(arm), material.arms.marker(arm)
        ours = (entry["implied"], entry["test_log_likelihood"]["mean"])
        axes.plot(*ours, marker, color=colour, markersize=6)
        seen += ours
        theirs = entry["test_log_likelihood"]["reference"]
        if theirs is not None and entry["reference_implied"] is not None:
            axes.plot(entry["reference_implied"], theirs, marker, color="none", markeredgecolor=colour, markersize=7)
            seen += (entry["reference_implied"], theirs)
    ends = (min(seen) - 0.4, max(seen) + 0.4)
    axes.plot(ends, ends, color=INK, linewidth=0.9)
    axes.set_xlim(*ends)
    axes.set_ylim(*ends)
    axes.set_xlabel("what the RMSE allows, nats")
    axes.set_ylabel("test log-likelihood, nats")
    for arm in material.arms.names:
        colour, marker = material.arms.colour(arm), material.arms.marker(arm)
        axes.plot([], [], marker, color=colour, label=text(arm, 18))
    axes.plot([], [], "o", color="none", markeredgecolor=INK, label="reference (hollow)")
    figure.legend(loc="upper left", ncols=3, fontsize=9.5, handlelength=1.0, columnspacing=1.2)
    return figure
