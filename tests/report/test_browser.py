"""The page in a real browser: sorting, filtering, the slider, the download, accessibility, every width and scheme."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from support.browser import Browser, pages
from support.searches import TASK as SEARCHED_TASK
from support.searches import fill_search, made_predictions, made_search
from support.stores import AWKWARD, HOSTILE, Made, fill, made_study, note_by_cell, typical, untrained_note

from report.comparison import fraction
from report.exports import results_csv
from report.frames import StudyFrames, load_frames
from report.judging import judge_trials
from report.page import write_report
from report.words import share_cell
from robustness.store import open_store
from robustness.sweep.outcomes import judges
from robustness.tasks import load_task
from robustness.trial import Trial

pytestmark = pytest.mark.xdist_group("report_pages")

UNTRAINED = {"learned_nothing": {"no_better_than_untrained": 0.01, "below": None}}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("pages")


@pytest.fixture(scope="module")
def browser(folder: Path) -> Iterator[Browser]:
    with pages(folder / "downloads") as opened:
        yield opened


@pytest.fixture(scope="module")
def quickstart(folder: Path) -> tuple[Path, StudyFrames]:
    """The page of a study like the finished quickstart, and its frames."""
    with open_store(f"sqlite:///{folder / 'store.db'}") as store:
        study = fill(store, made_study("quickstart", outcomes=UNTRAINED), note=untrained_note())
        return write_report(study, folder / "quickstart.html"), load_frames(study)


def column(browser: Browser, name: str) -> list[str]:
    """The cells of a column of the table as they stand."""
    found: list[str] = browser.run(
        "const at = [...document.querySelectorAll('#table thead th')]"
        ".findIndex(th => th.dataset.column === arguments[0]);"
        "return [...document.querySelectorAll('#table tbody tr')].map(row => row.cells[at].textContent.trim());",
        name,
    )
    return found


def click_head(browser: Browser, name: str) -> str:
    """Click a column's head; gives its aria-sort."""
    sorting: str = browser.run(
        "const th = [...document.querySelectorAll('#table thead th')].find(th => th.dataset.column === arguments[0]);"
        "th.querySelector('button').click(); return th.getAttribute('aria-sort');",
        name,
    )
    return sorting


def type_filter(browser: Browser, words: str) -> None:
    browser.run(
        "const box = document.getElementById('filter'); box.value = arguments[0];"
        "box.dispatchEvent(new Event('input', {bubbles: true}));",
        words,
    )


def move_slider(browser: Browser, outcome: str, level: float) -> float:
    """Drag a slider; gives the value it took, which is one of its steps."""
    value: str = browser.run(
        "const input = document.getElementById('threshold-' + arguments[0]); input.value = arguments[1];"
        "input.dispatchEvent(new Event('input', {bubbles: true})); return input.value;",
        outcome,
        str(level),
    )
    return float(value)


def shown(browser: Browser) -> dict[tuple[int, str], str]:
    cells = browser.run(
        "return [...document.querySelectorAll('td[data-arm]')].map(td =>"
        "[Number(td.dataset.arm), td.dataset.outcome, td.querySelector('.share').textContent.trim()])"
    )
    return {(arm, outcome): text for arm, outcome, text in cells}


def expected(frames: StudyFrames, nothing: float | None, good: float | None) -> dict[tuple[int, str], str]:
    """The fractions as the statistics give them for these thresholds."""
    judging = judges(frames.document, frames.untrained)
    if nothing is not None:
        judging = {summary: replace(judge, nothing=nothing) for summary, judge in judging.items()}
    if good is not None:
        judging = {summary: replace(judge, good=good) for summary, judge in judging.items()}
    judged = judge_trials(frames, judging)
    return {
        (place, outcome): share_cell(fraction(judged, arm, outcome, frames.rule))
        for place, arm in enumerate(frames.arms)
        for outcome in ("learned_nothing", "good")
    }


def test_the_page_opens_without_an_error_or_a_request(browser: Browser, quickstart: tuple[Path, StudyFrames]) -> None:
    browser.open(quickstart[0])
    console, sent = browser.drain()
    assert console == []
    assert sent == [quickstart[0].resolve().as_uri()]
    assert browser.run("return document.querySelector('#explore .controls').hidden") is False


