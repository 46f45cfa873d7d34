"""Verdicts, spread, interactions, budgets and other spaces on the kept results of deepdrid_robustness."""

from __future__ import annotations

import math
from pathlib import Path

import pandas as pd
import pytest
from scipy import stats
from scipy.optimize import brentq
from support.stores import Made, fill, from_table

from report.analysis import Analysis, analyse
from report.sections import best_of, equivalence, interactions, spread
from robustness.store import open_store
from robustness.study.loading import load_study

KEPT = Path(__file__).parents[3] / "docs/results/deepdrid_robustness/trials.csv"
SETTINGS = [
    "training.epochs=2",
    "outcomes.learned_nothing={below: 0.6279}",
    "outcomes.equivalent_within={fraction: 0.06, score: 0.0025}",
    "contrasts={noise: {mfvi: 1.0, mfvi_noise_matched: -0.5, mfvi_scaled: -0.5}}",
    "arms=[mfvi, radial, mfvi_noise_matched, mfvi_scaled, deterministic]",
]


@pytest.fixture(scope="module")
def trials() -> pd.DataFrame:
    return pd.read_csv(KEPT)


@pytest.fixture(scope="module")
def analysis(trials: pd.DataFrame, tmp_path_factory: pytest.TempPathFactory) -> Analysis:
    table: dict[tuple[int, str], float | Made | None] = {
        (int(row["configuration"]), str(row["arm"])): Made(status="diverged", scores=[0.5])
        if row["status"] == "diverged"
        else float(row["last"])
        for row in trials.to_dict("records")
    }
    study = load_study("deepdrid_robustness", SETTINGS, check_data=False)
    with open_store(f"sqlite:///{tmp_path_factory.mktemp('evidence') / 'store.db'}") as store:
        return analyse(fill(store, study, from_table(table)))


def entry_of(analysis: Analysis, name: str, outcome: str | None) -> equivalence.VerdictEntry:
    found = analysis.results["equivalence"]
    assert found is not None
    every = [*found["comparisons"], *found["contrasts"]]
    return next(entry for entry in every if (entry["name"], entry["outcome"]) == (name, outcome))


def test_radial_and_its_control_learn_nothing_equally_often_within_six_points(analysis: Analysis) -> None:
    entry = entry_of(analysis, "radial - mfvi_noise_matched", "learned_nothing")
    assert entry["p_equivalence"] == pytest.approx(0.0096, abs=1e-4)
    assert entry["high_90"] == pytest.approx(0.0305, abs=1e-4)
    # Their scores miss the margin by little: the upper end of the 90 % interval, widened for skewness, is 0.00255.
    scores = entry_of(analysis, "radial - mfvi_noise_matched", None)
    assert scores["high_90"] == pytest.approx(0.00255, abs=1e-5)
    assert scores["verdict"] == "undecided"


def test_both_numbers_of_equivalence_agree_with_a_calculation_from_the_kept_table(
    analysis: Analysis, trials: pd.DataFrame
) -> None:
    arms = trials.pivot_table("outcome_last", "configuration", "arm", aggfunc="first")
    nothing = arms == "learned_nothing"
    assert (nothing["radial"] == nothing["mfvi_noise_matched"]).all()
    # Without a discordant pair the share of them is 0.06 at the edge, so the score is -n d / sqrt(n d (1 - d)).
    p_value = stats.norm.cdf(-math.sqrt(86 * 0.06 / 0.94))
    assert p_value > 0.94**86
    entry = entry_of(analysis, "radial - mfvi_noise_matched", "learned_nothing")
    assert entry["p_equivalence"] == pytest.approx(p_value, rel=1e-9)
    assert entry["p_equivalence_adjusted"] == pytest.approx(10 * p_value, rel=1e-9)
    assert entry["verdict"] == "undecided"

    scores = trials.assign(last=trials["last"].where(trials["status"] == "finished", 0.5))
    wide = scores.pivot_table("last", "configuration", "arm")
    d = (wide["radial"] - wide["mfvi_noise_matched"]).to_numpy()
    skewness, n = stats.skew(d) * (1 - 1 / 86) ** 1.5, len(d)

    def transformed(mean: float) -> float:
        t = (d.mean() - mean) / stats.sem(d)
        return float(t + skewness * (t**2 / 3 + 1 / 6) / math.sqrt(n) + skewness**2 * t**3 / (27 * n))

    limit = stats.t.ppf(0.95, n - 1)
    student = d.mean() + limit * stats.sem(d)
    hall = brentq(lambda mean: transformed(mean) + limit, d.mean(), d.mean() + 0.02)
    assert entry_of(analysis, "radial - mfvi_noise_matched", None)["high_90"] == pytest.approx(max(student, hall))
    assert student < 0.0025 < hall


