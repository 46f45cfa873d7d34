"""The rule of "learned nothing": how sure its threshold is, which trials that could move, and what it lets pass.

A threshold that was measured has an error: guesses are random, and untrained networks are a sample. Trials whose
outcome differs between the two ends of that error are named. And a rule that is said to pass 1 % by chance is tried on
untrained networks, which have learned nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, TypedDict

import numpy as np
import pandas as pd

from report.document import Numbers, Section
from report.frames import Stored
from report.judged_study import JudgedStudy
from report.judging import own_scores, trial_thresholds
from report.records.estimates import Fraction, Share
from report.sections.borderline import WorstCase, worst_case_sentence, worst_cases
from report.words import bracketed, score, share_cell, text
from robustness.errors import plural
from robustness.statistics.proportions import wilson
from robustness.sweep.outcome_arrays import outcomes_of
from robustness.sweep.outcomes import CHANCE_RULES, End, Judge, Summary, judges

if TYPE_CHECKING:
    from report.analysis import Analysis

ENDS: tuple[End, End] = ("low", "high")
TITLE = "When a trial has learned nothing"
MOST_NAMED = 12
"""Trials that are named in a sentence; the JSON has all of them."""


class Guessing(TypedDict):
    """The threshold of guessing, where another seed would put it, and the random scorings behind it."""

    point: float | None
    low: float | None
    high: float | None
    count: int | None


class CellThreshold(TypedDict):
    """The threshold of a cell, or the gain required in it, with its error over so many networks."""

    value: float
    low: float | None
    high: float | None
    networks: int


class TrialWithinError(TypedDict):
    """A trial whose outcome differs between the ends of the error of its threshold."""

    configuration: int
    arm: str
    replicate: int
    score: float
    threshold: float
    low: float
    high: float
    outcome: str


class RuleAtEpoch(TypedDict):
    """The error of the thresholds at one epoch, the trials within it, and the untrained networks that pass."""

    guessing: Guessing
    cells: dict[str, CellThreshold]
    within_error: list[TrialWithinError]
    worst_case: list[WorstCase]
    untrained: dict[str, Share] | None


class RuleByEpoch(TypedDict):
    """The rule at the best and at the last epoch."""

    best: RuleAtEpoch
    last: RuleAtEpoch


class LearningRuleResults(TypedDict):
    """The study's rule of `learned_nothing`."""

    rule: str
    level: float | None
    at: RuleByEpoch


def results(study: JudgedStudy) -> LearningRuleResults | None:
    """The study's rule, the error of its thresholds, the trials within it, and the untrained networks it passes.

    None for a study without thresholds.
    """
    document = study.frames.document["outcomes"]["learned_nothing"]
    if document is None:
        return None
    fixed = "above" if study.frames.goal.minimizes else "below"
    name = next((rule for rule in CHANCE_RULES if document.get(rule)), fixed)
    return {
        "rule": name,
        "level": document[name] if name in CHANCE_RULES else None,
        "at": {"best": _at(study, name, "best"), "last": _at(study, name, "last")},
    }


def _at(study: JudgedStudy, rule: str, summary: Summary) -> RuleAtEpoch:
    note = study.frames.untrained or {}
    part: Stored = note.get("summaries", {}).get(summary) or note
    permutation = part.get("permutation")
    guesses: Stored = permutation if rule in CHANCE_RULES and isinstance(permutation, Mapping) else {}
    judge = study.judges[summary]
    by_cell: Mapping[str, CellThreshold] = (part.get("by_cell") or {}) if judge.cells else {}
    within_error, worst_case = _within_error(study, summary) if guesses.get("low") is not None else ([], [])
    return {
        "guessing": {
            "point": guesses.get("point"),
            "low": guesses.get("low"),
            "high": guesses.get("high"),
            "count": guesses.get("count"),
        },
        "cells": dict(by_cell),
        "within_error": within_error,
        "worst_case": worst_case,
        "untrained": _untrained(note, part, judge) if rule in CHANCE_RULES else None,
    }


