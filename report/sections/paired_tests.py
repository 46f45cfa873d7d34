"""The paired tests as a table: in how many pairs only one of two arms has an outcome, and what that shows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from report.drawing.differences import has_interval
from report.drawing.style import Numbers, Section, text
from report.material import Material
from report.sections.controls_results import turned
from report.sections.outcomes import OUTCOMES
from report.words import SIGNIFICANT, p_words, signed

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


def paired_tests_section(material: Material) -> Section | None:
    """Each comparison at the study's epoch; None without a pair, or where the sweep was ended on its evidence."""
    tested = [
        entry
        for entry in material.analysis["paired"]
        if entry["epoch"] == material.epoch and entry["p_value"] is not None
    ]
    # The tests are for a number of pairs that was settled beforehand.
    if not tested or material.frames.stopped is not None:
        return None
    below = [sum(entry[key] < SIGNIFICANT for entry in tested) for key in ("p_value", "p_adjusted")]
    reading = (
        f"Of {len(tested)} comparisons at the {material.epoch} epoch, {below[0]} on their own and {below[1]} after "
        f"Holm's correction have a p-value below {SIGNIFICANT}."
    )
    notes = (
        f"p-values are of the {tested[0]['test']} test; Holm's correction is over the comparisons of one outcome.",
        "Counts are of pairs; 95 % intervals in brackets are of each difference alone.",
    )
    numbers = Numbers(COLUMNS, tuple(_row(entry) for entry in tested))
    return Section("tests", "Paired tests", reading, (), numbers, notes)


def _row(entry: Mapping[str, Any]) -> tuple[str, ...]:
    return (
        " and ".join(text(arm, 60) for arm in entry["arms"]),
        dict(OUTCOMES)[entry["outcome"]],
        *(str(entry[key]) for key in ("only_first", "only_second", "both", "neither")),
        _points(entry),
        *(p_words(entry[key]).removeprefix("p = ") for key in ("p_value", "p_adjusted")),
    )


def _points(entry: Mapping[str, Any]) -> str:
    """`-42 [-60 to -20]`; without the interval where chance has no part in the difference."""
    changed = turned(entry, "difference")
    value, low, high = (signed(100 * changed[key]) for key in ("difference", "low", "high"))
    return f"{value} [{low} to {high}]" if has_interval(changed) else value
