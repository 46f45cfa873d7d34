"""What the page shows of interactions: a section for each comparison, scores by hyperparameter, other spaces."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from report.comparison import turned
from report.document import Numbers, Picture, Section, drawn_of
from report.records.estimates import Fraction
from report.sections.interactions.drawings import GROUPS, MOST_POINTS, MOST_VALUES, draw_scores, draw_space, group_words
from report.sections.interactions.entries import Interaction, InteractionsResult
from report.sections.sensitivity.importance import permuted
from report.words import (
    DASH,
    OUTCOME_WORDS,
    SIGNIFICANT,
    at_floor,
    bracketed,
    exact_percent,
    listed,
    number,
    p_number,
    p_words,
    rounded,
    short_units,
    signed_to,
    text,
)
from robustness.errors import plural
from robustness.statistics.interactions import PERMUTATIONS

if TYPE_CHECKING:
    from report.analysis import Analysis

FEW_PAIRS = 30
WIDE = 0.2
"""A reach of this much, 20 points, is worth a sentence if the interaction is significant."""
MOST_TASKS = 6
"""Tasks with a panel of their own."""


def sections(analysis: Analysis) -> Iterator[Section]:
    """A section for the comparisons that depend on a hyperparameter, one for those alike, and the first in any case."""
    alike: dict[tuple[str, ...], list[InteractionsResult]] = {}
    for place, entry in enumerate(analysis.results["interactions"]):
        deciding = _deciding(entry)
        if deciding or not place:
            alike.setdefault((entry["arms"][0], *deciding), []).append(entry)
    firsts = [entries[0]["arms"][0] for entries in alike.values()]
    for place, entries in enumerate(alike.values()):
        section = _section(analysis, entries, place)
        # One arm alone stands for a section in the contents, unless that would be the title of two.
        short = f"Where {text(firsts[place], 40)} differs" if firsts.count(firsts[place]) == 1 else ""
        yield replace(section, short=short)


def _deciding(entry: InteractionsResult) -> list[str]:
    """The hyperparameters on which the difference depends, the strongest first."""
    found = [name for name, each in entry["hyperparameters"].items() if _significant(each)]
    return sorted(found, key=lambda name: -(entry["hyperparameters"][name]["explained"] or 0.0))


def _named_first(entry: InteractionsResult) -> list[str]:
    """All hyperparameters: those that the sentence names come first, in its order."""
    names = list(entry["hyperparameters"])
    named = _deciding(entry) or ([least] if (least := _least_p(entry)) is not None else [])
    return [*named, *(name for name in names if name not in named)]


def _least_p(entry: InteractionsResult) -> str | None:
    """The hyperparameter with the smallest p-value; of equals, that which explains most. None where none is tested."""
    tested = {name: each for name, each in entry["hyperparameters"].items() if each["p_value"] is not None}
    return min(tested, key=lambda name: (tested[name]["p_value"], -(tested[name]["explained"] or 0.0)), default=None)


def _significant(entry: Interaction) -> bool:
    return entry["p_adjusted"] is not None and entry["p_adjusted"] < SIGNIFICANT


def _section(analysis: Analysis, entries: list[InteractionsResult], place: int) -> Section:
    """Comparisons of one arm with others whose difference depends on the same hyperparameters."""
    entry, deciding = entries[0], _deciding(entries[0])
    first, *others = (text(arm, 40) for arm in (entry["arms"][0], *(each["arms"][1] for each in entries)))
    # Without a pair there is nothing to draw.
    drawn = (deciding[:2] or _named_first(entry)[:1]) if len(analysis.pairs) else []
    named = [entry["arms"][0], *(each["arms"][1] for each in entries)]
    pictures = [picture for each, name in enumerate(drawn) for picture in _scores(analysis, named, name, place, each)]
    other = entry["other_space"]
    if other is not None and other["hyperparameter"] in deciding:
        pictures.append(
            Picture(
                f"space-{place}",
                f"If more or fewer configurations had {group_words(other)}",
                f"{others[0]} minus {first}, in points, against the share of configurations with {group_words(other)}, "
                "with its 95 % interval.",
                partial(draw_space, entry["arms"], other),
            )
        )
    several = len(others) > 1
    counts = [] if several else _counted_arms(entry)
    words = "" if entry["outcome"] is None else OUTCOME_WORDS[entry["outcome"]]
    what = f"mean {analysis.metric_words}" if entry["outcome"] is None else f"share that {words}"
    columns = (
        *(("Arms",) if several else ()),
        *("Hyperparameter", "Value", "Configurations"),
        *(f"{text(arm, 40)}: {words}" for arm in counts),
        f"Difference in the {what}" if several else f"{others[0]} minus {first}, {what}",
        "p of the interaction",
    )
    rows = [
        ((f"{text(each['arms'][1], 40)} minus {first}", *row) if several else row)
        for each in entries
        for row in _rows(analysis, each, counts)
    ]
    return Section(
        f"interactions-{place}",
        f"Where {first} differs from {listed(others)}" if several else f"Where {first} and {others[0]} differ",
        _reading(analysis, entries),
        tuple(pictures),
        Numbers(columns, tuple(rows)),
        (*(_explained_lines(analysis, drawn) if pictures else ()), *_notes(analysis, entries)),
    )


def _scores(analysis: Analysis, arms: list[str], name: str, place: int, each: int) -> Iterator[Picture]:
    """Scores of all named arms against a hyperparameter, in a panel for each of the first tasks."""
    tasks = analysis.frames.tasks
    of = listed([text(arm, 40) for arm in arms])
    for at, task in enumerate(tasks[:MOST_TASKS]) if len(tasks) > 1 else [(None, "")]:
        yield Picture(
            f"hangs-{place}-{each}" + ("" if at is None else f"-{at}"),
            f"Score by {text(name, 30)}" + (f": {text(task, 40)}" if task else ""),
            f"{analysis.metric_words} of each trial of {of}{f' on {text(task, 40)}' if task else ''} against "
            f"{text(name, 40)}, with a line through the medians.",
            partial(draw_scores, analysis, arms, name, at),
        )


def _explained_lines(analysis: Analysis, drawn: list[str]) -> Iterator[str]:
    """What points and lines are."""
    counts = [analysis.values(name).nunique() for name in drawn]
    groups = f"{GROUPS} groups of trials of equal size" if min(counts) > MOST_VALUES else "trials at each value"
    if min(counts) <= MOST_VALUES < max(counts):
        groups += f" (of {GROUPS} groups of equal size, where there are more than {MOST_VALUES} values)"
    yield f"Each point is a trial; each line joins the medians of {groups}, by arm."
    yield from drawn_of(MOST_TASKS, len(analysis.frames.tasks), "tasks", "the CSV")


def _rows(analysis: Analysis, entry: InteractionsResult, counts: list[str]) -> Iterator[tuple[str, ...]]:
    scale, unit, write = (1.0, "", signed_to(3)) if entry["outcome"] is None else (100.0, " points", signed_to(0))
    for name in _named_first(entry):
        each = entry["hyperparameters"][name]
        for place, level in enumerate(each["levels"]):
            ends = [None if end is None else scale * end for end in turned(level)]
            failed = (_count(analysis, entry, name, arm, place) for arm in counts)
            cell = bracketed(ends[0], ends[1], ends[2], write) + unit
            value = (text(name, 40), str(level["value"]), str(level["configurations"]))
            yield (*value, *failed, cell, _p(entry, each))


def _p(entry: InteractionsResult, each: Interaction) -> str:
    return p_number(each["p_adjusted"], _at_floor(entry, each))


def _at_floor(entry: InteractionsResult, each: Interaction) -> bool:
    return at_floor(each["p_value"], entry["permutations"])


def _counted_arms(entry: InteractionsResult) -> list[str]:
    """The arms whose outcomes are counted by level; none without thresholds."""
    return [] if entry["outcome"] is None else list(reversed(entry["arms"]))


def _at_levels(analysis: Analysis, entry: InteractionsResult, name: str, arm: str) -> list[Fraction]:
    """An arm's outcomes at each level of a hyperparameter; none where it does not have it."""
    rates = analysis.results["sensitivity"]["hyperparameters"].get(name)
    if rates is None or entry["outcome"] is None or arm not in rates["arms"]:
        return []
    found = rates["arms"][arm][entry["outcome"]]
    return found if len(found) == len(entry["hyperparameters"][name]["levels"]) else []


