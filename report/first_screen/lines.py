"""The comparisons of a study as lines of one figure: each difference with its 95 % interval, and its verdict.

A difference is that of the arm named first in a line less that of the other. Fractions differ by percentage points,
scores by units of the metric; over several tasks scores are in standard deviations of their task.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeVar

from report.comparison import favoured, second_minus_first, task_units
from report.records.comparisons import PairedComparison, ScoreComparison
from report.records.estimates import JudgedOutcome
from report.sections.equivalence import margins_in
from report.sections.score_verdict import better_arm
from report.sections.tasks import OnTask
from report.sections.verdict import decided
from report.words import (
    TASK_UNIT,
    beside_zero,
    enough_decimals,
    has_interval,
    minus,
    p_words,
    score_decimals,
    signed,
    text,
)
from robustness.statistics.equivalence import Verdict
from robustness.statistics.means import METHOD

if TYPE_CHECKING:
    from report.analysis import Analysis
    from report.sections.finals.entries import FinalsResults

MOST_LINES = 12
"""With more lines than these, single tasks have none."""
_Entry = TypeVar("_Entry", PairedComparison, ScoreComparison)


@dataclass(frozen=True)
class Unit:
    """How differences are written."""

    words: str
    factor: float
    decimals: int

    def write(self, value: float) -> str:
        """`−45`, and more decimals where it would be rounded to 0."""
        return minus(beside_zero(value, self._signed, self.decimals))

    def beside(self, value: float, low: float, high: float) -> Unit:
        """The same unit with the decimals that an estimate and the ends of its interval need."""
        return replace(self, decimals=enough_decimals(value, (low, high), self._signed, self.decimals))

    def _signed(self, value: float, decimals: int) -> str:
        return signed(self.factor * value, decimals)

    def bound(self, value: float) -> str:
        """`±0.004`, rounded away from 0."""
        size = 10.0**self.decimals
        return f"±{math.ceil(abs(self.factor * value) * size - 1e-9) / size:.{self.decimals}f}"

    def plainly(self, value: float) -> str:
        """The value to the unit's own decimals."""
        return minus(self._signed(value, self.decimals))


LESS_SENSITIVE = "less sensitive"
OPPOSITE = {LESS_SENSITIVE: "more sensitive", "better": "worse"}
POINTS = Unit(" points", 100.0, 0)
DEVIATIONS = Unit(" SD", 1.0, 2)


@dataclass(frozen=True)
class Line:
    """One comparison."""

    arms: tuple[str, str]
    difference: float
    """Of the first arm less the second, in the unit of the JSON."""
    low: float | None
    high: float | None
    verdict: Verdict
    better: str | None
    """The arm that the difference favours; None unless the verdict is `different`."""
    unit: Unit
    task: str | None = None
    """None over all tasks."""
    scale: float = 1.0
    """What one unit of the difference is on the axis."""
    p_value: float | None = None
    p_adjusted: float | None = None
    test: str = ""
    """The test of the difference with its p-value, `score test, p = 0.0082`; empty without one."""

    @property
    def value(self) -> str:
        """`−45 points`."""
        return f"{self.number}{self.unit.words}"

    @property
    def number(self) -> str:
        """`−45`, with as many decimals as the ends of its interval."""
        if self.low is None or self.high is None:
            return self.unit.write(self.difference)
        return self.unit.beside(self.difference, self.low, self.high).plainly(self.difference)

    @property
    def ends(self) -> str:
        """`−56 to −35`; nothing without an interval."""
        if self.low is None or self.high is None:
            return ""
        unit = self.unit.beside(self.difference, self.low, self.high)
        return f"{unit.plainly(self.low)} to {unit.plainly(self.high)}"

    def on_axis(self) -> list[float]:
        """Where the difference and, if known, the ends of its interval lie on the axis."""
        ends = () if self.low is None or self.high is None else (self.low, self.high)
        return [self.scale * value for value in (self.difference, *ends)]


