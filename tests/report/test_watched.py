"""Reports of sweeps with `stop`: every interval and test must be valid however often the evidence was looked at."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.results import excludes_zero, p_adjusted, p_value, present
from support.stores import Made, fill, from_table, made_study

from report.analysis import Analysis, analyse
from report.page import write_report
from report.records.comparisons import PairedComparison
from report.sections.equivalence import VerdictEntry
from report.sections.verdict import headline
from robustness.statistics.sequential import SHARES, WEIGHTS, confidence_sequence
from robustness.store import Store, StudyStore, open_store
from robustness.study.sections import Stop
from robustness.study.study import Study
from robustness.sweep.plan import make_plan
from robustness.sweep.stopping import WATCHED_NOTE, Decision
from robustness.sweep.trial_judge import TrialJudge

FIXED = ("Wilson", "Tango", "bootstrap", "McNemar", "sign-flip", "Wilcoxon", "Student", "score", "jackknife")


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with open_store(f"sqlite:///{tmp_path / 'made.db'}") as opened:
        yield opened


def watched(
    store: Store, table: Mapping[Any, Any], stop: Stop | None = None, **changes: Any
) -> tuple[Study, StudyStore]:
    study = replace(made_study(**{"wide": True, **changes}), stop=stop or Stop())
    return study, fill(store, study, from_table(table))


def noted(study: Study, filled: StudyStore) -> Analysis:
    """The analysis after the sweep has noted why it stopped."""
    decision = Decision.of(study, make_plan(study), TrialJudge.of(filled), filled)
    filled.save_note("stopped", decision.note())
    return analyse(filled)


def evidence(first_only: int, second_only: int) -> float:
    """The mixture of likelihood ratios of discordant pairs, from its definition."""
    ratios = [
        weight * ((1 + sign * share) ** first_only * (1 - sign * share) ** second_only) / 2
        for share, weight in zip(SHARES, WEIGHTS, strict=True)
        for sign in (1, -1)
    ]
    return float(sum(ratios))


def main_entry(analysis: Analysis, outcome: str = "learned_nothing") -> PairedComparison:
    entries = analysis.results["paired"]
    return next(entry for entry in entries if entry["outcome"] == outcome and entry["epoch"] == analysis.epoch)


def values_of(part: Any, key: str) -> Iterator[Any]:
    """Every value of a key, however deep."""
    if isinstance(part, Mapping):
        yield from ([part[key]] if key in part else [])
        part = list(part.values())
    if isinstance(part, list):
        for item in part:
            yield from values_of(item, key)


def one_sided(pairs: int, lost: int) -> dict[tuple[int, str], float]:
    """The first arm learned nothing in the first `lost` pairs, the second never."""
    table = {(c, "mfvi"): 0.55 if c < lost else 0.85 for c in range(pairs)}
    return table | {(c, "radial"): 0.85 for c in range(pairs)}


def test_a_stopped_sweep_has_the_evidence_of_its_bets_and_says_how_it_ended(store: Store) -> None:
    study, filled = watched(store, one_sided(12, 9), configurations=30)
    analysis = noted(study, filled)
    entry = main_entry(analysis)
    assert entry["p_value"] == pytest.approx(1 / evidence(9, 0))
    assert entry["p_adjusted"] == entry["p_value"]
    assert entry["test"] == "anytime-valid betting"
    assert present(entry["low"]) > 0
    text = headline(analysis)
    assert "radial is less sensitive to its hyperparameters than mfvi, by 75 points" in text
    assert "The sweep stopped after 10 of 30 configurations, when the evidence was decisive at the 5 % level." in text
    assert "valid however often the evidence was looked at" in text
    assert "incomplete" not in " ".join(analysis.results["verdict"])


def test_trials_that_ended_before_an_earlier_configuration_do_not_count(store: Store) -> None:
    table = one_sided(20, 20)
    del table[5, "mfvi"]
    _, filled = watched(store, table, configurations=30)
    analysis = analyse(filled)
    assert main_entry(analysis)["pairs"] == 5
    assert main_entry(analysis)["p_value"] == pytest.approx(1 / evidence(5, 0))
    assert analysis.results["arms"]["mfvi"]["learned_nothing"]["of"] == 5
    assert analysis.results["left_out"]["trials"] == 0
    assert "left out" not in headline(analysis)


def test_a_failed_trial_leaves_its_pair_out_and_not_those_after_it(store: Store) -> None:
    table: dict[Any, Any] = dict(one_sided(10, 10))
    table[3, "radial"] = Made("out_of_memory")
    _, filled = watched(store, table, configurations=30)
    assert main_entry(analyse(filled))["p_value"] == pytest.approx(1 / evidence(9, 0))


def test_with_strata_evidence_is_read_after_whole_rounds(store: Store) -> None:
    _, filled = watched(store, one_sided(9, 9), configurations=30, wide=False)
    entry = main_entry(analyse(filled))
    assert entry["pairs"] == 9
    assert entry["p_value"] == pytest.approx(1 / evidence(8, 0))


def mixed_scores(arms: tuple[str, ...], configurations: int, replicates: int) -> dict[tuple[int, str, int], float]:
    rng = np.random.default_rng(7)
    rates = {"mfvi": 0.7, "radial": 0.15, "mc_dropout": 0.2}
    return {
        (c, arm, r): float(rng.uniform(0.5, 0.59) if rng.random() < rates[arm] else rng.uniform(0.6, 0.95))
        for c in range(configurations)
        for arm in arms
        for r in range(replicates)
    }


@pytest.mark.parametrize("replicates", [1, 3])
def test_no_interval_or_test_of_a_fixed_sample_remains(store: Store, replicates: int, tmp_path: Path) -> None:
    arms = ("mfvi", "radial", "mc_dropout")
    table = mixed_scores(arms, 24, replicates)
    _, filled = watched(store, table, arms=arms, configurations=24, replicates=replicates)
    analysis = analyse(filled)
    results = analysis.results
    methods = [*values_of(results, "interval"), *values_of(results, "test")]
    assert methods
    assert not [method for method in methods if any(word in method for word in FIXED)]
    for entry in (*results["paired"], *results["scores"]):
        assert excludes_zero(entry) == (p_value(entry) < 0.05)
        assert p_adjusted(entry) >= p_value(entry)
    assert results["profiles"]["arms"]["mfvi"]["low"] is None
    assert results["budget"]["arms"]["mfvi"]["low"] is None
    page = write_report(analysis, tmp_path / "page.html").read_text()
    assert "A watched sweep has no bands" in page
    assert "with 95 % confidence" not in page
    assert "Holm" not in page


def test_comparisons_are_corrected_by_closed_testing(store: Store) -> None:
    """Recomputed from the counts of discordant pairs at every configuration, over all sets of comparisons."""
    arms = ("mfvi", "radial", "mc_dropout")
    table = mixed_scores(arms, 24, 1)
    _, filled = watched(store, table, arms=arms, configurations=24)
    pairs = list(itertools.combinations(arms, 2))
    paths = np.array(
        [
            [
                evidence(*(sum(d[:n] == sign) for sign in (1, -1)))
                for d in [np.array([(table[c, a, 0] < 0.6) * 1 - (table[c, b, 0] < 0.6) for c in range(24)])]
                for n in range(1, 25)
            ]
            for a, b in pairs
        ]
    )
    entries = [
        e for e in analyse(filled).results["paired"] if e["outcome"] == "learned_nothing" and e["epoch"] == "best"
    ]
    for place, entry in enumerate(entries):
        sets = [s for size in (1, 2, 3) for s in itertools.combinations(range(3), size) if place in s]
        least = np.min([paths[list(s)].mean(axis=0) for s in sets], axis=0)
        assert entry["arms"] == list(pairs[place])
        assert entry["p_adjusted"] == pytest.approx(min(1.0, 1 / least.max()))


def test_the_pair_that_the_study_names_stands_by_itself(store: Store) -> None:
    arms = ("mfvi", "radial", "mc_dropout")
    stop = Stop(arms=["radial", "mfvi"])
    _, filled = watched(store, mixed_scores(arms, 24, 1), stop, arms=arms, configurations=24)
    paired = [
        e for e in analyse(filled).results["paired"] if e["outcome"] == "learned_nothing" and e["epoch"] == "best"
    ]
    entries = {tuple(e["arms"]): e for e in paired}
    named, other = entries["mfvi", "radial"], entries["mfvi", "mc_dropout"]
    assert named["p_adjusted"] == named["p_value"]
    assert p_adjusted(other) > p_value(other)


def test_an_unbounded_metric_is_compared_by_sign_alone(store: Store) -> None:
    changes = {"metric": "own_gain", "learned_nothing": {"below": 0.6}}
    study = replace(made_study(wide=True, outcomes=changes, configurations=12), stop=Stop())
    filled = fill(store, study, from_table(one_sided(12, 9)))
    entry = analyse(filled).results["scores"][0]
    assert entry["test"] == "anytime-valid betting on the sign"
    assert entry["p_value"] == pytest.approx(1 / evidence(0, 9))
    assert entry["low"] is None
    assert present(entry["mean_difference"]) < 0


def test_a_sweep_that_stopped_for_futility_is_not_decided(store: Store) -> None:
    study, filled = watched(store, one_sided(40, 1), Stop(futility=0.1), configurations=40)
    analysis = noted(study, filled)
    assert present(analysis.results["stopped"])["reason"] == "futility"
    text = headline(analysis)
    assert "The sweep stopped for futility after" in text
    assert "not decided, and the rest would probably not decide it" in text
    assert "more robust" not in text


def test_removing_the_stop_section_does_not_turn_the_statistics_back(store: Store) -> None:
    study = made_study(wide=True, configurations=12)
    filled = fill(store, study, from_table(one_sided(12, 9)))
    fixed = main_entry(analyse(filled))
    assert any(word in fixed["test"] for word in FIXED)
    filled.save_note(WATCHED_NOTE, Stop().model_dump(mode="json"))
    analysis = analyse(filled)
    assert main_entry(analysis)["test"] == "anytime-valid betting"
    assert "The evidence was checked after every configuration and did not stop the sweep." in headline(analysis)


def test_other_thresholds_are_tried_with_the_same_correction_as_the_verdict(store: Store) -> None:
    arms = ("mfvi", "radial", "mc_dropout")
    stop = Stop(arms=["radial", "mfvi"])
    analysis = analyse(watched(store, mixed_scores(arms, 24, 1), stop, arms=arms, configurations=24)[1])
    tried = present(analysis.results["thresholds"])["dependence"]
    assert len(tried) == 3
    for entry in tried:
        own = next(at for at in entry["at"] if at["threshold"] == entry["threshold"])
        (verdict,) = [
            e
            for e in analysis.results["paired"]
            if (e["arms"], e["outcome"], e["epoch"]) == (entry["arms"], analysis.primary, analysis.epoch)
        ]
        assert own["p_adjusted"] == verdict["p_adjusted"]


def test_importance_has_no_test_that_repeated_looks_would_spoil(store: Store) -> None:
    analysis = noted(*watched(store, one_sided(30, 12), configurations=30))
    for entry in analysis.results["sensitivity"]["importance"].values():
        assert entry["hyperparameters"] == {}
        assert "settled before the sweep" in present(entry["why_not"])


def margins(study: Study, **margin: float) -> Study:
    content = {**study.outcomes.model_dump(), "equivalent_within": margin}
    return replace(study, outcomes=type(study.outcomes).model_validate(content))


def verdict_of(analysis: Analysis, name: str, outcome: str | None) -> VerdictEntry:
    found = present(analysis.results["equivalence"])
    every = [*found["comparisons"], *found["contrasts"]]
    return next(entry for entry in every if (entry["name"], entry["outcome"]) == (name, outcome))


def test_equivalence_is_shown_by_bets_against_both_edges_of_the_margin(store: Store) -> None:
    """With d = 0 throughout, each bet grows by 1 + l m / (1 - m) a configuration, recomputed here."""
    study = margins(replace(made_study(wide=True, configurations=100), stop=Stop(equivalence=True)), fraction=0.06)
    filled = fill(store, study, from_table(one_sided(100, 0)))
    entry = verdict_of(analyse(filled), "mfvi - radial", "learned_nothing")
    grown = sum(weight * (1 + share * 0.06 / 0.94) ** 100 for share, weight in zip(SHARES, WEIGHTS, strict=True))
    assert entry["p_equivalence"] == pytest.approx(1 / grown)
    assert entry["verdict"] == "equivalent"
    assert entry["low_90"] is None
    assert entry["interval"] == "confidence sequence"


def test_contrasts_and_scores_have_the_evidence_of_their_bets(store: Store) -> None:
    arms = ("mfvi", "radial", "mc_dropout")
    weights = {"mfvi": 1.0, "radial": -0.5, "mc_dropout": -0.5}
    table = mixed_scores(arms, 40, 1)
    study = replace(made_study(arms=arms, wide=True, configurations=40), stop=Stop(), contrasts={"noise": weights})
    analysis = analyse(fill(store, margins(study, fraction=0.3, score=0.2), from_table(table)))
    lost = {arm: np.array([table[c, arm, 0] < 0.6 for c in range(40)], dtype=float) for arm in arms}
    sums = lost["mfvi"] - (lost["radial"] + lost["mc_dropout"]) / 2
    entry = verdict_of(analysis, "noise", "learned_nothing")
    assert entry["difference"] == pytest.approx(sums.mean())
    stakes = list(zip(SHARES, WEIGHTS, strict=True))
    paths = [
        sum(w * (np.prod(1 + s * sums[:t]) + np.prod(1 - s * sums[:t])) / 2 for s, w in stakes) for t in range(1, 41)
    ]
    assert entry["p_value"] == pytest.approx(1 / max(paths))
    assert entry["verdict"] == "different"
    scores = verdict_of(analysis, "noise", None)
    assert present(scores["low"]) <= scores["difference"] <= present(scores["high"])


def test_a_level_has_the_sequence_of_its_own_configurations_and_other_spaces_join_two(store: Store) -> None:
    table = one_sided(60, 0) | {(c, "mfvi"): 0.55 for c in range(60) if c % 3}
    study, filled = watched(store, table, configurations=60)
    analysis = noted(study, filled)
    (found,) = analysis.results["interactions"]
    end = present(analysis.results["stopped"])["configurations"]
    assert found["why_not"] is None
    plan = make_plan(study)
    rho = np.array([plan.configurations[c]["initial_rho"] for c in range(60)])
    lost = np.array([c % 3 > 0 for c in range(60)], dtype=float)
    for level in found["hyperparameters"]["initial_rho"]["levels"]:
        own = lost[rho == level["value"]]
        expected = confidence_sequence(own)
        assert level["difference"] == pytest.approx(own.mean())
        assert (level["low"], level["high"]) == pytest.approx((expected.low, expected.high), abs=1e-6)
    assert found["hyperparameters"]["initial_rho"]["low"] is None
    assert found["pairs"] == []
    other = present(found["other_space"])
    assert end < 60
    for at in other["curve"]:
        assert at["interval"] == "confidence sequences of the parts"
        assert present(at["low"]) <= present(at["difference"]) <= present(at["high"])


def test_an_interaction_is_tested_only_on_what_alone_ended_the_sweep(store: Store) -> None:
    arms = ("mfvi", "radial", "mc_dropout")
    _, filled = watched(store, mixed_scores(arms, 40, 1), arms=arms, configurations=40)
    for entry in analyse(filled).results["interactions"]:
        assert "alone decided when it stopped" in present(entry["why_not"])
        assert all(each["p_value"] is None for each in entry["hyperparameters"].values())


def test_budgets_and_seeds_have_estimates_without_intervals(store: Store, tmp_path: Path) -> None:
    _, filled = watched(store, mixed_scores(("mfvi", "radial"), 24, 3), configurations=24, replicates=3)
    analysis = analyse(filled)
    for win in analysis.results["best_of"]["comparisons"][0]["trials"]:
        assert 0 <= win["probability"] <= 1
        assert win["low"] is None
    share = present(analysis.results["seeds"])["mfvi"]["shares"]["hyperparameters"]
    assert 0 <= present(share["share"]) <= 1
    assert (share["low"], share["interval"]) == (None, "none: not valid for a watched sweep")
    page = write_report(analysis, tmp_path / "page.html").read_text()
    assert "At another budget" in page
    assert "With other seeds" in page


def test_strata_are_weighted_by_their_sequences(store: Store) -> None:
    study, filled = watched(store, one_sided(40, 20), configurations=40, wide=False)
    analysis = analyse(filled)
    weighted = present(analysis.results["weighted"])
    sizes = np.array([each["in_space"] for each in weighted["strata"]], dtype=float)
    plan = make_plan(study)
    lost = np.array([c < 20 for c in range(40)], dtype=float)
    kinds = np.array([str(plan.configurations[c]["optimizer"]) for c in range(40)])
    parts = [lost[kinds == str(each["choices"]["optimizer"])].mean() for each in weighted["strata"]]
    entry = next(e for e in weighted["paired"] if e["outcome"] == "learned_nothing")
    assert entry["difference"] == pytest.approx(float(sizes @ parts / sizes.sum()))
    assert entry["interval"] == "confidence sequences of the parts"
    assert present(entry["low"]) < present(entry["difference"]) < present(entry["high"])
    assert entry["p_value"] is None
