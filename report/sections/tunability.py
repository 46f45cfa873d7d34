"""What tuning gains over the default that the study names: for each arm, and one arm's gain less another's."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias, TypedDict

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from report.comparison import by_configuration, side_by_side, turned
from report.document import Numbers, Picture, Section
from report.drawing.axes import plain_numbers, powers_of_two
from report.drawing.style import INK, panel
from report.frames import TASK_BLOCK, StudyFrames, is_missing
from report.judged_study import JudgedStudy
from report.records.estimates import Difference, Ends, Share
from report.words import DASH, bracketed, exact_percent, named_values, score, signed_to, spaced, text
from robustness.statistics.means import mean_test
from robustness.statistics.proportions import Interval, wilson
from robustness.statistics.tunability import Tunability, tunability, tunability_difference

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from report.analysis import Analysis

Floats: TypeAlias = NDArray[np.float64]
NOT_DRAWN = "no drawn configuration differs from the default in this hyperparameter alone"


class Gain(Ends):
    """What the best of some random trials gains over the default; positive where it is better."""

    trials: int
    gain: float


class GainAlone(TypedDict):
    """The gain of the best drawn value of one hyperparameter, the others as in the default."""

    hyperparameter: str
    values: int
    """Values other than the default's that were drawn beside the default's values of all others."""
    gain: float | None
    why: str | None
    """Why there is none."""


class ArmTunability(Ends):
    """An arm with its default, and what tuning gains over that. The interval is that of the default's mean score."""

    default: float
    replicates: int
    configurations: int
    best: float
    """The best score of a drawn configuration, which is optimistic: the best of noisy scores."""
    gain: float
    better: Share
    """The drawn configurations that are better than the default."""
    gains: list[Gain]
    alone: list[GainAlone]


class GainDifference(Difference):
    """The gain of the first arm less that of the second."""

    arms: list[str]
    trials: int


class TunabilityResults(TypedDict):
    """The study's default and every arm that has a score for it."""

    default: dict[str, object]
    missing: list[str]
    """The arms whose default has no score."""
    arms: dict[str, ArmTunability]
    differences: list[GainDifference]


def results(study: JudgedStudy) -> TunabilityResults | None:
    """Gains at the study's epoch; scores are means over replicates. None if the study names no default."""
    frames, trials = study.frames, study.default
    if frames.default is None or trials is None:
        return None
    drawn = _drawn_scores(study, frames.arms)
    defaults = {arm: _default_scores(frames, trials, [arm]) for arm in frames.arms}
    known = [arm for arm in frames.arms if len(drawn[arm]) > 1 and len(defaults[arm])]
    configuration = frames.default.configurations.iloc[0]
    differences: list[GainDifference] = []
    for first, second in frames.compared:
        both = _default_scores(frames, trials, [first, second])
        if not frames.paired or not len(both):
            continue
        pairs = _scores(study, [first, second])
        if len(pairs) > 1:
            oriented = frames.goal.oriented(pairs.to_numpy(dtype=float))
            found = tunability_difference(oriented[:, 0], oriented[:, 1], both, _sizes(len(pairs)))
            differences += [_difference([first, second], entry) for entry in found]
    return {
        "default": {str(name): value for name, value in configuration.items() if not is_missing(value)},
        "missing": [arm for arm in frames.arms if arm not in known],
        "arms": {arm: _arm(frames, arm, drawn[arm], defaults[arm][:, 0]) for arm in known},
        "differences": differences,
    }


def _scores(study: JudgedStudy, arms: list[str]) -> pd.DataFrame:
    """The mean score of each drawn configuration [configurations, arms] that all of these arms have."""
    return by_configuration(side_by_side(study.planned, study.planned[f"score_{study.frames.rule}"], arms))


def _drawn_scores(study: JudgedStudy, arms: list[str]) -> dict[str, pd.Series[Any]]:
    """The oriented scores of each arm by configuration."""
    return {arm: study.frames.goal.oriented(_scores(study, [arm])[arm]) for arm in arms}


def _default_scores(frames: StudyFrames, trials: pd.DataFrame, arms: list[str]) -> Floats:
    """The oriented scores of the default [replicates, arms], over all tasks, where all of these arms count."""
    planned = trials.loc[trials["replicate"] % TASK_BLOCK < frames.replicates]
    pairs = side_by_side(planned, planned[f"score_{frames.rule}"], arms)
    replicates = pairs.index.get_level_values("replicate") % TASK_BLOCK
    grouped = pairs.groupby(replicates)
    whole = grouped.size() == max(1, len(frames.tasks))
    means: Floats = frames.goal.oriented(grouped.mean()[whole].to_numpy(dtype=float))
    return means


