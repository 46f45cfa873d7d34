"""Where a difference lies, from studies whose arms fail at known values of a hyperparameter."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from support.stores import Made, Maker, fill, made_study

from report.analysis import Analysis, analyse
from report.first_screen.location import location_section, location_sentence, values_in_words
from report.page import notebook_html, render
from report.sections import make_sections
from report.words import at_floor, p_words
from robustness.api.importing import from_dataframe
from robustness.store import open_store
from robustness.trial import Trial


def made(folder: Path, make: Maker, arms: tuple[str, ...] = ("mfvi", "radial"), **outcomes: Any) -> Analysis:
    study = made_study(arms=arms, configurations=60, epochs=3, outcomes=outcomes or None)
    with open_store(f"sqlite:///{folder / 'made.db'}") as store:
        return analyse(fill(store, study, make))


def failing(fails: Callable[[Trial], bool]) -> Maker:
    """Trials that learn nothing where `fails` says so, and are good elsewhere."""
    return lambda trial, epochs: Made(scores=[0.5 if fails(trial) else 0.9] * epochs)


def imported(folder: Path, score: Callable[[str, float], float], **options: Any) -> Analysis:
    rng = np.random.default_rng(0)
    rows = [
        {"arm": arm, "rate": rate, "value": score(arm, rate) + rng.normal(0, 0.02)}
        for arm in ("slow", "fast")
        for rate in np.geomspace(1e-4, 1.0, 40)
    ]
    url = f"sqlite:///{folder / 'made.db'}"
    return from_dataframe(pd.DataFrame(rows), study="runs", store=url, arm="arm", metric="value", **options).analysis


def test_the_values_at_which_the_arm_fails_are_named_with_their_counts(tmp_path: Path) -> None:
    analysis = made(tmp_path, failing(lambda trial: trial.arm == "mfvi" and trial.hyperparameters["initial_rho"] >= -2))
    high = int((analysis.frames.configurations["initial_rho"] >= -2).sum())
    found = analysis.results["location"]
    assert found is not None
    assert found["hyperparameter"] == "initial_rho"
    assert found["values"] == [-2, 0]
    assert found["concentrated"] == {
        "arm": "mfvi",
        "count": high,
        "of": high,
        "elsewhere_count": 0,
        "elsewhere_of": 60 - high,
    }
    entry = analysis.results["interactions"][0]["hyperparameters"]["initial_rho"]
    assert found["p_adjusted"] == entry["p_adjusted"]
    sentence = location_sentence(analysis)
    assert sentence.startswith(
        f"With initial_rho −2 or 0, mfvi learned nothing in {high} of {high} configurations; with"
    )
    assert sentence.endswith(f"corrected over {found['tested']} hyperparameters).")


def test_a_value_of_a_choice_is_named_by_its_word(tmp_path: Path) -> None:
    analysis = made(
        tmp_path, failing(lambda trial: trial.arm == "mfvi" and trial.hyperparameters["optimizer"] == "sgd")
    )
    assert location_sentence(analysis).startswith("With optimizer sgd, mfvi learned nothing in ")


def test_it_is_about_every_comparison_of_the_arm_that_fails_most(tmp_path: Path) -> None:
    arms = ("radial", "mfvi", "deterministic")
    analysis = made(
        tmp_path, failing(lambda trial: trial.arm == "mfvi" and trial.hyperparameters["initial_rho"] == 0), arms
    )
    found = analysis.results["location"]
    assert found is not None
    assert found["comparisons"] == [["radial", "mfvi"], ["mfvi", "deterministic"]]
    assert "(tests of the interaction: p ≤ " in location_sentence(analysis)


def test_good_is_what_the_sentence_is_about_where_it_is_primary(tmp_path: Path) -> None:
    fails = failing(lambda trial: trial.arm == "radial" or trial.hyperparameters["initial_rho"] != -6)
    analysis = made(tmp_path, fails, primary="good")
    count = int((analysis.frames.configurations["initial_rho"] == -6).sum())
    assert f"With initial_rho −6, mfvi was good in {count} of {count} configurations" in location_sentence(analysis)


def test_arms_that_fail_at_different_values_cross(tmp_path: Path) -> None:
    at_fault = {"mfvi": (-2, 0), "radial": (-6, -4)}
    analysis = made(tmp_path, failing(lambda trial: trial.hyperparameters["initial_rho"] in at_fault[trial.arm]))
    found = analysis.results["location"]
    assert found is not None
    assert found["concentrated"] is None
    assert found["crossing"] == 1
    assert [each["arm"] for each in found["ahead"]] == ["mfvi", "radial"]
    assert location_sentence(analysis).startswith("Which arm is ahead depends on initial_rho: at −")
    assert " points (95 % interval " in location_sentence(analysis)


@pytest.mark.parametrize("goal", ["maximize", "minimize"])
def test_scores_that_cross_name_where_each_arm_is_ahead(tmp_path: Path, goal: str) -> None:
    sign = 1.0 if goal == "maximize" else -1.0
    analysis = imported(
        tmp_path, lambda arm, rate: sign * (0.5 if (arm == "slow") == (rate < 0.01) else 0.2), goal=goal
    )
    found = analysis.results["location"]
    assert found is not None
    levels = analysis.results["interactions"][0]["hyperparameters"]["rate"]["levels"]
    slow, fast = (next(each for each in found["ahead"] if each["arm"] == arm) for arm in ("slow", "fast"))
    assert slow["value"] in {levels[0]["value"], levels[1]["value"]}
    assert fast["value"] in {levels[2]["value"], levels[3]["value"]}
    assert sign * slow["difference"] == pytest.approx(0.3, abs=0.05)
    assert sign * fast["difference"] == pytest.approx(0.3, abs=0.05)
    for each in found["ahead"]:
        assert each["low"] < each["difference"] < each["high"]
    assert re.match(
        r"Which arm is ahead depends on rate: at \S+ to \S+ (slow|fast) is ahead, by 0\.", location_sentence(analysis)
    )


def test_an_arm_that_is_never_behind_is_ahead_at_some_values_and_not_shown_to_be_at_others(tmp_path: Path) -> None:
    analysis = imported(tmp_path, lambda arm, rate: 0.3 + (0.4 if arm == "fast" and rate > 0.1 else 0.0))
    found = analysis.results["location"]
    assert found is not None
    assert found["crossing"] == 0
    assert [each["value"] for each in found["shown"]] == ["0.119 to 1"]
    assert len(found["not_shown"]) == 3
    assert location_sentence(analysis).startswith("fast is ahead of slow at rate 0.12 to 1, by 0.4")
    assert "; at 1e-4 to 0.094 no difference is shown (test of " in location_sentence(analysis)


def test_both_ends_are_said_of_all_comparisons_alike(tmp_path: Path) -> None:
    """b, c and d are ahead of a where the rate is high, by much the same."""
    rng = np.random.default_rng(0)
    rows = [
        {"arm": arm, "rate": rate, "run": run, "value": 0.5 + (0.1 * rate if arm != "a" else 0.0) + rng.normal(0, 0.01)}
        for arm in "abcd"
        for rate in (0, 1, 3)
        for run in range(20)
    ]
    url = f"sqlite:///{tmp_path / 'made.db'}"
    named: dict[str, Any] = {"arm": "arm", "metric": "value", "hyperparameters": ["rate", "run"]}
    analysis = from_dataframe(pd.DataFrame(rows), study="runs", store=url, **named).analysis
    found = analysis.results["location"]
    assert found is not None
    assert sorted(arm for arms in found["comparisons"] for arm in arms) == ["a", "a", "a", "b", "c", "d"]
    assert [each["value"] for each in found["shown"]] == [1, 3]
    assert found["not_shown"] == [0]
    levels = [
        level
        for entry in analysis.results["interactions"]
        if "a" in entry["arms"]
        for level in entry["hyperparameters"]["rate"]["levels"]
        if level["value"] in {1, 3}
    ]
    sizes = sorted(abs(level["difference"] or 0.0) for level in levels)
    assert min(each["least"] for each in found["shown"]) == sizes[0]
    assert max(each["most"] for each in found["shown"]) == sizes[-1]
    sentence = location_sentence(analysis)
    assert sentence.startswith("a is behind all 3 others at rate 1 and 3, by 0.1")
    assert "; at 0 no difference is shown (tests of the interaction: p ≤ " in sentence


def test_the_ends_of_a_range_are_values_that_runs_have(tmp_path: Path) -> None:
    analysis = imported(tmp_path, lambda arm, rate: 0.5 if (arm == "slow") == (rate < 0.01) else 0.2)
    rates = {float(f"{rate:.3g}") for rate in analysis.frames.configurations["rate"]}
    labels = [level["value"] for level in analysis.results["interactions"][0]["hyperparameters"]["rate"]["levels"]]
    assert {float(end) for label in labels for end in str(label).split(" to ")} <= rates


def test_nothing_is_said_where_no_difference_depends_on_a_hyperparameter(tmp_path: Path) -> None:
    lost = set(np.random.default_rng(0).choice(60, 30, replace=False).tolist())
    analysis = made(tmp_path, failing(lambda trial: trial.arm == "mfvi" and trial.configuration in lost))
    assert analysis.results["location"] is None
    assert location_sentence(analysis) == ""
    assert 'class="location"' not in render(analysis)


def test_the_page_links_to_the_section_about_these_arms_and_a_notebook_does_not(tmp_path: Path) -> None:
    arms = ("radial", "deterministic", "mfvi")
    analysis = made(
        tmp_path, failing(lambda trial: trial.arm == "mfvi" and trial.hyperparameters["initial_rho"] == 0), arms
    )
    section = location_section(analysis)
    assert section is not None
    assert "mfvi" in section[1]
    page = render(analysis)
    linked = re.search(r'<p class="location">.*<a href="#([^"]+)">', page)
    assert linked is not None
    assert f'<section id="{linked[1]}"' in page
    notebook = notebook_html(analysis)
    assert 'class="location"' in notebook
    assert "href=" not in notebook


def test_neighbours_are_named_by_their_ends_and_others_one_by_one() -> None:
    every = [-6, -4, -2, 0, 2]
    assert values_in_words([-6, -4], every) == "−6 or −4"
    assert values_in_words([-6, -4, -2, 0], every) == "−6 to 0"
    assert values_in_words([-6, -4, -2, 2], every) == "−6, −4, −2 or 2"
    quarters = ["1e-05 to 0.000573", "0.000573 to 0.0325", "0.0325 to 1.82"]
    assert values_in_words(quarters[:2], quarters) == "1e-5 to 0.033"
    assert values_in_words(["sgd", "adam"], ["sgd", "adam", "rmsprop"]) == "sgd or adam"


def test_a_p_value_that_no_permutation_reached_is_at_most_that(tmp_path: Path) -> None:
    analysis = imported(tmp_path, lambda arm, rate: 0.5 if (arm == "slow") == (rate < 0.01) else 0.2)
    (entry,) = analysis.results["interactions"]
    drawn = entry["permutations"]
    assert drawn is not None
    assert entry["hyperparameters"]["rate"]["p_value"] == pytest.approx(1 / (drawn + 1))
    assert location_sentence(analysis).endswith("(test of the interaction: p ≤ 5.0e-4).")
    by_name = {section.name: section for section in make_sections(analysis)}
    for name in ("interactions-0", "importance"):
        section = by_name[name]
        assert section.numbers is not None
        assert all("≤ 5.0e-4" in row[-1] for row in section.numbers.rows)
        assert any(f"by {drawn:,} permutations among configurations" in note for note in section.notes)
    assert p_words(0.03, at_most=at_floor(0.03, drawn)) == "p = 0.03"
