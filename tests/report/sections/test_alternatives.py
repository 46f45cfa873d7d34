"""What would change the verdict: one table of what other sections know, and scores without their stand-in."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from support.results import present
from support.stores import Made, fill, made_study, untrained_note

from report.analysis import Analysis, analyse
from report.comparison import second_minus_first
from report.document import Link
from report.page import render
from report.sections import alternatives, make_sections
from report.words import bracketed_change
from robustness import from_dataframe
from robustness.store import open_store
from robustness.trial import Trial

ARMS = ("mfvi", "radial", "deterministic")


def rows_of(analysis: Analysis) -> dict[str, tuple[str, ...]]:
    (section,) = alternatives.sections(analysis)
    return {row[0]: row[1:] for row in present(section.numbers).rows}


@pytest.fixture(scope="module")
def by_outcome(tmp_path_factory: pytest.TempPathFactory) -> Analysis:
    """mfvi fails where the initial noise is large, and all arms but radial at the last epoch."""

    def make(trial: Trial, epochs: int) -> Made:
        best = 0.5 if trial.arm == "mfvi" and trial.hyperparameters["initial_rho"] >= -2 else 0.9
        last = 0.9 if trial.arm == "radial" else 0.5
        score = best + 0.001 * (trial.configuration % 7)
        return Made(scores=[score] * (epochs - 1) + [last])

    study = made_study(arms=ARMS, configurations=60, epochs=4)
    with open_store(f"sqlite:///{tmp_path_factory.mktemp('outcomes') / 'made.db'}") as store:
        return analyse(fill(store, study, make, untrained_note()))


@pytest.fixture(scope="module")
def diverging(tmp_path_factory: pytest.TempPathFactory) -> Analysis:
    """Scores of two arms, the second of which diverges in 8 of 40 runs."""
    rng = np.random.default_rng(0)
    rates = np.geomspace(1e-4, 1.0, 40)
    scores = {"slow": rng.normal(0.6, 0.05, 40), "fast": rng.normal(0.55, 0.05, 40)}
    scores["fast"][-8:] = np.nan
    frame = pd.DataFrame(
        [
            {"arm": arm, "rate": rate, "value": v}
            for arm, own in scores.items()
            for rate, v in zip(rates, own, strict=True)
        ]
    )
    url = f"sqlite:///{tmp_path_factory.mktemp('scores') / 'made.db'}"
    return from_dataframe(
        frame, study="runs", store=url, arm="arm", metric="value", missing="diverged", goal="maximize"
    ).analysis


def test_each_row_has_what_its_own_section_says(by_outcome: Analysis) -> None:
    rows = rows_of(by_outcome)
    results = by_outcome.results
    last = next(
        e
        for e in results["paired"]
        if (e["arms"], e["epoch"], e["outcome"]) == (["mfvi", "radial"], "last", "learned_nothing")
    )
    assert present(last["p_adjusted"]) < 0.05
    assert rows["As in the verdict"][1] == "radial ahead"
    assert rows["Judged at the last epoch"][1].startswith(
        "no: 2 of 3 change: deterministic and mfvi (not significant); "
    )
    dependence = present(results["thresholds"])["dependence"][0]
    assert (
        rows["Another threshold"][0]
        == f"same verdict from {dependence['holds_from']:.3f} to {dependence['holds_to']:.3f}"
    )
    levels = results["interactions"][0]["hyperparameters"]["initial_rho"]["levels"]
    assert [level["value"] for level in levels if level["difference"] == 1.0] == [-2, 0]
    space = rows["The search space reduced to one value of initial_rho"]
    assert re.fullmatch(r"at −2: -100 \[.*\]; at −[46]: 0 \[.*\]", space[0])
    assert space[1] == "not everywhere: not shown at −6 or −4"


def test_the_sentence_separates_what_changes_a_verdict(by_outcome: Analysis) -> None:
    (section,) = alternatives.sections(by_outcome)
    stands, changes = section.reading.split("; ")
    assert stands.startswith("Every verdict stands ")
    assert "by the exact test" in stands
    assert changes.startswith("at least one verdict changes at the last epoch")
    assert "at some values of initial_rho" in changes


def test_scores_without_the_stand_in_are_those_of_pairs_that_have_both(diverging: Analysis) -> None:
    (entry,) = present(diverging.results["alternatives"])["scored_only"]
    trials = diverging.frames.trials
    wide = trials.pivot_table(index="configuration", columns="arm", values="best")
    both = (wide[entry["arms"][0]] - wide[entry["arms"][1]]).dropna()
    assert len(both) == entry["first_wins"]["of"] == 32
    assert entry["mean_difference"] == pytest.approx(both.mean(), abs=1e-12)
    (verdict,) = (each for each in diverging.results["scores"] if each["epoch"] == diverging.epoch)
    assert abs(present(verdict["mean_difference"])) > 1.2 * abs(both.mean())
    cell = rows_of(diverging)["Trials without a score left out instead of the stand-in for their score"][0]
    assert cell.endswith(", over 32 pairs")


def test_without_a_missing_score_there_is_no_such_row(by_outcome: Analysis) -> None:
    assert by_outcome.results["alternatives"] is None
    assert not any("stand-in" in what for what in rows_of(by_outcome))


def test_every_link_leads_to_a_section_of_the_page(by_outcome: Analysis, diverging: Analysis) -> None:
    for analysis in (by_outcome, diverging):
        page = render(analysis)
        links = [row[-1] for row in rows_of(analysis).values()]
        assert links
        for link in links:
            assert isinstance(link, Link)
            assert f'id="{link.section}"' in page
            assert f'<a href="#{link.section}">{link}</a>' in page


def test_each_task_by_itself_and_runs_without_a_partner_have_a_row(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    rows = [
        {"arm": arm, "task": task, "rate": rate, "seed": seed, "value": shift + rng.normal(0, 0.02)}
        for arm, by_task in {"a": (0.2, 0.5), "b": (0.4, 0.45)}.items()
        for task, shift in zip(("one", "two"), by_task, strict=True)
        for rate in range(1, 21)
        for seed in ((0, 1) if rate == 1 and arm == "a" else (0,))
    ]
    named = {"arm": "arm", "metric": "value", "task": "task", "seed": "seed", "goal": "maximize"}
    url = f"sqlite:///{tmp_path / 'made.db'}"
    analysis = from_dataframe(pd.DataFrame(rows), study="runs", store=url, hyperparameters=["rate"], **named).analysis  # type: ignore[arg-type]
    found = rows_of(analysis)
    two, one = (
        bracketed_change(second_minus_first(entry, entry["mean_difference"]), in_points=False)
        for task in reversed(present(analysis.results["tasks"])["on"])
        for entry in task["scores"]
    )
    assert found["Each task by itself"][0] == f"on two: {two}; on one: {one} (in value)"
    assert found["Each task by itself"][1] == "no: 1 of 2 are different on a task"
    assert found["All runs, compared without pairs"][1] == "yes"


def test_a_single_arm_has_no_such_section(tmp_path: Path) -> None:
    with open_store(f"sqlite:///{tmp_path / 'made.db'}") as store:
        analysis = analyse(fill(store, made_study(arms=("radial",))))
    assert list(alternatives.sections(analysis)) == []
    assert "alternatives" not in {section.name for section in make_sections(analysis)}


def test_a_comparison_without_a_verdict_has_none_to_change(tmp_path: Path) -> None:
    """Where no test of means is possible, another test alone changes nothing."""
    apart = (0.0, 0.001, 0.002, 0.5, 0.501, 0.502)
    shifts = {"a": [0.0] * 6, "b": apart, "c": (0.1, 0.12, 0.11, 0.13, 0.105, 0.125)}
    rows = [
        {"arm": arm, "rate": rate, "value": rate + shift}
        for arm, own in shifts.items()
        for rate, shift in enumerate(own)
    ]
    url = f"sqlite:///{tmp_path / 'made.db'}"
    named: dict[str, Any] = {"arm": "arm", "metric": "value", "hyperparameters": ["rate"]}
    analysis = from_dataframe(pd.DataFrame(rows), study="runs", store=url, **named).analysis
    tested = {entry["p_value"] is not None for entry in analysis.results["scores"]}
    assert tested == {True, False}
    assert "Another test: Wilcoxon's test" in rows_of(analysis)
