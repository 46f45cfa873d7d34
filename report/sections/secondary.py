"""The same trials judged in other ways that the study names: another metric, another epoch, other thresholds.

outcomes:
  metric: validation_auc
  ...
  secondary:
    - {metric: validation_nll, epoch: last, equivalent_within: {score: 0.05}}
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, TypedDict

from report.document import Section
from report.frames import with_outcomes
from report.judged_study import JudgedStudy
from report.records.estimates import OutcomeFractions
from report.sections.equivalence import VerdictEntry, has_outcomes, verdict_table, verdict_words, verdicts
from report.words import metric_words, text
from robustness.goal import GoalName
from robustness.sweep.outcomes import Summary

if TYPE_CHECKING:
    from report.analysis import Analysis


class SecondaryResults(TypedDict):
    """The arms by one secondary judgement."""

    metric: str
    epoch: Summary
    goal: GoalName
    arms: dict[str, OutcomeFractions]
    """Empty without thresholds."""
    comparisons: list[VerdictEntry]
    contrasts: list[VerdictEntry]


def results(study: JudgedStudy) -> list[SecondaryResults] | None:
    """Each secondary judgement in the study's order; None without any."""
    listed = study.frames.document["outcomes"].get("secondary")
    if not listed:
        return None
    return [_judged(_unplanned(JudgedStudy.of(with_outcomes(study.frames, outcomes)))) for outcomes in listed]


def _unplanned(study: JudgedStudy) -> JudgedStudy:
    """The study without the comparison that `stop` names in advance, which is one of the primary judgement."""
    watch = study.sample.watch
    if watch is None:
        return study
    return replace(study, sample=replace(study.sample, watch=replace(watch, planned=None)))


def _judged(study: JudgedStudy) -> SecondaryResults:
    found, rule = verdicts(study), study.frames.rule
    counts = study.outcome_counts if study.frames.has_thresholds else {}
    return {
        "metric": study.frames.metric,
        "epoch": rule,
        "goal": study.frames.goal.name,
        "arms": {arm: entry["at"][rule] for arm, entry in counts.items()},
        "comparisons": found["comparisons"],
        "contrasts": found["contrasts"],
    }


def sections(analysis: Analysis) -> Iterator[Section]:
    """A table of verdicts for each secondary judgement."""
    for place, found in enumerate(analysis.results["secondary"] or ()):
        entries = [*found["comparisons"], *found["contrasts"]]
        own = [entry for entry in entries if entry["outcome"] == ("learned_nothing" if has_outcomes(entries) else None)]
        listed = "; ".join(f"{text(entry['name'], 80)} {verdict_words(entry)}" for entry in own)
        yield Section(
            f"secondary-{place}",
            f"By {metric_words(found['metric'])} at the {found['epoch']} epoch",
            f"{listed}." if listed else "No two arms have this metric in the same configuration.",
            (),
            verdict_table(entries, analysis.study.sample.watch is not None),
            (
                "A secondary outcome of the study: it does not affect the verdict, and p-values are corrected among "
                "themselves.",
            ),
        )
