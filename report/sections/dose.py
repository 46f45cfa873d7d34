"""Arms that are one method with different values of one numeric option: how the metric depends on that value, the dose.

    arms:
      - mfvi
      - {name: truncated_0.5, method: mfvi_truncated, threshold: 0.5}
      - {name: truncated_1, method: mfvi_truncated, threshold: 1.0}

Here `threshold` is the dose, and `mfvi` an arm without it. Where one hyperparameter alone differs between
configurations (say, the number of variational samples), there is a line for each of its values.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, TypedDict

import pandas as pd

from report.comparison import by_configuration, side_by_side
from report.document import Numbers, Picture, Section
from report.drawing.axes import SINGLE, legend_line, mark_single
from report.drawing.style import ARM_COLOURS, INK, MARKERS, panel
from report.frames import Stored, StudyFrames
from report.judged_study import JudgedStudy
from report.records.comparisons import Corrected, TestedDifference
from report.records.estimates import Mean, known
from report.records.families import Evidence, Uncorrected, with_holm
from report.sections.topic import OwnResults
from report.words import (
    ONE_TEST,
    bracketed,
    capitalised,
    is_significant,
    mean_change,
    metric_words,
    number,
    p_words,
    score,
    signed_to,
    spaced,
    text,
    typeset,
)
from robustness.statistics.means import METHOD, mean_test

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from report.analysis import Analysis

MOST_LINES = 6


class ArmMean(Mean):
    """The mean metric of an arm."""

    arm: str


class DoseMean(ArmMean):
    """The mean metric at a dose."""

    dose: float


class DoseLine(TypedDict):
    """The metric by dose for one value of the hyperparameter that varies."""

    value: object
    units: int
    doses: list[DoseMean]
    without: list[ArmMean]


class DoseDifference(TestedDifference, Corrected):
    """A dose against an arm without one."""

    value: object
    arm: str
    dose: float
    against: str


class DoseParts(TypedDict):
    """The metric by dose, and each dose against each arm without one."""

    method: str
    option: str
    by: str | None
    unit: Literal["replicate", "configuration"]
    lines: list[DoseLine]
    differences: list[DoseDifference]
    alone: bool


class DoseResults(DoseParts, OwnResults):
    """The metric by dose, in numbers and in words."""


def results(study: JudgedStudy) -> DoseResults | None:
    """The metric by dose with intervals, and each dose against each arm without one; None where there are no doses.

    The unit is the configuration; where a line is one configuration, it is the replicate.
    """
    frames = study.frames
    dose = find_dose(frames)
    if dose is None:
        return None
    method, option, doses = dose
    without = [arm for arm in frames.arms if arm not in doses]
    scores = side_by_side(study.trials, study.trials[f"score_{frames.rule}"], frames.arms)
    by, groups = _groups(frames)
    watch = study.sample.watch
    mean, difference = (estimate, _difference) if watch is None else (watch.mean, watch.difference)
    lines: list[DoseLine] = []
    family: list[Uncorrected[DoseDifference]] = []
    for value, numbers in groups:
        own = scores[scores.index.get_level_values("configuration").isin(numbers)]
        units = own if len(numbers) == 1 else by_configuration(own)
        lines.append(
            {
                "value": value,
                "units": len(units),
                "doses": [{"arm": arm, "dose": doses[arm], **mean(units[arm])} for arm in doses],
                "without": [{"arm": arm, **mean(units[arm])} for arm in without],
            }
        )
        for other in without:
            for arm in doses:
                tested, evidence = difference(units[arm] - units[other])
                entry: DoseDifference = {
                    "value": value,
                    "arm": arm,
                    "dose": doses[arm],
                    "against": other,
                    **tested,
                    "p_adjusted": None,
                }
                family.append(Uncorrected(entry, evidence))
    parts: DoseParts = {
        "method": method,
        "option": option,
        "by": by,
        "unit": "replicate" if len(groups[0][1]) == 1 else "configuration",
        "lines": lines,
        "differences": with_holm(family),
        # With a line for each configuration there is no sample of configurations.
        "alone": all(len(numbers) == 1 for _, numbers in groups),
    }
    return {**parts, "sentences": _sentences(parts, frames)}


def find_dose(frames: StudyFrames) -> tuple[str, str, dict[str, float]] | None:
    """The method, its option and each arm's value, in rising order: of three arms or more that differ in nothing else.

    Two values of an option are a comparison; a line needs three.
    """
    by_method: dict[str, list[Stored]] = {}
    for arm in frames.document["arms"]:
        by_method.setdefault(str(arm["method"]), []).append(arm)
    for method, arms in by_method.items():
        names = sorted({name for arm in arms for name in arm.get("options") or {}})
        differing = [name for name in names if len({repr(arm["options"].get(name)) for arm in arms}) > 1]
        if len(arms) < 3 or len(differing) != 1:
            continue
        values = {str(arm["label"]): arm["options"].get(differing[0]) for arm in arms}
        if all(isinstance(value, int | float) and not isinstance(value, bool) for value in values.values()):
            ordered = sorted(values.items(), key=lambda item: float(item[1]))
            return method, differing[0], {label: float(value) for label, value in ordered}
    return None


def _groups(frames: StudyFrames) -> tuple[str | None, list[tuple[Any, list[int]]]]:
    """The one hyperparameter that varies with each of its values and their configurations; or all in one group."""
    if len(frames.varied) == 1:
        column = frames.configurations[frames.varied[0]]
        values = sorted(column.dropna().unique().tolist())
        if len(values) <= MOST_LINES and column.notna().all():
            return frames.varied[0], [(value, column.index[column == value].tolist()) for value in values]
    return None, [(None, frames.configurations.index.tolist())]


def estimate(values: pd.Series[Any]) -> Mean:
    """The mean with its interval (`robustness.statistics.means`), which is NaN where there is none."""
    numbers = values.to_numpy(dtype=float)
    interval = mean_test(numbers).interval
    mean = float(numbers.mean()) if len(numbers) else None
    return {"mean": mean, "low": interval.low, "high": interval.high, "interval": interval.method}


def _difference(values: pd.Series[Any]) -> tuple[TestedDifference, Evidence | None]:
    mean = estimate(values)
    tested: TestedDifference = {
        "difference": mean["mean"],
        "low": mean["low"],
        "high": mean["high"],
        "interval": mean["interval"],
        "p_value": mean_test(values.to_numpy(dtype=float)).p_value,
        "test": METHOD,
    }
    return tested, None


def _sentences(dose: DoseParts, frames: StudyFrames) -> list[str]:
    measured = [entry for entry in dose["differences"] if entry["difference"] is not None]
    if not measured:
        return []
    metric = metric_words(frames.metric)
    option = spaced(dose["option"])
    sentences = []
    for line in dose["lines"]:
        own = [entry for entry in measured if entry["value"] == line["value"]]
        if not own:
            continue
        best = max(own, key=lambda entry: known(entry["difference"]))
        where = "" if dose["by"] is None else f"With {spaced(dose['by'])} {line['value']:g}, "
        sentences.append(
            f"{where}{best['against']} gains most in {metric} from {option} {best['dose']:g}: {mean_change(best)}, "
            f"from {_arm_mean(line, best['against'])} to {_arm_mean(line, best['arm'])}; {p_words(best['p_value'])}"
            + ("." if best["p_value"] is None else f", {p_words(best['p_adjusted'])} after {frames.correction}.")
        )
    better, worse = (
        sum(is_significant(entry["p_adjusted"]) and sign * known(entry["difference"]) > 0 for entry in measured)
        for sign in (1, -1)
    )
    sentences.append(
        f"Of {len(measured)} comparisons with an arm without {option}, {better} are significantly better and {worse} "
        f"significantly worse after {frames.correction} over all of them."
    )
    return sentences


def _arm_mean(line: DoseLine, arm: str) -> str:
    return next(f"{entry['mean']:.3f}" for entry in (*line["doses"], *line["without"]) if entry["arm"] == arm)


def sections(analysis: Analysis) -> Iterator[Section]:
    """The metric by dose, with dotted lines for the arms without one; none where there are no doses or no results."""
    dose = analysis.results.get("dose")
    if not dose or not any(line["units"] for line in dose["lines"]):
        return
    option = text(spaced(dose["option"]), 40)
    by = None if dose["by"] is None else text(spaced(dose["by"]), 40)
    picture = Picture(
        "dose",
        f"{analysis.metric_words} by {option}",
        f"The mean {analysis.metric_words} against {option} of {text(dose['method'], 40)}"
        + ("" if by is None else f", a line for each of the {by}")
        + "; dotted lines are the arms without it.",
        partial(_draw, analysis, dose, option, by),
    )
    rows = tuple(
        (
            "all" if entry["value"] is None else number(entry["value"]),
            f"{number(entry['dose'])} against {text(entry['against'], 40)}",
            _mean(dose, entry),
            bracketed(entry["difference"], entry["low"], entry["high"], signed_to(4)),
            p_words(entry["p_value"]),
            p_words(entry["p_adjusted"]),
        )
        for entry in dose["differences"]
    )
    columns = (
        by or "Configurations",
        option,
        f"Mean {analysis.metric_words}",
        "Difference",
        "p",
        analysis.frames.corrected,
    )
    notes = (
        f"The unit is the {dose['unit']}; bars are 95 % intervals of the mean, dotted lines the arms without {option}. "
        f"Differences are paired. {ONE_TEST} "
        f"{capitalised(analysis.frames.correction)} is over all {len(rows)} comparisons.",
        *((SINGLE,) if any(entry["low"] is None for line in dose["lines"] for entry in line["doses"]) else ()),
    )
    reading = dose["sentences"][-1] if dose["sentences"] else "There is no arm to compare with."
    yield Section(
        "dose",
        f"{analysis.metric_words[0].upper()}{analysis.metric_words[1:]} by {option}",
        reading,
        (picture,),
        Numbers(columns, rows),
        notes,
    )


def _draw(analysis: Analysis, dose: DoseResults, option: str, by: str | None) -> Figure:
    figure, axes = panel(width=6.4)
    handles: list[Any] = []
    doses = [entry["dose"] for entry in dose["lines"][0]["doses"]]
    wide = min(doses) > 0 and max(doses) > 5 * min(doses)
    for place, line in enumerate(dose["lines"]):
        if not line["units"]:
            continue
        colour, marker = ARM_COLOURS[place % len(ARM_COLOURS)], MARKERS[place % len(MARKERS)]
        # A small step aside, so that the bars of one dose do not lie on each other.
        aside = 0.03 * (place - (len(dose["lines"]) - 1) / 2)
        x = [entry["dose"] * (1 + aside) if wide else entry["dose"] + aside for entry in line["doses"]]
        y = [known(entry["mean"]) for entry in line["doses"]]
        axes.plot(x, y, color=colour, marker=marker, linewidth=1.8, markersize=6)
        for at, entry in zip(x, line["doses"], strict=True):
            if entry["low"] is not None and entry["high"] is not None:
                axes.plot([at, at], [entry["low"], entry["high"]], color=colour, linewidth=1.2)
            else:
                mark_single(axes, at, known(entry["mean"]), colour, marker, 6.0)
        for arm in line["without"]:
            axes.axhline(known(arm["mean"]), color=colour, linewidth=1.8, linestyle=(0, (1.2, 1.8)))
        name = analysis.arms.names[0] if by is None else f"{by} {number(line['value'])}"
        handles.append(legend_line(text(name, 32), colour, marker=marker))
    without = dose["lines"][0]["without"]
    if without:
        names = text(", ".join(entry["arm"] for entry in without), 24)
        handles.append(legend_line(names, INK, linestyle=(0, (1.2, 1.8))))
    if wide:
        axes.set_xscale("log")
        axes.minorticks_off()
    axes.set_xticks(doses, [typeset(number(dose)) for dose in doses])
    axes.set_xlabel(f"{option} of {text(dose['method'], 24)}")
    axes.set_ylabel(f"mean {analysis.metric_words}")
    figure.legend(handles=handles, loc="upper left", ncols=2, fontsize=9.5)
    return figure


def _mean(dose: DoseParts, difference: DoseDifference) -> str:
    line = next(line for line in dose["lines"] if line["value"] == difference["value"])
    entry = next(entry for entry in line["doses"] if entry["arm"] == difference["arm"])
    return bracketed(entry["mean"], entry["low"], entry["high"], score)
