"""Failure against the initial noise of each weight, with all variational arms on one axis.

At the same initial rho the weights of different arms start with different noise: softplus(rho) for a Gaussian
posterior, softplus(rho) / sqrt(D) for a radial one and for the controls that are scaled like it. Trials record the
median over weights of its standard deviation before the first step.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Any, TypedDict

import numpy as np
import pandas as pd

from report.comparison import fraction_entry, has_outcome
from report.document import Numbers, Picture, Section
from report.drawing.axes import plain_numbers
from report.drawing.style import panel
from report.frames import KEY
from report.judged_study import JudgedStudy
from report.records.estimates import Fraction, known
from report.watched import NO_BANDS
from report.words import share_cell, text
from robustness.errors import plural

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from report.analysis import Analysis

NOISE = "noise_per_weight"
"""The measure of a trial's first epoch."""
UNEQUAL = 10.0
"""The largest initial noise of one arm over that of another, from which a comparison has a caution."""
MOST_LEVELS = 8
"""With more initial values, they are put together in quarters."""


class NoiseLevel(TypedDict):
    """An arm's trials with one initial noise."""

    noise: float
    """The median over weights of the standard deviation of their noise before training; the median over trials."""
    learned_nothing: Fraction


class InitialNoiseResults(TypedDict):
    """For each variational arm its levels in ascending order, and the arms that recorded no noise."""

    arms: dict[str, list[NoiseLevel]]
    without: list[str]


def results(study: JudgedStudy) -> InitialNoiseResults | None:
    """Failure by initial noise at the study's epoch; None unless arms recorded it and one of them has two levels."""
    frames, judged = study.frames, study.planned
    if not frames.has_thresholds or NOISE not in frames.epochs:
        return None
    recorded = frames.epochs.dropna(subset=NOISE).drop_duplicates(KEY)[[*KEY, NOISE]]
    trials = judged[judged["paired"]].merge(recorded, on=KEY, how="left")
    trials["failed"] = has_outcome(trials, "learned_nothing", frames.rule)
    rhos: pd.Series[Any] = pd.Series(0.0, index=trials.index)
    if "initial_rho" in frames.configurations:
        rhos = trials["configuration"].map(frames.configurations["initial_rho"]).astype("float64")
    # A trial that diverged in its first epoch recorded nothing; others with its arm and initial rho started alike.
    alike = trials.groupby([trials["arm"], rhos], dropna=False)[NOISE].transform("median")
    trials[NOISE] = trials[NOISE].fillna(alike)
    arms = {}
    for arm in frames.arms:
        own = trials[(trials["arm"] == arm) & trials[NOISE].notna()]
        if len(own):
            arms[arm] = [_level(part) for _, part in own.groupby(_levels(own[NOISE]), sort=True)]
    if not any(len(levels) > 1 for levels in arms.values()):
        return None
    return {"arms": arms, "without": [arm for arm in frames.arms if arm not in arms]}


def _levels(noise: pd.Series[Any]) -> pd.Series[Any]:
    """The level of each trial: its noise to three digits, or the quarter in which it lies if there are many."""
    rounded = noise.map(lambda value: float(f"{value:.3g}"))
    if rounded.nunique() <= MOST_LEVELS:
        return rounded
    return pd.Series(np.searchsorted(np.quantile(noise, (0.25, 0.5, 0.75)), noise, side="left"), index=noise.index)


def _level(trials: pd.DataFrame) -> NoiseLevel:
    return {
        "noise": float(trials[NOISE].median()),
        "learned_nothing": fraction_entry(trials["failed"], trials["configuration"]),
    }


