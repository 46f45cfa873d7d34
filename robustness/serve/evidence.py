"""Fractions and comparisons of a study under way, by the intervals and tests of the report.

They rest on complete pairs. In a sweep with `stop` they rest on the finished prefix of its plan, and are valid however
often they are looked at; in other sweeps they are those of a report that is written now.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TypedDict

import numpy as np

from robustness.statistics.clusters import configuration_means, discordance
from robustness.statistics.independent import fraction_test
from robustness.statistics.paired import holm
from robustness.statistics.proportions import Interval, fraction_interval
from robustness.statistics.score_test import score_interval, score_p
from robustness.statistics.sequential import confidence_sequence
from robustness.statistics.tasks import Pairs, stratified_test
from robustness.sweep.outcomes import Outcome
from robustness.sweep.stopping import Decision
from robustness.trial import TrialKey

Shown = Mapping[TrialKey, bool]
"""Whether each trial that counts has the primary outcome."""


class Fraction(TypedDict):
    """The fraction of one arm."""

    arm: str
    count: int
    of: int
    fraction: float | None
    low: float | None
    high: float | None


class Comparison(TypedDict):
    """The difference of two arms' fractions, first minus second."""

    arms: list[str]
    pairs: int
    difference: float | None
    low: float | None
    high: float | None
    p_value: float | None
    """After correction for the other comparisons."""
    decided: bool
    equivalent: bool


def shown_outcomes(outcomes: Mapping[TrialKey, Outcome | None], primary: str, drawn: Collection[TrialKey]) -> Shown:
    """Whether each counted trial among those `drawn` has the primary outcome."""
    return {key: outcome == primary for key, outcome in outcomes.items() if outcome is not None and key in drawn}


def complete(shown: Shown, labels: Sequence[str], paired: bool) -> Shown:
    """The trials of complete pairs: every arm that has any trial counts in its configuration, replicate and task."""
    if not paired:
        return shown
    used = {key.arm for key in shown} & set(labels)
    together: dict[TrialKey, int] = {}
    for key in shown:
        if key.arm in used:
            unit = key._replace(arm="")
            together[unit] = together.get(unit, 0) + 1
    return {key: has for key, has in shown.items() if together.get(key._replace(arm="")) == len(used)}


def fractions(shown: Shown, labels: Sequence[str], looks: Sequence[bool] | None) -> list[Fraction]:
    """The fraction of each arm over the trials given, which are those of complete pairs.

    `looks` says whether evidence is read after each configuration of the finished prefix; None without `stop`.
    """
    entries: list[Fraction] = []
    for arm in labels:
        own = sorted((key, has) for key, has in shown.items() if key.arm == arm)
        if looks is not None:
            own = [(key, has) for key, has in own if key.configuration < len(looks)]
        values, owners = [float(has) for _, has in own], [key.configuration for key, _ in own]
        mean = float(configuration_means(values, owners).mean()) if own else None
        interval = fraction_interval(values, owners) if looks is None else _sequence(values, owners, looks)
        low, high = _ends(interval)
        entries.append(
            {"arm": arm, "count": int(sum(values)), "of": len(values), "fraction": mean, "low": low, "high": high}
        )
    return entries


def comparisons(
    shown: Shown, compared: Iterable[tuple[str, str]], paired: bool, level: float = 0.05
) -> list[Comparison]:
    """Every comparison of a sweep without `stop`, with p-values after Holm's correction."""
    entries = [_compared(shown, first, second, paired) for first, second in compared]
    known = [entry for entry in entries if entry["p_value"] is not None]
    for entry, p_value in zip(known, holm([entry["p_value"] or 0.0 for entry in known]), strict=True):
        entry["p_value"] = p_value
        entry["decided"] = p_value < level
    return entries


def stopping_evidence(decision: Decision) -> list[Comparison]:
    """Every comparison that a `stop` section tests, with anytime-valid intervals and p-values."""
    return [
        {
            "arms": list(entry["arms"]),
            "pairs": entry["pairs"],
            "difference": entry["difference"],
            "low": entry["low"],
            "high": entry["high"],
            "p_value": entry["p_adjusted"],
            "decided": entry["decided"],
            "equivalent": bool(entry.get("equivalent", False)),
        }
        for entry in decision.evidence()
    ]


def _compared(shown: Shown, first: str, second: str, paired: bool) -> Comparison:
    entry: Comparison = {
        "arms": [first, second],
        "pairs": 0,
        "difference": None,
        "low": None,
        "high": None,
        "p_value": None,
        "decided": False,
        "equivalent": False,
    }
    if not paired:
        tested = fraction_test(*_sample(shown, first), *_sample(shown, second))
        return entry if tested is None else _tested(entry, tested.difference, tested.interval, tested.p_value)
    keys = sorted(key for key in shown if key.arm == first and key._replace(arm=second) in shown)
    if not keys:
        return entry
    entry["pairs"] = len(keys)
    a = np.array([float(shown[key]) for key in keys])
    b = np.array([float(shown[key._replace(arm=second)]) for key in keys])
    owners = np.array([key.configuration for key in keys])
    tasks = np.array([key.task for key in keys])
    labels = sorted(set(tasks))
    if len(labels) == 1:
        counts = discordance(a > 0, b > 0, owners)
        difference = float(configuration_means(a - b, owners).mean())
        return _tested(entry, difference, score_interval(*counts), score_p(*counts))
    parts = [Pairs(a[tasks == label], b[tasks == label], owners[tasks == label]) for label in labels]
    stratified = stratified_test(parts)
    if stratified is None:
        return entry
    return _tested(entry, stratified.difference, stratified.interval, stratified.p_value)


def _tested(entry: Comparison, difference: float, interval: Interval, p_value: float | None) -> Comparison:
    low, high = _ends(interval)
    return {**entry, "difference": difference, "low": low, "high": high, "p_value": p_value}


def _sample(shown: Shown, arm: str) -> tuple[list[float], list[int]]:
    """Outcomes [trials] of an arm and the configurations that they belong to."""
    own = sorted(key for key in shown if key.arm == arm)
    return [float(shown[key]) for key in own], [key.configuration for key in own]


def _sequence(values: Sequence[float], owners: Sequence[int], looks: Sequence[bool]) -> Interval:
    """The confidence sequence of the mean over configurations, which are in the plan's order."""
    known = set(owners)
    seen: list[bool] = []
    for number, look in enumerate(looks):
        if number in known:
            seen.append(look)
        elif look and seen:
            # A round whose last configuration is missing ends before it.
            seen[-1] = True
    return confidence_sequence(configuration_means(values, owners), 0.0, 1.0, np.array(seen, dtype=bool))


def _ends(interval: Interval) -> tuple[float | None, float | None]:
    """The ends of an interval; None where it has none."""
    return (None, None) if math.isnan(interval.low) else (interval.low, interval.high)
