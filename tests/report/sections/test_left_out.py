from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from scipy import stats
from support.stores import Made, fill, from_table, made_study, mixed

from report.analysis import analyse
from report.frames import load_frames
from report.judged_study import JudgedStudy
from report.sections.left_out import LeftOutResults, results, sections
from robustness.store import Store, open_store

LOST = Made("out_of_memory", [], "CUDA out of memory")


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with open_store(f"sqlite:///{tmp_path / 'made.db'}") as opened:
        yield opened


def left_out(store: Store, mfvi: str, radial: str) -> LeftOutResults:
    """One letter a configuration: n learned nothing, g is good, o ran out of memory, . has not run."""
    kinds: dict[str, Any] = {"n": 0.55, "g": 0.85, "o": LOST, ".": None}
    table = {(c, arm): kinds[k] for arm, row in (("mfvi", mfvi), ("radial", radial)) for c, k in enumerate(row)}
    study = made_study(f"{mfvi}-{radial}", configurations=len(mfvi), epochs=2)
    frames = load_frames(fill(store, study, from_table(table)))
    return results(JudgedStudy.of(frames))


def test_trials_are_counted_by_arm_and_reason_with_their_errors(store: Store) -> None:
    found = analyse(mixed(store)).results["left_out"]
    assert (found["trials"], found["missing"], found["unpaired"]) == (3, 2, 5)
    assert found["by_arm"]["mfvi"] == {"failed": 1, "out_of_memory": 1, "planned": 1, "running": 1, "timed_out": 1}
    assert found["by_arm"]["radial"] == {}
    assert {error["text"] for error in found["errors"]} == {"CUDA out of memory", "ValueError: <b>no</b>"}


def test_the_page_shows_each_error_by_its_last_line_with_a_trial_that_had_it(store: Store) -> None:
    notes = {note for section in sections(analyse(mixed(store))) for note in section.notes}
    shown = sorted(note for note in notes if ", trial " in note)
    assert [note.partition(":")[0].partition(",")[0] for note in shown] == ["failed", "out of memory"]
    assert shown[0].endswith(": ValueError: <b>no</b>")
    assert shown[1].endswith(": CUDA out of memory")


def brute_force(mfvi: str, radial: str) -> set[str | None]:
    """The verdicts of every way in which the lost trials could have gone."""
    lost = [(row, place) for row, letters in enumerate((mfvi, radial)) for place, k in enumerate(letters) if k == "o"]
    verdicts = set()
    for ways in itertools.product("ng", repeat=len(lost)):
        rows = [list(mfvi), list(radial)]
        for (row, place), kind in zip(lost, ways, strict=True):
            rows[row][place] = kind
        pairs = list(zip(*rows, strict=True))
        only_first, only_second = pairs.count(("n", "g")), pairs.count(("g", "n"))
        discordant = only_first + only_second
        p_value = float(stats.chi2.sf((only_first - only_second) ** 2 / discordant, 1)) if discordant else 1.0
        verdicts.add(None if p_value >= 0.05 else "radial" if only_first > only_second else "mfvi")
    return verdicts


@pytest.mark.parametrize(
    ("mfvi", "radial"),
    [
        ("nnnnnnnnnngg", "gggggggggggg"),
        ("nnnnnnnnnnoo", "gggggggggggg"),
        ("nnnnnnnnoooo", "gggggggggggg"),
        ("nnnnnngggooo", "gggggggggggo"),
        ("nnnnngggggoo", "gggggggggggg"),
        ("oooooogggggg", "ggggggnnnnnn"),
        ("nngg", "oggg"),
    ],
)
def test_the_extremes_find_every_change_of_the_verdict(store: Store, mfvi: str, radial: str) -> None:
    found = left_out(store, mfvi, radial)["matters"][0]
    every = brute_force(mfvi, radial)
    assert found["left_out"]["changes"] is (every != {found["observed"]["favours"]})


def test_trials_that_have_not_run_are_told_apart_from_those_left_out(store: Store) -> None:
    found = left_out(store, "nnnnnnnn..", "gggggggg.g")["matters"][0]
    assert found["left_out"] == {"trials": 0, "ways": {}, "changes": False}
    assert found["missing"]["trials"] == 3
    assert found["missing"]["ways"]["for_second"]["pairs"] == 10


def test_one_arm_has_nothing_to_change(store: Store) -> None:
    study = fill(store, made_study("alone", arms=("radial",)))
    assert analyse(study).results["left_out"]["matters"] == []
