"""A real browser for tests: Debian's Chromium, headless, driven by chromedriver.

A test takes the fixture that `pages()` makes; where no browser is installed it is skipped, and fails instead if
ROBUSTNESS_REQUIRE_BROWSER is 1.
"""

from __future__ import annotations

import base64
import json
import os
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

AXE = Path(__file__).parents[1] / "vendor" / "axe.min.js"
PATIENCE = 90.0
"""Seconds after which waiting for something that should happen at once is given up."""


class Browser:
    """One window; every method gives plain Python values."""

    def __init__(self, driver: Any, javascript: bool = True) -> None:
        self.driver = driver
        self.javascript = javascript

    def open(self, page: Path, fragment: str = "") -> None:
        """Open a file afresh and wait until it has been laid out, and until the script of a report has drawn."""
        self.drain()
        if fragment:
            # Another fragment alone would not load the page again.
            self.driver.get("about:blank")
        self.driver.get(page.resolve().as_uri() + fragment)
        self.wait(lambda: self.run("return document.readyState") == "complete")
        if self.javascript:
            self.wait(lambda: self.run("return !document.getElementById('data') || 'ready' in document.body.dataset"))
            self.settle()

    def settle(self) -> None:
        """Wait until the next frames have been drawn."""
        self.driver.execute_async_script(
            "const done = arguments[0]; requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done)))"
        )

    def point(self, kind: str, x: float, y: float, buttons: int = 0) -> None:
        """Move or press the mouse at a place of the window: `mouseMoved`, `mousePressed`, `mouseReleased`."""
        button = "left" if kind != "mouseMoved" or buttons else "none"
        event = {"type": kind, "x": x, "y": y, "button": button, "buttons": buttons, "clickCount": 1}
        self.driver.execute_cdp_cmd("Input.dispatchMouseEvent", event)

    def run(self, script: str, *arguments: Any) -> Any:
        """What a JavaScript function body returns."""
        return self.driver.execute_script(script, *arguments)

    def wait(self, condition: Callable[[], Any]) -> Any:
        """What the condition gives as soon as that is true."""
        deadline = time.monotonic() + PATIENCE
        while True:
            found = condition()
            if found:
                return found
            assert time.monotonic() < deadline, "the page never got there"
            time.sleep(0.05)

    def look(self, width: int, scheme: str = "light", media: str = "screen") -> None:
        """Make the window so wide and prefer the colour scheme `light` or `dark`."""
        size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": media, "features": features})

    def screenshot(self, path: Path) -> None:
        """The whole page, also what is below the window's edge, as PNG."""
        height = self.run("return document.documentElement.scrollHeight")
        width = self.run("return window.innerWidth")
        clip = {"x": 0, "y": 0, "width": width, "height": min(height, 16_000), "scale": 1}
        options = {"format": "png", "captureBeyondViewport": True, "clip": clip}
        path.write_bytes(base64.b64decode(self.driver.execute_cdp_cmd("Page.captureScreenshot", options)["data"]))

    def drain(self) -> tuple[list[str], list[str]]:
        """The console's messages and the addresses asked for since the last call."""
        console = [entry["message"] for entry in self.driver.get_log("browser")]
        events = [json.loads(entry["message"])["message"] for entry in self.driver.get_log("performance")]
        sent = [e["params"]["request"]["url"] for e in events if e["method"] == "Network.requestWillBeSent"]
        return console, sent

    def violations(self) -> list[str]:
        """What axe-core finds at fault: the rule and the first element of each."""
        self.run(AXE.read_text(encoding="utf-8"))
        found = self.driver.execute_async_script(
            "const done = arguments[arguments.length - 1];"
            "axe.run(document, {resultTypes: ['violations']})"
            ".then(r => done(r.violations), e => done([{id: String(e), impact: 'critical', nodes: []}]));"
        )
        return [
            f"{each['id']} x {len(each['nodes'])}: {each['nodes'][0]['html'][:200] if each['nodes'] else ''}"
            for each in found
        ]


@contextmanager
def pages(downloads: Path, *, javascript: bool = True) -> Iterator[Browser]:
    """A browser that keeps its downloads in a folder; closed at the end, whatever happens."""
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    driver = shutil.which("chromedriver")
    try:
        from selenium import webdriver
        from selenium.webdriver.chrome.service import Service
    except ImportError:
        webdriver = None  # type: ignore[assignment]
    if not chromium or not driver or webdriver is None:
        missing = "needs chromium, chromedriver (Debian: chromium-driver) and the Python package selenium"
        if os.environ.get("ROBUSTNESS_REQUIRE_BROWSER") == "1":
            pytest.fail(missing)
        pytest.skip(missing)
    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    for argument in ("--headless=new", "--disable-gpu", "--disable-dev-shm-usage", "--disable-background-networking"):
        options.add_argument(argument)
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        options.add_argument("--no-sandbox")  # Chromium refuses to run as root, the user of containers, with it
    settings: dict[str, Any] = {"download.default_directory": str(downloads), "download.prompt_for_download": False}
    if not javascript:
        settings["profile.managed_default_content_settings.javascript"] = 2
    options.add_experimental_option("prefs", settings)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    opened = webdriver.Chrome(options=options, service=Service(driver))
    try:
        opened.set_page_load_timeout(PATIENCE)
        opened.set_script_timeout(PATIENCE)
        yield Browser(opened, javascript)
    finally:
        opened.quit()
