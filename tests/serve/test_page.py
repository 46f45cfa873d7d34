"""The live page in a real browser, beside real sweeps."""

from __future__ import annotations

import os
import re
import signal
import time
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from support.browser import Browser
from support.live import serving
from support.processes import sweeping
from support.stores import HOSTILE, hostile, mixed
from support.studies import write_study

from report.embedding import asset
from robustness.serve.assets import assets
from robustness.store import open_store
from robustness.trial import ENDED, EpochResult

SOON = 2.0
"""Seconds within which a finished trial is on the page."""

RECORD = """
window.seen = [];
const note = () => {
  const counts = [...document.querySelectorAll("#figures div")].map(
    (entry) => [entry.querySelector("dt").textContent, Number(entry.querySelector("dd").textContent)]);
  window.seen.push([Date.now() / 1000, (counts.find(([term]) => term === "Trials finished") ?? [null, 0])[1]]);
};
new MutationObserver(note).observe(document.getElementById("figures"), {childList: true, subtree: true});
note();
"""


def visit(browser: Browser, url: str) -> None:
    # The page of a test before may still be trying to reach its server, which the console shows.
    browser.driver.get("about:blank")
    browser.drain()
    browser.driver.get(url)


def shown(browser: Browser, element: str = "state") -> str:
    return str(browser.run("return document.getElementById(arguments[0]).innerText", element))


def ended_times(url: str) -> list[float]:
    with open_store(url, create=False) as store:
        trials = store.study("simulated").trials()
    return sorted(trials.loc[trials["status"].isin(ENDED), "ended"].map(lambda time: time.timestamp()))


def test_a_sweep_on_two_workers_is_followed_through_a_kill_to_its_end(
    browser: Browser, store_url: str, tmp_path: Path
) -> None:
    study = write_study(tmp_path, training={"epochs": 3, "pause": 0.6}, sampling={"configurations": 8, "seed": 3})
    options = ("--store", store_url, "--workers", "2", "--quiet")
    with serving(store_url) as served:
        visit(browser, f"{served.url}/studies/simulated")
        browser.wait(lambda: shown(browser).startswith("Waiting: "))
        with sweeping(study, *options) as driver:
            browser.wait(lambda: shown(browser).startswith("Running"))
            browser.run(RECORD)
            browser.wait(lambda: len(ended_times(store_url)) >= 6)
            browser.wait(lambda: browser.run("return document.querySelectorAll('#running tbody tr').length"))
            time.sleep(SOON)
            os.kill(driver.pid, signal.SIGKILL)
            killed = time.monotonic()
            browser.wait(lambda: shown(browser).startswith("The sweep is not running: last sign of life "))
            assert time.monotonic() - killed < 2 * SOON
        first_part = ended_times(store_url)
        line = shown(browser)
        assert re.match(
            r"The sweep is not running: last sign of life \d\d:\d\d:\d\d; to go on: robustness sweep ", line
        )
        assert "No trial is running." in shown(browser, "running")
        seen: list[tuple[float, int]] = browser.run("return window.seen")
        with sweeping(study, *options) as driver:
            browser.wait(lambda: shown(browser).startswith("Running"))
            assert driver.wait(120) == 0
        browser.wait(lambda: shown(browser) == "The sweep has finished.")
        assert "16" in shown(browser, "figures")
        assert browser.run("return document.querySelectorAll('#curves polyline').length") == 16
        console, requested = browser.drain()
        assert console == []
        assert {url.split("/")[2] for url in requested if url.startswith("http")} == {f"127.0.0.1:{served.port}"}
    late = [
        next((at for at, count in seen if count >= number), float("inf")) - ended
        for number, ended in enumerate(first_part, 1)
        if ended > seen[0][0] and ended < first_part[-1]
    ]
    assert len(late) >= 3
    assert max(late) < SOON, late
    assert all(before[1] <= after[1] for before, after in pairwise(seen))


def test_the_page_comes_back_by_itself_when_the_server_does(browser: Browser, tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'store.db'}"
    with open_store(url) as store:
        mixed(store)
    with serving(url) as served:
        visit(browser, f"{served.url}/studies/mixed")
        browser.wait(lambda: "not running" in shown(browser))
        port = served.port
    browser.wait(lambda: "No connection to the server; trying again." in shown(browser, "connection"))
    assert "This is the state of " in shown(browser, "connection")
    with serving(url, port=port):
        browser.wait(lambda: shown(browser, "connection") == "")


@pytest.fixture
def hostile_url(tmp_path: Path) -> str:
    """A store whose study, arms and workers have names that are markup; one trial of it runs, one has failed."""
    url = f"sqlite:///{tmp_path / 'store.db'}"
    with open_store(url) as store:
        study = hostile(store)
        study.reopen(["failed"])
        running, failed = (key for key in study.states() if key.configuration == 2)
        with study.writer() as writer:
            writer.started(running, 1, HOSTILE[0], HOSTILE[1])
            writer.epoch(running, EpochResult(1, {"validation_auc": 0.5}))
            writer.started(failed, 1, HOSTILE[1], HOSTILE[0])
            writer.ended(failed, "failed", error=f"ValueError: {HOSTILE[0]}")
    return url


