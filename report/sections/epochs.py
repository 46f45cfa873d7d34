"""The verdict's comparisons at the study's own epoch and at the other one, side by side."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from report.comparison import second_minus_first
from report.document import Numbers, Section
from report.records.comparisons import Change
from report.sections.score_verdict import better_arm
from report.sections.verdict import decided
from report.words import OUTCOME_WORDS, corrected_heading, mean_change, p_number, points, text
from robustness.errors import plural
from robustness.sweep.outcomes import Summary

if TYPE_CHECKING:
    from report.analysis import Analysis


@dataclass(frozen=True)
class _Compared:
    """A comparison at one epoch, as the second arm minus the first, and the arm that it favours."""

    change: Change
    better: str | None


def sections(analysis: Analysis) -> Iterator[Section]:
    """Each comparison at either epoch; none where all trials have a single one."""
    if analysis.study.single_epoch:
        return
    own: Summary = analysis.epoch
    other: Summary = "last" if own == "best" else "best"
    by_arms = _by_arms(analysis)
    both = {arms: (at[own], at[other]) for arms, at in by_arms.items() if own in at and other in at}
    if not both:
        return
    write = points if analysis.frames.has_thresholds else mean_change
    rows = []
    for (first, second), pair in both.items():
        cells = [(write(each.change), p_number(each.change["p_value"]), p_number(each.change["p_adjusted"])) for each in pair]
        winners = tuple(text(each.better, 40) if each.better else "undecided" for each in pair)
        rows.append((f"{text(second, 60)} minus {text(first, 60)}", *cells[0], winners[0], *cells[1], winners[1]))
    corrected = corrected_heading(analysis.frames, len(both))
    columns = ("Difference", *(f"{name}, {epoch} epoch" for epoch in (own, other) for name in ("", "p", corrected, "Favoured")))
    changed = [arms for arms, (at_own, at_other) in both.items() if at_own.better != at_other.better]
    what = f"the share that {OUTCOME_WORDS[analysis.primary]}" if analysis.frames.has_thresholds else f"the mean {analysis.metric_words}"
    yield Section(
        "epochs",
        f"At the {other} epoch",
        f"{_reading(changed, len(both), other)}",
        (),
        Numbers(columns, tuple(rows)),
        (f"Differences are in {what}; each 95 % interval and p belong to one comparison alone.",),
    )