def test_sorting_reorders_the_rows(browser: Browser, quickstart: tuple[Path, StudyFrames]) -> None:
    browser.open(quickstart[0])
    before = column(browser, "radial")
    assert click_head(browser, "radial") == "ascending"
    rising = column(browser, "radial")
    assert rising == sorted(before, key=float)
    assert rising != before
    assert click_head(browser, "radial") == "descending"
    assert column(browser, "radial") == rising[::-1]
    assert click_head(browser, "optimizer") == "ascending"
    assert column(browser, "optimizer") == sorted(column(browser, "optimizer"))
    sorts = browser.run(
        "return [...document.querySelectorAll('#table th[aria-sort]')].map(h => h.getAttribute('aria-sort'))"
    )
    assert sorts.count("none") == len(sorts) - 1
    rates = click_head(browser, "learning_rate_decay") and column(browser, "learning_rate_decay")
    known = [rate for rate in rates if rate != "none"]
    assert rates[: len(known)] == sorted(known, key=float), "what has no value comes last"


def test_the_filter_keeps_the_rows_that_fit(browser: Browser, quickstart: tuple[Path, StudyFrames]) -> None:
    page, frames = quickstart
    browser.open(page)
    type_filter(browser, "SGD")
    wanted = frames.configurations.index[frames.configurations["optimizer"] == "sgd"]
    assert sorted(int(cell) for cell in column(browser, "configuration")) == list(wanted)
    type_filter(browser, "initial_rho=-6")
    wanted = frames.configurations.index[frames.configurations["initial_rho"] == -6]
    assert sorted(int(cell) for cell in column(browser, "configuration")) == list(wanted)
    rate = float(frames.configurations["learning_rate"].iloc[3])
    wanted = frames.configurations.index[frames.configurations["learning_rate"] == rate]
    type_filter(browser, f"learning_rate={rate:.6e}")  # however it is written
    assert sorted(map(int, column(browser, "configuration"))) == list(wanted)
    type_filter(browser, "no such word")
    assert column(browser, "configuration") == []
    type_filter(browser, "")
    assert len(column(browser, "configuration")) == 12


def test_the_sliders_change_the_fractions_to_what_the_statistics_say(
    browser: Browser, quickstart: tuple[Path, StudyFrames]
) -> None:
    page, frames = quickstart
    browser.open(page)
    start = shown(browser)
    assert start == expected(frames, None, None)
    nothing = move_slider(browser, "learned_nothing", 0.66)
    assert nothing == 0.66
    assert shown(browser) == expected(frames, 0.66, None) != start
    for level in (0.7, 0.75, 0.9, 0.55):
        good = move_slider(browser, "good", level)
        assert shown(browser) == expected(frames, 0.66, good)
    browser.run("document.querySelector('[data-reset]').click()")
    assert shown(browser) == start


def test_the_sliders_count_a_diverged_trial_as_the_statistics_do(browser: Browser, folder: Path) -> None:
    def make(trial: Trial, epochs: int) -> Made:
        return Made("diverged", [0.9] * 3) if trial.configuration % 4 == 1 else typical(trial, epochs)

    with open_store(f"sqlite:///{folder / 'last.db'}") as store:
        study = fill(store, made_study("last", outcomes={"epoch": "last"}), make)
        page, frames = write_report(study, folder / "last.html"), load_frames(study)
    browser.open(page)
    assert shown(browser) == expected(frames, None, None)
    for level in (0.45, 0.5, 0.7):
        nothing = move_slider(browser, "learned_nothing", level)
        assert shown(browser) == expected(frames, nothing, None)


def test_the_sliders_average_replicates_within_configurations(browser: Browser, folder: Path) -> None:
    def make(trial: Trial, epochs: int) -> Made:
        if (trial.configuration, trial.replicate) in {(2, 1), (5, 0), (5, 2)} and trial.arm == "mfvi":
            return Made("out_of_memory")
        score = 0.5 + 0.05 * ((3 * trial.configuration + 2 * trial.replicate + 5 * (trial.arm == "radial")) % 9)
        return Made(scores=[score] * epochs)

    with open_store(f"sqlite:///{folder / 'replicates.db'}") as store:
        study = fill(store, made_study("replicates", configurations=8, replicates=3), make)
        page, frames = write_report(study, folder / "replicates.html"), load_frames(study)
    browser.open(page)
    assert shown(browser) == expected(frames, None, None)
    assert all("(8 x up to 3) [" in cell for cell in shown(browser).values())
    for level in (0.49, 0.52, 0.62, 0.73, 0.9, 0.95):
        nothing = move_slider(browser, "learned_nothing", level)
        assert shown(browser) == expected(frames, nothing, None)


