"""The two families of comparisons on tasks: on all single tasks together, and on one task or over all of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from report.document import Numbers
from report.records.comparisons import PairedComparison, ScoreComparison
from report.records.estimates import known
from report.words import DASH, capitalised, p_number
from robustness.errors import plural
from robustness.statistics.paired import holm

if TYPE_CHECKING:
    from report.analysis import Analysis


def corrected_on_task(entries: Sequence[PairedComparison] | Sequence[ScoreComparison], arms: list[str]) -> tuple[str]:
    """The p-value of a comparison on a task, corrected over those on this task alone."""
    tested = [entry for entry in entries if entry["p_value"] is not None]
    corrected = holm([known(entry["p_value"]) for entry in tested])
    own = (p for entry, p in zip(tested, corrected, strict=True) if entry["arms"] == arms)
    return (p_number(next(own, None)),)


def over_tasks(cells: tuple[str, str, str]) -> tuple[str, ...]:
    """The cells of a comparison over tasks, which is none of those on single tasks."""
    return (*cells[:2], DASH, cells[2])


def with_families(analysis: Analysis, columns: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> Numbers:
    """The table with a column for each of two families: all single tasks, and one task or all together."""
    compared = len(analysis.frames.compared)
    named = [analysis.frames.corrected_over(count) for count in (compared * len(analysis.frames.tasks), compared)]
    if compared == 1:
        # The second family is a single test.
        return Numbers((*columns, named[0]), tuple(row[:-1] for row in rows))
    return Numbers((*columns, *named), tuple(rows))


def families(analysis: Analysis) -> Iterator[str]:
    """Over what p-values are corrected."""
    compared, count = len(analysis.frames.compared), len(analysis.frames.tasks)
    if count > 1:
        alone = (
            f", or over the {compared} comparisons on the task of their row or over tasks, as in the verdict and in "
            "Explore with one task"
            if compared > 1
            else ""
        )
        yield (
            f"{capitalised(analysis.frames.correction)} is over all {plural(compared * count, 'comparison')} on single "
            f"tasks{alone}."
        )
