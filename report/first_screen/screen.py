"""The first screen of a study: the values of `templates/first_screen.html`, and its figure for papers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from report.document import Numbers, Picture
from report.drawing.comparisons import draw_comparisons
from report.first_screen.arm_table import arm_table
from report.first_screen.lines import DEVIATIONS, OPPOSITE, POINTS, Comparisons, Line, comparisons_of
from report.first_screen.location import location_section, location_sentence
from report.first_screen.scale import Scale
from report.first_screen.sentence import sentence
from report.sections.cautions import cautions
from report.words import minus, signed, text
from robustness.statistics.equivalence import Verdict

if TYPE_CHECKING:
    from report.analysis import Analysis

DENSE = 6
"""With more lines than these, they stand closer."""
WIDEST_BESIDE = 5
"""A table with more columns than these stands above the warnings."""
SHOWN_WARNINGS = 3
"""The others are folded."""
NO_WARNINGS = "No warnings: every planned trial has ended, and there are enough results to judge by."


@dataclass(frozen=True)
class DrawnLine:
    """A comparison: places are in per cent of the figure's width."""

    first: str
    second: str
    task: str | None
    place: float
    ends: tuple[float, float] | None
    value: str
    """Without the unit, where that is the axis's."""
    interval: str
    """`[−56 to −35]`, or that there is none."""
    verdict: Verdict
    words: str
    """What the verdict means here: `radial less sensitive`."""


@dataclass(frozen=True)
class DrawnComparisons:
    """The figure."""

    lines: tuple[DrawnLine, ...]
    axis: str
    ticks: tuple[tuple[float, str], ...]
    zero: float
    margin: tuple[float, float] | None
    """Where the shaded band begins and how wide it is."""
    dense: bool
    """Whether its many lines stand closer."""
    sides: tuple[tuple[str, str], tuple[str, str]]
    """What it means to lie left and right of zero, each in two lines."""
    note: str


@dataclass(frozen=True)
class FirstScreen:
    """All that stands on the first screen."""

    name: str
    sentence: str
    location: str
    """Where the difference of the verdict lies; empty where that is not shown."""
    location_section: tuple[str, str] | None
    """Name and title of the section that shows where."""
    further: tuple[str, ...]
    """The other sentences of a study that stands alone."""
    comparisons: DrawnComparisons | None
    arms: Numbers | None
    arms_caption: str
    best: frozenset[tuple[int, int]]
    """The cells of `arms`, by row and column, with the best score of their column."""
    stacked: bool
    """Whether the table is too wide to stand beside the warnings."""
    places: tuple[int, ...]
    """The colour of each row of `arms`: its arm's place in the study."""
    warnings: tuple[str, ...]
    folded: tuple[str, ...]
    """The warnings beyond the first few."""


def first_screen(analysis: Analysis) -> FirstScreen:
    """The first screen of a study."""
    compared, table = comparisons_of(analysis), arm_table(analysis)
    warned = cautions(analysis)
    names = [text(arm, 60) for arm in analysis.arms.names]
    rows = table.numbers.rows if table else ()
    return FirstScreen(
        name=text(analysis.frames.name, 200),
        sentence=sentence(analysis, compared),
        location=location_sentence(analysis),
        location_section=location_section(analysis),
        further=tuple(analysis.results["verdict"][1:3]) if analysis.alone else (),
        comparisons=None if compared is None else _drawn(compared),
        arms=table.numbers if table else None,
        arms_caption=table.caption if table else "",
        best=table.best if table else frozenset(),
        stacked=table is not None and len(table.numbers.columns) > WIDEST_BESIDE,
        places=tuple(names.index(row[0]) if row[0] in names else 0 for row in rows),
        warnings=tuple(warned[:SHOWN_WARNINGS]),
        folded=tuple(warned[SHOWN_WARNINGS:]),
    )


def verdict_picture(analysis: Analysis) -> Picture | None:
    """The figure of the first screen as a picture for papers and notebooks; None where nothing is compared."""
    compared = comparisons_of(analysis)
    if compared is None:
        return None
    said = "; ".join(
        f"{_label(line)} {line.value} ({_interval(compared, line)}): {line.verdict}" for line in compared.lines
    )
    return Picture("verdict", f"{compared.axis}, with 95 % intervals", f"{said}.", partial(draw_comparisons, compared))


