from __future__ import annotations

import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.multitest import multipletests
from support.results import p_adjusted, p_value, present
from support.stores import AWKWARD, Made, fill, from_table, made_study, mixed, paper_like

from report.analysis import analyse, as_json_text
from robustness.store import Store, open_store

ARMS = ("mfvi", "radial")


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with open_store(f"sqlite:///{tmp_path / 'made.db'}") as opened:
        yield opened


def table_of(mfvi: list[float], radial: list[float]) -> dict[tuple[int, str], float]:
    both = zip(mfvi, radial, strict=True)
    return {(c, arm): score for c, scores in enumerate(both) for arm, score in zip(ARMS, scores, strict=True)}


MFVI = [0.51, 0.52, 0.55, 0.59, 0.62, 0.7, 0.58, 0.5, 0.85, 0.9, 0.57, 0.56]
RADIAL = [0.81, 0.7, 0.65, 0.82, 0.55, 0.9, 0.83, 0.7, 0.7, 0.95, 0.6, 0.79]


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    with open_store(f"sqlite:///{tmp_path_factory.mktemp('made') / 'made.db'}") as opened:
        return dict(analyse(fill(opened, made_study(), from_table(table_of(MFVI, RADIAL)))).results)


def wilson(count: int, n: int) -> tuple[float, float]:
    """Wilson's interval by its quadratic."""
    z2 = stats.norm.ppf(0.975) ** 2
    p = count / n
    roots = np.roots([1 + z2 / n, -(2 * p + z2 / n), p * p])
    return float(min(roots)), float(max(roots))


def test_the_fractions_are_counted_over_pairs_with_their_intervals(results: dict[str, Any]) -> None:
    for arm, scores in (("mfvi", MFVI), ("radial", RADIAL)):
        found = results["arms"][arm]
        for outcome, count in (
            ("learned_nothing", sum(score < 0.6 for score in scores)),
            ("good", sum(score >= 0.8 for score in scores)),
        ):
            entry = found[outcome]
            assert (entry["count"], entry["of"], entry["fraction"]) == (count, 12, count / 12)
            assert (entry["low"], entry["high"]) == pytest.approx(wilson(count, 12))
        assert (found["trials"], found["best"]) == (12, max(scores))
        assert found["profile_area"] == pytest.approx(np.mean([(score - 0.5) / 0.5 for score in scores]))


def test_the_results_name_the_study_and_say_that_it_is_complete(results: dict[str, Any]) -> None:
    assert results["study"] == "made"
    assert results["complete"] is True


def test_the_paired_table_is_counted_and_tested(results: dict[str, Any]) -> None:
    entry = results["paired"][0]
    pairs = list(zip((s < 0.6 for s in MFVI), (s < 0.6 for s in RADIAL), strict=True))
    assert (entry["arms"], entry["outcome"], entry["epoch"]) == (["mfvi", "radial"], "learned_nothing", "best")
    assert entry["both"] == pairs.count((True, True))
    assert entry["only_first"] == pairs.count((True, False))
    assert entry["only_second"] == pairs.count((False, True))
    assert entry["neither"] == pairs.count((False, False))
    assert entry["difference"] == pytest.approx((sum(a for a, _ in pairs) - sum(b for _, b in pairs)) / 12)
    discordant = entry["only_first"] + entry["only_second"]
    chi_squared = (entry["only_first"] - entry["only_second"]) ** 2 / discordant
    assert entry["p_value"] == pytest.approx(stats.chi2.sf(chi_squared, 1))
    assert entry["p_exact"] == pytest.approx(stats.binomtest(entry["only_first"], discordant).pvalue)
    assert (entry["p_value"] < 0.05) is (entry["low"] > 0 or entry["high"] < 0)
    assert entry["low"] < entry["difference"] < entry["high"]
    kinds = [(entry["epoch"], entry["outcome"]) for entry in results["paired"]]
    assert kinds == [("best", "learned_nothing"), ("best", "good"), ("last", "learned_nothing"), ("last", "good")]


def test_scores_are_compared_by_wins_and_means(results: dict[str, Any]) -> None:
    entry = results["scores"][0]
    differences = np.subtract(MFVI, RADIAL)
    assert entry["second_wins"]["count"] == int((differences < 0).sum())
    assert entry["p_wilcoxon"] == pytest.approx(stats.wilcoxon(differences).pvalue)
    assert entry["p_value"] >= stats.ttest_1samp(differences, 0).pvalue
    assert (entry["p_value"] < 0.05) is (entry["low"] > 0 or entry["high"] < 0)
    assert entry["mean_difference"] == pytest.approx(differences.mean())


def test_the_profile_and_its_difference_are_counted_at_every_threshold(results: dict[str, Any]) -> None:
    grid = results["profiles"]["thresholds"]
    counted = {
        arm: [float(np.mean([score > limit for score in scores])) for limit in grid]
        for arm, scores in zip(ARMS, (MFVI, RADIAL), strict=True)
    }
    for arm in ARMS:
        assert results["profiles"]["arms"][arm]["fraction"] == pytest.approx(counted[arm])
    difference = results["profiles"]["differences"][0]
    assert difference["difference"] == pytest.approx(np.subtract(counted["mfvi"], counted["radial"]).tolist())


def test_the_verdict_is_tried_at_every_threshold(results: dict[str, Any]) -> None:
    dependence = present(results["thresholds"])["dependence"][0]
    assert dependence["threshold"] == 0.6
    assert dependence["holds_from"] <= 0.6 <= dependence["holds_to"]
    for entry in dependence["at"]:
        limit = entry["threshold"]
        expected = np.mean([s < limit for s in MFVI]) - np.mean([s < limit for s in RADIAL])
        assert entry["difference"] == pytest.approx(expected)


