"""Regression: test RMSE and log-likelihood of each arm's winner on each data set, beside the reference's.

A replicate is a split. An arm's winner on a data set is chosen on the first split by the study's metric, as the sweep
chooses it. A reference has, under `figures`, `[mean, standard error]` for a measure, a data set and an arm.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypedDict

import numpy as np
import pandas as pd

from report.document import Numbers, Picture, Section
from report.drawing.axes import SINGLE, mark_single
from report.drawing.style import INK, panel
from report.frames import KEY, StudyFrames
from report.judged_study import JudgedStudy
from report.words import DASH, cell_words, plus_minus, text
from robustness.statistics.means import MeanWithError, mean_with_error
from robustness.study.sections import Winners
from robustness.sweep.winners import Candidate, Place, choose
from robustness.trial import TrialKey

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from report.analysis import Analysis

TRAINABLE = "regression"
Measure: TypeAlias = Literal["test_rmse", "test_log_likelihood"]
MEASURES: tuple[Measure, ...] = ("test_rmse", "test_log_likelihood")
WITHIN = 2.0
"""Standard errors."""


class BesideReference(TypedDict):
    """The reference's figure and standard error, and where ours lies; None without a reference."""

    reference: float | None
    reference_error: float | None
    within: bool | None
    beside: Literal["within", "better", "worse"] | None


class RegressionFigure(MeanWithError, BesideReference):
    """A measure over the splits, beside the reference's."""


class SetWinner(TypedDict):
    """An arm's winner on a data set."""

    configuration: int
    hyperparameters: Mapping[str, object]
    splits: int
    test_rmse: RegressionFigure
    test_log_likelihood: RegressionFigure
    implied: float
    reference_implied: float | None


class RmseDifference(MeanWithError):
    """The first arm's RMSE less the second's, paired by split."""

    arms: list[str]
    splits: int
    decided: bool


class DataSet(TypedDict):
    """The winners on a data set, and the difference of the first two arms."""

    arms: dict[str, SetWinner]
    difference: RmseDifference | None


class RegressionResults(TypedDict):
    """`regression` of the JSON."""

    sentences: list[str]
    alone: bool
    reference: str | None
    within: float
    sets: dict[str, DataSet]


def results(study: JudgedStudy) -> RegressionResults | None:
    """The results of a study of regression; None for any other."""
    frames = study.frames
    if frames.document.get("trainable") != TRAINABLE:
        return None
    winners = choose(_tried(frames), Winners(by="data_set", replicates=2))
    measured = _measured(frames)
    sets: dict[str, DataSet] = {}
    for name in dict.fromkeys(str(value) for value in frames.configurations["data_set"]):
        arms = {}
        for arm in frames.arms:
            key = winners.get(Place(arm, name))
            rows = pd.DataFrame() if key is None else _rows(measured, key)
            if key is not None and len(rows):
                arms[arm] = _winner(frames, name, arm, key, rows)
        sets[name] = {"arms": arms, "difference": _difference(frames, measured, winners, name)}
    reference = frames.document.get("reference") or {}
    label = reference.get("label", "the reference") if reference.get("figures") else None
    return {
        "sentences": _sentences(frames.arms, sets, label),
        "alone": True,
        "reference": label,
        "within": WITHIN,
        "sets": sets,
    }


def implied(rmse: float) -> float:
    """The log-likelihood of a Gaussian whose scale is the RMSE: -1/2 log(2 pi e RMSE^2), the most that it allows."""
    return -0.5 * math.log(2 * math.pi * math.e * rmse**2)


def _tried(frames: StudyFrames) -> list[Candidate]:
    tried = []
    for row in frames.trials.itertuples():
        value = getattr(row, frames.rule)
        counts = row.status == "finished" or (row.status == "diverged" and frames.rule == "best")
        key = TrialKey(int(row.configuration), str(row.arm), int(row.replicate))  # type: ignore[arg-type]
        drawn = {"data_set": str(frames.configurations.loc[key.configuration, "data_set"])}
        tried.append(Candidate(key, drawn, float(value) if counts else None))
    return tried


def _measured(frames: StudyFrames) -> pd.DataFrame:
    """The measures of each finished trial at the epoch by which it is judged, or at its last without one."""
    names = [name for name in MEASURES if name in frames.epochs]
    trials = frames.trials.loc[frames.trials["status"] == "finished", [*KEY, f"{frames.rule}_epoch"]]
    rows = frames.epochs[[*KEY, "epoch", *names]].merge(trials, on=KEY)
    judged = rows[f"{frames.rule}_epoch"]
    # Splits that choose nothing may have no validation rows.
    last = rows.groupby(KEY)["epoch"].transform("max")
    return rows[rows["epoch"] == judged.fillna(last)].reset_index(drop=True)


