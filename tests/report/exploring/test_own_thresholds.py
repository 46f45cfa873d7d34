"""The page of a study whose trials have thresholds of their own: what moves with the slider, and what lines are."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.browser import Browser
from support.exploring import move, words
from support.stores import fill, made_study, note_by_cell

from report.analysis import Analysis, analyse
from report.page import write_report
from report.sections import curves, outcomes, profiles
from robustness.store import open_store

pytestmark = pytest.mark.xdist_group("report_pages")

LINES = (
    "Dashed lines are the threshold of good and the lowest of 8 thresholds of having learned nothing; the verdict uses "
    "each trial's own, so "
)


@pytest.fixture(scope="module")
def by_cell(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Analysis]:
    """Thresholds of 0.64, 0.65, ... 0.71 in the eight cells, and others at the last epoch."""
    folder, note = tmp_path_factory.mktemp("cells"), note_by_cell(0.64)
    for summary, part in note["summaries"].items():
        lowest = 0.64 if summary == "best" else 0.60
        part["by_cell"] = {
            cell: {**entry, "value": lowest + place / 100}
            for place, (cell, entry) in enumerate(part["by_cell"].items())
        }
    study = made_study(
        outcomes={"learned_nothing": {"no_better_than_untrained": 0.01}, "epoch": "best"}, configurations=30
    )
    with open_store(f"sqlite:///{folder / 'store.db'}") as store:
        analysis = analyse(fill(store, study, note=note))
    return write_report(analysis, folder / "page.html"), analysis


def test_the_thresholds_in_the_caption_move_with_the_slider(browser: Browser, by_cell: tuple[Path, Analysis]) -> None:
    browser.look(1280)
    browser.open(by_cell[0])
    caption = "#explore .fractions caption"
    assert "each trial by its own threshold, 0.640 to 0.710;" in words(browser, caption)
    move(browser, "#threshold-learned_nothing", 0.6)
    assert "each trial by its own threshold, 0.600 to 0.670;" in words(browser, caption)
    browser.run("document.querySelector('[data-reset]').click()")
    browser.settle()
    assert "each trial by its own threshold, 0.640 to 0.710;" in words(browser, caption)
    said = browser.run("return document.querySelector('[data-views] figure').textContent")
    assert f"{LINES}shares at this line differ." in said
    assert browser.drain()[0] == []


@pytest.mark.parametrize("width", [1280, 1600])
def test_the_card_shows_its_table_whole(browser: Browser, by_cell: tuple[Path, Analysis], width: int) -> None:
    browser.look(width)
    browser.open(by_cell[0])
    browser.run("document.querySelector('#table tbody tr[data-unit]').click()")
    browser.settle()
    high = "return document.querySelector('.card-place').getBoundingClientRect().height"
    if width < 1568:
        assert browser.run(high) < 60, "a line under the plots"
        browser.run("document.querySelector('[data-card] details').open = true")
    assert browser.run(high) > 150
    heads = browser.run("return [...document.querySelectorAll('[data-card] thead th')].map(head => head.textContent)")
    assert heads == ["Arm", "Score", "Outcome", "Threshold"]
    fits = (
        "const place = document.querySelector('.card-place').getBoundingClientRect(), card = document.querySelector("
        "'[data-card]'), box = card.getBoundingClientRect();"
        "const table = card.querySelector('table').getBoundingClientRect();"
        "return table.right <= box.right && box.right <= place.right && card.scrollWidth <= card.clientWidth"
    )
    assert browser.run(fits)


def test_the_page_says_what_dashed_lines_are_and_that_epochs_have_their_own(by_cell: tuple[Path, Analysis]) -> None:
    analysis = by_cell[1]
    (section,) = profiles.sections(analysis)
    assert section.notes[-1].startswith(f"{LINES}shares at this line differ. Areas")
    (section,) = curves.sections(analysis)
    assert section.notes == (f"{LINES}outcomes at this line differ.",)
    (section,) = outcomes.sections(analysis)
    assert any(note.startswith("The last epoch has thresholds of its own") for note in section.notes)
