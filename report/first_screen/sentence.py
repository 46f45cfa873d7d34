"""The verdict in one plain sentence, with the difference and its interval.

The longer sentences of `report.sections.verdict`, with the tests, follow below the first screen.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from report.first_screen.lines import DEVIATIONS, LESS_SENSITIVE, OPPOSITE, POINTS, Comparisons, Line, Unit
from report.records.estimates import known
from report.words import (
    DASH,
    brief,
    listed,
    made_positive,
    p_number,
    p_words,
    percent,
    score_decimals,
    share,
    text,
    units,
)
from robustness.errors import plural
from robustness.statistics.equivalence import Verdict

if TYPE_CHECKING:
    from report.analysis import Analysis

FEW = 3
"""Up to this number, comparisons are named; more are counted."""
LONGEST_NAME = 40


def sentence(analysis: Analysis, comparisons: Comparisons | None) -> str:
    """The answer to the study's question; a study that stands alone opens with a sentence of its own."""
    if analysis.alone:
        return analysis.results["verdict"][0]
    if comparisons is None or not comparisons.main:
        return _nothing_compared(analysis)
    if len(comparisons.main) == 1:
        return _one(analysis, comparisons, comparisons.main[0])
    return _several(comparisons)


def _nothing_compared(analysis: Analysis) -> str:
    frames, arms = analysis.frames, analysis.results["arms"]
    judged = {arm: entry for arm, entry in arms.items() if entry["paired"]}
    if not analysis.trials["counted"].any():
        return "No trial has a result yet."
    if len(frames.arms) > 1:
        missing = "no configuration has a result of every arm" if frames.paired else "not every arm has a result"
        return f"The arms cannot be compared yet: {missing}."
    if not judged:
        return "No trial has a result yet."
    (name, entry), *_ = judged.items()
    if not frames.has_thresholds:
        return f"Median {analysis.metric_words} of {_name(name)}: {_score(analysis, entry['median'])}. {_ALONE}"
    did = "was good" if frames.primary == "good" else "learned nothing"
    return f"{_name(name)} {did} in {share(entry[frames.primary])}. {_ALONE}"


_ALONE = "There is no other arm to compare it with."


def _one(analysis: Analysis, comparisons: Comparisons, line: Line) -> str:
    if line.better is not None:
        numbers = f"{_shares(analysis, line)}a difference of {_amount(comparisons, line)}"
        to = " to its hyperparameters" if comparisons.better == LESS_SENSITIVE else ""
        return f"{_name(line.better)} is {comparisons.better}{to} than {_name(_worse(line))}: {numbers}."
    numbers = f"{_shares(analysis, line)}{_signed(comparisons, line)}"
    first, second = (_name(arm) for arm in line.arms)
    margin = "" if comparisons.margin is None else f" within {_margin(comparisons)}"
    if line.verdict == "equivalent":
        return f"{first} and {second} are equivalent{margin}: {numbers}."
    if margin:
        return f"Neither a difference between {first} and {second} nor equivalence{margin} is shown: {numbers}."
    return f"No significant difference between {first} and {second}: {numbers}."


def _signed(comparisons: Comparisons, line: Line) -> str:
    """`radial minus mfvi is −10 points (95 % interval −34 to +15; score test, p = 0.43)`, as in the figure."""
    name = " standard deviations" if line.unit == DEVIATIONS else line.unit.words
    of = "" if line.unit == POINTS else f" in the {comparisons.quantity}"
    about = [part for part in (line.ends and f"{comparisons.interval} {line.ends}", line.test) if part]
    inside = f" ({'; '.join(about)})" if about else ""
    return f"{' minus '.join(_name(arm) for arm in line.arms)} is {line.number}{name}{of}{inside}"


def _shares(analysis: Analysis, line: Line) -> str:
    """`1 % of 86 configurations learned nothing with radial, 46 % with mfvi, `; nothing by scores."""
    if not analysis.frames.has_thresholds:
        return ""
    arms = list(line.arms) if line.better is None else [line.better, _worse(line)]
    entries = [analysis.results["arms"][arm][analysis.primary] for arm in arms]
    first, second = (f"{percent(known(entry['fraction']))} %" for entry in entries)
    over, other = (units(entry, entry["of"]) for entry in entries)
    did = "were good" if analysis.primary == "good" else "learned nothing"
    of = "" if analysis.frames.paired else f" of {other}"
    return f"{first} of {over} {did} with {_name(arms[0])}, {second}{of} with {_name(arms[1])}, "


def _several(comparisons: Comparisons) -> str:
    by = {each: [line for line in comparisons.main if line.verdict == each] for each in _VERDICTS}
    different = by["different"]
    basis = f"By the {comparisons.quantity}"
    rest = [_rest(comparisons, by[each], each) for each in _VERDICTS[1:]]
    if not different:
        return f"No two of these arms differ significantly{_smallest(comparisons)}."
    return f"{basis}, {_differences(comparisons, different)}{''.join(f'; {words}' for words in rest if words)}."


def _smallest(comparisons: Comparisons) -> str:
    """The comparison with the smallest p-value, without a winner; nothing without a test."""
    tested = [line for line in comparisons.main if line.p_value is not None and line.p_adjusted is not None]
    if not tested:
        return ""
    line = min(tested, key=lambda each: known(each.p_value))
    first, second = (_name(arm) for arm in reversed(line.arms))
    return (
        f" in their {comparisons.quantity}; the smallest p-value is that of {first} and {second}, which differ by "
        f"{_amount(comparisons, line, corrected=True)}"
    )