def _within_error(study: JudgedStudy, summary: Summary) -> tuple[list[TrialWithinError], list[WorstCase]]:
    """The trials that count and whose outcome differs between the ends of their threshold's error; the worst case."""
    frames, trials = study.frames, study.trials
    scores = own_scores(trials, summary)
    ends = []
    for end in ENDS:
        judge = judges(frames.document, frames.untrained, end)[summary]
        thresholds = trial_thresholds(frames, trials, judge)
        ends.append((thresholds, outcomes_of(judge, trials["status"], scores, trials["measured"], thresholds)))
    (low, at_low), (high, at_high) = ends
    moved = trials["counted"].to_numpy(dtype=bool) & (at_low != at_high)
    within: list[TrialWithinError] = [
        {
            "configuration": int(trials["configuration"].iloc[place]),
            "arm": str(trials["arm"].iloc[place]),
            "replicate": int(trials["replicate"].iloc[place]),
            "score": float(scores.iloc[place]),
            "threshold": float(trials[f"threshold_{summary}"].iloc[place]),
            "low": float(low[place]),
            "high": float(high[place]),
            "outcome": str(trials[f"outcome_{summary}"].iloc[place]),
        }
        for place in np.flatnonzero(moved)
    ]
    return within, worst_cases(study, summary, (at_low, at_high))


def _untrained(note: Stored, part: Stored, judge: Judge) -> dict[str, Share] | None:
    """For each arm the share of untrained networks that would count as having learned; None if none were scored.

    Judged by its gain, a network starts as the next one of its cell.
    """
    arms, scores = note.get("arms"), part.get("scores")
    if not arms or not scores:
        return None
    networks = pd.DataFrame({"arm": arms, "cell": note["cells"], "score": scores, "start": note["starts"]})
    shifted = networks.groupby("cell")["start"].transform(lambda starts: np.roll(starts.to_numpy(), 1))
    thresholds = [judge.threshold_in(*pair) for pair in zip(networks["cell"], shifted, strict=True)]
    passed = ~judge.has("learned_nothing", networks["score"].to_numpy(dtype=float), np.array(thresholds))
    # The others were added to small cells, and would weigh on the share of the plan's own mix.
    mixed = int(note["mixed"])
    shares: dict[str, Share] = {}
    for arm, own in pd.Series(passed[:mixed]).groupby(networks["arm"].iloc[:mixed], sort=False):
        interval = wilson(float(own.mean()), len(own))
        shares[str(arm)] = {
            "count": int(own.sum()),
            "of": len(own),
            "fraction": float(own.mean()),
            "low": interval.low,
            "high": interval.high,
            "interval": interval.method,
        }
    return shares


def sections(analysis: Analysis) -> Iterator[Section]:
    """The rule in words with its error, and its table; none for a fixed threshold or before anything was measured."""
    rule = analysis.results["learning_rule"]
    if rule is None:
        return
    entry = rule["at"][analysis.epoch]
    guesses = entry["guessing"]
    if rule["rule"] not in CHANCE_RULES or guesses["point"] is None:
        return
    rows = [
        (f"untrained {text(arm, 60)}", "counts as having learned", share_cell(_of_networks(share)))
        for arm, share in (entry["untrained"] or {}).items()
    ]
    what = "gain required" if analysis.judge.gains else "threshold"
    rows += [
        (name, f"{what}, from {own['networks']} networks", _with_error(own["value"], own["low"], own["high"]))
        for name, own in _named_cells(analysis, entry["cells"])
    ]
    rows.append(("guessing", "threshold", _with_error(guesses["point"], guesses["low"], guesses["high"])))
    yield Section(
        "learning-rule",
        TITLE,
        f"A trial has learned nothing if it is {analysis.judge.why}.",
        numbers=Numbers(("Of", "What", "Value"), tuple(rows)),
        notes=tuple(_notes(analysis, entry)),
    )


