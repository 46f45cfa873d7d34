"""The fair controls: the steps from MFVI to Radial, and what each of them changes."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from report.drawing.differences import Row, draw_differences
from report.drawing.style import INK, Numbers, Picture, Section, text
from report.material import Material
from report.sections.controls_results import OUTCOME_WORDS, mean, points
from report.words import p_words

SHORT = {
    "the smaller initial noise": "smaller\ninitial noise",
    "the scaling by sqrt(D)": "scaling by\nsqrt(D)",
    "the shared radius": "shared\nradius",
}


def controls_section(material: Material) -> Section | None:
    """What each step from MFVI to Radial changes; None for studies without the four arms or without a result."""
    found = material.analysis.get("controls")
    if not found or not found["pairs"]:
        return None
    outcome = OUTCOME_WORDS[found["outcome"]]
    pictures = (
        Picture(
            "controls-outcome",
            f"Share of {outcome}",
            f"The change in the share of {outcome} by each step from {text(found['arms'][0])} to "
            f"{text(found['arms'][-1])}: {_told(found, 'primary')}.",
            partial(draw_differences, _rows(material, found, "primary"), "change in percentage points", 100.0),
        ),
        Picture(
            "controls-score",
            f"Mean {material.metric_words}",
            f"The change in the mean {material.metric_words} by each step: {_told(found, 'score')}.",
            partial(
                draw_differences,
                _rows(material, found, "score"),
                f"change in mean {material.metric_words}",
                decimals=3,
            ),
        ),
    )
    rows = [
        (
            f"{text(entry['arms'][1], 60)} minus {text(entry['arms'][0], 60)}",
            _step(found, entry["arms"]),
            points(entry["primary"]),
            p_words(entry["primary"]["p_adjusted"]),
            mean(entry["score"]),
            p_words(entry["score"]["p_adjusted"]),
        )
        for entry in found["every_two"]
    ]
    columns = ("Arms", "Step", f"Share of {outcome}", "By Holm", f"Mean {material.metric_words}", "By Holm")
    notes = (
        f"Over the {found['pairs']} pairs in which all four arms count, so that the steps add up to the whole.",
        "Intervals are of each difference alone, 95 % each.",
        "p-values are Holm's over all six pairs of arms, for the share and for the mean apart; filled points are below "
        "0.05.",
    )
    return Section(
        "controls", "The fair controls", found["sentences"][-1], pictures, Numbers(columns, tuple(rows)), notes
    )


def _rows(material: Material, found: Mapping[str, Any], key: str) -> list[Row]:
    rows = [
        Row(
            SHORT[step["step"]], step[key], material.arms.colour(step["arms"][1]), material.arms.marker(step["arms"][1])
        )
        for step in found["steps"]
    ]
    return [*rows, Row("all three", found["whole"][key], INK, "s")]


def _told(found: Mapping[str, Any], key: str) -> str:
    tell = points if key == "primary" else mean
    return "; ".join(f"{step['step']} {tell(step[key])}" for step in found["steps"])


def _step(found: Mapping[str, Any], arms: list[str]) -> str:
    if found["whole"]["arms"] == arms:
        return "all three"
    return next((step["step"] for step in found["steps"] if step["arms"] == arms), "–")
