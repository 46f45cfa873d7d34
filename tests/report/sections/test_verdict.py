from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.stores import AWKWARD, fill, from_table, made_study, mixed

from report.analysis import analyse
from report.sections.verdict import headline
from report.words import p_words, signed
from robustness.store import Store, open_store


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with open_store(f"sqlite:///{tmp_path / 'made.db'}") as opened:
        yield opened


def scores(nothing: dict[str, int], pairs: int) -> dict[tuple[int, str], float]:
    """So many of the pairs learned nothing in each arm, from the first on; the others are good."""
    return {(c, arm): 0.55 if c < count else 0.85 for arm, count in nothing.items() for c in range(pairs)}


def test_a_clear_difference_names_the_more_robust_arm_with_its_numbers(store: Store) -> None:
    study = fill(store, made_study(configurations=40), from_table(scores({"mfvi": 30, "radial": 10}, 40)))
    text = headline(analyse(study))
    assert "mfvi learned nothing in 30 of 40 (75 %" in text
    assert "radial in 10 of 40 (25 %" in text
    assert "radial is less sensitive to its hyperparameters than mfvi, by 50 points" in text
    assert re.search(r"by 50 points \(95 % interval \d+ to \d+; score test, p = 7.7e-6, 40 pairs\)\.", text)


def test_the_fractions_are_said_as_the_sweep_promises_them(store: Store) -> None:
    study = fill(store, made_study(wide=True), from_table(scores({"mfvi": 9, "radial": 2}, 12)))
    assert headline(analyse(study)).splitlines()[0] == (
        "mfvi learned nothing in 9 of 12 (75 %, 95 % interval 47-91 %), radial in 2 of 12 (17 %, 5-45 %)."
    )


def test_trials_that_are_left_out_are_said(store: Store) -> None:
    text = headline(analyse(mixed(store)))
    assert "left out: 1 trial ran out of memory" in text
    assert "left out: 1 trial timed out" in text


def test_a_sweep_with_an_older_note_of_its_end_has_anytime_valid_numbers_too(store: Store) -> None:
    study = fill(store, made_study(configurations=40), from_table(scores({"mfvi": 14, "radial": 4}, 20)))
    note = {"outcome": "learned_nothing", "arms": ["mfvi", "radial"], "pairs": 20, "difference": 0.5}
    study.save_note("stopped", {**note, "low": 0.02, "high": 0.8, "level": 0.05})
    first, second, third, *_ = headline(analyse(study)).splitlines()
    assert first.startswith("mfvi learned nothing in 14 of 20 (70 %, 95 % interval ")
    assert "radial is less sensitive to its hyperparameters than mfvi, by 50 points" in second
    assert "anytime-valid betting test, p = " in second
    assert third.startswith("The sweep stopped after 20 of 40 configurations, when the evidence was decisive at")


def test_a_small_difference_is_not_called_one(store: Store) -> None:
    text = headline(
        analyse(fill(store, made_study(configurations=12), from_table(scores({"mfvi": 6, "radial": 4}, 12))))
    )
    assert re.search(r"No significant difference between radial and mfvi: 17 points \(.*\)\.", text)
    assert "less sensitive" not in text


def test_a_primary_outcome_of_good_favours_the_arm_that_is_good_more_often(store: Store) -> None:
    study = made_study(configurations=40, outcomes={"primary": "good"})
    text = headline(analyse(fill(store, study, from_table(scores({"mfvi": 30, "radial": 10}, 40)))))
    assert "mfvi was good in 10 of 40" in text
    assert "radial is less sensitive to its hyperparameters than mfvi" in text


def test_three_arms_are_compared_after_holms_correction(store: Store) -> None:
    study = made_study(arms=("mfvi", "radial", "mc_dropout"), configurations=40)
    counts = {"mfvi": 30, "radial": 10, "mc_dropout": 12}
    text = headline(analyse(fill(store, study, from_table(scores(counts, 40)))))
    assert "mfvi 75 %, radial 25 %, mc_dropout 30 %" in text
    assert re.search(
        r"mfvi learned nothing more often than radial \(by 50 points, p = .*\), mc_dropout \(by 45 points, p = .*\)\.",
        text,
    )
    assert "Share of 40 paired configurations that learned nothing: mfvi 75 %" in text
    assert "After Holm's correction over 3 comparisons, mfvi learned nothing more often" in text
    assert "No significant difference: radial and mc_dropout." in text


@pytest.mark.parametrize("kind", sorted(AWKWARD))
def test_every_awkward_store_has_a_headline(store: Store, kind: str) -> None:
    study = AWKWARD[kind](store)
    text = headline(analyse(study))
    assert text
    assert "nan" not in text.lower()
    assert "None" not in text


def test_p_values_are_written_for_people() -> None:
    assert [p_words(value) for value in (1.0, 0.9999, 0.0312, 0.001, 6.46e-6)] == [
        "p = 1",
        "p = 1",
        "p = 0.031",
        "p = 0.001",
        "p = 6.5e-6",
    ]


@pytest.mark.parametrize(
    ("value", "decimals", "told"),
    [(0.0521, 3, "+0.052"), (-42.3, 0, "-42"), (-0.2, 0, "0"), (0.0, 0, "0"), (-0.0004, 3, "0.000"), (0.5001, 0, "+1")],
)
def test_a_difference_has_its_sign_unless_it_rounds_to_nothing(value: float, decimals: int, told: str) -> None:
    assert signed(value, decimals) == told