def unequal_noise(analysis: Analysis) -> Iterator[str]:
    """That two arms start with so different a noise that their comparison is also one of noise.

    Nothing where the study has controls, which take the two apart.
    """
    found = analysis.results["initial_noise"]
    if found is None or "controls" in analysis.results:
        return
    ends = {arm: (levels[0]["noise"], levels[-1]["noise"]) for arm, levels in found["arms"].items()}
    apart = []
    for first, second in analysis.frames.compared:
        if first in ends and second in ends:
            most = sorted((ends[first][1], ends[second][1]))
            if most[1] >= UNEQUAL * most[0] > 0:
                apart.append((first, second))
    if not apart:
        return
    first, second = apart[0]
    low, high = max(ends[first][0], ends[second][0]), min(ends[first][1], ends[second][1])
    overlap = f"overlap only from {low:.2g} to {high:.2g}" if low <= high else "do not overlap"
    noise = " and ".join(f"{ends[arm][0]:.2g} to {ends[arm][1]:.2g} in {text(arm, 40)}" for arm in (first, second))
    more = f" So it is for {plural(len(apart) - 1, 'more comparison')}." if apart[1:] else ""
    yield (
        f"The arms do not start with the same noise: the standard deviation of a weight is {noise}. These ranges "
        f"{overlap}, so this study cannot tell the method from the size of its initial noise.{more}"
    )


def sections(analysis: Analysis) -> Iterator[Section]:
    """The share of trials that learned nothing against the noise; none without results."""
    found = analysis.results["initial_noise"]
    if found is None:
        return
    arms = found["arms"]
    picture = Picture(
        "initial-noise",
        "Failure against the initial noise of each weight",
        "A line for each arm: the share of configurations that learned nothing against the standard deviation "
        "of the noise of a weight before training, on a log scale. Bars are 95 % intervals.",
        partial(_draw, analysis, arms),
    )
    rows = tuple(
        (text(arm, 60), f"{level['noise']:.3g}", share_cell(level["learned_nothing"]))
        for arm, levels in arms.items()
        for level in levels
    )
    reading = "; ".join(f"{text(arm, 60)} {_range(levels)}" for arm, levels in arms.items())
    notes = [
        "The noise is the median over weights of the standard deviation of their draws, before the first step. Arms on "
        "one curve would be consistent with failing by their noise alone; arms on different curves differ in something "
        "else, too."
    ]
    if found["without"]:
        notes.append(f"No noise at the start: {text(', '.join(found['without']), 200)}.")
    if analysis.study.sample.watch is not None:
        notes.append(NO_BANDS)
    yield Section(
        "initial-noise",
        "Failure against the initial noise of each weight",
        f"Share that learned nothing, from the least to the most noise: {reading}.",
        (picture,),
        Numbers(("Arm", "Noise of a weight", "Learned nothing"), rows),
        tuple(notes),
    )


def _range(levels: list[NoiseLevel]) -> str:
    ends = [levels[0], levels[-1]] if len(levels) > 1 else levels
    return " to ".join(f"{100 * known(e['learned_nothing']['fraction']):.0f} % at {e['noise']:.2g}" for e in ends)


def _draw(analysis: Analysis, arms: dict[str, list[NoiseLevel]]) -> Figure:
    figure, axes = panel()
    for place, (arm, levels) in enumerate(arms.items()):
        # A small step aside, so that the bars of arms with the same noise do not hide each other.
        noise = [level["noise"] * (1 + 0.06 * (place - (len(arms) - 1) / 2)) for level in levels]
        shares = [level["learned_nothing"] for level in levels]
        colour = analysis.arms.colour(arm)
        axes.plot(
            noise,
            [100 * known(share["fraction"]) for share in shares],
            color=colour,
            linestyle=analysis.arms.dash(arm),
            marker=analysis.arms.marker(arm),
            label=text(arm, 24),
        )
        for at, share in zip(noise, shares, strict=True):
            if share["low"] is not None and share["high"] is not None:
                axes.plot([at, at], [100 * share["low"], 100 * share["high"]], color=colour, linewidth=1.2)
    axes.set_xscale("log")
    plain_numbers(axes.xaxis)
    axes.set_ylim(-4, 104)
    axes.set_xlabel("initial noise of a weight (standard deviation)")
    axes.set_ylabel("% that learned nothing")
    axes.legend(fontsize=9)
    return figure
