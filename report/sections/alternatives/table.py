"""The table of what would change the verdict.

A row shows the difference of one comparison, the leading one, and says of all of them whether the verdict stands.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from report.document import Link, Numbers, Section
from report.records.estimates import known
from report.sections.alternatives.rows import ROWS, Arms, Row, Verdicts, favours
from report.sections.epochs import Compared, compared_by_epoch
from report.words import TASK_UNIT, bracketed_change, capitalised, listed, text

if TYPE_CHECKING:
    from report.analysis import Analysis


def sections(analysis: Analysis) -> Iterator[Section]:
    """The table of other ways to judge; none without a comparison, or where no other way applies."""
    at = {arms: each for arms, each in compared_by_epoch(analysis).items() if analysis.epoch in each}
    if not at:
        return
    verdicts = Verdicts(analysis, at, _leading(analysis, at))
    rows = [row for make in ROWS for row in make(verdicts)]
    if not rows:
        return
    own = at[verdicts.leading][analysis.epoch]
    cell = bracketed_change(own.change, verdicts.in_points)
    first, second = (text(arm, 40) for arm in verdicts.leading)
    unit = "in points" if verdicts.in_points else f"in {TASK_UNIT}" if len(analysis.frames.tasks) > 1 else ""
    heading = f"{second} minus {first}" + (f", {unit}" if unit else "")
    reference = ("As in the verdict", cell, favours(own.better), Link.to("full-verdict", "The verdict in full"))
    yield Section(
        "alternatives",
        "What would change the verdict",
        _reading(rows, several=len(at) > 1),
        (),
        Numbers(("What is changed", heading, "Verdict stands", "More in"), (reference, *(row.cells for row in rows))),
        tuple(_notes(verdicts)),
    )


def _leading(analysis: Analysis, at: Mapping[Arms, Mapping[str, Compared]]) -> Arms:
    """Of the significant comparisons the one with the largest difference, else the one with the smallest p-value."""
    own = {arms: each[analysis.epoch] for arms, each in at.items()}
    different = [arms for arms, each in own.items() if each.better is not None]
    if different:
        return max(different, key=lambda arms: abs(own[arms].change["difference"] or 0.0))
    return min(own, key=lambda arms: known(own[arms].change["p_value"]))


def _reading(rows: Sequence[Row], several: bool) -> str:
    """`Every verdict stands at the last epoch and by Wilcoxon's test; some change on single tasks.`"""
    same, other = ([row.briefly for row in rows if row.changes == changes] for changes in (False, True))
    if not other:
        return f"{'Every verdict' if several else 'The verdict'} stands {listed(same)}."
    change = f"{'at least one verdict' if several else 'the verdict'} changes {listed(other)}"
    if not same:
        return f"{capitalised(change)}."
    return f"{'Every verdict' if several else 'The verdict'} stands {listed(same)}; {change}."


def _notes(verdicts: Verdicts) -> Iterator[str]:
    analysis = verdicts.analysis
    if len(verdicts.at) > 1:
        which = (
            "the significant comparison with the largest difference"
            if verdicts.own[verdicts.leading]
            else "the comparison with the smallest p-value"
        )
        yield (
            f"Differences are those of {which}; whether the verdict stands is said of all {len(verdicts.at)} "
            f"comparisons, by p-values after {analysis.frames.correction}."
        )
    yield (
        "Each row changes one thing alone. In brackets: 95 % intervals; at a value of a hyperparameter, a difference "
        "is shown if its interval leaves out 0."
    )
