"""How the page shows a study of regression: a table of its data sets and arms, and two pictures beside a reference."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from report.document import Numbers, Picture, Section
from report.drawing.axes import SINGLE, mark_single
from report.drawing.style import INK, panel
from report.sections.regression.entries import RegressionFigure, RegressionResults, SetWinner
from report.words import DASH, cell_words, plus_minus, text

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from report.analysis import Analysis


def sections(analysis: Analysis) -> Iterator[Section]:
    """The table of all data sets and arms, and two pictures where there is a reference."""
    regression: RegressionResults | None = analysis.results.get("regression")
    if not regression or not any(entry["arms"] for entry in regression["sets"].values()):
        return
    pictures = []
    if any(entry["test_rmse"]["reference"] for _, _, entry in _each(regression)):
        worse = [
            f"{name} {text(arm)}" for name, arm, entry in _each(regression) if entry["test_rmse"]["beside"] == "worse"
        ]
        pictures = [
            Picture(
                "regression-rmse",
                "RMSE against the reference's",
                "Test RMSE over the reference's for each data set and arm, with two standard errors; more than two of "
                f"the reference's above it: {', '.join(worse) or 'none'}.",
                partial(_draw_rmse, analysis, regression),
            ),
            Picture(
                "regression-likelihood",
                "Log-likelihood against what the RMSE allows",
                "Test log-likelihood against that of a Gaussian with the RMSE as its scale, for each data set and arm, "
                "ours and the reference's; on the diagonal the two agree.",
                partial(_draw_likelihood, analysis, regression),
            ),
        ]
    label = text(regression["reference"] or "reference", 40)
    columns = (
        "Data set",
        "Arm",
        "Splits",
        "Chosen",
        "RMSE",
        label,
        "Beside its ± 2 s.e.",
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
            entry["test_rmse"]["beside"] or DASH,
            _figure(entry["test_log_likelihood"]),
            _theirs(entry["test_log_likelihood"]),
            f"{entry['implied']:.2f}",
        )
        for name, arm, entry in _each(regression)
    )
    gap = np.array([entry["test_log_likelihood"]["mean"] - entry["implied"] for _, _, entry in _each(regression)])
    reading = (
        f"Our log-likelihoods lie between {gap.min():+z.2f} and {gap.max():+z.2f} nats from what the RMSE allows; "
        f"every mean is over {_splits(regression)} splits, with its standard error."
    )
    notes = (
        "An arm's learning rate and batch size are chosen on the first split, for each data set.",
        "RMSE allows: the log-likelihood of a Gaussian whose scale is the RMSE; a figure far from it contradicts that.",
        *((SINGLE,) if any(entry["test_rmse"]["standard_error"] is None for _, _, entry in _each(regression)) else ()),
    )
    yield Section("regression", "Data set by data set", reading, tuple(pictures), Numbers(columns, rows), notes)


def _each(regression: RegressionResults) -> Iterator[tuple[str, str, SetWinner]]:
    for name, entry in regression["sets"].items():
        for arm, own in entry["arms"].items():
            yield name, arm, own


def _splits(regression: RegressionResults) -> str:
    counts = sorted({entry["splits"] for _, _, entry in _each(regression)})
    return str(counts[0]) if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"


def _figure(entry: RegressionFigure) -> str:
    mean, error = entry["mean"], entry["standard_error"]
    digits = 4 if abs(mean) < 0.1 else 3 if abs(mean) < 1 else 2
    return plus_minus(mean, error, digits)


def _theirs(entry: RegressionFigure) -> str:
    if entry["reference"] is None:
        return DASH
    return plus_minus(entry["reference"], entry["reference_error"], 2)


def _draw_rmse(analysis: Analysis, regression: RegressionResults) -> Figure:
    figure, axes = panel(height=4.6)
    names = list(regression["sets"])
    arms = analysis.arms.names
    for place, name in enumerate(names):
        for turn, arm in enumerate(arms):
            entry = regression["sets"][name]["arms"].get(arm)
            theirs = entry["test_rmse"]["reference"] if entry else None
            if entry is None or not theirs:
                continue
            figures = entry["test_rmse"]
            y = place + (turn - (len(arms) - 1) / 2) * 0.3
            spread = 2 * (figures["reference_error"] or 0.0) / theirs
            axes.plot(
                [max(1 - spread, 0.02), 1 + spread], [y, y], color=INK, alpha=0.25, linewidth=6, solid_capstyle="butt"
            )
            ratio, error = figures["mean"] / theirs, 2 * (figures["standard_error"] or 0) / theirs
            axes.errorbar(
                ratio,
                y,
                xerr=[[min(error, 0.9 * ratio)], [error]],
                color=analysis.arms.colour(arm),
                marker=analysis.arms.marker(arm),
                markersize=5,
                linewidth=1.4,
                capsize=2,
            )
            if figures["standard_error"] is None:
                mark_single(axes, ratio, y, analysis.arms.colour(arm), analysis.arms.marker(arm))
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
        axes.plot([], [], color=analysis.arms.colour(arm), marker=analysis.arms.marker(arm), label=text(arm, 18))
    axes.plot([], [], color=INK, alpha=0.25, linewidth=6, label="reference, ± 2 s.e.")
    figure.legend(loc="upper left", ncols=3, fontsize=9.5, handlelength=1.4, columnspacing=1.2)
    return figure


def _draw_likelihood(analysis: Analysis, regression: RegressionResults) -> Figure:
    figure, axes = panel(height=4.6)
    seen: list[float] = []
    for _, arm, entry in _each(regression):
        colour, marker = analysis.arms.colour(arm), analysis.arms.marker(arm)
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
    for arm in analysis.arms.names:
        colour, marker = analysis.arms.colour(arm), analysis.arms.marker(arm)
        axes.plot([], [], marker, color=colour, label=text(arm, 18))
    axes.plot([], [], "o", color="none", markeredgecolor=INK, label="reference (hollow)")
    figure.legend(loc="upper left", ncols=3, fontsize=9.5, handlelength=1.0, columnspacing=1.2)
    return figure