@dataclass(frozen=True)
class Comparisons:
    """All lines, and what their axis shows."""

    lines: tuple[Line, ...]
    quantity: str
    """What differs: `share of configurations that learned nothing`, `mean validation AUC`."""
    unit: Unit
    """That of the axis."""
    margin: float | None
    """Within which arms count as equivalent, on the axis; None without one, or where it is not in the axis's unit."""
    margin_set: bool
    """Whether the study set a margin at all."""
    better: str
    """What the better arm is: `less sensitive`, `better`."""
    more_is_better: bool
    correction: str | None
    """How verdicts are corrected for the number of comparisons; None for a single one."""
    interval: str = "95 % interval"

    @property
    def main(self) -> list[Line]:
        """The lines that the verdict is about: over all tasks."""
        return [line for line in self.lines if line.task is None]

    @property
    def axis(self) -> str:
        """The label of the axis."""
        words = {POINTS: ", percentage points", DEVIATIONS: f", {TASK_UNIT} (SD)"}
        return f"Difference in the {self.quantity}{words.get(self.unit, '')}"

    @property
    def direction(self) -> str:
        """Which of two arms is subtracted from which."""
        if len(self.main) == 1:
            return f"{text(self.main[0].arms[0], 40)} minus {text(self.main[0].arms[1], 40)}"
        return "the arm named first minus the other"


def comparisons_of(analysis: Analysis) -> Comparisons | None:
    """The comparisons of a study; None where no two arms can be compared."""
    finals = analysis.results.get("finals")
    if finals is not None:
        found = _of_final_models(finals)
    elif analysis.alone:
        return None
    else:
        found = _by_fractions(analysis) if analysis.frames.has_thresholds else _by_scores(analysis)
    if not found.lines:
        return None
    return replace(found, lines=tuple(found.main)) if len(found.lines) > MOST_LINES else found


def _by_fractions(analysis: Analysis) -> Comparisons:
    tasks, same = _several_tasks(analysis), _equivalent(analysis, analysis.primary)
    lines: list[Line] = []
    for entry in analysis.results["paired"]:
        if (entry["epoch"], entry["outcome"]) != (analysis.epoch, analysis.primary):
            continue
        lines += _line(entry, entry["difference"], decided(entry), POINTS, equivalent=set(entry["arms"]) in same)
        for task in tasks:
            own = _of_arms(task["paired"], entry["arms"])
            lines += _line(own, own["difference"], decided(own), POINTS, task["task"])
    good = analysis.primary == "good"
    return Comparisons(
        lines=tuple(lines),
        quantity=f"share of {'good configurations' if good else 'configurations that learned nothing'}",
        unit=POINTS,
        margin=margins_in(analysis.frames.document)[0],
        margin_set=margins_in(analysis.frames.document)[0] is not None,
        better=LESS_SENSITIVE,
        more_is_better=good,
        correction=_correction(analysis),
        interval=_interval(analysis),
    )


def _by_scores(analysis: Analysis) -> Comparisons:
    frames, same = analysis.frames, _equivalent(analysis, None)
    tasks, sample = _several_tasks(analysis), analysis.study.sample
    # Scores of paired arms are averaged over tasks in standard deviations (`report.comparison.score_comparison`).
    spread = _spread_by_task(analysis) if tasks and sample.paired else {}
    shown = [entry for entry in analysis.results["scores"] if entry["epoch"] == analysis.epoch]
    raw = [own for task in tasks for own in task["scores"]] if spread else shown
    values = [value for own in raw for value in (own["mean_difference"], own["low"], own["high"])]
    own_unit = Unit("", 1.0, score_decimals(frames.metric, values))
    unit = DEVIATIONS if spread else own_unit
    lines: list[Line] = []
    for entry in shown:
        better = better_arm(entry, frames)
        lines += _line(entry, entry["mean_difference"], better, unit, equivalent=set(entry["arms"]) in same)
        for task in tasks:
            own = _of_arms(task["scores"], entry["arms"])
            better, scale = better_arm(own, frames), 1.0 / spread.get(task["task"], 1.0)
            lines += _line(own, own["mean_difference"], better, own_unit, task["task"], scale)
    return Comparisons(
        lines=tuple(lines),
        quantity=f"mean {analysis.metric_words}",
        unit=unit,
        margin=None if spread else margins_in(frames.document)[1],
        margin_set=margins_in(frames.document)[1] is not None,
        better="better",
        more_is_better=not analysis.goal.minimizes,
        correction=_correction(analysis),
        interval=_interval(analysis),
    )