def _named_cells(analysis: Analysis, cells: Mapping[str, CellThreshold]) -> Iterator[tuple[str, CellThreshold]]:
    """The cells as `mfvi, initial_rho = -6`, in the order of the arms and by value."""
    arms, edges = analysis.frames.arms, analysis.judge.edges
    found: list[tuple[int, float, str, str]] = []
    for cell in cells:
        # An arm's name may begin with that of another.
        arm = max((each for each in arms if f"{cell} ".startswith(f"{each} ")), key=len, default=cell)
        value = cell[len(arm) :].strip()
        place = arms.index(arm) if arm in arms else len(arms)
        # Where initial_rho is a range, the value is the number of an interval, such as 2/3.
        found.append((place, float(value.partition("/")[0] or 0), arm, cell))
    for _, number, arm, cell in sorted(found):
        words = f"= {number:g}" if edges is None else _interval(int(number), edges)
        yield text(arm, 60) if cell == arm else f"{text(arm, 60)}, initial_rho {words}", cells[cell]


def _interval(number: int, edges: Sequence[float]) -> str:
    """The interval of this number, from 1, between edges: `up to -4`, `above -4 up to -2`, `above -2`."""
    above = f"above {edges[number - 2]:g}" if number > 1 else ""
    below = f"up to {edges[number - 1]:g}" if number <= len(edges) else ""
    return f"{above} {below}".strip() or "of any value"


def _notes(analysis: Analysis, entry: RuleAtEpoch) -> Iterator[str]:
    guesses = entry["guessing"]
    if guesses["low"] is not None:
        yield (
            f"The threshold of guessing, {guesses['point']:.4f}, comes from {guesses['count']:,} random scorings; with "
            f"another seed it would lie between {guesses['low']:.4f} and {guesses['high']:.4f} (99.9 %)."
        )
    if entry["cells"]:
        yield (
            "In brackets: 95 % bootstrap intervals over untrained networks; for guessing, the 99.9 % range over seeds. "
            "Pictures draw the lowest threshold; the sliders move all of them together."
        )
    yield untrained_sentence(entry)
    named = within_error_sentence(entry, analysis.epoch)
    if named:
        yield named
    worst = worst_case_sentence(entry["worst_case"])
    if worst:
        yield worst


def untrained_sentence(entry: RuleAtEpoch) -> str:
    """What the rule makes of untrained networks."""
    if entry["untrained"] is None:
        return "How many untrained networks would count as having learned is unknown: none were scored."
    shares = ", ".join(
        f"{text(arm, 60)} {share_cell(_of_networks(share))}" for arm, share in entry["untrained"].items()
    )
    return f"Untrained networks that would count as having learned by this rule: {shares}."


def within_error_sentence(entry: RuleAtEpoch, epoch: str, named: bool = True) -> str:
    """The trials within the error of the threshold, by name or only their number; empty if there are none."""
    moved = entry["within_error"]
    if not moved:
        return ""
    start = f"At the {epoch} epoch, {plural(len(moved), 'trial')} within the error of the “learned nothing” threshold"
    if not named:
        worst = worst_case_sentence(entry["worst_case"])
        return (
            f"{start} could change {'their' if len(moved) > 1 else 'its'} outcome with other untrained networks. "
            + (f"{worst} " if worst else "")
            + f"“{TITLE}” lists {'them' if len(moved) > 1 else 'it'}. No test of the arms includes that error."
        )
    names = [
        f"configuration {trial['configuration']}, {text(trial['arm'], 60)}"
        + (f", replicate {trial['replicate']}" if trial["replicate"] else "")
        + f": {score(trial['score'])} is within {score(trial['low'])} to {score(trial['high'])}"
        for trial in moved[:MOST_NAMED]
    ]
    more = f"; and {len(moved) - MOST_NAMED} more, all in the JSON" if len(moved) > MOST_NAMED else ""
    return f"{start}: {'; '.join(names)}{more}."


def _of_networks(share: Share) -> Fraction:
    """A share of untrained networks, each of which counts once."""
    return {**share, "configurations": share["of"], "replicates": 1, "effective": float(share["of"])}


def _with_error(value: float, low: float | None, high: float | None) -> str:
    return bracketed(value, low, high, "{:.4f}".format)
