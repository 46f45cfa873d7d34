"""Parts of the report that are tables alone: the winners, the reference's figures, what the seed decides."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from report.drawing.style import Numbers, Section, number, text
from report.material import Material
from report.sections.outcomes import percent


def winners_section(material: Material) -> Section | None:
    """The best configuration of each arm, how many come near it, and where the reference's winner stands."""
    winners = {arm: found for arm, found in material.analysis["sensitivity"]["winners"].items() if found}
    if not winners:
        return None
    rows = []
    for arm, found in winners.items():
        near = found["near"]
        close = f"{near['count']} of {near['of']} ({percent(near['fraction'])})"
        place = f"configuration {found['configuration']}"
        rows.append((text(arm, 60), place, f"{found['score']:.4f}", close, _values(found["hyperparameters"])))
        theirs = found["reference"]
        if theirs:
            same = theirs["configuration"] is not None
            where = f"configuration {theirs['configuration']}, rank {theirs['rank']}" if same else "not among ours"
            score = f"{theirs['score']:.4f}" if same else "–"
            label = f"{text(arm, 60)}, {material.reference_label}"
            rows.append((label, where, score, "–", _values(theirs["hyperparameters"])))
    told = "; ".join(
        f"{text(arm, 60)} {found['score']:.4f}, and {found['near']['count']} of {found['near']['of']} configurations "
        f"come within {found['near']['within']:g} of it"
        for arm, found in winners.items()
    )
    columns = ("Arm", "Which", "Score", "Near it", "Hyperparameters")
    return Section("winners", "The best of each arm", f"Highest scores: {told}.", (), Numbers(columns, tuple(rows)))


def reference_section(material: Material) -> Section | None:
    """The reference's fractions beside ours; None if the study names none."""
    reference = material.analysis["reference"]
    if not reference or not reference["fractions"]:
        return None
    rows, outside = [], 0
    for row in reference["fractions"]:
        known = row["ours"] is not None
        ours = "–"
        if known:
            ours = f"{percent(row['ours'])} [{percent(row['low'])} to {percent(row['high'])}]"
            outside += not row["inside"]
        verdict = {True: "within our interval", False: "outside our interval", None: "–"}[row["inside"]]
        words = row["outcome"].replace("_", " ")
        rows.append((f"{text(row['arm'], 60)}, {words}", percent(row["reference"]), ours, verdict))
    label = material.reference_label
    pairs = f" (of {reference['pairs']} pairs)" if reference["pairs"] else ""
    reading = f"Of the {len(rows)} fractions that {label} gives{pairs}, {outside} lie outside our 95 % interval."
    return Section(
        "reference",
        "Beside the reference",
        reading,
        (),
        Numbers(("What", text(label, 40), "Ours", "So it is"), tuple(rows)),
    )


def variance_section(material: Material) -> Section | None:
    """How much of the spread of scores is the hyperparameters' and how much the seed's; None without replicates."""
    variance = material.analysis["variance"]
    if not variance:
        return None
    rows = tuple(
        (text(arm, 60), _sd(found["hyperparameters"]), _sd(found["seed"]), _percent(found["share"]))
        for arm, found in variance.items()
    )
    told = ", ".join(f"{_percent(found['share'])} for {text(arm, 60)}" for arm, found in variance.items())
    reading = f"Of the variance of scores the hyperparameters make up {told}; the rest is the seed's."
    columns = ("Arm", "Standard deviation by hyperparameters", "By seed", "Share of the hyperparameters")
    return Section("variance", "Hyperparameters or chance", reading, (), Numbers(columns, rows))


def _values(values: Mapping[str, Any]) -> str:
    return ", ".join(f"{text(name, 40)} {number(value)}" for name, value in values.items())


def _sd(variance: float | None) -> str:
    return "–" if variance is None else f"{max(variance, 0.0) ** 0.5:.4f}"


def _percent(value: float | None) -> str:
    return "–" if value is None else percent(value)
