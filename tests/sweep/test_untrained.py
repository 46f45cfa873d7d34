from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import yaml
from scipy.stats import norm
from support.trials import SMALL_TASK

from robustness.execution.inline import InlineExecutor
from robustness.metrics import multiclass_auc
from robustness.study.loading import load_study
from robustness.study.study import Study
from robustness.sweep.chance import Scored, best_of_permuted, extrapolated
from robustness.sweep.plan import Plan, make_plan
from robustness.sweep.untrained import NETWORKS, chosen, untrained_note
from robustness.trainables.classification.training import Run


def small_study(folder: Path, **changes: object) -> tuple[Study, Plan]:
    document = {
        "name": "small",
        "task": SMALL_TASK,
        "model": {"name": "vgg_small", "base_channels": 4, "depth": "short"},
        "arms": ["mfvi", "radial"],
        "space": {
            "optimizer": {"amsgrad": {"learning_rate": [0.001]}},
            "batch_size": [16],
            "variational_samples": [1],
            "initial_rho": [-6, -4, -2, 0],
        },
        "sampling": {"strategy": "grid"},
        "training": {"epochs": 6, "pretrain_epochs": 1, "evaluation_samples": 2},
        "outcomes": {"learned_nothing": {"no_better_than_untrained": 0.01}, "good": {"at_least": 0.9}},
    }
    path = folder / "small.yaml"
    path.write_text(yaml.safe_dump(document | changes))
    study = load_study(str(path))
    return study, make_plan(study)


def test_the_score_of_two_draws_stands_for_the_best_of_all_evaluations(tmp_path: Path) -> None:
    """Against networks that are evaluated as often as a trial is."""
    study, plan = small_study(tmp_path)
    note = untrained_note(study, plan, InlineExecutor(), lambda: False)
    assert note is not None
    exact = []
    for number in range(160):
        trial = plan.trials[number % len(plan.trials)]
        run = Run.start(replace(trial, configuration=1000 + number))
        exact.append(max(run.evaluate(epoch)["auc"] for epoch in range(1, 6)))
    assert np.mean(note["scores"]) == pytest.approx(np.mean(exact), abs=0.04)
    assert np.quantile(note["scores"], 0.95) == pytest.approx(np.quantile(exact, 0.95), abs=0.06)
    assert note["threshold"] == max(note["networks"]["point"], note["permutation"]["point"])
    assert note["evaluations"] == 5
    assert note["summaries"]["best"]["threshold"] == note["threshold"]
    # A trial judged by its last evaluation has one chance, not the best of five.
    assert np.mean(note["summaries"]["last"]["scores"]) < np.mean(note["scores"])


def test_the_note_depends_on_the_study_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("robustness.sweep.untrained.NETWORKS", 24)
    monkeypatch.setattr("robustness.sweep.chance.SCORINGS", 200)
    study, plan = small_study(tmp_path, sampling={"strategy": "grid", "seed": 4})
    first, second = (untrained_note(study, plan, InlineExecutor(), lambda: False) for _ in range(2))
    assert first == second


def test_networks_are_spread_over_arms_and_configurations(tmp_path: Path) -> None:
    _, plan = small_study(tmp_path)
    keys = chosen(plan)
    assert len(keys) == len(set(keys)) >= NETWORKS
    assert {(key.configuration, key.arm) for key in keys} == {(t.configuration, t.arm) for t in plan.trials}
    counts = np.unique([key.configuration for key in keys], return_counts=True)[1]
    assert counts.max() - counts.min() <= 2


def test_an_arm_without_noise_keeps_its_scores() -> None:
    scored = [Scored("deterministic", value, value, value) for value in (0.4, 0.5, 0.7)]
    assert extrapolated(scored, 30, np.random.default_rng(0)).tolist() == [0.4, 0.5, 0.7]


def test_the_best_of_noisy_evaluations_is_that_of_a_normal_maximum() -> None:
    """Networks that are all alike but for noise of 0.02: the mean of the best of 11 is known by simulation."""
    generator = np.random.default_rng(1)
    draws = 0.5 + 0.02 * generator.standard_normal((4000, 2))
    scored = [Scored("cell", a, b, (a + b) / 2) for a, b in draws]
    expected = 0.5 + 0.02 * norm.ppf(generator.random((100_000, 11)).max(axis=1)).mean()
    assert extrapolated(scored, 11, generator).mean() == pytest.approx(expected, abs=0.001)


def test_pictures_of_one_patient_make_luck_wider() -> None:
    labels = np.repeat([0, 1], 100)
    alone = best_of_permuted(labels, np.arange(200), 5, 300, multiclass_auc, np.random.default_rng(2))
    fours = best_of_permuted(labels, np.arange(200) // 4, 5, 300, multiclass_auc, np.random.default_rng(2))
    # The AUC of a random scoring of n against n has the variance (2n + 1) / 12 n^2; four at a time quarter n.
    single = 0.5 + np.sqrt(201 / 120_000) * norm.ppf(np.random.default_rng(3).random((300, 5)).max(axis=1))
    assert np.quantile(alone, 0.9) == pytest.approx(np.quantile(single, 0.9), abs=0.02)
    assert np.quantile(fours, 0.9) - 0.5 == pytest.approx(2 * (np.quantile(alone, 0.9) - 0.5), rel=0.25)


def test_guesses_alone_need_no_networks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("robustness.sweep.chance.SCORINGS", 200)
    rules = ({"no_better_than_untrained": 0.1}, {"no_better_than_guessing": 0.1})
    monkeypatch.setattr("robustness.sweep.untrained.NETWORKS", 24)
    notes = []
    for rule in rules:
        study, plan = small_study(tmp_path, outcomes={"learned_nothing": rule, "good": {"at_least": 0.9}})
        executor = InlineExecutor()
        if "no_better_than_guessing" in rule:
            monkeypatch.setattr(executor, "run", lambda *_: pytest.fail("nothing has to be run"))
        notes.append(untrained_note(study, plan, executor, lambda: False))
    both, guesses = notes
    assert both is not None
    assert guesses is not None
    assert guesses["scores"] == []
    assert guesses["permutation"] == both["permutation"]
    assert guesses["threshold"] == both["permutation"]["point"]
    assert guesses["summaries"]["last"]["threshold"] < guesses["threshold"]


def test_a_study_without_the_rule_of_guesses_is_the_study_it_was(tmp_path: Path) -> None:
    study, _ = small_study(tmp_path)
    assert study.document()["outcomes"]["learned_nothing"] == {"no_better_than_untrained": 0.01, "below": None}
    study, _ = small_study(
        tmp_path, outcomes={"learned_nothing": {"no_better_than_guessing": 0.02}, "good": {"at_least": 0.9}}
    )
    assert study.document()["outcomes"]["learned_nothing"]["no_better_than_guessing"] == 0.02