@pytest.mark.parametrize(("rule", "value"), [("no_better_than_untrained", 0.68), ("no_better_than_start", 0.1)])
def test_the_sliders_move_thresholds_that_differ_between_trials_together(
    browser: Browser, folder: Path, rule: str, value: float
) -> None:
    def make(trial: Trial, epochs: int) -> Made:
        return replace(typical(trial, epochs), start=0.3 + 0.03 * trial.configuration)

    note = note_by_cell(value)
    for part in note["summaries"].values():
        part["by_cell"]["radial 0"] = {**part["by_cell"]["radial 0"], "value": value + 0.05}
    study = made_study(rule, outcomes={"learned_nothing": {rule: 0.01}})
    with open_store(f"sqlite:///{folder / rule}.db") as store:
        filled = fill(store, study, make, note)
        page, frames = write_report(filled, folder / f"{rule}.html"), load_frames(filled)
    judging = judges(frames.document, frames.untrained)["best"]
    browser.open(page)
    assert shown(browser) == expected(frames, None, None)
    trials = judge_trials(frames, judges(frames.document, frames.untrained))
    assert len(set(trials["threshold_best"])) > 1
    for level, good in ((judging.nothing - 0.05, 0.8), (judging.nothing + 0.07, 0.75)):
        nothing, good = move_slider(browser, "learned_nothing", level), move_slider(browser, "good", good)
        failed = trials["best"] <= trials["threshold_best"] + nothing - judging.nothing
        if rule == "no_better_than_start":
            failed &= trials["best"] < good
        for place, arm in enumerate(frames.arms):
            own = trials["arm"] == arm
            counts = {"learned_nothing": (failed & own).sum(), "good": (~failed & (trials["best"] >= good) & own).sum()}
            for outcome, count in counts.items():
                assert f"({count} of {own.sum()})" in shown(browser)[place, outcome]


def test_the_csv_downloads_and_parses_to_the_same_numbers(
    browser: Browser, quickstart: tuple[Path, StudyFrames], folder: Path
) -> None:
    page, frames = quickstart
    browser.open(page)
    browser.run("document.getElementById('csv').click()")
    file = folder / "downloads" / "quickstart.csv"
    browser.wait(lambda: file.exists() and not list(file.parent.glob("*.crdownload")))
    assert file.read_text(encoding="utf-8") == results_csv(frames)
    table = pd.read_csv(file)
    assert len(table) == 24
    assert table["best"].tolist() == frames.trials["best"].tolist()


@pytest.fixture(scope="module")
def searched(folder: Path) -> Path:
    """The page of an optimised study with final models, an ensemble and thumbnails."""
    split = load_task(SEARCHED_TASK).test

    def predictions(arm: str, replicate: int) -> dict[str, Any]:
        return {**made_predictions(arm, replicate), "labels": split.labels, "patients": split.patients}

    study = made_search("searched", arms=["mfvi", "radial", "radial_ensemble"], finals={"replicates": 3})
    with open_store(f"sqlite:///{folder / 'searched.db'}") as store:
        return write_report(fill_search(store, study, predictions=predictions), folder / "searched.html")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_of_a_search_has_pictures_and_no_violation(browser: Browser, searched: Path, scheme: str) -> None:
    browser.look(1000, scheme)
    browser.open(searched)
    console, sent = browser.drain()
    assert console == []
    # Chromium counts a data URL as a request; none may go to a host.
    assert {address.partition(":")[0] for address in sent} == {"file", "data"}
    sizes = browser.run("return [...document.querySelectorAll('.gallery img')].map(img => img.naturalWidth)")
    assert len(sizes) == 12
    assert set(sizes) == {16}
    open_all(browser)
    assert browser.violations() == []


@pytest.mark.parametrize(("width", "scheme"), [(400, "dark"), (1000, "light"), (1600, "light")])
def test_nothing_is_cut_or_overlaps_on_the_page_of_a_search(
    browser: Browser, searched: Path, width: int, scheme: str
) -> None:
    browser.look(width, scheme)
    browser.open(searched)
    check_layout(browser)


@pytest.mark.parametrize("width", [400, 1000, 1600])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_no_violation(
    browser: Browser, quickstart: tuple[Path, StudyFrames], width: int, scheme: str
) -> None:
    browser.look(width, scheme)
    browser.open(quickstart[0])
    open_all(browser)
    assert browser.violations() == []


@pytest.mark.parametrize("width", [400, 1000, 1600])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nothing_is_cut_or_overlaps(
    browser: Browser, quickstart: tuple[Path, StudyFrames], width: int, scheme: str
) -> None:
    browser.look(width, scheme)
    browser.open(quickstart[0])
    check_layout(browser)