def _drawn(compared: Comparisons) -> DrawnComparisons:
    margin = compared.margin
    reached = [value for line in compared.lines for value in line.on_axis()]
    scale = Scale.over([*reached, *(() if margin is None else (-margin, margin))])
    band = None if margin is None else (scale.place(-margin), round(scale.place(margin) - scale.place(-margin), 3))
    write = _tick_writer(compared, scale)
    return DrawnComparisons(
        lines=tuple(_line(compared, line, scale) for line in compared.lines),
        axis=compared.axis,
        ticks=tuple((scale.place(tick), write(tick)) for tick in scale.ticks),
        zero=scale.place(0.0),
        margin=band,
        dense=len(compared.lines) > DENSE,
        sides=sides(compared),
        note=_note(compared),
    )


def _line(compared: Comparisons, line: Line, scale: Scale) -> DrawnLine:
    first, second = (text(arm, 40) for arm in line.arms)
    place, *ends = (scale.place(value) for value in line.on_axis())
    return DrawnLine(
        first=first,
        second=second,
        task=None if line.task is None else text(line.task, 40),
        place=place,
        ends=(ends[0], ends[1]) if ends else None,
        value=line.value if line.unit != compared.unit else line.number,
        interval=f"[{line.ends}]" if line.ends else "no interval",
        verdict=line.verdict,
        words="" if line.better is None else f"{text(line.better, 40)} {compared.better}",
    )


def _interval(compared: Comparisons, line: Line) -> str:
    return f"{compared.interval} {line.ends}" if line.ends else "no interval"


def _label(line: Line) -> str:
    task = "" if line.task is None else f" on {text(line.task, 40)}"
    return f"{text(line.arms[0], 40)} vs {text(line.arms[1], 40)}{task}"


def sides(compared: Comparisons) -> tuple[tuple[str, str], tuple[str, str]]:
    """What it means for a line to lie left and right of zero, each in two lines."""
    against = {line.arms[1] for line in compared.main}
    if len(compared.main) == 1:
        first, second = (text(arm, 24) for arm in compared.main[0].arms)
        both = ((first, compared.better), (second, compared.better))
    elif len(against) == 1:
        other = text(next(iter(against)), 24)
        both = ((compared.better, f"than {other}"), (OPPOSITE[compared.better], f"than {other}"))
    else:
        both = (("first arm", compared.better), ("second arm", compared.better))
    return (both[1], both[0]) if compared.more_is_better else (both[0], both[1])


def _note(compared: Comparisons) -> str:
    """How to read the figure."""
    parts = [f"Differences: {compared.direction}, with {compared.interval}s."]
    if compared.margin is not None:
        size = f"{100 * compared.margin:g} points" if compared.unit == POINTS else f"{compared.margin:g}"
        parts.append(f"Shaded: the study's margin of equivalence, ±{size}.")
    elif not compared.margin_set:
        parts.append(f"No margin of equivalence was set, so no pair can be called equivalent{_undecided(compared)}.")
    if compared.unit == DEVIATIONS:
        parts.append(
            "Scores of different tasks are averaged in standard deviations (SD): 1 SD is how far the scores on a task, "
            "of all arms and configurations, typically lie from their mean."
        )
    if any(line.unit != compared.unit for line in compared.lines):
        parts.append("Numbers of single tasks are in the metric's own unit.")
    if compared.correction is not None:
        apart = "" if not _exclude_zero(compared) else ", so an undecided one may exclude 0"
        parts.append(f"Verdicts use {compared.correction}; intervals do not{apart}.")
    return " ".join(parts)


def _exclude_zero(compared: Comparisons) -> bool:
    """Whether the interval of an undecided comparison excludes 0."""
    return any(
        line.verdict == "undecided" and line.low is not None and line.high is not None and line.low * line.high > 0
        for line in compared.lines
    )


def _undecided(compared: Comparisons) -> str:
    """`; all 6 undecided intervals lie within ±0.004`: the widest bound on what is not decided."""
    lines = [line for line in compared.main if line.verdict == "undecided"]
    ends = [
        abs(end) for line in lines if line.low is not None and line.high is not None for end in (line.low, line.high)
    ]
    if not lines or len(ends) < 2 * len(lines):
        return ""
    which = "the undecided interval lies" if len(lines) == 1 else f"{_all(len(lines))} undecided intervals lie"
    return f"; {which} within {compared.unit.bound(max(ends))}{compared.unit.words}"


def _all(count: int) -> str:
    return "both" if count == 2 else f"all {count}"


def _tick_writer(compared: Comparisons, scale: Scale) -> Callable[[float], str]:
    factor = compared.unit.factor
    decimals = next((n for n in range(7) if abs(round(factor * scale.step, n) - factor * scale.step) < 1e-9), 6)
    return lambda value: minus(signed(factor * value, decimals)) if compared.unit == POINTS or value else "0"
