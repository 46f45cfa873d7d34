"""Winners: chosen on the first replicate for each arm and value, and trained on the others."""

from __future__ import annotations

import math
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from robustness.study.sections import Winners
from robustness.sweep.winners import Candidate, Place, choose, count_further, further_trials
from robustness.trial import Trial, TrialKey

TERMS = Winners(by="data_set", replicates=4, fewer={"protein": 2})
CONFIGURATIONS: list[dict[str, Any]] = [
    {"data_set": name, "learning_rate": rate} for name in ("boston", "protein") for rate in (1e-3, 1e-4)
]
TRIALS = [
    Trial("uci", 0, number, arm, hyperparameters=configuration, method=arm)
    for number, configuration in enumerate(CONFIGURATIONS)
    for arm in ("mfvi", "radial")
]


def tried(metrics: dict[TrialKey, float | None]) -> list[Candidate]:
    return [Candidate(trial.key, trial.hyperparameters, metrics.get(trial.key)) for trial in TRIALS]


METRICS: dict[TrialKey, float | None] = {
    TrialKey(0, "mfvi"): -2.5,
    TrialKey(1, "mfvi"): -3.0,
    TrialKey(0, "radial"): -2.7,
    TrialKey(1, "radial"): -2.6,
    TrialKey(2, "mfvi"): math.nan,
    TrialKey(3, "mfvi"): -9.0,
    TrialKey(2, "radial"): None,
    TrialKey(3, "radial"): None,
}


def test_each_arm_has_its_own_winner_for_each_value() -> None:
    assert choose(tried(METRICS), TERMS) == {
        Place("mfvi", "boston"): TrialKey(0, "mfvi"),
        Place("radial", "boston"): TrialKey(1, "radial"),
        Place("mfvi", "protein"): TrialKey(3, "mfvi"),
    }


def test_without_a_hyperparameter_to_choose_by_an_arm_has_one_winner() -> None:
    terms = Winners(replicates=2)
    winners = choose(tried(METRICS), terms)
    assert winners == {Place("mfvi"): TrialKey(0, "mfvi"), Place("radial"): TrialKey(1, "radial")}
    assert [trial.key for trial in further_trials(TRIALS, winners, terms)] == [
        TrialKey(0, "mfvi", 1),
        TrialKey(1, "radial", 1),
    ]


def test_winners_train_on_the_other_replicates_and_on_fewer_where_there_are_fewer() -> None:
    trials = further_trials(TRIALS, choose(tried(METRICS), TERMS), TERMS)
    assert [trial.key for trial in trials] == [
        TrialKey(0, "mfvi", 1),
        TrialKey(1, "radial", 1),
        TrialKey(0, "mfvi", 2),
        TrialKey(1, "radial", 2),
        TrialKey(0, "mfvi", 3),
        TrialKey(1, "radial", 3),
        TrialKey(3, "mfvi", 1),
    ]
    assert trials[1].hyperparameters == CONFIGURATIONS[1]
    assert trials[1].method == "radial"


def test_later_replicates_have_no_say() -> None:
    late = Candidate(TrialKey(1, "mfvi", 1), CONFIGURATIONS[1], 100.0)
    assert choose([*tried(METRICS), late], TERMS) == choose(tried(METRICS), TERMS)


@settings(deadline=None, derandomize=True, max_examples=50)
@given(st.permutations(range(len(TRIALS))), st.lists(st.integers(-2, 2), min_size=8, max_size=8))
def test_the_choice_does_not_depend_on_the_order_and_equal_ones_go_to_the_first(
    order: list[int], values: list[int]
) -> None:
    metrics = {trial.key: float(value) for trial, value in zip(TRIALS, values, strict=True)}
    records = tried({**metrics})
    winners = choose([records[index] for index in order], TERMS)
    assert winners == choose(records, TERMS)
    for place, key in winners.items():
        rivals = [
            trial.key for trial in TRIALS if trial.arm == place.arm and trial.hyperparameters["data_set"] == place.value
        ]
        best = max(metrics[rival] for rival in rivals)
        assert key == min(rival for rival in rivals if metrics[rival] == best)


def test_how_many_trials_follow_is_known_before_anything_runs() -> None:
    # boston on three further replicates, protein on one, for two arms each.
    assert count_further(TERMS, 2, CONFIGURATIONS) == 8
    assert count_further(Winners(replicates=5), 3, CONFIGURATIONS) == 12
