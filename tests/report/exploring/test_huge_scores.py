"""*Explore* on scores of up to 1e59, on tiny ones and on huge ones that count as infinite."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from support.browser import Browser
from support.exploring import LISTEN, Question, answered, ask
from support.importing import imported

from report.analysis import Analysis, analyse
from report.frames import load_frames
from report.page import write_report
from robustness.store import open_store

pytestmark = pytest.mark.xdist_group("report_pages")

SCORES: dict[str, Callable[[np.random.Generator], float]] = {
    "huge": lambda generator: -(10 ** generator.uniform(0, 59)),
    "infinite": lambda generator: -(10 ** generator.uniform(0, 308)),
    "tiny": lambda generator: 10 ** generator.uniform(-320, -200),
    "equal": lambda _: 1e59,
}


def analysed(folder: Path, kind: str, paired: bool) -> Analysis:
    generator = np.random.default_rng(1)
    rows = [
        {"arm": arm, "rate": (number + 1 + 30 * place * (not paired)) / 7, "fit": SCORES[kind](generator)}
        for place, arm in enumerate("ab")
        for number in range(30)
    ]
    pd.DataFrame(rows).to_csv(folder / "runs.csv", index=False)
    with open_store(f"sqlite:///{folder / 'runs.db'}") as store:
        options = {"metric": "fit", "goal": "maximize", "hyperparameters": ["rate"], "missing": "left-out"}
        found = imported(folder / "runs.csv", **options)
        found.study.save(store, False)
        return analyse(load_frames(store.study("imported")))


def same(found: Any, expected: Any) -> bool:
    return found is None if expected is None else found == pytest.approx(expected, rel=1e-9, abs=0)


@pytest.mark.parametrize("paired", [True, False])
@pytest.mark.parametrize("kind", SCORES)
def test_explore_computes_what_python_does(browser: Browser, tmp_path: Path, kind: str, paired: bool) -> None:
    analysis = analysed(tmp_path, kind, paired)
    browser.open(write_report(analysis, tmp_path / "page.html"))
    browser.run("for (const part of document.querySelectorAll('details.part')) part.open = true")
    browser.run(LISTEN)
    rates = analysis.study.trials["configuration"].map(analysis.frames.configurations["rate"])
    kept = rates <= 5 if paired else rates > 0
    address = "#explore?only.rate=0..5" if paired else "#explore?only.rate=0..99"
    question = Question(address, kept, None, None)
    found, expected = ask(browser, address), answered(analysis.study, question)
    (entry,), (other,) = found["scores"], expected["scores"]
    for key in ("mean_difference", "low", "high", "p_value"):
        value = None if other[key] is None or np.isnan(other[key]) else other[key]
        assert same(entry[key], value), (key, entry, other)
    if kind == "tiny":
        assert entry["p_value"] is None
    cells = browser.run("return [...document.querySelectorAll('#explore td')].map(cell => cell.textContent)")
    assert max(map(len, cells)) < 60, cells
    drawn = browser.run("return document.getElementById('explore').outerHTML")
    assert "NaN" not in drawn
    assert "Infinity" not in drawn
    assert browser.drain()[0] == []
