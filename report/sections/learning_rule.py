"""The rule of "learned nothing": how sure its threshold is, which trials that could move, and what it lets pass.

A threshold that was measured has an error: guesses are random, and untrained networks are a sample. Trials whose
outcome differs between the two ends of that error are named. And a rule that is said to pass 1 % by chance is tried on
untrained networks, which have learned nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from report.document import Numbers, Section
from report.judged_study import JudgedStudy
from report.judging import own_scores, trial_thresholds
from report.words import score, share_cell, text
from robustness.errors import plural
from robustness.statistics.proportions import wilson
from robustness.sweep.outcome_arrays import outcomes_of
from robustness.sweep.outcomes import CHANCE_RULES, SUMMARIES, End, Judge, judges

if TYPE_CHECKING:
    from report.analysis import Analysis

ENDS: tuple[End, End] = ("low", "high")
MOST_NAMED = 12
"""Trials that are named in a sentence; the JSON has all of them."""


def results(study: JudgedStudy) -> dict[str, Any]:
    """The study's rule, the error of its thresholds, the trials within it, and the untrained networks it passes."""
    document = study.frames.document["outcomes"]["learned_nothing"]
    name = next((rule for rule in CHANCE_RULES if document.get(rule)), "below")
    return {
        "rule": name,
        "level": document[name] if name != "below" else None,
        "at": {summary: _at(study, name, summary) for summary in SUMMARIES},
    }


def _at(study: JudgedStudy, rule: str, summary: str) -> dict[str, Any]:
    note = study.frames.untrained or {}
    part: Mapping[str, Any] = note.get("summaries", {}).get(summary) or note
    permutation = part.get("permutation")
    guesses = permutation if rule != "below" and isinstance(permutation, Mapping) else {}
    judge = study.judges[summary]
    by_cell = (part.get("by_cell") or {}) if judge.cells else {}
    return {
        "guessing": {key: guesses.get(key) for key in ("point", "low", "high", "count")},
        "cells": {cell: dict(entry) for cell, entry in by_cell.items()},
        "within_error": _within_error(study, summary) if guesses.get("low") is not None else [],
        "untrained": _untrained(note, part, judge) if rule != "below" else None,
    }


def _within_error(study: JudgedStudy, summary: str) -> list[dict[str, Any]]:
    """The trials that count and whose outcome differs between the ends of the error of their threshold."""
    frames, trials = study.frames, study.trials
    scores = own_scores(trials, summary)
    ends = []
    for end in ENDS:
        judge = judges(frames.document, frames.untrained, end)[summary]
        thresholds = trial_thresholds(frames, trials, judge)
        ends.append((thresholds, outcomes_of(judge, trials["status"], scores, trials["measured"], thresholds)))
    (low, at_low), (high, at_high) = ends
    moved = trials["counted"].to_numpy(dtype=bool) & (at_low != at_high)
    return [
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


def _untrained(note: Mapping[str, Any], part: Mapping[str, Any], judge: Judge) -> dict[str, Any] | None:
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
    shares = {}
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
    entry = rule["at"][analysis.epoch]
    if rule["rule"] == "below" or entry["guessing"]["point"] is None:
        return
    rows = [
        (f"untrained {text(arm, 60)}", "counts as having learned", share_cell(share))
        for arm, share in (entry["untrained"] or {}).items()
    ]
    what = "gain required" if analysis.judge.gains else "threshold"
    rows += [
        (text(cell, 60), f"{what}, from {cell_entry['networks']} networks", _with_error(cell_entry))
        for cell, cell_entry in entry["cells"].items()
    ]
    guesses = {"value": entry["guessing"]["point"], **entry["guessing"]}
    rows.append(("guessing", "threshold", _with_error(guesses)))
    yield Section(
        "learning-rule",
        "When a trial has learned nothing",
        f"A trial has learned nothing if it is {analysis.judge.why}.",
        numbers=Numbers(("Of", "What", "Value"), tuple(rows)),
        notes=tuple(_notes(analysis, entry)),
    )


def _notes(analysis: Analysis, entry: Mapping[str, Any]) -> Iterator[str]:
    guesses = entry["guessing"]
    if guesses["low"] is not None:
        yield (
            f"The threshold of guessing, {guesses['point']:.4f}, comes from {guesses['count']:,} random scorings; with "
            f"another seed it would lie between {guesses['low']:.4f} and {guesses['high']:.4f} (99.9 %)."
        )
    if entry["cells"]:
        yield (
            "In brackets: 95 % bootstrap intervals over untrained networks. Pictures draw the lowest threshold; the "
            "sliders move all of them together."
        )
    yield untrained_sentence(entry)
    named = within_error_sentence(entry, analysis.epoch)
    if named:
        yield named


def untrained_sentence(entry: Mapping[str, Any]) -> str:
    """What the rule makes of untrained networks."""
    if entry["untrained"] is None:
        return "How many untrained networks would count as having learned is unknown: none were scored."
    shares = ", ".join(f"{text(arm, 60)} {share_cell(share)}" for arm, share in entry["untrained"].items())
    return f"Untrained networks that would count as having learned by this rule: {shares}."


def within_error_sentence(entry: Mapping[str, Any], epoch: str) -> str:
    """Names the trials within the error of the threshold; empty if there are none."""
    moved = entry["within_error"]
    if not moved:
        return ""
    named = [
        f"configuration {trial['configuration']}, {text(trial['arm'], 60)}"
        + (f", replicate {trial['replicate']}" if trial["replicate"] else "")
        + f": {score(trial['score'])} is within {score(trial['low'])} to {score(trial['high'])}"
        for trial in moved[:MOST_NAMED]
    ]
    more = f"; and {len(moved) - MOST_NAMED} more, all in the JSON" if len(moved) > MOST_NAMED else ""
    return (
        f"The outcome of {plural(len(moved), 'trial')} at the {epoch} epoch lies within the error of the threshold of "
        f"“learned nothing”: {'; '.join(named)}{more}."
    )


def _with_error(entry: Mapping[str, Any]) -> str:
    if entry["low"] is None:
        return f"{entry['value']:.4f}"
    return f"{entry['value']:.4f} [{entry['low']:.4f} to {entry['high']:.4f}]"
