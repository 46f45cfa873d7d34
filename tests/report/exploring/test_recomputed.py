"""What the page's script recomputes on a restricted study is what Python computes on the same trials, to 1e-9."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.browser import Browser
from support.exploring import LISTEN, answered, ask, random_question
from support.stores import Made, fill, made_study, note_by_cell, typical
from support.studies import run_study, store_url

from report.analysis import Analysis, analyse
from report.page import write_report
from robustness.store import open_store
from robustness.trial import Trial

pytestmark = pytest.mark.xdist_group("report_pages")

QUESTIONS = 50
ERRORS = {"metric": "error", "goal": "minimize", "learned_nothing": {"above": 0.59}, "good": {"at_most": 0.37}}
RATES = {"low": 0.001, "high": 1.0, "scale": "log"}


def uneven(trial: Trial, epochs: int) -> Made:
    """Trials of every kind of ending, with scores that differ between replicates."""
    rng = np.random.default_rng([trial.configuration, trial.replicate, len(trial.arm)])
    if rng.random() < 0.06:
        return Made("out_of_memory")
    if rng.random() < 0.06:
        return Made("diverged", [])
    made = typical(trial, epochs)
    return Made(scores=[float(np.clip(score + rng.normal(0, 0.05), 0.01, 0.99)) for score in made.scores], start=0.52)


def two_arms_with_replicates(folder: Path) -> Analysis:
    with open_store(store_url(folder)) as store:
        return analyse(fill(store, made_study(configurations=40, replicates=3, wide=True), uneven))


def five_arms(folder: Path) -> Analysis:
    arms = ("mfvi", "radial", "mc_dropout", "deterministic", "deep_ensemble")
    with open_store(store_url(folder)) as store:
        return analyse(fill(store, made_study(arms=arms, configurations=30, wide=True), uneven))


def reopened(folder: Path, trainable: str, **changes: Any) -> Analysis:
    run_study(folder, trainable, **changes)
    with open_store(store_url(folder), create=False) as store:
        return analyse(store.study("simulated"))


def own_spaces(folder: Path) -> Analysis:
    arms = [
        {"name": "adam", "space": {"rate": RATES}},
        {"name": "sgd", "space": {"rate": RATES, "momentum": [0.0, 0.5, 0.9]}},
    ]
    sampling = {"configurations": 25, "replicates": 2, "seed": 6}
    return reopened(folder, "streamed", space=None, arms=arms, sampling=sampling)


def errors_on_two_tasks(folder: Path) -> Analysis:
    tasks = [{"name": "cifar"}, {"name": "mnist", "classes": 10}]
    sampling = {"configurations": 20, "replicates": 2, "seed": 2}
    space = {"rate": RATES, "depth": [1, 2, 3]}
    arms = ["a", "b", "c"]
    return reopened(folder, "streamed_error", tasks=tasks, arms=arms, sampling=sampling, space=space, outcomes=ERRORS)


def scores_alone(folder: Path) -> Analysis:
    outcomes = {"metric": "error", "goal": "minimize"}
    sampling = {"configurations": 16, "replicates": 2, "seed": 8}
    return reopened(folder, "streamed_error", outcomes=outcomes, sampling=sampling, arms=["a", "b", "c"])


def thresholds_by_cell(folder: Path) -> Analysis:
    note = note_by_cell(0.68)
    study = made_study(outcomes={"learned_nothing": {"no_better_than_untrained": 0.01}, "epoch": "last"})
    with open_store(store_url(folder)) as store:
        return analyse(fill(store, study, uneven, note))


STUDIES: dict[str, Callable[[Path], Analysis]] = {
    each.__name__: each
    for each in (
        two_arms_with_replicates,
        five_arms,
        own_spaces,
        errors_on_two_tasks,
        scores_alone,
        thresholds_by_cell,
    )
}


def close(found: float | None, expected: float | None, *, absolute: float = 1e-9) -> bool:
    if expected is None or math.isnan(expected):
        return found is None
    return found is not None and abs(found - expected) <= absolute


@pytest.mark.parametrize("name", STUDIES)
def test_fifty_random_questions_have_the_answers_of_python(browser: Browser, tmp_path: Path, name: str) -> None:
    analysis = STUDIES[name](tmp_path)
    page = write_report(analysis, tmp_path / "page.html")
    rng = np.random.default_rng(len(name))
    browser.open(page)
    browser.run(LISTEN)
    sizes, tested = set(), 0
    for number in range(QUESTIONS):
        question = random_question(rng, analysis.study)
        # The number, of which the page knows nothing, keeps two addresses from being the same.
        expected, found = answered(analysis.study, question), ask(browser, f"{question.address}&question={number}")
        context = (name, question.address)
        assert found["configurations"] == expected["configurations"], context
        sizes.add(expected["configurations"])
        check_arms(found, expected, analysis, context)
        tested += check_comparisons(found, expected, context)
        check_profiles(found, expected, context)
    assert len(sizes) > 5
    assert tested > QUESTIONS
    assert browser.drain()[0] == []


def check_arms(found: Any, expected: Any, analysis: Analysis, context: Any) -> None:
    for arm, entry in zip(found["arms"], expected["arms"].values(), strict=True):
        assert arm["trials"] == entry["paired"], context
        assert close(arm["median"], entry["median"]), context
        for outcome in ("learned_nothing", "good") if analysis.frames.has_thresholds else ():
            for key in ("count", "of", "configurations", "replicates"):
                assert arm[outcome][key] == entry[outcome][key], (*context, outcome, key)
            for key in ("effective", "fraction", "low", "high"):
                assert close(arm[outcome][key], entry[outcome][key]), (*context, outcome, key)


def check_comparisons(found: Any, expected: Any, context: Any) -> int:
    """Compare every difference, interval and p-value; returns how many had a p-value."""
    names, tested = expected["names"], 0
    wanted = {(*entry["arms"], entry["outcome"]): entry for entry in expected["paired"]}
    assert len(found["paired"]) == len(wanted)
    for entry in found["paired"]:
        other = wanted[names[entry["arms"][0]], names[entry["arms"][1]], entry["outcome"]]
        for key in ("pairs", "both", "only_first", "only_second", "neither"):
            assert entry.get(key) == other[key], (*context, key)
        for key in ("difference", "low", "high", "p_value", "p_adjusted"):
            assert close(entry[key], other[key]), (*context, key, entry[key], other[key])
        tested += other["p_value"] is not None
    scores = {tuple(entry["arms"]): entry for entry in expected["scores"]}
    for entry in found["scores"]:
        other = scores[names[entry["arms"][0]], names[entry["arms"][1]]]
        for key in ("mean_difference", "low", "high", "p_value", "p_adjusted"):
            assert close(entry[key], other[key]), (*context, key, entry[key], other[key])
        if other["p_value"] is None:
            assert other["interval"] == f"none: {entry['why']}", (*context, "why")
        if "first_wins" in entry:
            assert entry["first_wins"] == other["first_wins"]["count"], context
            assert entry["second_wins"] == other["second_wins"]["count"], context
        tested += other["p_value"] is not None
    return tested


def check_profiles(found: Any, expected: Any, context: Any) -> None:
    for other, entry in zip(expected["profiles"], found["profiles"], strict=True):
        if other is None:
            assert entry is None, context
            continue
        assert np.allclose(entry["fraction"], other["fraction"], rtol=0, atol=1e-9), context
        for key in ("area", "area_low", "area_high"):
            assert close(entry[key], other[key]), (*context, key)