INJECTED = """
return [...document.querySelectorAll("main script, main iframe, main b, main a, :is(main, header) img")]
  .filter((node) => !["/", "report"].some((end) => (node.getAttribute("href") ?? "?").endsWith(end)
    || (node.getAttribute("href") ?? "").startsWith("/studies/")))
  .map((node) => node.outerHTML)
"""


def test_names_with_markup_stay_text(browser: Browser, hostile_url: str) -> None:
    with open_store(hostile_url) as store:
        name = store.names()[0]
        with store.study(name).lock(), serving(hostile_url) as served:
            visit(browser, f"{served.url}/")
            browser.wait(lambda: name in shown(browser, "studies"))
            assert browser.run(INJECTED) == []
            browser.run("document.querySelector('#studies a').click()")
            browser.wait(lambda: shown(browser, "name") == name and shown(browser).startswith("Running: 1 trial"))
            for place, texts in (
                ("running", HOSTILE),
                ("failed", HOSTILE),
                ("legend", HOSTILE),
                ("fractions", HOSTILE),
            ):
                assert all(text in shown(browser, place) for text in texts), place
            assert shown(browser, "description") == HOSTILE[1]
            assert browser.run(INJECTED) == []
            assert browser.run("return document.title").endswith(f"{name}: robustness live")
            console, requested = browser.drain()
            assert console == []
            assert {url.split("/")[2] for url in requested if url.startswith("http")} == {f"127.0.0.1:{served.port}"}


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [400, 1000, 1600])
def test_it_fits_every_width_and_is_accessible(browser: Browser, tmp_path: Path, width: int, scheme: str) -> None:
    url = f"sqlite:///{tmp_path / 'store.db'}"
    with open_store(url) as store:
        study = mixed(store)
        with study.lock(), serving(url) as served:
            for path, ready in (("/", "studies"), ("/studies/mixed", "failed")):
                visit(browser, served.url + path)
                browser.look(width, scheme)
                browser.wait(partial(shown, browser, ready))
                assert browser.run("return document.documentElement.scrollWidth <= window.innerWidth")
                assert browser.violations() == []
            assert not overlaps(browser)
            console, _ = browser.drain()
            assert console == []


def overlaps(browser: Browser) -> list[Any]:
    """Letters of a figure that lie on each other or beyond its edge."""
    return list(
        browser.run("""
        const wrong = [];
        for (const svg of document.querySelectorAll("svg")) {
          const edge = svg.getBoundingClientRect();
          const texts = [...svg.querySelectorAll("text")].map((node) => [node.textContent, node.getBoundingClientRect()]);
          texts.forEach(([text, box], place) => {
            if (box.left < edge.left - 1 || box.right > edge.right + 1) wrong.push([text, "outside"]);
            for (const [other, second] of texts.slice(place + 1)) {
              const apart = box.right <= second.left || second.right <= box.left || box.bottom <= second.top || second.bottom <= box.top;
              if (!apart) wrong.push([text, other]);
            }
          });
        }
        return wrong;
        """)  # noqa: E501
    )


def test_keyboard_reaches_links_arms_and_tables(browser: Browser, tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'store.db'}"
    with open_store(url) as store:
        mixed(store)
    with serving(url) as served:
        visit(browser, f"{served.url}/studies/mixed")
        browser.wait(lambda: "2/mfvi" in shown(browser, "failed"))
        before = browser.run("return document.querySelectorAll('#curves polyline').length")
        keys = []
        for _ in range(7):
            browser.driver.execute_cdp_cmd(
                "Input.dispatchKeyEvent", {"type": "keyDown", "key": "Tab", "code": "Tab", "windowsVirtualKeyCode": 9}
            )
            keys.append(browser.run("const e = document.activeElement; return e.id || e.type || e.textContent.trim()"))
            if keys[-1] == "checkbox" and keys.count("checkbox") == 1:
                browser.driver.execute_cdp_cmd(
                    "Input.dispatchKeyEvent",
                    {"type": "keyDown", "key": " ", "code": "Space", "windowsVirtualKeyCode": 32, "text": " "},
                )
                browser.driver.execute_cdp_cmd(
                    "Input.dispatchKeyEvent",
                    {"type": "keyUp", "key": " ", "code": "Space", "windowsVirtualKeyCode": 32},
                )
        assert keys[:3] == ["Skip to the study", "All studies", "report"]
        assert keys.count("checkbox") == 2
        assert {"running", "failed"} <= set(keys)
        assert browser.run("return document.querySelectorAll('#curves polyline').length") < before


def test_colours_are_those_of_the_report() -> None:
    files = {name: found.content.decode() for name, found in assets().items()}
    assert files["theme.css"] == asset("theme.css")
    defined = set(re.findall(r"(--[\w-]+):", files["theme.css"]))
    used = {name for text in files.values() for name in re.findall(r"var\((--[\w-]+)\)", text)}
    assert used <= defined
    assert {f"--arm{place}" for place in range(8)} <= used
    assert not re.findall(r"#[0-9a-f]{3,8}\b|rgb", files["live.css"])
