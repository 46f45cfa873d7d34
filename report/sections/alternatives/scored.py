"""The comparisons of scores without the stand-in of trials that have none, which no other section computes."""

from __future__ import annotations

from dataclasses import replace
from typing import TypedDict

from report.comparison import score_comparison
from report.judged_study import JudgedStudy
from report.judging import own_scores
from report.records.comparisons import ScoreComparison
from report.records.families import with_holm


class AlternativesResults(TypedDict):
    """The comparisons under assumptions that no other section makes."""

    scored_only: list[ScoreComparison]
    """Of scores, over the pairs in which both trials have one of their own."""


def results(study: JudgedStudy) -> AlternativesResults | None:
    """None where every trial has a score, where outcomes decide, and of a watched sweep.

    Scores of several tasks stay in the unit of the whole study, so that either difference can be compared.
    """
    frames, judged = study.frames, study.planned
    scored = own_scores(judged, frames.rule).notna()
    used = judged["counted"] if frames.paired else judged["paired"]
    if frames.has_thresholds or study.sample.watch is not None or scored[used].all():
        return None
    sample = study.sample if study.sample.tasks == 1 else replace(study.sample, whole=judged)
    own = judged.assign(counted=judged["counted"] & scored, paired=judged["paired"] & scored)
    found = [score_comparison(own, *arms, frames.rule, sample, frames.goal) for arms in frames.compared]
    return {"scored_only": with_holm(found)}
