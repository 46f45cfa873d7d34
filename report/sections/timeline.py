"""When each trial ran: the course of a sweep or search, from the times in the store."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from report.document import Numbers, Picture, Section
from report.drawing.axes import label_ends
from report.drawing.style import panel
from report.words import text
from robustness.errors import plural
from robustness.optimize.ensembles import FROM_MEMBERS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from report.analysis import Analysis

MOST_BARS = 400
MOST_WORKERS = 24
UNITS = ((172800.0, 86400.0, "days"), (7200.0, 3600.0, "hours"), (120.0, 60.0, "minutes"), (0.0, 1.0, "seconds"))


def sections(analysis: Analysis) -> Iterator[Section]:
    """How many trials had ended at each time, and which worker ran which; none if nothing has ended.

    An import has no course: its runs were made elsewhere.
    """
    if analysis.frames.document.get("trainable") == "imported":
        return
    ended = analysis.trials.loc[(analysis.trials["worker"] != FROM_MEMBERS).fillna(True)].dropna(
        subset=["started", "ended"]
    )
    if ended.empty:
        return
    zero = ended["started"].min()
    start = (ended["started"] - zero).dt.total_seconds().to_numpy()
    stop = np.maximum((ended["ended"] - zero).dt.total_seconds().to_numpy(), start)
    _, unit, unit_words = next(each for each in UNITS if stop.max() >= each[0])
    times = ended[["arm", "worker"]].assign(start=start / unit, stop=stop / unit)
    pictures = [
        Picture(
            "timeline-ended",
            "Trials ended by time",
            f"The number of trials of each arm that had ended, by {unit_words} since the first began.",
            partial(_draw_ended, analysis, times, unit_words),
        )
    ]
    workers = times["worker"].nunique()
    if len(times) <= MOST_BARS and 1 <= workers <= MOST_WORKERS:
        pictures.append(
            Picture(
                "timeline-workers",
                "Which worker ran which trial",
                f"A bar for each of {len(times)} trials in the row of its worker, coloured by arm.",
                partial(_draw_workers, analysis, times, unit_words),
            )
        )
    seconds = ended["seconds"].groupby(ended["arm"])
    rows = tuple(
        (text(arm, 60), str(seconds.size()[arm]), f"{seconds.median()[arm]:.1f}", f"{seconds.sum()[arm] / 3600:.2f}")
        for arm in analysis.arms.names
        if arm in seconds.size().index
    )
    total = float(ended["seconds"].sum())
    reading = (
        f"{len(times)} trials ended within {times['stop'].max():.1f} {unit_words} on "
        f"{plural(workers or 1, 'worker')}: {total / 3600:.2f} hours of training in all."
    )
    columns = ("Arm", "Trials ended", "Median seconds a trial", "Hours in all")
    what = "search" if "search" in analysis.results else "sweep"
    yield Section("timeline", f"The course of the {what}", reading, tuple(pictures), Numbers(columns, rows))


def _draw_ended(analysis: Analysis, times: pd.DataFrame, unit: str) -> Figure:
    figure, axes = panel()
    last = float(times["stop"].max())
    ends = {}
    for arm in analysis.arms.names:
        stops = np.sort(times.loc[times["arm"] == arm, "stop"].to_numpy())
        if not len(stops):
            continue
        kept = np.unique(np.linspace(0, len(stops) - 1, 300).round().astype(int))
        x, y = [0.0, *stops[kept], last], [0, *(kept + 1), len(stops)]
        axes.step(x, y, where="post", color=analysis.arms.colour(arm), linestyle=analysis.arms.dash(arm), linewidth=1.8)
        ends[arm] = (last, float(len(stops)))
    axes.set_xlabel(f"{unit} since the first trial began")
    axes.set_ylabel("trials ended")
    axes.set_ylim(bottom=0)
    axes.margins(x=0.02)
    label_ends(axes, ends, analysis.arms)
    return figure


def _draw_workers(analysis: Analysis, times: pd.DataFrame, unit: str) -> Figure:
    workers = sorted(times["worker"].dropna().unique())
    figure, axes = panel(height=max(2.2, min(6.0, 1.3 + 0.3 * len(workers))))
    least = max(float(times["stop"].max()) / 400, 1e-9)
    for arm in analysis.arms.names:
        for row, worker in enumerate(workers):
            own = times.loc[(times["arm"] == arm) & (times["worker"] == worker)]
            if own.empty:
                continue
            spans = [(a, max(b - a, least)) for a, b in zip(own["start"], own["stop"], strict=True)]
            colour = analysis.arms.colour(arm)
            axes.broken_barh(spans, (row - 0.36, 0.72), facecolors=colour, linewidth=0)
    axes.set_yticks(range(len(workers)), [text(worker, 14) for worker in workers])
    axes.set_ylim(len(workers) - 0.4, -0.6)
    axes.set_xlabel(f"{unit} since the first trial began")
    axes.grid(visible=False, axis="y")
    for arm in analysis.arms.names:
        axes.plot([], [], color=analysis.arms.colour(arm), linewidth=5, label=text(arm, 16))
    figure.legend(loc="upper left", ncols=3, fontsize=9.5, handlelength=0.8, columnspacing=1.2)
    return figure
