"""Asking the page in a real browser: restricting, pointing, selecting, by mouse, keys and touch."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pandas as pd
import pytest
from selenium.webdriver.common.keys import Keys
from support.browser import Browser
from support.exploring import at_levels, move, rows, selected, shares, tick, words

from report.analysis import Analysis
from report.exploring.section import explore_section
from report.judging import own_scores
from report.words import number, share_cell
from robustness.trial import NO_RESULT

pytestmark = pytest.mark.xdist_group("report_pages")

FIGURES = ("Pairs", "Score along a hyperparameter", "Parallel coordinates")


def expected_shares(analysis: Analysis, kept: pd.Series[Any], nothing: float | None = None) -> list[str]:
    part = at_levels(analysis.study, nothing, None).restricted(kept)
    return [
        share_cell(entry[outcome]) for entry in part.outcome_counts.values() for outcome in ("learned_nothing", "good")
    ]


def in_order(analysis: Analysis, kept: Any) -> list[int]:
    """Configurations as the table lists them: by their hyperparameters from left to right, those without one last."""
    frame = analysis.frames.configurations.loc[kept, analysis.hyperparameters]
    return list(frame.sort_values(analysis.hyperparameters, kind="stable").index)


def place_of(browser: Browser, title: str, number: int = 0) -> tuple[float, float]:
    """Where in the window a point of a figure is; the figure is scrolled to the middle of it."""
    x, y = browser.run(
        "const figure = [...document.querySelectorAll('#explore figure')]"
        ".find(f => f.querySelector('figcaption')?.textContent === arguments[0]);"
        "figure.scrollIntoView({block: 'center'}); const svg = figure.querySelector('svg');"
        "const all = [...svg.querySelectorAll('.dots.kept')].map(p => p.getAttribute('d')).join('');"
        "const [x, y] = [...all.matchAll(/M([\\d.]+) ([\\d.]+)/g)][arguments[1]].slice(1).map(Number);"
        "const box = svg.getBoundingClientRect(), view = svg.viewBox.baseVal;"
        "return [box.left + x / view.width * box.width, box.top + y / view.height * box.height]",
        title,
        number,
    )
    return x, y


def lit(browser: Browser) -> list[bool]:
    """Whether each of the linked figures shows a selection."""
    found: list[bool] = browser.run(
        "return arguments[0].map(title => Boolean([...document.querySelectorAll('#explore figure')]"
        ".find(f => f.querySelector('figcaption')?.textContent === title)"
        ".querySelector('.marks .ring, .marks .chosen')))",
        list(FIGURES),
    )
    return found


def test_ticks_restrict_the_numbers_the_table_and_grey_the_rest(browser: Browser, page: Analysis) -> None:
    before = shares(browser)
    tick(browser, "optimizer", "sgd")
    configurations = page.frames.configurations
    kept = configurations.index[configurations["optimizer"] != "sgd"]
    assert words(browser, "[data-kept]") == f"{len(kept)} of 24 configurations"
    assert rows(browser) == in_order(page, kept)
    assert shares(browser) == expected_shares(page, page.study.trials["configuration"].isin(kept)) != before
    labels = "return [...document.querySelectorAll('.whole')].map(label => label.checkVisibility())"
    assert words(browser, "[data-restriction] span") == (
        f"The restriction in Explore applies here, too: it keeps {len(kept)} of 24 configurations."
    )
    assert len(browser.run(labels)) > 8
    assert all(browser.run(labels))
    assert browser.run("return document.querySelectorAll('#explore .whole').length") == 0
    greyed = "return getComputedStyle(document.getElementById('outcomes')).filter"
    assert browser.run(greyed) == "grayscale(1)"
    browser.run("document.querySelector('[data-reset]').click()")
    browser.settle()
    assert shares(browser) == before
    assert words(browser, "[data-kept]") == "24 of 24 configurations"
    assert not any(browser.run(labels))
    assert browser.run(greyed) == "none"
    tick(browser, "optimizer", "sgd")
    browser.run("document.querySelector('[data-restriction] button').click()")
    browser.settle()
    assert len(rows(browser)) == 24
    assert not browser.run("return document.querySelector('[data-restriction]').checkVisibility()")
    assert browser.drain()[0] == []


def test_a_restriction_that_leaves_nothing_says_what_to_do(browser: Browser, page: Analysis) -> None:
    buttons = "return [...document.querySelectorAll('[data-previous], [data-next]')].map(each => each.hidden)"
    assert browser.run(buttons) == [True, True], "all rows are shown"
    for level in page.frames.configurations["optimizer"].unique():
        tick(browser, "optimizer", level)
    said = "No configuration left; tick a value or widen a range."
    assert words(browser, "[data-kept]") == f"0 of 24 configurations. {said}"
    assert words(browser, "[data-comparisons]") == said
    assert words(browser, "[data-shown]") == "none of 24"
    assert said in words(browser, "[data-views]")
    assert "Area under each line" not in words(browser, "[data-views]")
    assert browser.drain()[0] == []


def test_the_lead_counts_what_the_restriction_keeps(browser: Browser, awkward: Callable[[str], Any]) -> None:
    every, page = awkward("every ending").analysis, awkward("every ending").page
    browser.look(1000)
    browser.open(page)
    assert words(browser, "[data-counted]") == explore_section(every)["counted"], "as Python counts"
    assert "diverged" in words(browser, "[data-counted]")
    assert "more failed" in words(browser, "[data-counted]")
    tick(browser, "optimizer", "sgd")
    kept = every.trials[every.trials["configuration"].map(every.frames.configurations["optimizer"]) != "sgd"]
    counted = kept[kept["counted"]]
    said = words(browser, "[data-counted]")
    assert said.startswith(f"{len(counted)} trials of {kept['configuration'].nunique()} configurations count here")
    diverged = int((counted["status"] == "diverged").sum())
    assert re.findall(r"(\d+) of which diverged", said) == ([str(diverged)] if diverged else [])
    failed = int(kept["status"].isin(NO_RESULT).sum())
    assert re.findall(r"(\d+) more failed", said) == ([str(failed)] if failed else [])


def test_trials_without_a_score_are_crosses_at_what_stands_in(browser: Browser, awkward: Callable[[str], Any]) -> None:
    written = awkward("every ending")
    browser.look(1000)
    browser.open(written.page)
    missing = int(
        own_scores(written.analysis.trials, written.analysis.epoch)[written.analysis.trials["counted"]].isna().sum()
    )
    assert missing
    heights = browser.run(
        "const svg = document.querySelectorAll('#explore .stage')[1].querySelector('svg');"
        "const all = [...svg.querySelectorAll('.crosses.kept')].map(p => p.getAttribute('d')).join('');"
        "const ends = svg.querySelector('.axes .edge').getAttribute('d').match(/[\\d.]+/g).map(Number);"
        "return [[...all.matchAll(/M[\\d.]+ ([\\d.]+)/g)].map(found => Number(found[1])), ends[1], ends[2]]"
    )
    assert len(heights[0]) == missing
    assert len(set(heights[0])) == 1
    assert heights[1] < heights[0][0] < heights[2], "not on the edge of the axis"
    assert "A cross marks a trial without a score, such as one that diverged; 0.5 stands in." in words(
        browser, "[data-views]"
    )


def test_a_range_restricts_on_the_scale_of_the_space(browser: Browser, page: Analysis) -> None:
    rates = page.frames.configurations["learning_rate"]
    stops = browser.run("return Number(document.querySelector('.range input').max)")
    assert stops + 1 == rates.nunique(), "the values that occur"
    for stop in (stops // 2, stops // 2 + 1):
        move(browser, ".range input:last-of-type", stop)
        high = sorted(rates.unique())[stop]
        assert browser.run("return document.querySelector('.range input:last-of-type').ariaValueText") == number(high)
        assert words(browser, "[data-kept]") == f"{(rates <= high).sum()} of 24 configurations"
    move(browser, ".range input:last-of-type", 0)
    assert words(browser, "[data-kept]") == "1 of 24 configurations"
    assert "no test: a single configuration" in words(browser, "[data-comparisons]"), "not a dash alone"


def test_thresholds_and_restriction_are_one_question(browser: Browser, page: Analysis) -> None:
    tick(browser, "initial_rho", "0")
    move(browser, "#threshold-learned_nothing", 0.7)
    configurations = page.frames.configurations
    inside = page.study.trials["configuration"].isin(configurations.index[configurations["initial_rho"] != 0])
    assert shares(browser) == expected_shares(page, inside, 0.7)
    assert words(browser, "#shown-learned_nothing") == "0.700"


def test_pointing_at_a_point_shows_its_configuration(browser: Browser, page: Analysis) -> None:
    x, y = place_of(browser, "Pairs")
    browser.point("mouseMoved", x, y)
    browser.settle()
    card = words(browser, "[data-card]")
    found = re.match(r"Configuration (\d+)", card)
    assert found
    number = int(found[1])
    for arm in ("mfvi", "radial"):
        own = page.trials[(page.trials["configuration"] == number) & (page.trials["arm"] == arm)]
        assert f"{arm}{own['score'].iloc[0]:.4f}" in card
    assert f"optimizer{page.frames.configurations['optimizer'][number]}" in card
    assert browser.run("return document.querySelectorAll('[data-card] svg path.line').length") == 2
    assert browser.run("return document.querySelector('[data-card]').getAttribute('aria-live')") == "polite"
    browser.point("mouseMoved", 5, 5)
    browser.settle()
    assert "Point at" in words(browser, "[data-card]")


@pytest.mark.parametrize("title", FIGURES[:2])
def test_a_click_lights_the_same_trials_everywhere_and_escape_clears(
    browser: Browser, page: Analysis, title: str
) -> None:
    x, y = place_of(browser, title, 3)
    browser.point("mouseMoved", x, y)
    browser.point("mousePressed", x, y, 1)
    browser.point("mouseReleased", x, y)
    browser.settle()
    assert selected(browser) == 1
    assert lit(browser) == [True, True, True]
    assert len(rows(browser, ".selected")) == 1
    browser.driver.find_element("css selector", "body").send_keys(Keys.ESCAPE)
    browser.settle()
    assert lit(browser) == [False, False, False]
    assert selected(browser) == 0
    assert rows(browser, ".selected") == []


@pytest.mark.parametrize("title", FIGURES)
def test_a_drawn_box_selects_what_is_in_it(browser: Browser, page: Analysis, title: str) -> None:
    if title == FIGURES[2]:
        box = "figure.querySelector('svg').getBoundingClientRect()"
    else:
        box = "figure.querySelector('.edge').getBoundingClientRect()"
    left, top, width, height = browser.run(
        "const figure = [...document.querySelectorAll('#explore figure')]"
        ".find(f => f.querySelector('figcaption')?.textContent === arguments[0]);"
        f"figure.scrollIntoView({{block: 'center'}}); const b = {box}; return [b.left, b.top, b.width, b.height]",
        title,
    )
    share = 0.1 if title == FIGURES[2] else 0.5
    browser.point("mouseMoved", left + 2, top + 2)
    browser.point("mousePressed", left + 2, top + 2, 1)
    for step in (0.3, 0.6, 1.0):
        browser.point("mouseMoved", left + step * width * 0.9, top + 10 + step * share * height, 1)
    browser.point("mouseReleased", left + 0.9 * width, top + 10 + share * height)
    browser.settle()
    chosen = selected(browser)
    assert chosen > 1
    assert len(rows(browser, ".selected")) == chosen
    assert lit(browser) == [True, True, True]
    assert browser.run("return document.querySelectorAll('.brush').length") == 0
    said = words(browser, "[data-selected]")
    assert said == f"{chosen} configurations selected"
    assert browser.run("return document.querySelector('[data-selected]').getBoundingClientRect().width") > 100
    assert words(browser, "[data-card] h3") == "Means of the selection"
    shown = sorted(rows(browser, ".selected"))
    for step, place, configuration in ((1, 1, shown[0]), (1, 2, shown[1]), (-1, 1, shown[0]), (-1, chosen, shown[-1])):
        browser.run("document.querySelector(`[data-step='${arguments[0]}']`).click()", step)
        assert words(browser, "[data-selected]") == f"{said}, number {place} shown"
        assert words(browser, "[data-card] h3") == f"Configuration {configuration}"


def test_keys_reach_points_and_rows(browser: Browser, page: Analysis) -> None:
    stage = browser.driver.find_elements("css selector", "#explore .stage")[0]
    stage.send_keys(Keys.ARROW_RIGHT)
    browser.settle()
    first = words(browser, "[data-card] h3")
    stage.send_keys(Keys.ARROW_RIGHT)
    browser.settle()
    second = words(browser, "[data-card] h3")
    assert first.startswith("Configuration ")
    assert second.startswith("Configuration ")
    assert first != second
    stage.send_keys(Keys.ENTER)
    browser.settle()
    assert rows(browser, ".selected") == [int(second.split()[1])]
    stage.send_keys(Keys.ESCAPE)
    browser.settle()
    assert selected(browser) == 0
    button = browser.driver.find_element("css selector", "#table tbody button[tabindex='0']")
    button.send_keys(Keys.ARROW_DOWN)
    active = browser.driver.switch_to.active_element
    assert active.text == str(in_order(page, page.frames.configurations.index)[1])
    active.send_keys(Keys.ENTER)
    browser.settle()
    assert active.get_attribute("aria-pressed") == "true"
    assert words(browser, "[data-card] h3") == f"Configuration {active.text}"
    assert lit(browser) == [True, True, True]


def test_a_tap_selects(browser: Browser, page: Analysis) -> None:
    x, y = place_of(browser, "Pairs", 5)
    browser.driver.execute_cdp_cmd(
        "Input.dispatchTouchEvent", {"type": "touchStart", "touchPoints": [{"x": x, "y": y}]}
    )
    browser.driver.execute_cdp_cmd("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
    browser.settle()
    assert selected(browser) == 1
    assert words(browser, "[data-card]").startswith("Configuration ")


def test_reset_is_for_restrictions_and_clears_the_selection_too(browser: Browser, page: Analysis) -> None:
    address = browser.driver.current_url.split("#")[0]
    browser.driver.get(f"{address}#explore?select=1-3")
    browser.settle()
    assert browser.run("return document.querySelector('[data-reset]').disabled"), "every configuration is shown"
    assert not browser.run("return document.querySelector('[data-clear]').hidden")
    browser.driver.get(f"{address}#explore?select=1-3&good=0.7")
    browser.settle()
    assert not browser.run("return document.querySelector('[data-reset]').disabled")
    browser.run("document.querySelector('[data-reset]').click()")
    browser.settle()
    assert browser.run("return document.querySelectorAll('.marks .ring, .marks .chosen').length") == 0
    assert browser.run("return document.querySelector('[data-reset]').disabled")


def test_what_a_link_gets_wrong_is_said(browser: Browser, page: Analysis) -> None:
    address = browser.driver.current_url.split("#")[0]
    browser.driver.get(f"{address}#explore?only.optimizer=%3Dsgd&only.optimizer=%3D<b>&only.nosuch=1&by=x&good=0.7")
    browser.settle()
    expected = "Ignored in this link: only.optimizer==<b>, by=x, only.nosuch=1."
    assert words(browser, "[data-ignored]") == expected
    assert words(browser, "[data-kept]") != "24 of 24 configurations"
    browser.driver.get(f"{address}#explore?good=0.7")
    browser.settle()
    assert words(browser, "[data-ignored]") == ""
