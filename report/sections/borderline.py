"""Whether the verdict would stand if every trial within the error of its threshold counted against it.

The trials are those whose outcome differs between the two ends of that error (`learning_rule`). Against a significant
difference, each of them counts such that it narrows the difference; against one that is not significant, such that it
widens it. The test is that of the verdict, with the same correction.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypedDict

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from report.comparison import compare
from report.judged_study import JudgedStudy
from report.records.comparisons import PairedComparison
from report.records.estimates import JudgedOutcome, known
from report.records.families import with_holm
from report.sections.verdict import decided
from report.words import p_words, signed, text
from robustness.errors import plural
from robustness.sweep.outcomes import Summary

MOST_NAMED = 3
"""Verdicts that are named; more are counted."""
HAD = {"learned_nothing": "learned nothing", "good": "been good"}


class WorstCase(TypedDict):
    """The test of two arms if every trial within the error of its threshold counted against the verdict."""

    arms: list[str]
    outcome: JudgedOutcome
    only_first: int | None
    only_second: int | None
    difference: float | None
    p_value: float | None
    p_adjusted: float | None
    verdict: str | None
    """The arm that the outcomes as they are favour."""
    favours: str | None
    """The arm that this test favours."""


def worst_cases(study: JudgedStudy, summary: Summary, ends: Sequence[NDArray[np.object_]]) -> list[WorstCase]:
    """The worst case for every two arms that are tested; `ends` are the outcomes [trials] at both ends of the error.

    There is none without a trial within the error.
    """
    frames, trials, planned, outcome = study.frames, study.trials, study.planned, study.frames.primary
    within = trials["counted"] & (ends[0] != ends[1])
    # A trial that has the outcome at one end alone can count as having it or not.
    movable = within & ((ends[0] == outcome) != (ends[1] == outcome))
    if not within.loc[planned.index].any():
        return []
    own = with_holm([compare(planned, *arms, outcome, summary, study.sample) for arms in frames.compared])
    changed = [_against(planned, entry, movable.loc[planned.index]) for entry in own]
    worst = with_holm(
        [
            compare(judged, *arms, outcome, summary, study.sample)
            for judged, arms in zip(changed, frames.compared, strict=True)
        ]
    )
    return [
        {
            "arms": entry["arms"],
            "outcome": outcome,
            "only_first": other["only_first"],
            "only_second": other["only_second"],
            "difference": other["difference"],
            "p_value": other["p_value"],
            "p_adjusted": other["p_adjusted"],
            "verdict": decided(entry),
            "favours": decided(other),
        }
        for entry, other in zip(own, worst, strict=True)
        if entry["p_value"] is not None and other["p_value"] is not None
    ]


def _against(planned: pd.DataFrame, entry: PairedComparison, movable: pd.Series[bool]) -> pd.DataFrame:
    """The judged trials with each movable one of these two arms on the side that speaks against the verdict."""
    first_has_more = (entry["difference"] or 0.0) >= 0
    narrowed = decided(entry) is not None
    raised = entry["arms"][0 if first_has_more != narrowed else 1]
    column = f"outcome_{entry['epoch']}"
    outcomes = planned[column].mask(movable & (planned["arm"] == raised), entry["outcome"])
    lowered = movable & (planned["arm"] != raised)
    return planned.assign(**{column: outcomes.mask(lowered, "between")})


def worst_case_sentence(cases: Sequence[WorstCase]) -> str:
    """What would become of the verdict; empty if nothing is compared."""
    if not cases:
        return ""
    if len(cases) == 1:
        return _of_two_arms(cases[0])
    start = "If each of them counted against each verdict"
    changed = [case for case in cases if case["favours"] != case["verdict"]]
    if not changed:
        return f"{start}, all {len(cases)} verdicts would stand."
    names = "; ".join(" and ".join(text(arm, 40) for arm in case["arms"]) for case in changed)
    named = f": {names}" if len(changed) <= MOST_NAMED else ""
    return f"{start}, {len(changed)} of {len(cases)} verdicts would change{named}."


def _of_two_arms(case: WorstCase) -> str:
    first, second = (text(arm, 40) for arm in case["arms"])
    p = p_words(case["p_adjusted"])
    if case["verdict"] is None:
        start = "If each of them counted for a wider difference"
    else:
        start = "If each of them counted against the verdict"
    if case["only_first"] is None or case["only_second"] is None:
        points = signed(-100 * known(case["difference"]), 0)
        found = f"the difference, {second} minus {first}, would be {points} points ({p})"
    else:
        found = (
            f"{first} alone would have {HAD[case['outcome']]} in {plural(case['only_first'], 'pair')}, {second} alone "
            f"in {case['only_second']} ({p})"
        )
    return f"{start}, {found}: {_consequence(case)}."


def _consequence(case: WorstCase) -> str:
    verdict, favours = case["verdict"], case["favours"]
    if verdict is None:
        return "the difference would " + (
            "still not be significant" if favours is None else f"be significant, in favour of {text(favours, 40)}"
        )
    if favours is None:
        return "the difference would not be significant"
    return "the verdict would stand" if favours == verdict else "the verdict would reverse"
