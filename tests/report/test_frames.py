from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pytest
from support.stores import AWKWARD, Made, fill, from_table, made_study, mixed, untrained_note

from report.frames import KEY, TRIAL_COLUMNS, load_frames
from report.judged_study import JudgedStudy
from robustness.store import Store, StudyStore, open_store
from robustness.sweep.chance import upper_quantile
from robustness.sweep.outcomes import CHANCE, Judge, judges

UNTRAINED = {"learned_nothing": {"no_better_than_untrained": 0.01, "below": None}}


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with open_store(f"sqlite:///{tmp_path / 'made.db'}") as opened:
        yield opened


def judged(study: StudyStore) -> pd.DataFrame:
    return JudgedStudy.of(load_frames(study)).trials


def judge_at_best(study: StudyStore) -> Judge:
    return judges(study.document(), study.note("untrained"))["best"]


def trial(frame: pd.DataFrame, configuration: int, arm: str = "mfvi") -> pd.Series:
    return frame[(frame["configuration"] == configuration) & (frame["arm"] == arm)].iloc[0]


def test_trials_are_sorted_and_have_the_columns_that_the_module_describes(store: Store) -> None:
    frames = load_frames(fill(store, made_study(arms=("radial", "mfvi"), configurations=3, replicates=2)))
    assert list(frames.trials.columns) == TRIAL_COLUMNS
    keys = list(zip(frames.trials["configuration"], frames.trials["replicate"], frames.trials["arm"], strict=True))
    assert keys == [(c, r, arm) for c in range(3) for r in range(2) for arm in ("radial", "mfvi")]
    assert list(frames.configurations.index) == [0, 1, 2]


def test_best_and_last_are_over_the_epochs_after_pretraining(store: Store) -> None:
    made = Made(scores=[0.55, 0.57, 0.57, 0.52])
    frames = load_frames(fill(store, made_study(configurations=1, epochs=5), from_table({(0, "mfvi"): made})))
    found = trial(frames.trials, 0)
    # Pre-training itself scored 0.6 in epoch 1.
    assert (found["best"], found["best_epoch"], found["last"], found["last_epoch"]) == (0.57, 3, 0.52, 5)
    assert found["epochs"] == 4


def test_epochs_after_pretraining_have_the_key_and_the_measures_asked_for(store: Store) -> None:
    frames = load_frames(fill(store, made_study(configurations=2, epochs=5)))
    found = frames.trained("nll", "never_measured")
    assert list(found.columns) == [*KEY, "epoch", "nll"]
    every = frames.epochs
    pd.testing.assert_frame_equal(found, every.loc[every["epoch"] > 1, [*KEY, "epoch", "nll"]])


def test_hyperparameters_come_in_the_order_of_the_search_space(store: Store) -> None:
    frames = load_frames(fill(store, made_study()))
    names = ["optimizer", "learning_rate", "learning_rate_decay", "momentum", "nesterov", "batch_size"]
    assert frames.hyperparameters == [*names, "variational_samples", "initial_rho"]
    assert "momentum" not in frames.varied
    assert "learning_rate_decay" in frames.varied


def test_a_diverged_trial_counts_by_its_epochs_at_the_best_and_has_learned_nothing_at_the_last(store: Store) -> None:
    found = judged(mixed(store))
    good_then_lost, lost_at_once = trial(found, 4), trial(found, 5)
    assert (good_then_lost["outcome_best"], good_then_lost["outcome_last"]) == ("good", "learned_nothing")
    assert (good_then_lost["score_best"], good_then_lost["score_last"]) == (0.86, CHANCE)
    assert (lost_at_once["outcome_best"], lost_at_once["score_best"]) == ("learned_nothing", CHANCE)


def test_what_ran_out_of_memory_failed_or_timed_out_is_left_out_with_its_pair(store: Store) -> None:
    found = judged(mixed(store))
    reasons = {1: "out_of_memory", 2: "failed", 3: "timed_out", 6: "running", 7: "planned"}
    for configuration, reason in reasons.items():
        own, other = trial(found, configuration), trial(found, configuration, "radial")
        assert own["reason"] == reason
        assert pd.isna(own["outcome_best"])
        assert math.isnan(own["score_best"])
        assert other["counted"]
        assert not other["paired"]
    assert sorted(found.loc[found["paired"], "configuration"].unique()) == [0, 4, 5, 8, 9, 10, 11]