def _several_tasks(analysis: Analysis) -> list[OnTask]:
    """The tasks, if there is more than one: else its lines would be those of the whole study."""
    tasks = analysis.results["tasks"]
    return tasks["on"] if tasks and len(tasks["on"]) > 1 else []


def _of_final_models(finals: FinalsResults) -> Comparisons:
    unit = Unit("", 1.0, 3)
    lines: list[Line] = []
    for entry in finals["comparisons"]:
        first, second = entry["arms"]
        difference, low, high = entry["difference"], entry["low"], entry["high"]
        if difference is None:
            continue
        better = favoured(entry["arms"], difference, entry["p_adjusted"], more_is_better=True)
        start, end = (None, None) if low is None or high is None else (0.0 - high, 0.0 - low)
        verdict: Verdict = "undecided" if better is None else "different"
        lines.append(Line((second, first), 0.0 - difference, start, end, verdict, better, unit))
    planned = " except for the planned comparison" if finals["planned"] else ""
    return Comparisons(
        lines=tuple(lines),
        quantity="test AUC of the final models",
        unit=unit,
        margin=None,
        margin_set=False,
        better="better",
        more_is_better=True,
        correction=f"Holm's correction{planned}" if len(lines) > 1 else None,
    )


def _line(
    entry: PairedComparison | ScoreComparison,
    difference: float | None,
    better: str | None,
    unit: Unit,
    task: str | None = None,
    scale: float = 1.0,
    equivalent: bool = False,
) -> Iterator[Line]:
    """The line of a comparison; none without a difference."""
    change = second_minus_first(entry, difference)
    if change["difference"] is None:
        return
    first, second = entry["arms"]
    low, high = (change["low"], change["high"]) if has_interval(change) else (None, None)
    verdict: Verdict = "equivalent" if equivalent else "undecided" if better is None else "different"
    favours = None if equivalent else better
    # Equivalence is shown by another test.
    test = "" if equivalent or entry["p_adjusted"] is None else f"{_test_name(entry)}, {p_words(entry['p_adjusted'])}"
    tests = entry["p_value"], entry["p_adjusted"], test
    yield Line((second, first), change["difference"], low, high, verdict, favours, unit, task, scale, *tests)


def _test_name(entry: PairedComparison | ScoreComparison) -> str:
    """`score test`, `Welch test`."""
    return "Student's test, widened for skewness" if entry["test"] == METHOD else f"{entry['test']} test"


def _of_arms(entries: Sequence[_Entry], arms: Sequence[str]) -> _Entry:
    return next(entry for entry in entries if entry["arms"] == arms)


def _equivalent(analysis: Analysis, outcome: JudgedOutcome | None) -> list[set[str]]:
    """The pairs of arms that are shown to be equivalent by an outcome, or by their scores."""
    stopped = (analysis.results["stopped"] or {}).get("comparisons") or []
    early = [set(entry["arms"]) for entry in stopped if entry.get("equivalent")] if outcome == analysis.primary else []
    found = analysis.results["equivalence"]
    compared = found["comparisons"] if found else []
    shown = [e for e in compared if e["verdict"] == "equivalent" and e["outcome"] == outcome]
    return early + [set(entry["weights"]) for entry in shown]


def _spread_by_task(analysis: Analysis) -> dict[str, float]:
    """The standard deviation of the scores on each task, by which `report.comparison.normalised` divides."""
    planned = analysis.study.planned
    known = task_units(planned, planned[f"score_{analysis.epoch}"])["scale"].to_dict()
    return {task: float(known.get(place, 1.0)) for place, task in enumerate(analysis.frames.tasks)}


def _correction(analysis: Analysis) -> str | None:
    count = len(analysis.frames.compared)
    return f"{analysis.frames.correction} over {count} comparisons" if count > 1 else None


def _interval(analysis: Analysis) -> str:
    return "95 % interval" if analysis.study.sample.watch is None else "95 % confidence sequence"
