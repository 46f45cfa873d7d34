"""The best configuration of each arm, and how many others come near it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from report.document import Numbers, Section
from report.words import DASH, exact_percent, named_values, score, text

if TYPE_CHECKING:
    from report.analysis import Analysis


def sections(analysis: Analysis) -> Iterator[Section]:
    """The best configuration of each arm, how many come near it, and where the reference's winner stands."""
    winners = {arm: winner for arm, winner in analysis.results["sensitivity"]["winners"].items() if winner}
    if not winners:
        return
    rows = []
    for arm, winner in winners.items():
        near = winner["near"]
        close = f"{near['count']} of {near['of']} ({exact_percent(near['fraction'])})"
        place = f"configuration {winner['configuration']}"
        rows.append((text(arm, 60), place, score(winner["score"]), close, named_values(winner["hyperparameters"])))
        theirs = winner["reference"]
        if theirs:
            same = theirs["configuration"] is not None
            where = f"configuration {theirs['configuration']}, rank {theirs['rank']}" if same else "not among ours"
            label = f"{text(arm, 60)}, {analysis.reference_label}"
            rows.append((label, where, score(theirs["score"]), DASH, named_values(theirs["hyperparameters"])))
    best = "; ".join(
        f"{text(arm, 60)} {score(winner['score'])}, and {winner['near']['count']} of {winner['near']['of']} "
        f"configurations come within {winner['near']['within']:g} of it"
        for arm, winner in winners.items()
    )
    columns = ("Arm", "Which", "Score", "Near it", "Hyperparameters")
    yield Section("winners", "The best of each arm", f"Best scores: {best}.", (), Numbers(columns, tuple(rows)))
