"""The first screen in a real browser: it fits, nothing is cut, links open what is folded, and a notebook shows it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from itertools import pairwise
from pathlib import Path

import pytest
from support.browser import Browser, pages
from support.kinds import FIVE, KINDS
from support.stores import fill, made_study, renamed_arms

from report.analysis import Analysis, analyse
from report.page import notebook_html, write_report
from robustness.store import open_store

pytestmark = pytest.mark.xdist_group("report_pages")

TALLEST = 800
"""Pixels of a small laptop's window."""
OVERLAPS = """
const found = [], boxes = [...document.querySelectorAll(arguments[0])].flatMap(element => {
  const range = document.createRange(); range.selectNodeContents(element);
  return [...range.getClientRects()].map(box => [element.textContent.trim(), box, element]);
}).filter(([, box]) => box.width > 1 && box.height > 1);
boxes.forEach(([t, a, e], i) => boxes.slice(i + 1).forEach(([u, b, f]) => {
  if (e === f || e.contains(f) || f.contains(e)) return;
  const x = Math.min(a.right, b.right) - Math.max(a.left, b.left);
  const y = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
  if (x > 2 && y > 0.4 * Math.min(a.height, b.height)) found.push(t + ' / ' + u);
}));
return found;
"""
CUT = """
return [...document.querySelectorAll('.answer *')].filter(element => {
  const box = element.getBoundingClientRect();
  return !element.closest('.scroll') && box.width > 0 && (box.left < -1 || box.right > window.innerWidth + 1);
}).map(element => element.outerHTML.slice(0, 120));
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("first")


@pytest.fixture(scope="module")
def browser(folder: Path) -> Iterator[Browser]:
    with pages(folder / "downloads") as opened:
        yield opened


@cache
def written(kind: str, folder: Path) -> tuple[Path, Analysis]:
    """The page of a study of a kind, and its analysis."""
    place = folder / kind.replace(" ", "-")
    place.mkdir()
    analysis = long_names(place) if kind == "long names" else KINDS[kind](place)
    return write_report(analysis, place / "page.html"), analysis


def long_names(folder: Path) -> Analysis:
    """Five arms with long names, each compared with every other: ten lines."""
    names = [f"{arm}_with_a_long_name_of_its_own" for arm in FIVE]
    study = renamed_arms(made_study("long_names", arms=FIVE, configurations=20), *names)
    with open_store(f"sqlite:///{folder / 'made.db'}") as store:
        return analyse(fill(store, replace(study, description="A description. " * 8)))


@pytest.mark.parametrize("kind", ["two arms", "five arms", "five arms against one", "margin", "no thresholds"])
def test_the_first_screen_fits_a_small_laptop(browser: Browser, folder: Path, kind: str) -> None:
    browser.look(1280)
    browser.open(written(kind, folder)[0])
    assert browser.run("return document.querySelector('#verdict').getBoundingClientRect().bottom") <= TALLEST


@pytest.mark.parametrize("width", [400, 1000, 1280, 1600])
@pytest.mark.parametrize("kind", ["five arms", "long names", "two tasks", "final models"])
def test_nothing_on_it_is_cut_or_overlaps(browser: Browser, folder: Path, kind: str, width: int) -> None:
    browser.look(width, "dark" if width == 400 else "light")
    browser.open(written(kind, folder)[0])
    assert browser.run("return document.documentElement.scrollWidth <= window.innerWidth")
    assert browser.run(CUT) == []
    texts = ".answer .name, .answer .numbers, .answer .verdict-words, .answer .lead, .answer figcaption, .answer .note"
    assert browser.run(OVERLAPS, f"{texts}, .answer .axis text, .answer .warnings li, .answer th, .answer td") == []


@pytest.mark.parametrize("width", [400, 1000])
def test_ticks_keep_apart_the_axis_stays_in_view_and_intervals_lie_over_markers(
    browser: Browser, folder: Path, width: int
) -> None:
    browser.look(width)
    browser.open(written("five arms", folder)[0])
    places = browser.run(
        "return [...document.querySelectorAll('.answer .axis text')].filter(each => each.checkVisibility())"
        ".map(each => [each.getBoundingClientRect().left, each.getBoundingClientRect().right, each.textContent])"
    )
    assert "0" in [label for *_, label in places]
    assert all(after[0] - before[1] > 8 for before, after in pairwise(sorted(places))), places
    assert browser.run(
        "return [...document.querySelectorAll('.answer .interval')].every(each => each.parentElement"
        ".querySelector('.estimate').compareDocumentPosition(each) & Node.DOCUMENT_POSITION_FOLLOWING)"
    )
    browser.run("document.querySelector('.answer .line:not(.sides)').scrollIntoView()")
    axis = "return innerHeight - document.querySelector('.answer .axis').getBoundingClientRect().bottom"
    assert browser.run(axis) >= 0


@pytest.mark.parametrize("width", [400, 1000, 1600])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_no_violation_on_five_arms(browser: Browser, folder: Path, width: int, scheme: str) -> None:
    browser.look(width, scheme)
    browser.open(written("five arms", folder)[0])
    console, sent = browser.drain()
    assert console == []
    assert len(sent) == 1
    browser.run("for (const each of document.querySelectorAll('details')) each.open = true")
    assert browser.violations() == []


def wait_for(browser: Browser, script: str) -> None:
    """Wait until what a script returns is true."""
    browser.wait(lambda: browser.run(script))


def test_a_link_to_a_section_opens_the_part_that_it_is_in(browser: Browser, folder: Path) -> None:
    page = written("two arms", folder)[0]
    browser.look(1280)
    browser.open(page)
    state = "return [...document.querySelectorAll('.part')].map(part => part.open)"
    assert browser.run(state) == [True, False, False, False]
    for anchor, opened in (("sensitivity", 1), ("budget", 2), ("making", 3)):
        browser.run(f"document.querySelector('nav a[href=\"#{anchor}\"]').click()")
        wait_for(browser, f"{state}[{opened}]")
        top = f"return document.getElementById('{anchor}').getBoundingClientRect().top"
        wait_for(browser, f"{top} >= -5")
    # The same link once more, after its part was folded again, opens it, too.
    browser.run("document.getElementById('part-details').open = false")
    browser.run("document.querySelector('nav a[href=\"#making\"]').click()")
    browser.wait(lambda: browser.run(state)[3])
    assert browser.drain()[0] == []


def test_an_address_with_a_fragment_opens_its_part(browser: Browser, folder: Path) -> None:
    browser.open(written("five arms", folder)[0])
    browser.driver.get(f"{written('two arms', folder)[0].resolve().as_uri()}#making")
    browser.wait(lambda: browser.run("return document.getElementById('part-details').open"))


@pytest.mark.parametrize("host", ['<body data-jp-theme-light="true">', '<body class="vscode-dark">'])
def test_a_notebook_shows_it_without_a_violation(browser: Browser, folder: Path, host: str) -> None:
    shown = notebook_html(written("five arms", folder)[1])
    page = folder / "cell.html"
    head = "<!doctype html><html lang='en'><head><meta charset='utf-8'><title>cell</title></head>"
    page.write_text(f"{head}{host}<main><h1>A notebook</h1><h2>x</h2><h3>y</h3>{shown}</main></body></html>", "utf-8")
    browser.look(1000)
    browser.open(page)
    assert browser.drain()[0] == []
    assert browser.violations() == []
    assert len(browser.run("return [...document.querySelectorAll('.robustness li.line:not([aria-hidden])')]")) == 10
    colour = browser.run("return getComputedStyle(document.querySelector('.robustness')).backgroundColor")
    assert colour == ("rgb(20, 23, 27)" if "dark" in host else "rgb(255, 255, 255)")
    assert browser.run("return document.documentElement.scrollWidth <= window.innerWidth")
