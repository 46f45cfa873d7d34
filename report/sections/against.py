"""Each arm against the one that the study compares with."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from report.drawing.differences import Row, draw_differences
from report.drawing.style import Numbers, Picture, Section, text
from report.material import Material
from report.sections.controls_results import OUTCOME_WORDS, mean, points
from report.words import SIGNIFICANT, p_words


def against_section(material: Material) -> Section | None:
    """Differences to the arm that `compare_with` names; None for studies that compare every two arms."""
    fixed = material.frames.document.get("compare_with")
    if fixed is None:
        return None
    shares = _turned(material, "paired", "difference", material.primary)
    scores = _turned(material, "scores", "mean_difference")
    if not shares:
        return None
    outcome, name = OUTCOME_WORDS[material.primary], text(fixed, 60)
    colour, marker = material.arms.colour, material.arms.marker
    pictures = tuple(
        Picture(
            f"against-{key}",
            title,
            f"{title}, each arm minus {name}: " + "; ".join(f"{text(arm, 40)} {tell(e)}" for arm, e in found.items()),
            partial(
                draw_differences,
                [Row(text(arm, 18), entry, colour(arm), marker(arm)) for arm, entry in found.items()],
                f"{across} beside {text(fixed, 18)}",
                factor,
                decimals,
            ),
        )
        for key, title, found, tell, across, factor, decimals in (
            ("outcome", f"Share of {outcome}", shares, points, "percentage points", 100.0, 0),
            ("score", f"Mean {material.metric_words}", scores, mean, f"mean {material.metric_words}", 1.0, 3),
        )
    )
    rows = tuple(
        (
            text(arm, 60),
            points(shares[arm]),
            p_words(shares[arm]["p_adjusted"]),
            mean(scores[arm]),
            p_words(scores[arm]["p_adjusted"]),
        )
        for arm in shares
    )
    columns = ("Arm", f"Share of {outcome}", "By Holm", f"Mean {material.metric_words}", "By Holm")
    notes = (
        "Intervals are of each difference alone, 95 % each.",
        f"p-values are Holm's over the {len(rows)} comparisons with {name}, for the share and for the mean apart; "
        "filled points are below 0.05.",
    )
    return Section(
        "against", f"Each against {name}", _reading(shares, scores, name), pictures, Numbers(columns, rows), notes
    )


def _turned(material: Material, key: str, value: str, outcome: str | None = None) -> dict[str, dict[str, Any]]:
    """By arm the differences at the study's epoch, as the arm minus the one that it is compared with."""
    return {
        entry["arms"][1]: {
            "difference": 0.0 - entry[value],
            "low": 0.0 - entry["high"],
            "high": 0.0 - entry["low"],
            "interval": entry["interval"],
            "p_adjusted": entry["p_adjusted"],
        }
        for entry in material.analysis[key]
        if entry["epoch"] == material.epoch and entry.get("outcome") == outcome and entry[value] is not None
    }


def _reading(shares: Mapping[str, Any], scores: Mapping[str, Any], name: str) -> str:
    shown = [
        f"{text(arm, 40)} ({points(shares[arm])}; mean {mean(scores[arm])})"
        for arm in shares
        if min(shares[arm]["p_adjusted"], scores[arm]["p_adjusted"]) < SIGNIFICANT
    ]
    if not shown:
        return f"No arm is shown to differ from {name} at the 5 % level after Holm's correction."
    return f"After Holm's correction these differ from {name} in the share or in the mean: {'; '.join(shown)}."
