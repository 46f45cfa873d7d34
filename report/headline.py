"""What a study found, in a few lines of plain words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from report.frames import pair_counts
from report.statistics.pairs import exact_mcnemar, paired_difference_interval
from report.statistics.proportions import wilson

VERBS = {"learned_nothing": "learned nothing", "good": "was good"}
LEFT_OUT = {"out_of_memory": "ran out of memory", "timed_out": "timed out", "failed": "failed"}


def headline(results: pd.DataFrame, document: Mapping[str, Any], stopped: Mapping[str, Any] | None = None) -> list[str]:
    """The primary outcome of each arm, the paired comparison of the first two, and what was left out.

    A study that was stopped on evidence shows the confidence sequence of its stopping in place of fixed-sample
    intervals and tests, which do not hold for it.
    """
    outcome = str(document["outcomes"]["primary"])
    arms = [str(arm["label"]) for arm in document["arms"]]
    lines = [_fractions(results, arms, outcome, intervals=stopped is None)]
    if len(arms) > 1:
        lines.append(_stopped(stopped) if stopped is not None else _comparison(results, arms[0], arms[1], outcome))
    counts = results["status"].value_counts()
    lines += [
        f"left out: {counts[status]} trial{'s' if counts[status] > 1 else ''} {words}"
        for status, words in LEFT_OUT.items()
        if counts.get(status, 0)
    ]
    return lines


def _fractions(results: pd.DataFrame, arms: list[str], outcome: str, intervals: bool) -> str:
    parts = []
    for place, arm in enumerate(arms):
        shown = results.loc[results["arm"] == arm, "outcome"].dropna()
        count, of = int((shown == outcome).sum()), len(shown)
        verb = f" {VERBS[outcome]}" if place == 0 else ""
        if of == 0:
            parts.append(f"{arm}{verb} in 0 of 0")
            continue
        low, high = wilson(count, of)
        name = "95 % interval " if place == 0 else ""
        interval = f", {name}{_range(low, high)} %" if intervals else ""
        parts.append(f"{arm}{verb} in {count} of {of} ({100 * count / of:.0f} %{interval})")
    return ", ".join(parts)


def _comparison(results: pd.DataFrame, first: str, second: str, outcome: str) -> str:
    counts = pair_counts(results, first, second, outcome)
    if counts.pairs == 0:
        return "no pair is complete yet"
    low, high = paired_difference_interval(counts)
    return (
        f"paired, {first} - {second}: {100 * counts.difference:+.0f} % of {counts.pairs} pairs "
        f"(95 % interval {100 * low:+.0f} to {100 * high:+.0f} %); only {first} {counts.first_only}, "
        f"only {second} {counts.second_only}, exact McNemar p = {exact_mcnemar(counts):.2g}"
    )


def _stopped(note: Mapping[str, Any]) -> str:
    first, second = note["arms"]
    return (
        f"stopped after {note['pairs']} pairs, {first} - {second}: {100 * note['difference']:+.0f} % "
        f"({100 * (1 - note['level']):g} % confidence sequence {100 * note['low']:+.0f} to {100 * note['high']:+.0f} %)"
    )


def _range(low: float, high: float) -> str:
    return f"{100 * low:.0f}-{100 * high:.0f}"
