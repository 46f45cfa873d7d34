"""What the report says about the rule of "learned nothing": its error, the trials within it, untrained networks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from statsmodels.stats.proportion import proportion_confint
from support.results import present
from support.stores import fill, from_table, made_study, note_by_cell, untrained_note

from report.analysis import Analysis, analyse
from report.page import render
from report.sections.cautions import cautions
from robustness.store import open_store

SCORES = {(0, "mfvi"): 0.60, (0, "radial"): 0.615, (1, "mfvi"): 0.64, (1, "radial"): 0.65, (2, "mfvi"): 0.9}


def analysed(folder: Path, rule: dict[str, float], note: dict[str, Any] | None) -> Analysis:
    study = made_study(outcomes={"learned_nothing": rule, "epoch": "last"}, configurations=3)
    with open_store(f"sqlite:///{folder / 'made.db'}") as store:
        return analyse(fill(store, study, from_table(SCORES), note))


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
        "with other untrained networks; “When a trial has learned nothing” lists them. No test of the arms includes "
        "that error."
    )
    page = render(analysis)
    assert "configuration 0, radial: 0.6150 is within 0.6100 to 0.6400" in page
    assert "configuration 1, mfvi: 0.6400 is within" in page
    assert at["guessing"] == {"point": 0.62, "low": 0.61, "high": 0.64, "count": 300_000}


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