def open_all(browser: Browser) -> None:
    """Unfold everything that folds."""
    browser.run("for (const each of document.querySelectorAll('details')) each.open = true")


def check_layout(browser: Browser) -> None:
    """No text of a figure is cut, over another or tiny, and the page is no wider than the window."""
    open_all(browser)
    assert browser.run("return document.documentElement.scrollWidth <= window.innerWidth")
    cut = browser.run(
        "return [...document.querySelectorAll('figure svg text')].filter(t => { const a = t.getBoundingClientRect(),"
        "b = t.closest('figure').getBoundingClientRect(); return a.width > 0 && (a.left < b.left - 1 ||"
        "a.right > b.right + 1 || a.top < b.top - 1 || a.bottom > b.bottom + 1) }).map(t => t.textContent)"
    )
    assert cut == []
    overlapping = browser.run(
        "const found = []; for (const svg of document.querySelectorAll('figure svg')) {"
        "const boxes = [...svg.querySelectorAll('text:not([transform])')].map(t => [t, t.getBoundingClientRect()]);"
        "boxes.forEach(([t, a], i) => boxes.slice(i + 1).forEach(([u, b]) => {"
        "const x = Math.min(a.right, b.right) - Math.max(a.left, b.left);"
        "const y = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);"
        "if (x > 2 && y > 0.45 * Math.min(a.height, b.height))"
        "found.push(t.textContent + ' / ' + u.textContent) })) }"
        "return found;"
    )
    assert overlapping == []
    tiny = browser.run(
        "return [...document.querySelectorAll('figure svg text')]"
        ".filter(t => t.getBoundingClientRect().height < 8).length"
    )
    assert tiny == 0


def test_headings_and_landmarks_are_in_order(browser: Browser, quickstart: tuple[Path, StudyFrames]) -> None:
    browser.open(quickstart[0])
    levels = browser.run("return [...document.querySelectorAll('h1, h2, h3, h4')].map(h => Number(h.tagName[1]))")
    assert levels.count(1) == 1
    assert all(later - sooner <= 1 for sooner, later in pairwise(levels))
    assert browser.run("return document.querySelectorAll('main').length") == 1


def test_markup_in_names_shows_as_text_and_runs_nothing(browser: Browser, awkward: Callable[[str], Any]) -> None:
    browser.look(1000)
    browser.open(awkward("hostile names").page)
    console, sent = browser.drain()
    assert console == []
    assert len(sent) == 1
    assert HOSTILE[0] in browser.run("return document.querySelector('h1').textContent")
    assert browser.run("return document.querySelectorAll('img, #main script').length") == 0
    assert browser.run("return document.body.innerText").count(HOSTILE[1]) > 2
    cells = column(browser, f"{HOSTILE[0]} outcome")
    assert "failed" in cells


@pytest.mark.parametrize("name", sorted(AWKWARD))
def test_an_awkward_page_opens_with_no_empty_picture(
    browser: Browser, awkward: Callable[[str], Any], name: str
) -> None:
    browser.look(1000)
    browser.open(awkward(name).page)
    assert browser.drain()[0] == []
    open_all(browser)
    sizes = browser.run(
        "return [...document.querySelectorAll('figure svg[role=img]')].map(svg => [svg.getBoundingClientRect().height,"
        "svg.querySelectorAll('path, use, rect, image').length])"
    )
    assert all(height > 50 and shapes > 3 for height, shapes in sizes)
    assert browser.run("return document.querySelector('.verdict .lead').textContent.length") > 20


def test_the_page_reads_without_javascript(awkward: Callable[[str], Any], folder: Path) -> None:
    written = awkward("every ending")
    with pages(folder / "plain", javascript=False) as plain:
        plain.open(written.page)
        assert plain.driver.find_element("css selector", ".lead").is_displayed()
        assert not plain.driver.find_element("css selector", "#explore .controls").is_displayed()
        assert len(plain.driver.find_elements("css selector", "#table tbody tr")) == 12
        plain.driver.find_element("css selector", "#part-details > summary").click()
        plain.driver.find_element("id", "csv").send_keys("\n")
        file = folder / "plain" / "mixed.csv"
        plain.wait(lambda: file.exists() and not list(file.parent.glob("*.crdownload")))
    assert list(csv.reader(io.StringIO(file.read_text(encoding="utf-8")))) == list(
        csv.reader(io.StringIO(results_csv(written.analysis.frames)))
    )
