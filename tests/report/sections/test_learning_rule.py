"""What the report says about the rule of "learned nothing": its error, the trials within it, untrained networks."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.proportion import proportion_confint
from support.results import present
from support.stores import fill, from_table, made_study, note_by_cell, untrained_note

from report.analysis import Analysis, analyse
from report.page import render
from report.sections import learning_rule
from report.sections.cautions import cautions
from report.words import p_number
from robustness.store import open_store

SCORES = {(0, "mfvi"): 0.60, (0, "radial"): 0.615, (1, "mfvi"): 0.64, (1, "radial"): 0.65, (2, "mfvi"): 0.9}


def analysed(
    folder: Path,
    rule: dict[str, float],
    note: dict[str, Any] | None,
    scores: Mapping[tuple[int, str], float] = SCORES,
) -> Analysis:
    configurations = 1 + max(configuration for configuration, _ in scores)
    study = made_study(outcomes={"learned_nothing": rule, "epoch": "last"}, configurations=configurations)
    with open_store(f"sqlite:///{folder / 'made.db'}") as store:
        return analyse(fill(store, study, from_table(scores), note))


def test_trials_within_the_error_of_the_threshold_are_named(tmp_path: Path) -> None:
    """The threshold of 0.62 may be 0.61 to 0.64: a score of 0.615 and one of 0.64 could have been judged otherwise."""
    analysis = analysed(tmp_path, {"no_better_than_guessing": 0.01}, note_by_cell(0.1))
    at = present(analysis.results["learning_rule"])["at"]["last"]
    assert [(trial["configuration"], trial["arm"]) for trial in at["within_error"]] == [(0, "radial"), (1, "mfvi")]
    assert at["within_error"][0] | {"outcome": ""} == {
        "configuration": 0,
        "arm": "radial",
        "replicate": 0,
        "score": 0.615,
        "outcome": "",
        "threshold": 0.62,
        "low": 0.61,
        "high": 0.64,
    }
    caution = next(caution for caution in cautions(analysis) if "within the error" in caution)
    assert caution == (
        "At the last epoch, 2 trials within the error of the “learned nothing” threshold could change their outcome "
        "with other untrained networks. If each of them counted for a wider difference, mfvi alone would have "
        "learned nothing in 2 pairs, radial alone in 0 (p = 0.16): the difference would still not be significant. "
        "“When a trial has learned nothing” lists them. No test of the arms includes that error."
    )
    page = render(analysis)
    assert "configuration 0, radial: 0.6150 is within 0.6100 to 0.6400" in page
    assert "configuration 1, mfvi: 0.6400 is within" in page
    assert at["guessing"] == {"point": 0.62, "low": 0.61, "high": 0.64, "count": 300_000}


@pytest.mark.parametrize(
    ("borderline", "consequence"),
    [
        (0, ""),
        (1, "the verdict would stand"),
        (4, "the difference would not be significant"),
        (14, "the verdict would reverse"),
    ],
)
def test_the_worst_case_is_the_test_with_every_borderline_trial_against_the_verdict(
    tmp_path: Path, borderline: int, consequence: str
) -> None:
    """mfvi learns nothing in 8 of 20 and radial in none; scores of 0.615 and 0.63 lie within 0.61 to 0.64."""
    pairs = [(0.5, 0.9)] * (8 - borderline // 2) + [(0.615, 0.9)] * (borderline // 2)
    pairs += [(0.9, 0.63)] * (borderline - borderline // 2)
    pairs += [(0.9, 0.9)] * (20 - len(pairs))
    table = {
        (at, arm): score for at, pair in enumerate(pairs) for arm, score in zip(("mfvi", "radial"), pair, strict=True)
    }
    analysis = analysed(tmp_path, {"no_better_than_guessing": 0.01}, note_by_cell(0.1), table)
    found = present(analysis.results["learning_rule"])["at"]["last"]
    assert len(found["within_error"]) == borderline
    if not borderline:
        assert found["worst_case"] == []
        return
    # mfvi's count as having learned, radial's as having learned nothing.
    first = sum(mfvi < 0.61 < radial and radial > 0.64 for mfvi, radial in pairs)
    second = sum(mfvi > 0.61 and 0.61 < radial < 0.64 for mfvi, radial in pairs)
    p = 2 * stats.norm.sf(abs(first - second) / np.sqrt(first + second))
    (case,) = found["worst_case"]
    assert (case["only_first"], case["only_second"]) == (first, second)
    assert case["p_value"] == case["p_adjusted"] == pytest.approx(p)
    assert case["difference"] == pytest.approx((first - second) / 20)
    assert case["verdict"] == "radial"
    assert (case["favours"] is not None) == (p < 0.05)
    sentence = (
        f"If each of them counted against the verdict, mfvi alone would have learned nothing in {first} pairs, "
        f"radial alone in {second} (p = {p_number(p)}): {consequence}."
    )
    (section,) = learning_rule.sections(analysis)
    assert sentence.replace("1 pairs", "1 pair") in section.notes


def test_cells_are_named_by_arm_and_value_and_sorted(tmp_path: Path) -> None:
    note = note_by_cell(0.68)
    for part in note["summaries"].values():
        part["by_cell"] = dict(reversed(part["by_cell"].items()))
    analysis = analysed(tmp_path, {"no_better_than_untrained": 0.01}, note)
    (section,) = learning_rule.sections(analysis)
    names = [row[0] for row in present(section.numbers).rows if "networks" in row[1]]
    assert names == [f"{arm}, initial_rho = {rho}" for arm in ("mfvi", "radial") for rho in (-6, -4, -2, 0)]
    assert "the 99 % point of 4 untrained networks of the same arm and initial_rho, 32 in all" in section.reading


@pytest.mark.parametrize(
    ("rule", "value", "passing"),
    [
        # Scores of 0.5, 0.55, 0.66 and 0.7 in each cell, above 0.62 or 0.68; starts are those of the network before.
        ("no_better_than_guessing", 0.1, 8),
        ("no_better_than_untrained", 0.68, 4),
        # 0.66 starts at 0.55, 0.7 at 0.66.
        ("no_better_than_start", 0.1, 4),
        ("no_better_than_start", 0.2, 0),
    ],
)
def test_untrained_networks_are_put_to_the_rule(tmp_path: Path, rule: str, value: float, passing: int) -> None:
    analysis = analysed(tmp_path, {rule: 0.01}, note_by_cell(value))
    shares = present(present(analysis.results["learning_rule"])["at"]["last"]["untrained"])
    low, high = proportion_confint(passing, 16, method="wilson")
    for arm in ("mfvi", "radial"):
        assert (shares[arm]["count"], shares[arm]["of"]) == (passing, 16)
        assert (shares[arm]["low"], shares[arm]["high"]) == pytest.approx((low, high))
    warned = [caution for caution in cautions(analysis) if "not a 1 % rule" in caution]
    assert bool(warned) == (passing > 0)
    if warned:
        assert f"{100 * passing / 16:.0f} % of untrained radial" in warned[0]
    assert "Untrained networks that would count as having learned by this rule: mfvi" in render(analysis)


def test_an_old_note_leaves_error_and_untrained_networks_unknown(tmp_path: Path) -> None:
    analysis = analysed(tmp_path, {"no_better_than_untrained": 0.01}, untrained_note())
    at = present(analysis.results["learning_rule"])["at"]["last"]
    assert (at["untrained"], at["within_error"], at["guessing"]["low"]) == (None, [], None)
    assert not [caution for caution in cautions(analysis) if "untrained" in caution and "unknown" not in caution]


def test_a_fixed_threshold_has_no_error(tmp_path: Path) -> None:
    analysis = analysed(tmp_path, {"below": 0.62}, None)
    rule = present(analysis.results["learning_rule"])
    assert (rule["rule"], rule["level"], rule["at"]["last"]["untrained"]) == ("below", None, None)
    assert "When a trial has learned nothing" not in render(analysis)


@pytest.mark.parametrize(("rule", "value"), [("no_better_than_untrained", 0.68), ("no_better_than_start", 0.1)])
def test_sliders_and_other_thresholds_start_from_the_outcomes_themselves(
    tmp_path: Path, rule: str, value: float
) -> None:
    analysis = analysed(tmp_path, {rule: 0.01}, note_by_cell(value))
    own = present(analysis.results["thresholds"])["dependence"][0]
    (at,) = [entry for entry in own["at"] if entry["threshold"] == own["threshold"]]
    paired = next(e for e in analysis.results["paired"] if (e["epoch"], e["outcome"]) == ("last", "learned_nothing"))
    assert at["difference"] == paired["difference"]
