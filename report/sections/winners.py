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
        f"{text(arm, 60)} {score(winner['score'])} ({winner['near']['count']} of {winner['near']['of']} configurations)"
        for arm, winner in winners.items()
    )
    within = next(iter(winners.values()))["near"]["within"]
    reading = f"Best {_what(analysis)} of any configuration, and how many come within {within:g} of it: {best}."
    columns = ("Arm", "Which", "Score", f"Within {within:g} of it", "Hyperparameters")
    yield Section(
        "winners", "The best of each arm", reading, (), Numbers(columns, tuple(rows)), tuple(_notes(analysis))
    )


def _what(analysis: Analysis) -> str:
    """`mean test accuracy over 5 tasks`: what the score of a configuration is."""
    of = [f"{len(analysis.frames.tasks)} tasks"] if len(analysis.frames.tasks) > 1 else []
    of += ["replicates"] if analysis.frames.replicates > 1 else []
    return f"mean {analysis.metric_words} over {' and '.join(of)}" if of else analysis.metric_words


def _notes(analysis: Analysis) -> Iterator[str]:
    """That the best of many single runs do not rank the arms."""
    if analysis.frames.replicates == 1:
        runs = "one run on each task" if len(analysis.frames.tasks) > 1 else "a single run"
        yield (
            f"Each best score is of {runs}, chosen as the best of many, so it is optimistically biased, and its "
            "difference to another arm's may be chance: this does not support ranking the arms."
        )
    else:
        yield "Each best score is chosen as the best of many, so it is optimistically biased."