def test_a_metric_that_is_never_a_number_is_nothing_learned(store: Store) -> None:
    found = judged(AWKWARD["NaN everywhere"](store))
    assert set(found["outcome_best"]) == {"learned_nothing"}
    assert set(found["score_last"]) == {CHANCE}


def test_a_finished_trial_without_epochs_is_not_measured(store: Store) -> None:
    found = judged(AWKWARD["missing epochs"](store))
    assert set(found.loc[~found["counted"], "reason"]) == {"not_measured"}


def test_an_arm_of_which_nothing_counts_does_not_void_the_pairs_of_the_others(store: Store) -> None:
    study = made_study(arms=("mfvi", "radial", "mc_dropout"), configurations=4)
    table = {(c, arm): 0.7 for c in range(4) for arm in ("mfvi", "radial")}
    lost = {(c, "mc_dropout"): Made("out_of_memory") for c in range(4)}
    found = judged(fill(store, study, from_table({**table, **lost})))
    assert found.loc[found["arm"] != "mc_dropout", "paired"].all()


def test_a_fixed_threshold_is_good_from_it_on_and_nothing_below_it(store: Store) -> None:
    scores = {0: 0.6, 1: 0.5999, 2: 0.8, 3: 0.7999}
    table = {(number, arm): score for number, score in scores.items() for arm in ("mfvi", "radial")}
    found = judged(fill(store, made_study(configurations=4), from_table(table)))
    outcomes = [trial(found, number)["outcome_best"] for number in range(4)]
    assert outcomes == ["between", "learned_nothing", "good", "between"]


def test_no_better_than_untrained_includes_the_threshold_itself(store: Store) -> None:
    note = untrained_note()
    point = max(upper_quantile(note["scores"], 0.01), upper_quantile(note["permutation"], 0.01))
    table = {(0, arm): point for arm in ("mfvi", "radial")} | {(1, arm): point + 1e-9 for arm in ("mfvi", "radial")}
    study = fill(store, made_study(configurations=2, outcomes=UNTRAINED), from_table(table), note=note)
    found = judged(study)
    assert [trial(found, number)["outcome_best"] for number in (0, 1)] == ["learned_nothing", "between"]


@pytest.mark.parametrize(
    "change",
    [
        {},
        {"threshold": None},
        {"threshold": None, "permutation": {"threshold": 0.58}},
        {"threshold": None, "permutation": 0.58},
        {"threshold": None, "permutation": None},
    ],
)
def test_the_untrained_networks_note_is_read_in_every_form(store: Store, change: dict[str, object]) -> None:
    note = {**untrained_note(), **change}
    judge = judge_at_best(fill(store, made_study(outcomes=UNTRAINED), note=note))
    assert judge.known
    assert 0.58 <= judge.nothing <= 0.64
    assert "200 untrained networks" in judge.why


def test_a_threshold_of_guesses_says_so(store: Store) -> None:
    outcomes = {"learned_nothing": {"no_better_than_guessing": 0.05, "below": None}}
    note = {**untrained_note(), "scores": [], "threshold": 0.61}
    judge = judge_at_best(fill(store, made_study(outcomes=outcomes), note=note))
    assert (judge.nothing, judge.inclusive, judge.known) == (0.61, True, True)
    assert "95 % point of guesses" in judge.why


def test_permutations_raise_the_threshold_but_never_lower_it(store: Store) -> None:
    note = {**untrained_note(), "threshold": None}
    alone = upper_quantile(note["scores"], 0.01)
    for permutation, expected in ((0.9, 0.9), (0.5, alone)):
        study = made_study(f"p{permutation}", outcomes=UNTRAINED)
        judge = judge_at_best(fill(store, study, note={**note, "permutation": permutation}))
        assert judge.nothing == expected


def test_without_the_note_the_report_says_that_the_threshold_is_not_known(store: Store) -> None:
    judge = judge_at_best(AWKWARD["unknown threshold"](store))
    assert (judge.nothing, judge.known) == (CHANCE, False)
    assert "has not been found out yet" in judge.why
