"""Where the difference of the verdict lies, in one sentence, and the section that shows it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from report.sections import interactions
from report.sections.interactions.entries import InteractionsResult
from report.sections.location import Ahead, Concentrated, Location
from report.sections.sensitivity.levels import RANGE, level_words, two_digits
from report.words import at_floor, enough_decimals, listed, p_words, rounded, score_decimals, text
from robustness.errors import plural

if TYPE_CHECKING:
    from report.analysis import Analysis

MOST_VALUES = 3
"""More values than these are named by their ends, where they are neighbours."""


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
        f"({_interaction(analysis, found)})."
    )


def _crossing(analysis: Analysis, found: Location) -> str:
    """`Which arm is ahead depends on rate: at 1e-5 to 0.001 adam is, by 0.36 (...); at 0.1 to 1 sgd ...`"""
    first, second = found["ahead"]
    compared, name = len(analysis.frames.compared), _name(found["hyperparameter"])
    arms = f"{_name(found['comparisons'][0][0])} and {_name(found['comparisons'][0][1])}"
    opening = "Which arm is ahead depends"
    if found["crossing"] > 1:
        which = f"all {compared}" if found["crossing"] == compared else f"{found['crossing']} of the {compared}"
        opening = f"In {which} comparisons, each arm is ahead somewhere; the difference of {arms} changes most,"
    elif compared > 1:
        opening = f"Which of {arms} is ahead depends"
    gap = _not_shown(analysis, found)
    return (
        f"{opening} {'with' if found['crossing'] > 1 else 'on'} {name}: at {level_words(first['value'])} "
        f"{_name(first['arm'])} is ahead, by {_by(analysis, found, first)}; at {level_words(second['value'])} "
        f"{_name(second['arm'])} is, by {_by(analysis, found, second, opens=False)}{f'; {gap}' if gap else ''} "
        f"({_interaction(analysis, found)})."
    )


def _one_sided(analysis: Analysis, found: Location) -> str:
    """`mfvi is behind all 4 others at initial_rho −2 and 0, by 0.15 to 0.29; at −6 and −4 no difference is shown.`"""
    shown, every = found["shown"], _every_value(analysis, found)
    values = [each["value"] for each in shown]
    where = values_in_words(values, every, "and") if len(values) < len(every) else "every value"
    at = f"at {_name(found['hyperparameter'])} {where}"
    if where == "every value":
        least, most = (pick(shown, key=lambda each: each["most"])["value"] for pick in (min, max))
        at = (
            f"at every value of {_name(found['hyperparameter'])}, least at {level_words(least)} and most at "
            f"{level_words(most)}"
        )
    gap = _not_shown(analysis, found)
    rest = f"; {gap}" if gap else ""
    return f"{_who(analysis, found)} {at}, by {_sizes(analysis, found)}{rest} ({_interaction(analysis, found)})."


def _who(analysis: Analysis, found: Location) -> str:
    """`fast is ahead of slow`, `mfvi is behind all 4 others`, `mfvi is behind radial and mfvi_scaled`."""
    ahead = found["ahead"][0]["arm"]
    behind = next(arm for arm in found["comparisons"][0] if arm != ahead)
    if len(found["comparisons"]) == 1:
        return f"{_name(ahead)} is ahead of {_name(behind)}"
    shared = set.intersection(*(set(arms) for arms in found["comparisons"]))
    arm, word = (ahead, "ahead of") if ahead in shared else (behind, "behind")
    others = [_name(other) for arms in found["comparisons"] for other in arms if other != arm]
    named = f"all {len(others)} others" if len(others) == len(analysis.frames.arms) - 1 else listed(others)
    return f"{_name(arm)} is {word} {named}"


def _sizes(analysis: Analysis, found: Location) -> str:
    """`0.41 (95 % interval 0.39 to 0.42)` of one difference at one value, else the range of all: `0.15 to 0.29`."""
    if len(found["comparisons"]) == len(found["shown"]) == 1:
        return _by(analysis, found, found["ahead"][0])
    ends = [min(each["least"] for each in found["shown"]), max(each["most"] for each in found["shown"])]
    factor, decimals = _scale(analysis, found, ends)
    return f"{' to '.join(dict.fromkeys(rounded(factor * end, decimals) for end in ends))}{_unit(analysis, found)}"


def _not_shown(analysis: Analysis, found: Location) -> str:
    """`at −6 and −4 no difference is shown`; empty where it is shown at every value."""
    if not found["not_shown"]:
        return ""
    return f"at {values_in_words(found['not_shown'], _every_value(analysis, found), 'and')} no difference is shown"


def _interaction(analysis: Analysis, found: Location) -> str:
    """`test of the interaction: p ≤ 0.003, corrected over 6 hyperparameters`."""
    over = f", corrected over {found['tested']} hyperparameters" if found["tested"] > 1 else ""
    entry = _entry(analysis, found)
    several = len(found["comparisons"]) > 1
    floor = at_floor(entry["hyperparameters"][found["hyperparameter"]]["p_value"], entry["permutations"])
    p_value = p_words(found["p_adjusted"], at_most=several or floor)
    return f"test{'s' if several else ''} of the interaction: {p_value}{over}"


def _by(analysis: Analysis, found: Location, ahead: Ahead, opens: bool = True) -> str:
    """`0.36 in test accuracy (95 % interval 0.31 to 0.41)`; only the first names unit and interval."""
    size = _size(ahead)
    factor, least = _scale(analysis, found, size)
    value, *ends = (factor * each for each in size)
    decimals = enough_decimals(value, ends, rounded, least)
    low, high = (rounded(end, decimals) for end in ends)
    unit = _unit(analysis, found) if opens else ""
    return f"{rounded(value, decimals)}{unit} ({'95 % interval ' if opens else ''}{low} to {high})"


def _scale(analysis: Analysis, found: Location, sizes: Sequence[float]) -> tuple[float, int]:
    """The factor of the unit, and the decimals of these differences."""
    return (100.0, 0) if found["outcome"] else (1.0, max(0, score_decimals(analysis.frames.metric, sizes) - 1))


def _unit(analysis: Analysis, found: Location) -> str:
    """` points`, ` in test accuracy`; that it is not the headline's where that is in standard deviations."""
    if found["outcome"]:
        return " points"
    several = len(analysis.frames.tasks) > 1
    return f" in {analysis.the_metric} itself, not in standard deviations" if several else analysis.in_metric


