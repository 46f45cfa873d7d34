"""Questions that a reader asks the page: a restriction and thresholds, as an address and as Python computes them."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import urlencode

import numpy as np
import pandas as pd
from support.browser import Browser

from report.comparison import comparisons, score_comparisons
from report.exploring.axes import MOST_TICKS
from report.judged_study import JudgedStudy
from report.judging import own_scores, trial_thresholds
from report.sections.profiles import GRID, areas, better
from robustness.statistics.means import mean_test
from robustness.sweep.outcome_arrays import outcomes_of
from robustness.sweep.outcomes import Judge

LISTEN = "document.addEventListener('recomputed', (event) => { window.answer = event.detail; })"


@dataclass(frozen=True)
class Question:
    """A restriction and thresholds: the page's address, and which trials it keeps."""

    address: str
    kept: pd.Series[Any]
    nothing: float | None
    good: float | None


def random_question(rng: np.random.Generator, study: JudgedStudy) -> Question:
    """Some hyperparameters restricted, some tasks left out, some thresholds moved."""
    frames, trials = study.frames, study.trials
    parts: list[tuple[str, str]] = []
    kept = pd.Series(True, index=trials.index)
    for name in frames.varied:
        if rng.random() < 0.5:
            fits, written = _restricted(rng, frames.configurations[name])
            parts += [(f"only.{name}", value) for value in written]
            own = trials["configuration"].map(fits)
            owner = frames.owners.get(name)
            # Where arms draw for themselves, the hyperparameter of one arm says nothing about the others.
            kept &= own if frames.paired or owner is None else own | (trials["arm"] != owner)
    if frames.tasks and rng.random() < 0.4:
        task = str(rng.choice(frames.tasks))
        parts.append(("task", task))
        kept &= trials["task"] == task
    levels: list[float | None] = [None, None]
    for place, key in enumerate(("nothing", "good")):
        if frames.has_thresholds and rng.random() < 0.4:
            low, high = study.score_range
            level = round(float(rng.uniform(low, high)), 3)
            levels[place] = level
            parts.append((key, repr(level)))
    return Question("#explore?" + urlencode(parts), kept, *levels)


def _restricted(rng: np.random.Generator, column: pd.Series[Any]) -> tuple[pd.Series[Any], list[str]]:
    known = sorted(set(column.dropna()))
    missing = bool(column.isna().any()) and rng.random() < 0.5
    written = ["none"] if missing else []
    if len(known) > MOST_TICKS and not isinstance(known[0], str):
        low, high = sorted(float(rng.choice(known)) for _ in range(2))
        return column.between(low, high) | (column.isna() & missing), [f"{low!r}..{high!r}", *written]
    chosen = [value for value in known if rng.random() < 0.6] or known[:1]
    names = [f"={value:g}" if isinstance(value, float) else f"={value}" for value in chosen]
    return column.isin(chosen) | (column.isna() & missing), [*names, *written]


def answered(study: JudgedStudy, question: Question) -> dict[str, Any]:
    """What Python computes on the trials that a question keeps: by the functions of the report, and no others."""
    part = at_levels(study, question.nothing, question.good).restricted(question.kept)
    rule, frames = study.frames.rule, study.frames
    return {
        "arms": part.outcome_counts,
        "paired": comparisons(part.planned, frames, part.sample, [rule]),
        "scores": score_comparisons(part.planned, frames, part.sample, [rule]),
        "profiles": [_profile(part, arm) for arm in frames.arms],
        "configurations": int(part.trials["configuration"].nunique()),
        "names": frames.arms,
    }


def _profile(study: JudgedStudy, arm: str) -> dict[str, Any] | None:
    """An arm's profile without its band, which the page does not recompute."""
    groups = study.paired_scores[arm]
    if not groups:
        return None
    grid = np.linspace(*study.score_range, GRID)
    own = areas(study, arm)
    interval = mean_test(own).interval
    # An area is a share of the range.
    low, high = np.clip([interval.low, interval.high], 0.0, 1.0).tolist()
    fraction = np.mean([better(study, group, grid).mean(axis=0) for group in groups], axis=0)
    return {"fraction": fraction, "area": own.mean(), "area_low": low, "area_high": high}


def at_levels(study: JudgedStudy, nothing: float | None, good: float | None) -> JudgedStudy:
    """The study judged at other thresholds; thresholds that differ between trials move together."""
    trials, judges = study.trials.copy(), dict[str, Judge]()
    for summary, judge in study.judges.items():
        moved = 0.0 if nothing is None else nothing - judge.nothing
        own = trial_thresholds(study.frames, trials, judge)
        limits = own + moved if judge.cells else np.full(len(trials), judge.nothing if nothing is None else nothing)
        other = replace(judge, good=judge.good if good is None else good)
        outcomes = outcomes_of(other, trials["status"], own_scores(trials, summary), trials["measured"], limits)
        trials[f"outcome_{summary}"] = pd.array(outcomes, dtype="string")
        judges[summary] = other
    return replace(study, trials=trials, judges=judges)


def ask(browser: Browser, address: str) -> Any:
    """The page's recomputed numbers after its address has changed."""
    return browser.driver.execute_async_script(
        "const done = arguments[1]; window.answer = null; location.hash = arguments[0];"
        "const look = () => window.answer ? done(JSON.parse(JSON.stringify({...window.answer, kept: 0, outcomes: 0})))"
        " : setTimeout(look, 5); look();",
        address,
    )


def words(browser: Browser, selector: str) -> str:
    found: str = browser.run(f"return document.querySelector({selector!r}).textContent")
    return found.replace("\u00a0", " ")


def tick(browser: Browser, axis: str, level: str) -> None:
    browser.run(
        "const group = [...document.querySelectorAll('fieldset.axis')]"
        ".find(f => f.querySelector('legend').textContent === arguments[0]);"
        "[...group.querySelectorAll('label')].find(l => l.textContent === arguments[1]).querySelector('input').click()",
        axis,
        level,
    )
    browser.settle()


def move(browser: Browser, selector: str, value: object) -> None:
    browser.run(
        "const input = document.querySelector(arguments[0]); input.value = arguments[1];"
        "input.dispatchEvent(new Event('input', {bubbles: true}))",
        selector,
        str(value),
    )
    browser.settle()


def rows(browser: Browser, only: str = "") -> list[int]:
    """The configurations in the table."""
    found: list[int] = browser.run(
        f"return [...document.querySelectorAll('#table tbody tr{only}')].map(row => Number(row.cells[0].textContent))"
    )
    return found


def shares(browser: Browser) -> list[str]:
    found: list[str] = browser.run(
        "return [...document.querySelectorAll('td[data-arm] .share')].map(cell => cell.textContent)"
    )
    return found


def selected(browser: Browser) -> int:
    found = re.match(r"\d+", words(browser, "[data-selected]"))
    return int(found[0]) if found else 0
