"""Where the difference of the verdict lies, in one sentence, and the section that shows it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from report.sections import interactions
from report.sections.location import Ahead, Concentrated, Location
from report.words import enough_decimals, listed, minus, number, p_words, rounded, score_decimals, text
from robustness.errors import plural

if TYPE_CHECKING:
    from report.analysis import Analysis

MOST_VALUES = 3
"""More values than these are named by their ends, where they are neighbours."""
_RANGE = re.compile(r"(\S+) to (\S+)")
"""The label of a quarter of a hyperparameter's range."""


def location_sentence(analysis: Analysis) -> str:
    """Where the difference lies; empty where none is shown to depend on a hyperparameter."""
    found = analysis.results["location"]
    if found is None:
        return ""
    if found["concentrated"] is not None:
        return _concentrated(analysis, found, found["concentrated"])
    return _crossing(analysis, found) if found["crossing"] else _one_sided(analysis, found)


def location_section(analysis: Analysis) -> tuple[str, str] | None:
    """Name and title of the section that shows it: the first about these arms; None without a sentence."""
    found = analysis.results["location"]
    if found is None:
        return None
    names = [_name(arm) for arm in found["comparisons"][0]]
    about = (each for each in interactions.sections(analysis) if all(name in each.title for name in names))
    return next(((each.name, each.title) for each in about), None)


def _concentrated(analysis: Analysis, found: Location, arm: Concentrated) -> str:
    """`With initial_rho −2 or 0, mfvi learned nothing in 39 of 42 configurations; with other values, in 1 of 44.`"""
    noun = "run" if analysis.study.sample.replicated else "configuration"
    did = "was good" if found["outcome"] == "good" else "learned nothing"
    at = values_in_words(found["values"], _every_value(analysis, found))
    return (
        f"With {_name(found['hyperparameter'])} {at}, {_name(arm['arm'])} {did} in {arm['count']} of "
        f"{plural(arm['of'], noun)}; with other values, in {arm['elsewhere_count']} of {arm['elsewhere_of']} "
        f"({_interaction(found)})."
    )


def _crossing(analysis: Analysis, found: Location) -> str:
    """`This average hides a crossing: at rate 1e-5 to 0.001 adam is ahead by 0.36 (...), at 0.1 to 1 sgd by 0.4.`"""
    first, second = found["ahead"]
    compared = len(analysis.frames.compared)
    if compared == 1:
        opening = "This average hides a crossing"
    else:
        arms = f"{_name(found['comparisons'][0][0])} and {_name(found['comparisons'][0][1])}"
        which = f"All {compared}" if found["crossing"] == compared else f"{found['crossing']} of these {compared}"
        opening = f"{which} averages hide a crossing, the widest that of {arms}"
        if found["crossing"] == 1:
            opening = f"The average of {arms} hides a crossing"
    return (
        f"{opening}: at {_name(found['hyperparameter'])} {_value(first['value'])} {_name(first['arm'])} is ahead by "
        f"{_by(analysis, found, first)}, at {_value(second['value'])} {_name(second['arm'])} by "
        f"{_by(analysis, found, second, opens=False)} ({_interaction(found)})."
    )


def _one_sided(analysis: Analysis, found: Location) -> str:
    """`fast is furthest ahead of slow at rate 0.1 to 1, by 0.3 (95 % interval 0.2 to 0.4; ...).`"""
    (ahead,) = found["ahead"]
    other = next(arm for arm in found["comparisons"][0] if arm != ahead["arm"])
    return (
        f"{_name(ahead['arm'])} is furthest ahead of {_name(other)} at {_name(found['hyperparameter'])} "
        f"{_value(ahead['value'])}, by {_by(analysis, found, ahead)} ({_interaction(found)})."
    )


def _interaction(found: Location) -> str:
    """`test of the interaction: p = 0.003, corrected over 6 hyperparameters`."""
    over = f", corrected over {found['tested']} hyperparameters" if found["tested"] > 1 else ""
    p_value = p_words(found["p_adjusted"])
    if len(found["comparisons"]) > 1:
        return f"tests of the interaction: {p_value.replace('=', '≤')}{over}"
    return f"test of the interaction: {p_value}{over}"


def _by(analysis: Analysis, found: Location, ahead: Ahead, opens: bool = True) -> str:
    """`0.36 in test accuracy (95 % interval 0.31 to 0.41)`; only the first names unit and interval."""
    factor, least = (100.0, 0) if found["outcome"] else (1.0, score_decimals(analysis.frames.metric, _size(ahead)) - 1)
    value, *ends = (factor * each for each in _size(ahead))
    decimals = enough_decimals(value, ends, rounded, max(0, least))
    low, high = (rounded(end, decimals) for end in ends)
    unit = " points" if found["outcome"] else f" in {analysis.metric_words}"
    return f"{rounded(value, decimals)}{unit if opens else ''} ({'95 % interval ' if opens else ''}{low} to {high})"


def _size(ahead: Ahead) -> tuple[float, float, float]:
    """The difference and the ends of its interval, none of which includes 0, without their sign."""
    low, high = sorted(abs(ahead[end]) for end in ("low", "high"))
    return abs(ahead["difference"]), low, high


def values_in_words(values: Sequence[object], every: Sequence[object]) -> str:
    """`−2 or 0`; of many neighbours, or of quarters of a range, `−6 to 0`."""
    places = [every.index(value) for value in values]
    neighbours = places == list(range(places[0], places[0] + len(places)))
    ordered = all(isinstance(value, int | float) and not isinstance(value, bool) for value in every)
    first, last = (_RANGE.fullmatch(str(values[end])) for end in (0, -1))
    if neighbours and first and last:
        return f"{_number(first[1])} to {_number(last[2])}"
    if neighbours and ordered and len(values) > MOST_VALUES:
        return f"{_value(values[0])} to {_value(values[-1])}"
    return listed([_value(value) for value in values], "or")


def _value(value: object) -> str:
    """A value, or a quarter of a range, as `1e-5 to 0.0006`."""
    found = _RANGE.fullmatch(value) if isinstance(value, str) else None
    if found:
        return f"{_number(found[1])} to {_number(found[2])}"
    shown = number(value)
    return minus(shown) if shown.startswith("-") and not isinstance(value, str) else shown


def _number(end: str) -> str:
    """An end of a quarter of a range in two digits."""
    return f"{float(end):.2g}".replace("e-0", "e-")


def _every_value(analysis: Analysis, found: Location) -> list[object]:
    """All values of the hyperparameter, in order."""
    entry = next(each for each in analysis.results["interactions"] if each["arms"] == found["comparisons"][0])
    return [level["value"] for level in entry["hyperparameters"][found["hyperparameter"]]["levels"]]


def _name(name: str) -> str:
    return text(name, 40)