def _count(analysis: Analysis, entry: InteractionsResult, name: str, arm: str, place: int) -> str:
    """`3 of 5`."""
    found = _at_levels(analysis, entry, name, arm)
    return short_units(found[place]) if found and found[place]["of"] else DASH


def _reading(analysis: Analysis, entries: list[InteractionsResult]) -> str:
    entry, deciding = entries[0], _deciding(entries[0])
    what = "mean score" if entry["outcome"] is None else f"share that {OUTCOME_WORDS[entry['outcome']]}"
    if entry["why_not"] is not None:
        return f"Whether the difference depends on a hyperparameter is unknown: {entry['why_not']}."
    if not deciding:
        return _nothing_shown(analysis, entry, what)
    named = ", ".join(
        f"{text(name, 40)} ({_explained(entries, name)} of the variance of its ranks)" for name in deciding
    )
    each = "" if len(entries) == 1 else f" in each of these {len(entries)} comparisons"
    reading = f"The difference in the {what} depends on {named}{each}."
    return f"{reading}{_elsewhere(entries, deciding)}"


def _elsewhere(entries: list[InteractionsResult], deciding: list[str]) -> str:
    """What the differences would be in other spaces, where that is far from what they are."""
    other = entries[0]["other_space"]
    spaces = [entry["other_space"] for entry in entries]
    known = [
        each for each in spaces if each is not None and other is not None and group_words(each) == group_words(other)
    ]
    reach = max((abs(each["within"] - each["without"]) for each in known), default=0.0)
    if other is None or other["hyperparameter"] not in deciding or len(known) < len(entries) or reach < WIDE:
        return ""
    first = text(entries[0]["arms"][0], 40)
    of = f"{text(entries[0]['arms'][1], 40)} minus {first}" if len(entries) == 1 else f"the others minus {first}"
    whole, without, within = (
        _points_between(values)
        for values in (
            [each["drawn"] * each["within"] + (1 - each["drawn"]) * each["without"] for each in known],
            [each["without"] for each in known],
            [each["within"] for each in known],
        )
    )
    return (
        f" The {whole} points of {of} depend mainly on the share of configurations with {group_words(other)}, "
        f"{exact_percent(other['drawn'])} here: {without} points without them, {within} with them alone."
    )