_VERDICTS: tuple[Verdict, ...] = ("different", "equivalent", "undecided")


def _differences(comparisons: Comparisons, lines: Sequence[Line]) -> str:
    """The differences one by one if they are few, together if they have an arm in common, else the largest of them."""
    better, worse = ({pick(line) for line in lines} for pick in (_better, _worse))
    for shared, other, words in ((better, _worse, comparisons.better), (worse, _better, OPPOSITE[comparisons.better])):
        if len(shared) == 1:
            return f"{_name(next(iter(shared)))} is {words} than {_others(comparisons, lines, other)}"
    largest = max(lines, key=lambda line: abs(line.difference))
    return (
        f"{_name(_better(largest))} is {comparisons.better} than {_name(_worse(largest))} by "
        f"{_amount(comparisons, largest)}, the largest of {len(lines)} significant differences"
    )


def _others(comparisons: Comparisons, lines: Sequence[Line], other: Callable[[Line], str]) -> str:
    """`mfvi by 45 points (95 % interval 35 to 56)` for each, or all of them with the range of their differences."""
    if len(lines) <= FEW:
        return listed([f"{_name(other(line))} by {_amount(comparisons, line)}" for line in lines])
    arms = {arm for line in comparisons.main for arm in line.arms}
    names = [_name(other(line)) for line in lines]
    who = f"all {len(lines)} other arms" if len(lines) == len(arms) - 1 else listed(names)
    unit, amounts = lines[0].unit, sorted(abs(line.difference) for line in lines)
    sizes = dict.fromkeys(_positive(unit, each) for each in (amounts[0], amounts[-1]))
    ends = [made_positive(line.difference, line.low or 0.0, line.high or 0.0) for line in lines if line.low is not None]
    within = [_positive(unit, pick(each[place] for each in ends)) for pick, place in ((min, 1), (max, 2)) if ends]
    intervals = f" ({comparisons.interval}s from {' to '.join(within)})" if within else ""
    return f"{who}, by {' to '.join(sizes)}{unit.words}{intervals}"


def _rest(comparisons: Comparisons, lines: Sequence[Line], verdict: Verdict) -> str:
    """`undecided: radial and mfvi`, or how many are."""
    if not lines:
        return ""
    words = f"equivalent within {_margin(comparisons)}" if verdict == "equivalent" else verdict
    if len(lines) > FEW:
        return f"{plural(len(lines), 'comparison')} are {words}"
    shared = set.intersection(*(set(line.arms) for line in lines))
    if len(lines) > 1 and shared:
        (arm,) = shared
        others = [_name(next(each for each in line.arms if each != arm)) for line in lines]
        return f"{words}: {_name(arm)} and {listed(others, 'or')}"
    return f"{words}: {listed([' and '.join(_name(arm) for arm in reversed(line.arms)) for line in lines])}"


def _better(line: Line) -> str:
    return str(line.better)


def _worse(line: Line) -> str:
    return next(arm for arm in line.arms if arm != line.better)


def _amount(comparisons: Comparisons, line: Line, corrected: bool = False) -> str:
    """`45 points (95 % interval 35 to 56; score test, p = 1e-8)`, seen from the side where it is positive.

    `corrected` names the p-value of the comparison alone and the one after correction for all of them.
    """
    name = " standard deviations" if line.unit == DEVIATIONS else line.unit.words
    value = f"{line.number.lstrip('+−')}{name}"
    value = "1 point" if value == "1 points" else value
    of = "" if line.unit == POINTS or len(comparisons.main) > 1 else f" in the {comparisons.quantity}"
    # Several comparisons have their tests below.
    test = line.test if len(comparisons.main) == 1 else _both_p(comparisons, line) if corrected else ""
    if line.low is None or line.high is None:
        return f"{value}{of} ({test})" if test else value + of
    _, low, high = made_positive(line.difference, line.low, line.high)
    unit = line.unit.beside(line.difference, line.low, line.high)
    ends = " to ".join(unit.plainly(end).removeprefix("+") for end in (low, high))
    return f"{value}{of} ({comparisons.interval} {ends}{f'; {test}' if test else ''})"


def _both_p(comparisons: Comparisons, line: Line) -> str:
    """`p = 0.028, 0.083 after Holm's correction over 3 comparisons`; nothing without a test."""
    if line.p_value is None or line.p_adjusted is None:
        return ""
    return f"{p_words(line.p_value)}, {p_number(line.p_adjusted)} after {comparisons.correction}"


def _positive(unit: Unit, value: float) -> str:
    """A value without the plus sign."""
    return unit.write(value).removeprefix("+")


def _margin(comparisons: Comparisons) -> str:
    margin = known(comparisons.margin)
    return f"{100 * margin:g} points" if comparisons.unit == POINTS else f"{margin:g}"


def _score(analysis: Analysis, value: float | None) -> str:
    decimals = score_decimals(analysis.frames.metric, [value])
    return DASH if value is None else brief(value, decimals)


def _name(arm: str) -> str:
    return text(arm, LONGEST_NAME)
