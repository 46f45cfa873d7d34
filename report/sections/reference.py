"""The figures of the study's reference, such as a paper, beside its own."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, TypedDict

from report.document import Numbers, Section
from report.judged_study import JudgedStudy
from report.judging import OUTCOMES
from report.records.estimates import JudgedOutcome, known
from report.words import DASH, bracketed, exact_percent, spaced, text

if TYPE_CHECKING:
    from report.analysis import Analysis


class ReferenceFraction(TypedDict):
    """A fraction of the reference beside ours, with our interval."""

    arm: str
    outcome: JudgedOutcome
    reference: float
    ours: float | None
    low: float | None
    high: float | None
    inside: bool | None


class ReferenceResults(TypedDict):
    """The study's reference; what a study file may have of it is passed on as it is."""

    label: str
    pairs: int | None
    fractions: list[ReferenceFraction]
    winners: dict[str, dict[str, object]]
    auc_after_referral: dict[str, object]
    figures: dict[str, object]


def results(study: JudgedStudy) -> ReferenceResults | None:
    """The reference's fractions beside the study's own; `inside` if its figure lies within our interval."""
    reference = study.frames.document.get("reference")
    if not reference:
        return None
    rows: list[ReferenceFraction] = []
    for outcome in OUTCOMES:
        for arm, theirs in (reference.get(outcome) or {}).items():
            counts = study.outcome_counts.get(arm)
            ours = None if counts is None or counts[outcome]["fraction"] is None else counts[outcome]
            rows.append(
                {
                    "arm": arm,
                    "outcome": outcome,
                    "reference": theirs,
                    "ours": ours["fraction"] if ours else None,
                    "low": ours["low"] if ours else None,
                    "high": ours["high"] if ours else None,
                    "inside": bool(known(ours["low"]) <= theirs <= known(ours["high"])) if ours else None,
                }
            )
    return {
        "label": reference.get("label", "reference"),
        "pairs": reference.get("pairs"),
        "fractions": rows,
        "winners": reference.get("winners") or {},
        "auc_after_referral": reference.get("auc_after_referral") or {},
        "figures": reference.get("figures") or {},
    }


def sections(analysis: Analysis) -> Iterator[Section]:
    """The reference's fractions beside ours; none if the study names no reference."""
    reference = analysis.results["reference"]
    if not reference or not reference["fractions"]:
        return
    rows = [
        (
            f"{text(row['arm'], 60)}, {spaced(row['outcome'])}",
            exact_percent(row["reference"]),
            bracketed(row["ours"], row["low"], row["high"], exact_percent),
            {True: "within our interval", False: "outside our interval", None: DASH}[row["inside"]],
        )
        for row in reference["fractions"]
    ]
    outside = sum(row["inside"] is False for row in reference["fractions"])
    label = analysis.reference_label
    pairs = f" (of {reference['pairs']} pairs)" if reference["pairs"] else ""
    reading = f"{outside} of the {len(rows)} fractions reported by {label}{pairs} lie outside our 95 % interval."
    columns = ("What", text(label, 40), "Ours", "Agreement")
    yield Section("reference", "Compared with the reference", reading, (), Numbers(columns, tuple(rows)))