def _points_between(values: list[float]) -> str:
    """`-93`, or `-93 to -90` of several, as the second arm less the first."""
    points = sorted(0.0 - 100 * value for value in values)
    return " to ".join(dict.fromkeys(rounded(value) for value in (points[0], points[-1])))


def _explained(entries: list[InteractionsResult], name: str) -> str:
    """`76.2 %`, or from the least to the most of several comparisons."""
    shares = sorted(max(0.0, entry["hyperparameters"][name]["explained"] or 0.0) for entry in entries)
    return " to ".join(dict.fromkeys(exact_percent(share) for share in (shares[0], shares[-1])))


def _nothing_shown(analysis: Analysis, entry: InteractionsResult, what: str) -> str:
    """That nothing is shown is not that nothing is there; and where the trials with the outcome lie all the same."""
    name = _least_p(entry)
    words = f"No hyperparameter is shown to change the difference in the {what}"
    if name is not None:
        least = entry["hyperparameters"][name]
        words += (
            f": the one with the smallest p-value, {text(name, 40)}, explains "
            f"{exact_percent(max(0.0, least['explained'] or 0.0))} of the variance of its ranks "
            f"({p_words(least['p_adjusted'], _at_floor(entry, least))} after correction)"
        )
    pairs = int(analysis.pairs["configuration"].nunique())
    unseen = "only a strong dependence would be found" if pairs < FEW_PAIRS else "a weak dependence may go unnoticed"
    return f"{words}. With {plural(pairs, 'pair')} {unseen}.{_where(analysis, entry, name)}"


