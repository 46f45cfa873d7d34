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
from report.sections.verdict import headline
from robustness.statistics.sequential import SHARES, WEIGHTS
from robustness.store import Store, StudyStore, open_store
from robustness.study.sections import Stop
from robustness.study.study import Study
from robustness.sweep.plan import make_plan
from robustness.sweep.stopping import WATCHED_NOTE, Decision
from robustness.sweep.trial_judge import TrialJudge

FIXED = ("Wilson", "Tango", "bootstrap", "McNemar", "sign-flip", "Wilcoxon", "Student", "score")


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
    assert "radial is the more robust arm by 75 points" in text
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