def test_the_page_says_why_an_interval_within_the_margin_does_not_decide(analysis: Analysis) -> None:
    notes = next(equivalence.sections(analysis)).notes
    assert any("radial - mfvi_noise_matched (learned nothing)" in note and "p = 0.0096" in note for note in notes)
    assert not any("(score)" in note for note in notes if "radial - mfvi_noise_matched" in note)


def test_noise_at_the_start_makes_the_difference(analysis: Analysis, trials: pd.DataFrame) -> None:
    entry = entry_of(analysis, "noise", "learned_nothing")
    nothing = (trials["outcome_last"] == "learned_nothing").groupby(trials["arm"]).mean()
    expected = nothing["mfvi"] - (nothing["mfvi_noise_matched"] + nothing["mfvi_scaled"]) / 2
    assert entry["difference"] == pytest.approx(expected)
    assert entry["verdict"] == "different"
    assert entry["low"] is not None
    assert entry["low"] > 0.3


def test_the_report_says_by_itself_on_what_the_difference_depends(analysis: Analysis) -> None:
    (against,) = (section for section in interactions.sections(analysis) if "deterministic" in section.title)
    assert "share of configurations with initial_rho >= -2" in against.reading
    assert against.title == "Where mfvi differs from radial, mfvi_noise_matched, mfvi_scaled and deterministic"
    assert " points of the others minus mfvi depend" in against.reading
    assert "-2 points without them, -93 to -90 with them alone" in against.reading
    found = next(e for e in analysis.results["interactions"] or () if e["arms"] == ["mfvi", "deterministic"])
    assert found["other_space"] is not None
    assert (found["other_space"]["without"], found["other_space"]["within"]) == pytest.approx((0.02, 0.93), abs=0.005)
    assert found["hyperparameters"]["initial_rho"]["p_adjusted"] == pytest.approx(0.003, abs=1e-6)
    levels = found["hyperparameters"]["initial_rho"]["levels"]
    assert [level["value"] for level in levels] == [-6, -4, -2, 0]
    assert [level["difference"] for level in levels] == pytest.approx([0, 1 / 18, 14 / 17, 1])


def test_spread_is_that_of_the_kept_scores(analysis: Analysis, trials: pd.DataFrame) -> None:
    scores = trials[trials["arm"] == "radial"]["last"]
    found = analysis.results["spread"]["arms"]["radial"]
    assert found["mean"] == pytest.approx(scores.mean())
    assert found["sd"] == pytest.approx(scores.std())
    (section,) = spread.sections(analysis)
    (regret,) = [note for note in section.notes if note.startswith(spread.REGRET)]
    assert regret.endswith(spread.NO_REGRET_INTERVAL)
    regrets = [each for each in analysis.results["spread"]["differences"] if each["measure"] == "regret"]
    assert regrets
    assert all(each["low"] is None for each in regrets)


def test_budgets_beyond_a_tenth_have_no_interval(analysis: Analysis) -> None:
    found = analysis.results["best_of"]
    assert found is not None
    entry = found["comparisons"][0]
    for win in entry["trials"]:
        assert (win["low"] is None) == (win["first"] > 86 / 10)
        assert 0 <= win["probability"] <= 1
    (section,) = best_of.sections(analysis)
    assert "Intervals stop at n = 8, a tenth of the configurations. Beyond it, lines are dotted." in section.notes[0]
    assert section.numbers is not None
    trials = [row for row in section.numbers.rows if row[0] == section.numbers.rows[0][0] and " h: " not in row[1]]
    assert [row[1] for row in trials] == ["1", "2", "3", "5", "10", "20"]
    assert [row[2].endswith("(no interval)") for row in trials] == [False] * 4 + [True] * 2
    assert section.reading.startswith(
        "How likely the best of 5 random trials of the arm named first beats the best of 5 of the other: "
    )
    assert all(math.isfinite(win["hours"] or math.nan) for win in entry["hours"])


def test_the_table_of_verdicts_lists_every_comparison_and_contrast(analysis: Analysis) -> None:
    (section,) = equivalence.sections(analysis)
    assert section.numbers is not None
    assert len(section.numbers.rows) == 3 * (10 + 1)