def test_at_the_studys_own_threshold_the_trial_of_thresholds_agrees_with_the_comparison(store: Store) -> None:
    results = analyse(paper_like(store, configurations=30, epochs=8)).results
    dependence = present(results["thresholds"])["dependence"][0]
    own = next(entry for entry in dependence["at"] if entry["threshold"] == dependence["threshold"])
    assert own["p_value"] == results["paired"][0]["p_value"]
    assert own["difference"] == results["paired"][0]["difference"]


def test_other_thresholds_are_tried_with_the_verdicts_own_correction(store: Store) -> None:
    rng = np.random.default_rng(5)
    scores = {"mfvi": rng.uniform(0.5, 0.8, 40), "radial": rng.uniform(0.5, 0.9, 40)}
    scores["mfvi_scaled"] = scores["radial"] + rng.normal(0, 0.03, 40)
    table = {(c, arm, 0): float(scores[arm][c]) for c in range(40) for arm in scores}
    results = analyse(fill(store, made_study(arms=tuple(scores), configurations=40), from_table(table))).results
    dependence = present(results["thresholds"])["dependence"]
    assert len(dependence) == 3
    saved_by_the_correction = 0
    for entries in zip(*(entry["at"] for entry in dependence), strict=True):
        expected = multipletests([entry["p_value"] for entry in entries], method="holm")[1]
        assert [entry["p_adjusted"] for entry in entries] == pytest.approx(expected.tolist())
        for entry in entries:
            assert (entry["favours"] is not None) == (entry["p_adjusted"] < 0.05)
            saved_by_the_correction += entry["p_value"] < 0.05 <= entry["p_adjusted"]
    assert saved_by_the_correction > 0
    main = [e for e in results["paired"] if e["epoch"] == results["epoch"] and e["outcome"] == results["primary"]]
    for entry, own in zip(dependence, main, strict=True):
        at_own = next(at for at in entry["at"] if at["threshold"] == entry["threshold"])
        assert at_own["p_adjusted"] == own["p_adjusted"]


def test_replicates_are_averaged_within_configurations(store: Store) -> None:
    rng = np.random.default_rng(0)
    scores = {(c, arm, r): float(rng.choice([0.55, 0.7, 0.9])) for c in range(8) for arm in ARMS for r in range(3)}
    # One replicate has no result, so its configuration rests on two.
    made: dict[tuple[Any, ...], Any] = {**scores, (3, "mfvi", 1): Made("out_of_memory")}
    results = analyse(fill(store, made_study(configurations=8, replicates=3), from_table(made))).results
    complete = [(c, r) for c in range(8) for r in range(3) if (c, r) != (3, 1)]
    share = {arm: [np.mean([scores[c, arm, r] < 0.6 for k, r in complete if k == c]) for c in range(8)] for arm in ARMS}
    entry = results["arms"]["mfvi"]["learned_nothing"]
    assert (entry["of"], entry["configurations"], entry["replicates"], entry["interval"]) == (23, 8, 3, "Wilson")
    assert 8 <= entry["effective"] <= 23
    assert entry["fraction"] == pytest.approx(np.mean(share["mfvi"]))
    paired = results["paired"][0]
    assert (paired["pairs"], paired["configurations"], paired["replicates"], paired["test"]) == (23, 8, 3, "score")
    assert paired["difference"] == pytest.approx(np.mean(np.subtract(share["mfvi"], share["radial"])))
    assert set(present(results["variance"])) == set(ARMS)


def test_a_whole_grid_has_the_interval_of_as_many_draws(store: Store) -> None:
    results = analyse(AWKWARD["whole grid"](store)).results
    entry = results["arms"]["radial"]["good"]
    assert results["sampling"]["population"] == entry["of"]
    assert (entry["low"], entry["high"]) == pytest.approx(wilson(entry["count"], entry["of"]))


def test_holms_correction_is_over_the_pairs_of_arms(store: Store) -> None:
    results = analyse(AWKWARD["three arms"](store)).results
    family = [e for e in results["paired"] if e["epoch"] == "best" and e["outcome"] == "learned_nothing"]
    assert len(family) == 3
    assert min(map(p_adjusted, family)) == pytest.approx(min(1, 3 * min(map(p_value, family))))


def test_the_references_figures_stand_beside_the_studys_own(store: Store) -> None:
    reference = present(analyse(paper_like(store, configurations=20, epochs=6)).results["reference"])
    entry = next(e for e in reference["fractions"] if e["arm"] == "mfvi" and e["outcome"] == "learned_nothing")
    assert entry["reference"] == 0.82
    assert entry["inside"] is (present(entry["low"]) <= 0.82 <= present(entry["high"]))


def test_an_unfinished_study_says_so(store: Store) -> None:
    assert analyse(mixed(store)).results["complete"] is False


def test_good_then_diverged_is_counted(store: Store) -> None:
    assert analyse(mixed(store)).results["arms"]["mfvi"]["good_then_diverged"] == 1


@pytest.mark.parametrize("kind", sorted(AWKWARD))
def test_every_awkward_store_gives_json_that_others_can_read(store: Store, kind: str) -> None:
    results = analyse(AWKWARD[kind](store)).results
    read = json.loads(as_json_text(results), parse_constant=lambda name: pytest.fail(f"{name} in the JSON"))
    assert read == {"generator": "robustness-study", **results}
    assert all(not isinstance(value, float) or math.isfinite(value) for value in results["arms"].values())


def test_the_same_store_gives_the_same_text(store: Store) -> None:
    study = fill(store, made_study())
    assert as_json_text(analyse(study).results) == as_json_text(analyse(study).results)