def _where(analysis: Analysis, entry: InteractionsResult, name: str | None) -> str:
    """The counts of the outcome at each level of a hyperparameter; nothing where these are too many or unknown."""
    if name is None or entry["outcome"] is None:
        return ""
    arms = list(reversed(entry["arms"]))
    levels = entry["hyperparameters"][name]["levels"]
    if len(levels) > MOST_VALUES or not all(_at_levels(analysis, entry, name, arm) for arm in arms):
        return ""
    counted = "; ".join(
        f"{number(level['value'])}: "
        + ", ".join(f"{text(arm, 40)} {_count(analysis, entry, name, arm, place)}" for arm in arms)
        for place, level in enumerate(levels)
    )
    did = "were good" if entry["outcome"] == "good" else "learned nothing"
    return f" Trials that {did}, by {text(name, 40)}: {counted}."


def _notes(analysis: Analysis, entries: list[InteractionsResult]) -> Iterator[str]:
    entry = entries[0]
    if analysis.pairs.groupby("arm").size().max() > MOST_POINTS:
        yield f"An even sample of {MOST_POINTS:,} trials of each arm is drawn; lines go through the medians of all."
    if entry["why_not"] is None:
        several = len(entry["hyperparameters"]) > 1
        corrected = ", corrected for the number of hyperparameters (Bonferroni)" if several else ""
        tested = permuted(analysis, entry["permutations"])
        yield f"Whether the difference depends on a hyperparameter is tested {tested}{corrected}."
    yield from _without_interval(entries)
    pairs = entry["pairs"]
    if pairs:
        shown = [each for each in pairs if each["p_adjusted"] < SIGNIFICANT] or pairs[:1]
        holm = " by Holm" if len(pairs) > 1 else ""
        together = "; ".join(
            f"{text(' and '.join(each['hyperparameters']), 80)} explain {exact_percent(each['explained'])} of the "
            f"variance of the difference itself beyond the sum of their effects ("
            f"{p_words(each['p_adjusted'], at_floor(each['p_value'], PERMUTATIONS))}{holm})"
            for each in shown[:3]
        )
        yield (
            f"For {_named(entry)}, {plural(len(pairs), 'pair')} of hyperparameters tested together: {together}"
            + ("." if shown[0]["p_adjusted"] < SIGNIFICANT else ", the most of all: not statistically significant.")
        )
    other = entry["other_space"]
    if other is not None and other["hyperparameter"] in _deciding(entry):
        yield (
            f"Of all groups of levels, {group_words(other)} is the one with which the difference changes most, so the "
            "difference within it is optimistically biased; the interaction itself is tested above."
        )
    if analysis.study.sample.watch is not None:
        yield (
            "Intervals at each level are confidence sequences, valid however often the evidence was looked at; in "
            "another space, those of both sides joined."
        )


def _without_interval(entries: list[InteractionsResult]) -> Iterator[str]:
    """The levels whose differences have no interval, with the reason."""
    without: dict[str, list[str]] = {}
    for entry in entries:
        for name, each in entry["hyperparameters"].items():
            for level in each["levels"]:
                if level["difference"] is not None and level["low"] is None and level["interval"].startswith("none: "):
                    where = f"{text(name, 40)} {text(level['value'], 40)}"
                    without.setdefault(level["interval"].removeprefix("none: "), []).append(
                        f"{_named(entry)} with {where}" if len(entries) > 1 else where
                    )
    for reason, levels in without.items():
        yield f"No interval for {listed(levels)}: {reason}."


def _named(entry: InteractionsResult) -> str:
    return f"{text(entry['arms'][1], 40)} minus {text(entry['arms'][0], 40)}"
