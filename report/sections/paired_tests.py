"""The paired tests as a table: in how many pairs only one of two arms has an outcome, and the p-values."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Literal

from report.comparison import second_minus_first
from report.document import Numbers, Section
from report.judged_study import JudgedStudy
from report.records.comparisons import PairedComparison
from report.words import (
    DASH,
    OUTCOME_WORDS,
    bracketed_change,
    capitalised,
    is_significant,
    p_number,
    text,
)

if TYPE_CHECKING:
    from report.analysis import Analysis

COUNTS: tuple[Literal["only_first", "only_second", "both", "neither"], ...] = (
    *("only_second", "only_first"),
    *("both", "neither"),
)
COUNT_COLUMNS = ("Only the first named", "Only the second named", "Both", "Neither")
COLUMNS = ("Difference", "Outcome", *COUNT_COLUMNS, "Points", "p")


def results(study: JudgedStudy) -> list[PairedComparison]:
    """Every comparison of two arms, both outcomes, both epochs."""
    return study.comparisons


def sections(analysis: Analysis) -> Iterator[Section]:
    """Each comparison at the study's epoch; none without a pair."""
    tested = [
        entry
        for entry in analysis.results["paired"]
        if entry["epoch"] == analysis.epoch and entry["p_value"] is not None
    ]
    if not tested:
        return
    family = sum(entry["outcome"] == tested[0]["outcome"] for entry in tested)
    alone = sum(is_significant(entry["p_value"]) for entry in tested)
    corrected = sum(is_significant(entry["p_adjusted"]) for entry in tested)
    reading = (
        f"Of {len(tested)} comparisons at the {analysis.epoch} epoch, {alone} {'is' if alone == 1 else 'are'} "
        f"significant at the 5 % level on {'its' if alone == 1 else 'their'} own"
        + (f" and {corrected} after {analysis.frames.correction}." if family > 1 else ".")
    )
    notes = (
        f"p and the 95 % interval in brackets belong to one test, the {tested[0]['test']} test of each difference "
        "alone: the interval leaves out 0 exactly when p is below 0.05.",
        *_correction(analysis, family),
        "“Only the first named” counts the pairs of trials in which that arm alone had the outcome"
        + ("; differences are means over configurations." if analysis.study.sample.replicated else ".")
        if analysis.frames.paired
        else "The arms share no configurations, so trials are not paired: fractions are compared as independent ones.",
    )
    paired = analysis.frames.paired
    columns = COLUMNS if paired else tuple(name for name in COLUMNS if name not in COUNT_COLUMNS)
    rows = [_row(entry, paired) for entry in tested]
    if family > 1:
        columns = (*columns, analysis.frames.corrected_over(family))
    numbers = Numbers(columns, tuple(row[: len(columns)] for row in rows))
    yield Section(
        "tests", "Paired tests" if analysis.frames.paired else "Tests without pairs", reading, (), numbers, notes
    )


def _correction(analysis: Analysis, family: int) -> Iterator[str]:
    """Over how many comparisons p-values are corrected; nothing for a single one."""
    if family > 1:
        yield f"{capitalised(analysis.frames.correction)} is over the {family} comparisons of one outcome at one epoch."


def _row(entry: PairedComparison, paired: bool) -> tuple[str, ...]:
    change = second_minus_first(entry, entry["difference"])
    return (
        " minus ".join(text(arm, 60) for arm in reversed(entry["arms"])),
        OUTCOME_WORDS[entry["outcome"]],
        *(DASH if entry[key] is None else str(entry[key]) for key in (COUNTS if paired else ())),
        bracketed_change(change, in_points=True),
        p_number(entry["p_value"]),
        p_number(entry["p_adjusted"]),
    )
