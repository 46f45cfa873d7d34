"""How the trials of an optimised study are numbered, so that a number tells the arm, the stage and the run.

Each arm has a block of configurations: run n of the search is number n in it, the final model of run n number 5000 + n.
An arm's place is where it first stood in the study; a note in the store keeps it when arms are added or moved.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple, TypeAlias

from robustness.store.study_store import StudyStore

Stage: TypeAlias = Literal["search", "final"]

BLOCK = 10_000
FINALS_FROM = 5_000
PLACES_NOTE = "arm_places"


class Numbered(NamedTuple):
    """What a configuration's number says."""

    place: int
    stage: Stage
    run: int


def number_of(place: int, stage: Stage, run: int) -> int:
    """The number of a configuration."""
    return place * BLOCK + (FINALS_FROM if stage == "final" else 0) + run


def read_number(number: int) -> Numbered:
    """The arm's place, the stage and the run behind a configuration's number."""
    place, rest = divmod(number, BLOCK)
    return Numbered(place, "search", rest) if rest < FINALS_FROM else Numbered(place, "final", rest - FINALS_FROM)


def arm_places(store: StudyStore, arms: Sequence[str] = ()) -> dict[str, int]:
    """The place of each arm that the study has or had; arms that are new to the store are put behind the others."""
    known: list[str] = store.note(PLACES_NOTE) or []
    new = [arm for arm in arms if arm not in known]
    if new:
        store.save_note(PLACES_NOTE, [*known, *new])
    return {arm: place for place, arm in enumerate([*known, *new])}
