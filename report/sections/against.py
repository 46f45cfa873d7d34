"""Each arm against the one that the study compares with."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING

from report.comparison import second_minus_first
from report.document import Numbers, Picture, Section
from report.drawing.differences import Row, draw_differences
from report.records.comparisons import Change
from report.sections.outcomes import CONFIGURATIONS
from report.words import ONE_TEST, capitalised, is_significant, mean_change, p_words, points, text
from robustness.errors import plural

if TYPE_CHECKING:
    from report.analysis import Analysis


def sections(analysis: Analysis) -> Iterator[Section]:
    """Differences to the arm that `compare_with` names; none for studies that compare every two arms."""
    fixed = analysis.frames.document.get("compare_with")
    if fixed is None:
        return
    shares = {
        entry["arms"][1]: second_minus_first(entry, entry["difference"])
        for entry in analysis.results["paired"]
        if (entry["epoch"], entry["outcome"]) == (analysis.epoch, analysis.primary) and entry["difference"] is not None
    }
    scores = {
        entry["arms"][1]: second_minus_first(entry, entry["mean_difference"])
        for entry in analysis.results["scores"]
        if entry["epoch"] == analysis.epoch and entry["mean_difference"] is not None
    }
    if not shares:
        return
    outcome, name = CONFIGURATIONS[analysis.primary], text(fixed, 60)
    colour, marker = analysis.arms.colour, analysis.arms.marker
    pictures = tuple(
        Picture(
            f"against-{key}",
            title,
            f"{title}, each arm minus {name}: "
            + "; ".join(f"{text(arm, 40)} {write(e)}" for arm, e in entries.items()),
            partial(
                draw_differences,
                [Row(text(arm, 18), entry, colour(arm), marker(arm)) for arm, entry in entries.items()],
                f"{across} beside {text(fixed, 18)}",
                factor,
                decimals,
            ),
        )
        for key, title, entries, write, across, factor, decimals in (
            ("outcome", f"Share of {outcome}", shares, points, "percentage points", 100.0, 0),
            ("score", f"Mean {analysis.metric_words}", scores, mean_change, f"mean {analysis.metric_words}", 1.0, 3),
        )
    )
    rows = tuple(
        (
            text(arm, 60),
            points(shares[arm]),
            p_words(shares[arm]["p_value"]),
            p_words(shares[arm]["p_adjusted"]),
            mean_change(scores[arm]),
            p_words(scores[arm]["p_value"]),
            p_words(scores[arm]["p_adjusted"]),
        )
        for arm in shares
    )
    corrected = analysis.frames.corrected_over(len(rows))
    columns = ("Arm", f"Share of {outcome}", "p", corrected, f"Mean {analysis.metric_words}", "p", corrected)
    notes = (
        ONE_TEST,
        f"{capitalised(analysis.frames.correction)} is over the {len(rows)} comparisons with {name}, for the share and "
        "for the mean separately; filled points are significant after it.",
    )
    yield Section(
        "against",
        f"Each against {name}",
        _reading(shares, scores, name, analysis.frames.correction),
        pictures,
        Numbers(columns, rows),
        notes,
    )


def _reading(shares: Mapping[str, Change], scores: Mapping[str, Change], name: str, correction: str) -> str:
    significant = [
        f"{text(arm, 40)} ({points(shares[arm])}; mean {mean_change(scores[arm])})"
        for arm in shares
        if any(is_significant(each[arm]["p_adjusted"]) for each in (shares, scores))
    ]
    after = f"after {correction} over {plural(len(shares), 'comparison')}"
    if not significant:
        return f"No arm differs significantly from {name} {after}."
    return f"These differ significantly from {name} in the share or in the mean, {after}: {'; '.join(significant)}."
