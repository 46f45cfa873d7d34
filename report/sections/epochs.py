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
from report.words import TASK_UNIT, bracketed_change, capitalised, listed, p_number, text
from robustness.errors import plural
from robustness.sweep.outcomes import SUMMARIES

if TYPE_CHECKING:
    from report.analysis import Analysis

MOST_NAMED = 3
"""More comparisons than these are counted."""


@dataclass(frozen=True)
class Compared:
    """A comparison at one epoch, the second arm minus the first, and the arm that it favours."""

    change: Change
    better: str | None


def sections(analysis: Analysis) -> Iterator[Section]:
    """Each comparison at either epoch; none where both are one and the same, and of a single arm."""
    own, other = analysis.epoch, next(each for each in SUMMARIES if each != analysis.epoch)
    compared = {
        arms: (at[own], at[other]) for arms, at in compared_by_epoch(analysis).items() if own in at and other in at
    }
    if not compared:
        return
    rows = []
    for (first, second), both in compared.items():
        cells: list[str] = []
        for each in both:
            change = each.change
            cells.append(bracketed_change(change, in_points=analysis.frames.has_thresholds))
            cells += [p_number(change["p_value"]), p_number(change["p_adjusted"])]
        favoured = [text(each.better, 40) if each.better else "neither" for each in both]
        cells.append(favoured[0] if favoured[0] == favoured[1] else f"{own}: {favoured[0]}, {other}: {favoured[1]}")
        rows.append((f"{text(second, 60)} minus {text(first, 60)}", *cells))
    corrected = analysis.frames.corrected_over(len(compared))
    names = ("estimate", "p", f"{corrected[0].lower()}{corrected[1:]}")
    columns = [f"{capitalised(epoch)}: {name}" for epoch in (own, other) for name in names]
    outcome = "was good" if analysis.primary == "good" else "learned nothing"
    what = f"the share that {outcome}" if analysis.frames.has_thresholds else f"mean {analysis.metric_words}"
    unit = ", in percentage points" if analysis.frames.has_thresholds else ""
    if len(analysis.frames.tasks) > 1 and what.startswith("mean"):
        unit = f", in {TASK_UNIT}"
    yield Section(
        "epochs",
        f"At the {other} epoch",
        _reading(analysis, compared),
        (),
        Numbers(("Difference", *columns, "Favours"), tuple(rows)),
        (
            f"Differences in {what}{unit}, at the {own} epoch and at the {other} one, with 95 % intervals in brackets; "
            "each interval and p belong to one comparison alone.",
        ),
    )


def compared_by_epoch(analysis: Analysis) -> dict[tuple[str, ...], dict[str, Compared]]:
    """The comparisons that the verdict is about, by arms and epoch, as far as there is a result."""
    frames = analysis.frames
    found: dict[tuple[str, ...], dict[str, Compared]] = {}
    if frames.has_thresholds:
        for entry in analysis.results["paired"]:
            if entry["outcome"] == analysis.primary and entry["p_value"] is not None:
                compared = Compared(second_minus_first(entry, entry["difference"]), decided(entry))
                found.setdefault(tuple(entry["arms"]), {})[entry["epoch"]] = compared
    else:
        for score in analysis.results["scores"]:
            if score["p_value"] is not None:
                compared = Compared(second_minus_first(score, score["mean_difference"]), better_arm(score, frames))
                found.setdefault(tuple(score["arms"]), {})[score["epoch"]] = compared
    return found


def _reading(analysis: Analysis, compared: dict[tuple[str, ...], tuple[Compared, Compared]]) -> str:
    """Whether the verdict at the other epoch would be another."""
    own, other = analysis.epoch, next(each for each in SUMMARIES if each != analysis.epoch)
    changed = [arms for arms, (at_own, at_other) in compared.items() if at_own.better != at_other.better]
    if not changed:
        every = "every" if len(compared) > 1 else "the"
        return f"Judged at the {other} instead of the {own} epoch, {every} verdict would be the same."
    if len(changed) > MOST_NAMED:
        which = f"{len(changed)} of {plural(len(compared), 'comparison')}"
    else:
        which = "; ".join(listed([text(arm, 60) for arm in arms]) for arms in changed)
    return f"Judged at the {other} instead of the {own} epoch, the verdict would be another on {which}."