def _size(ahead: Ahead) -> tuple[float, float, float]:
    """The difference and the ends of its interval, none of which includes 0, without their sign."""
    low, high = sorted(abs(ahead[end]) for end in ("low", "high"))
    return abs(ahead["difference"]), low, high


def values_in_words(values: Sequence[object], every: Sequence[object], word: str = "or") -> str:
    """`−2 or 0`; of many neighbours, or of quarters of a range, `−6 to 0`."""
    places = [every.index(value) for value in values]
    neighbours = places == list(range(places[0], places[0] + len(places)))
    ordered = all(isinstance(value, int | float) and not isinstance(value, bool) for value in every)
    first, last = (RANGE.fullmatch(str(values[end])) for end in (0, -1))
    if neighbours and first and last:
        return f"{two_digits(first[1])} to {two_digits(last[2])}"
    if neighbours and ordered and len(values) > MOST_VALUES:
        return f"{level_words(values[0])} to {level_words(values[-1])}"
    return listed([level_words(value) for value in values], word)


def _every_value(analysis: Analysis, found: Location) -> list[object]:
    """All values of the hyperparameter, in order."""
    levels = _entry(analysis, found)["hyperparameters"][found["hyperparameter"]]["levels"]
    return [level["value"] for level in levels]


def _entry(analysis: Analysis, found: Location) -> InteractionsResult:
    return next(each for each in analysis.results["interactions"] if each["arms"] == found["comparisons"][0])


def _name(name: str) -> str:
    return text(name, 40)