def _sizes(configurations: int) -> list[int]:
    """One trial and its doubles up to a quarter of the configurations, and all of them."""
    doubles = [2**k for k in range(int(math.log2(max(1, configurations // 4))) + 1)]
    return [*doubles, configurations] if configurations > doubles[-1] else doubles


def _arm(frames: StudyFrames, arm: str, drawn: pd.Series[Any], default: Floats) -> ArmTunability:
    scores = drawn.to_numpy(dtype=float)
    mean, n = float(default.mean()), len(scores)
    count = int((scores > mean).sum())
    interval = mean_test(default).interval if len(default) > 1 else Interval.none("a single replicate")
    low, high = frames.goal.oriented(interval.low), frames.goal.oriented(interval.high)
    share = wilson(count / n, n)
    return {
        "default": float(frames.goal.oriented(mean)),
        "low": float(min(low, high)),
        "high": float(max(low, high)),
        "interval": interval.method,
        "replicates": len(default),
        "configurations": n,
        "best": float(frames.goal.oriented(scores.max())),
        "gain": float(scores.max()) - mean,
        "better": {
            "count": count,
            "of": n,
            "fraction": count / n,
            "low": share.low,
            "high": share.high,
            "interval": share.method,
        },
        "gains": [_gain(entry) for entry in tunability(scores, default, _sizes(n))],
        "alone": _alone(frames, arm, drawn, mean),
    }


def _alone(frames: StudyFrames, arm: str, drawn: pd.Series[Any], default: float) -> list[GainAlone]:
    """The gain of each hyperparameter alone, where configurations that allow it were drawn."""
    if frames.default is None:
        return []
    at = frames.default.configurations.iloc[0]
    names = [name for name in frames.varied if frames.applies(name, arm)]
    own = frames.configurations.loc[drawn.index]
    same = {name: _equal(own[name], at.get(name)) for name in names}
    found: list[GainAlone] = []
    for name in names:
        others = [same[other] for other in names if other != name]
        rows = ~same[name] & np.logical_and.reduce([*others, np.ones(len(own), dtype=bool)])
        values = own.loc[rows, name].nunique()
        gain = float(drawn[rows].max()) - default if values else None
        found.append(
            {"hyperparameter": name, "values": int(values), "gain": gain, "why": None if values else NOT_DRAWN}
        )
    return found


def _equal(column: pd.Series[Any], value: object) -> NDArray[np.bool_]:
    """Where a hyperparameter has this value, or none either."""
    return column.isna().to_numpy() if is_missing(value) else (column == value).fillna(False).to_numpy(dtype=bool)


def _gain(entry: Tunability) -> Gain:
    interval = entry.interval
    return {
        "trials": entry.trials,
        "gain": entry.gain,
        "low": interval.low,
        "high": interval.high,
        "interval": interval.method,
    }


def _difference(arms: list[str], entry: Tunability) -> GainDifference:
    interval = entry.interval
    return {
        "arms": arms,
        "trials": entry.trials,
        "difference": entry.gain,
        "low": interval.low,
        "high": interval.high,
        "interval": interval.method,
    }


def sections(analysis: Analysis) -> Iterator[Section]:
    """The gain by number of trials; none without a default that has a score."""
    found = analysis.results["tunability"]
    if found is None or not found["arms"]:
        return
    arms = found["arms"]
    picture = Picture(
        "tunability",
        "Gain over the default by number of trials",
        f"A line for each arm: the expected {analysis.metric_words} of the best of n random trials, compared with the "
        "default; above 0 it is better. Shaded: 95 % intervals, up to a tenth of the configurations.",
        partial(_draw, analysis, arms),
    )
    reading = "; ".join(
        f"{text(arm, 60)}: the best of {entry['configurations']} drawn configurations gains "
        f"{signed_to(3)(entry['gain'])} over the default ({score(entry['default'])}), and "
        f"{entry['better']['count']} of {entry['configurations']} are better than it"
        for arm, entry in arms.items()
    )
    yield Section(
        "tunability",
        "What tuning gains over the default",
        f"{reading}.",
        (picture,),
        Numbers(("", *(text(arm, 40) for arm in arms), *_headings(found["differences"])), tuple(_rows(found))),
        tuple(_notes(found, analysis)),
    )


def _headings(differences: Sequence[GainDifference]) -> list[str]:
    return [f"{text(second, 30)} minus {text(first, 30)}" for first, second in _compared(differences)]


def _compared(differences: Sequence[GainDifference]) -> list[tuple[str, str]]:
    return list(dict.fromkeys((entry["arms"][0], entry["arms"][1]) for entry in differences))


def _rows(found: TunabilityResults) -> Iterator[tuple[str, ...]]:
    arms = found["arms"].values()
    compared = _compared(found["differences"])
    empty = ("",) * len(compared)
    yield ("Default", *(bracketed(arm["default"], arm["low"], arm["high"], score) for arm in arms), *empty)
    yield ("Best drawn", *(score(arm["best"]) for arm in arms), *empty)
    shares = (bracketed(a["better"]["fraction"], a["better"]["low"], a["better"]["high"], exact_percent) for a in arms)
    yield ("Better than the default", *shares, *empty)
    differences = {(*entry["arms"], entry["trials"]): entry for entry in found["differences"]}
    gains = [{gain["trials"]: gain for gain in arm["gains"]} for arm in arms]
    for trials in sorted({size for each in gains for size in each}):
        own = (each.get(trials) for each in gains)
        other = (differences.get((*pair, trials)) for pair in compared)
        yield (
            f"Gain of {trials} {'trial' if trials == 1 else 'trials'}",
            *(
                DASH if each is None else bracketed(each["gain"], each["low"], each["high"], signed_to(3))
                for each in own
            ),
            *(DASH if each is None else bracketed(*turned(each), signed_to(3)) for each in other),
        )
    for name in dict.fromkeys(entry["hyperparameter"] for arm in arms for entry in arm["alone"]):
        entries = [next((e for e in arm["alone"] if e["hyperparameter"] == name), None) for arm in arms]
        if any(entry is not None and entry["gain"] is not None for entry in entries):
            cells = (DASH if e is None or e["gain"] is None else signed_to(3)(e["gain"]) for e in entries)
            yield (f"{text(spaced(name), 40)} alone", *cells, *empty)


def _notes(found: TunabilityResults, analysis: Analysis) -> Iterator[str]:
    yield f"The default: {named_values(found['default'])}. It was trained beside the draws and is not one of them."
    yield (
        "There is no interval for the gain of all trials: resampling cannot produce a configuration better than the "
        "best one drawn. That gain is also optimistic, since the best of noisy scores is partly luck."
    )
    if any(arm["replicates"] < 2 for arm in found["arms"].values()):
        yield (
            "The default was trained once, so its own noise is unknown: intervals hold for this run of it. More "
            "sampling.replicates include it."
        )
    if found["missing"]:
        yield f"No score of the default: {text(', '.join(found['missing']), 200)}."
    alone = [entry for arm in found["arms"].values() for entry in arm["alone"]]
    without = list(dict.fromkeys(entry["hyperparameter"] for entry in alone if entry["gain"] is None))
    if without:
        yield (
            f"Gain of one hyperparameter alone: not for {text(', '.join(map(spaced, without)), 200)}, since "
            f"{NOT_DRAWN}. A grid has such configurations. No surrogate model stands in: its maximum is biased."
        )
    if analysis.study.sample.watch is not None:
        yield "No intervals: they hold only for a number of configurations that was settled beforehand."


def _draw(analysis: Analysis, arms: Mapping[str, ArmTunability]) -> Figure:
    figure, axes = panel()
    for arm, entry in arms.items():
        colour, trials = analysis.arms.colour(arm), [gain["trials"] for gain in entry["gains"]]
        line = {"color": colour, "linestyle": analysis.arms.dash(arm), "marker": analysis.arms.marker(arm)}
        axes.plot(trials, [gain["gain"] for gain in entry["gains"]], label=text(arm, 24), **line)
        known = [gain for gain in entry["gains"] if gain["low"] is not None and gain["high"] is not None]
        low, high = ([float(gain[end] or 0.0) for gain in known] for end in ("low", "high"))
        axes.fill_between([gain["trials"] for gain in known], low, high, color=colour, alpha=0.15, linewidth=0)
    axes.axhline(0, color=INK, linewidth=0.8)
    axes.set_xscale("log")
    powers_of_two(axes.xaxis)
    plain_numbers(axes.xaxis)
    axes.set_xlabel("random trials")
    axes.set_ylabel(f"gain in {analysis.the_metric}")
    axes.legend(fontsize=9)
    return figure