def _rows(measured: pd.DataFrame, key: TrialKey) -> pd.DataFrame:
    own = (measured["configuration"] == key.configuration) & (measured["arm"] == key.arm)
    return measured[own].sort_values("replicate")


def _winner(frames: StudyFrames, name: str, arm: str, key: TrialKey, rows: pd.DataFrame) -> SetWinner:
    drawn = frames.configurations.loc[key.configuration]
    references = (frames.document.get("reference") or {}).get("figures") or {}

    def figure(measure: Measure) -> RegressionFigure:
        theirs = ((references.get(measure) or {}).get(name) or {}).get(arm)
        mean = _mean(rows[measure])
        return {**mean, **_beside(mean["mean"], theirs, lower_is_better=measure == "test_rmse")}

    rmse = figure("test_rmse")
    return {
        "configuration": key.configuration,
        "hyperparameters": {each: drawn[each] for each in frames.varied if each != "data_set"},
        "splits": len(rows),
        "test_rmse": rmse,
        "test_log_likelihood": figure("test_log_likelihood"),
        "implied": implied(rmse["mean"]),
        "reference_implied": None if rmse["reference"] is None else implied(rmse["reference"]),
    }


def _mean(values: pd.Series[Any]) -> MeanWithError:
    return mean_with_error(values.to_numpy(dtype=float))


def _beside(ours: float, theirs: list[float] | None, lower_is_better: bool) -> BesideReference:
    """The reference's figure and standard error, and whether ours lies within two of its errors, is better or worse."""
    if theirs is None:
        return {"reference": None, "reference_error": None, "within": None, "beside": None}
    mean, error = (float(value) for value in theirs)
    worse = ours - mean if lower_is_better else mean - ours
    within = abs(worse) <= WITHIN * error
    return {
        "reference": mean,
        "reference_error": error,
        "within": within,
        "beside": "within" if within else "worse" if worse > 0 else "better",
    }


def _difference(
    frames: StudyFrames, measured: pd.DataFrame, winners: Mapping[Place, TrialKey], name: str
) -> RmseDifference | None:
    """The RMSE of the first arm less that of the second, over the splits that both have; None without two of them."""
    keys = [winners.get(Place(arm, name)) for arm in frames.arms[:2]]
    if len(keys) < 2 or None in keys:
        return None
    first, second = (_rows(measured, key).set_index("replicate")["test_rmse"] for key in keys if key is not None)
    differences = (first - second).dropna()
    if len(differences) < 2:
        return None
    mean = _mean(differences)
    error = mean["standard_error"]
    decided = error is not None and abs(mean["mean"]) > WITHIN * error
    return {"arms": frames.arms[:2], "splits": len(differences), **mean, "decided": decided}


def _sentences(arms: list[str], sets: Mapping[str, DataSet], label: str | None) -> list[str]:
    whole = {name: entry for name, entry in sets.items() if set(entry["arms"]) == set(arms)}
    if not whole:
        return ["No data set has a result of every arm yet."]
    sentences = []
    beside = {
        name: {arm: w["test_rmse"]["beside"] for arm, w in entry["arms"].items()} for name, entry in whole.items()
    }
    beside = {name: verdicts for name, verdicts in beside.items() if None not in verdicts.values()}
    if beside:
        within = [name for name, verdicts in beside.items() if set(verdicts.values()) == {"within"}]
        apart = [
            f"{name} ({', '.join(f'{arm} {verdict}' for arm, verdict in verdicts.items())})"
            for name, verdicts in beside.items()
            if name not in within
        ]
        sentences.append(
            f"On {len(within)} of {len(beside)} data sets the test RMSE of every arm is within two standard errors of "
            f"that of {label}" + (f"; not on {', '.join(apart)}." if apart else ".")
        )
    differences = {name: entry["difference"] for name, entry in whole.items() if entry["difference"]}
    if differences:
        better = {
            arm: [name for name, d in differences.items() if d["decided"] and (d["mean"] > 0) == bool(place)]
            for place, arm in enumerate(arms[:2])
        }
        parts = [f"{arm} is better on {', '.join(names)}" for arm, names in better.items() if names]
        sentences.append(
            f"By more than two standard errors of the paired difference over splits, {'; '.join(parts)}; "
            f"on the other {len(differences) - sum(map(len, better.values()))} of {len(differences)} neither is."
            if parts
            else f"On none of {len(differences)} data sets do {arms[0]} and {arms[1]} differ by more than two standard "
            "errors of the paired difference over splits."
        )
    return sentences or [f"{len(whole)} data sets have a result of every arm."]


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
