"""The page of 10,000 trials of 150 epochs in Chromium: its size, its first paint, and how fast a slider answers.

    python benchmarks/exploring.py [--page FILE]

Writes the study of `report_page.py` and its report, or opens a report that exists. Moves of a slider are timed from the
event to the frame that shows the new numbers and pictures. Needs chromium, chromedriver and selenium.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from report_page import USUAL, fill
from results import Result, parser, show
from support.browser import pages

from report.page import write_report
from robustness.store import open_store

OPENINGS = 5
MOVES = 20

_PAINT = "return performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? 0"
_MOVE = """
const done = arguments[arguments.length - 1], [selector, values] = arguments, input = document.querySelector(selector);
const times = [];
const step = () => {
  if (times.length === values.length) return done(times);
  const start = performance.now();
  input.value = values[times.length];
  input.dispatchEvent(new Event('input', { bubbles: true }));
  requestAnimationFrame(() => setTimeout(() => { times.push(performance.now() - start); setTimeout(step, 50); }));
};
step();
"""


def measure(page: Path) -> Iterator[Result]:
    """Open the page several times, then move its sliders."""
    yield Result("file", page.stat().st_size / 1e6, "MB", most=2.0)
    with tempfile.TemporaryDirectory() as downloads, pages(Path(downloads)) as browser:
        browser.look(1600)
        paints, ready = [], []
        for _ in range(OPENINGS):
            browser.driver.get("about:blank")
            browser.open(page)
            paints.append(browser.run(_PAINT) / 1000)
            ready.append(browser.run("return performance.now()") / 1000)
        yield Result("first contentful paint, median", statistics.median(paints), "s", most=2.0, note=_range(paints))
        yield Result("ready to be asked, median", statistics.median(ready), "s", note=_range(ready))
        levels = [0.55 + 0.4 * move / MOVES for move in range(MOVES)]
        yield _moves("a threshold moved", browser.driver.execute_async_script(_MOVE, "#threshold-good", levels))
        last = browser.run("return Number(document.querySelector('.range input').max)")
        stops = [round(last * move / (MOVES + 2)) for move in range(1, MOVES + 1)]
        yield _moves("a range moved", browser.driver.execute_async_script(_MOVE, ".range input", stops))


def _moves(name: str, times: list[float]) -> Result:
    return Result(f"{name}, median", statistics.median(times), "ms", most=100.0, note=_range(times))


def _range(values: list[Any]) -> str:
    return f"{min(values):.3g} to {max(values):.3g}"


def main() -> int:
    """Write the page unless one is named, and measure it."""
    options = parser(__doc__)
    options.add_argument("--page", type=Path, help="a report that exists")
    arguments = options.parse_args()
    if arguments.page:
        return show(measure(arguments.page), arguments.json)
    with tempfile.TemporaryDirectory() as folder:
        name = fill(Path(folder) / "store.db", USUAL)
        with open_store(f"sqlite:///{folder}/store.db", create=False) as store:
            page = write_report(store.study(name), Path(folder) / "page.html")
        return show(measure(page), arguments.json)


if __name__ == "__main__":
    sys.exit(main())
