"""The paired tests as a table: in how many pairs only one of two arms has an outcome, and the p-values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from report.comparison import second_minus_first
from report.document import Numbers, Section
from report.judged_study import JudgedStudy
from report.words import OUTCOME_WORDS, SIGNIFICANT, bracketed, has_interval, p_number, signed, text

if TYPE_CHECKING:
    from report.analysis import Analysis

COLUMNS = (
    "Arms",
    "Outcome",
    "Only the first",
    "Only the second",
    "Both",
    "Neither",
    "Second minus first, points",
    "p",
    "By Holm",
)


def results(study: JudgedStudy) -> list[dict[str, Any]]:
    """Every comparison of two arms, both outcomes, both epochs."""
    return study.comparisons


def sections(analysis: Analysis) -> Iterator[Section]:
    """Each comparison at the study's epoch; none without a pair, or where the sweep was ended on its evidence."""
    tested = [
        entry
        for entry in analysis.results["paired"]
        if entry["epoch"] == analysis.epoch and entry["p_value"] is not None
    ]
    # The tests are for a number of pairs that was settled beforehand.
    if not tested or analysis.frames.stopped is not None:
        return
    below = [sum(entry[key] < SIGNIFICANT for entry in tested) for key in ("p_value", "p_adjusted")]
    reading = (
        f"Of {len(tested)} comparisons at the {analysis.epoch} epoch, {below[0]} on their own and {below[1]} after "
        f"Holm's correction have a p-value below {SIGNIFICANT}."
    )
    notes = (
        f"p-values are of the {tested[0]['test']} test; Holm's correction is over the comparisons of one outcome.",
        "Counts are of pairs; 95 % intervals in brackets are of each difference alone.",
    )
    numbers = Numbers(COLUMNS, tuple(_row(entry) for entry in tested))
    yield Section("tests", "Paired tests", reading, (), numbers, notes)


def _row(entry: Mapping[str, Any]) -> tuple[str, ...]:
    change = second_minus_first(entry, "difference")
    low, high = (change["low"], change["high"]) if has_interval(change) else (None, None)
    return (
        " and ".join(text(arm, 60) for arm in entry["arms"]),
        OUTCOME_WORDS[entry["outcome"]],
        *(str(entry[key]) for key in ("only_first", "only_second", "both", "neither")),
        bracketed(change["difference"], low, high, lambda value: signed(100 * value)),
        *(p_number(entry[key]) for key in ("p_value", "p_adjusted")),
    )
