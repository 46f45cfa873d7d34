"""Repeated searches in the report: the verdict, the interval, the winner of each search, and searches still to come."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats
from support.results import present
from support.searches import fill_search, made_predictions, made_search, write_run

from report.analysis import Analysis, analyse
from report.page import render
from report.sections.configurations import configuration_table
from report.sections.finals.entries import FinalComparison
from report.sections.verdict import headline
from report.words import typeset
from robustness import metrics
from robustness.cli.search_display import print_results
from robustness.optimize.search import NOTHING, trial_of
from robustness.store import Store, open_store
from robustness.trial import TrialKey

ONCE = "this is about these models only, because each arm was searched once"
FINALS = {"replicates": 2, "planned": ["mfvi", "radial"], "searches": 3}


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with open_store(f"sqlite:///{tmp_path / 'store.db'}") as opened:
        yield opened


def skilled(arm: str, number: int) -> dict[str, NDArray[Any]]:
    """Predictions whose skill depends on the search as well as on the arm."""
    skill = {"radial": 1.4, "mfvi": 0.6}.get(arm, 1.0) + (0.3, 0.0, -0.2)[number // 100]
    return made_predictions(arm, number, skill=skill)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Analysis:
    """Three searches of three arms, and an ensemble of three models in each search."""
    study = made_search(arms=["mfvi", "radial", "deterministic", "deep_ensemble"], finals=FINALS)
    with open_store(f"sqlite:///{tmp_path_factory.mktemp('made') / 'store.db'}") as opened:
        return analyse(fill_search(opened, study, predictions=skilled))


def search_means(arm: str, models: int = 2) -> NDArray[np.float64]:
    """The mean AUC over the models of each search."""
    means = []
    for search in range(3):
        arrays = [skilled(arm, 100 * search + replicate) for replicate in range(models)]
        aucs = [metrics.auc(each["labels"], each["probabilities"].mean(axis=0)[:, 1]) for each in arrays]
        means.append(np.mean(aucs))
    return np.array(means)


def entry_of(analysis: Analysis, *arms: str) -> FinalComparison:
    found = analysis.results["finals"]["comparisons"]
    return next(entry for entry in found if entry["arms"] == list(arms))


def test_an_arms_auc_is_the_mean_over_searches_with_the_error_between_them(made: Analysis) -> None:
    for arm in ("mfvi", "radial"):
        each = made.results["finals"]["arms"][arm]
        auc, means = each["auc"][0], search_means(arm)
        assert (each["searches"], each["models"], each["run"]) == (3, 6, None)
        assert auc["mean"] == pytest.approx(means.mean())
        assert auc["between_searches"] == pytest.approx(stats.sem(means))
        assert auc["total_error"] == pytest.approx(math.hypot(present(auc["error"]), stats.sem(means)))
        assert [(model["search"], model["replicate"]) for model in each["replicates"]] == [
            (search, replicate) for search in (1, 2, 3) for replicate in (0, 1)
        ]


def test_the_interval_has_the_search_as_its_unit_and_contains_the_patients(made: Analysis) -> None:
    entry = entry_of(made, "mfvi", "radial")
    first, second = search_means("mfvi"), search_means("radial")
    parts = [float(np.var(means, ddof=1)) / 3 for means in (first, second)]
    freedom = sum(parts) ** 2 / sum(part**2 / 2 for part in parts)
    difference = first.mean() - second.mean()

    def half_width(tails: float) -> float:
        student, normal = stats.t.isf(tails / 2, freedom), stats.norm.isf(tails / 2)
        return math.sqrt(student**2 * sum(parts) + normal**2 * present(entry["pictures_error"]) ** 2)

    half = half_width(0.05)
    assert entry["searches"] == 3
    assert entry["degrees_of_freedom"] == pytest.approx(freedom)
    assert (entry["low"], entry["high"]) == pytest.approx((difference - half, difference + half))
    assert half_width(present(entry["p_value"])) == pytest.approx(abs(difference))
    assert entry["searches_error"] == pytest.approx(math.sqrt(sum(parts)))


def test_an_ensemble_is_compared_with_its_members_search_by_search(made: Analysis) -> None:
    entry = entry_of(made, "deterministic", "deep_ensemble")
    arms = made.results["finals"]["arms"]
    assert (arms["deterministic"]["models"], arms["deep_ensemble"]["models"]) == (9, 3)
    gaps = search_means("deterministic", 3) - [model["auc"][0] for model in arms["deep_ensemble"]["replicates"]]
    assert entry["searches_error"] == pytest.approx(stats.sem(gaps))


def test_the_verdict_names_the_searches_and_claims_more_than_these_models(made: Analysis) -> None:
    opening = made.results["verdict"][0]
    assert "over 3 searches of each arm (95 % interval" in opening
    assert "these models only" not in headline(made)
    page = render(made)
    assert "these models only" not in page
    assert "the search is the unit that was repeated" in page
    assert not any("Fewer models" in sentence for sentence in made.results["finals"]["cautions"])


def test_with_one_search_the_verdict_itself_says_that_it_is_about_these_models_only(
    store: Store, capsys: pytest.CaptureFixture[str]
) -> None:
    study = made_search()
    registered = fill_search(store, study)
    analysis = analyse(registered)
    opening = analysis.results["verdict"][0]
    assert opening.startswith("radial reaches a test AUC of")
    assert opening.endswith(f"; {ONCE}.")
    assert headline(analysis).splitlines()[0] == opening
    assert f'<p class="lead">{typeset(opening)}</p>' in render(analysis)
    print_results(study, registered, analysis.results)
    assert capsys.readouterr().out.splitlines()[-1] == opening


def test_one_arm_and_one_search_are_about_its_models_only(store: Store) -> None:
    registered = fill_search(store, made_search(arms=["radial"], finals={"replicates": 2}))
    assert "because radial was searched once" in analyse(registered).results["verdict"][0]


def test_an_arm_whose_other_searches_are_to_come_limits_the_verdict(store: Store) -> None:
    def predictions(arm: str, number: int) -> dict[str, NDArray[Any]] | None:
        return skilled(arm, number) if arm == "radial" or number < 100 else None

    analysis = analyse(fill_search(store, made_search(finals=FINALS), predictions=predictions))
    found = analysis.results["finals"]
    assert analysis.results["verdict"][0].endswith(
        "; this is about these models only, because only one search of mfvi has tested final models."
    )
    assert entry_of(analysis, "mfvi", "radial")["searches"] == 1
    assert entry_of(analysis, "mfvi", "radial")["searches_error"] is None
    assert "Searches with tested final models, of the 3 that are planned: mfvi 1." in found["cautions"]


def test_unequal_numbers_of_searches_are_named(store: Store) -> None:
    def predictions(arm: str, number: int) -> dict[str, NDArray[Any]] | None:
        return skilled(arm, number) if arm == "radial" or number < 200 else None

    analysis = analyse(fill_search(store, made_search(finals=FINALS), predictions=predictions))
    assert "over repeated searches, 3 of radial and 2 of mfvi (95 % interval" in analysis.results["verdict"][0]


def test_every_search_has_its_runs_and_its_winner(made: Analysis) -> None:
    search = made.results["search"]
    assert (search["searches"], search["complete"]) == (3, True)
    each = search["arms"]["radial"]
    assert (each["wanted"], each["ended"], len(each["runs"])) == (12, 12, 12)
    assert [(part["search"], part["wanted"], present(part["winner"])["number"]) for part in each["searches"]] == [
        (1, 4, 3),
        (2, 4, 3),
        (3, 4, 3),
    ]
    # The best so far starts anew with every search.
    runs = [run for run in each["runs"] if run["number"] == 1]
    assert all(run["best_so_far"] == run["score"] for run in runs)
    assert "that each of 3 searches found: radial 0.800, 0.800, 0.800;" in search["sentences"][0]
    page = render(made)
    assert "run 3 of search 2" in page
    assert "<th>Search</th>" in page.replace(' scope="col"', "")


def test_the_table_of_trials_tells_searches_apart(made: Analysis) -> None:
    table = configuration_table(made)
    assert table.columns[:5] == ("arm", "stage", "search", "run", "model")
    place = table.columns.index("test AUC")
    shown = [row[place] for row in table.rows if row[0] == "radial" and row[1] == "final"]
    models = made.results["finals"]["arms"]["radial"]["replicates"]
    assert [float(value) for value in shown] == pytest.approx([model["auc"][0] for model in models], abs=5e-5)


def test_models_of_a_search_that_another_run_now_wins_do_not_count(store: Store) -> None:
    fill_search(store, made_search(finals=FINALS), predictions=skilled)
    more = made_search(finals=FINALS, search={"runs": 5, "startup": 2})
    registered = store.register(more, NOTHING)
    drawn = more.space_of("mfvi").draw("random", 5, 9)[4]
    trial = trial_of(more, TrialKey(registered.next_configuration(1), "mfvi"), drawn, "search", 4)
    write_run(registered, trial, "finished", [0.95, 0.96])
    analysis = analyse(registered)
    assert [model["search"] for model in analysis.results["finals"]["arms"]["mfvi"]["replicates"]] == [1, 1, 3, 3]
    assert analysis.results["complete"] is False
    assert "mfvi 13 of 15" in analysis.results["search"]["cautions"][0]
