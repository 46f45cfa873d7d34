from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from scipy.stats import norm
from support.trials import small_document, small_space

from robustness.errors import RobustnessError
from robustness.execution.inline import InlineExecutor
from robustness.metrics import accuracy
from robustness.streams import NO_REPLICATE, Streams
from robustness.study.loading import load_study
from robustness.study.study import Study
from robustness.sweep.chance import Scored, extrapolated
from robustness.sweep.outcomes import cell_name
from robustness.sweep.plan import Plan, make_plan
from robustness.sweep.untrained import NETWORKS, chosen, covers, edges_of, further, untrained_note
from robustness.trainables.classification.training import Run, build_ensemble
from robustness.trainables.classification.untrained import resampled
from robustness.trial import TrialKey


def small_study(folder: Path, **changes: object) -> tuple[Study, Plan]:
    document = small_document(
        space=small_space([-6, -4, -2, 0]),
        training={"epochs": 6, "pretrain_epochs": 1, "evaluation_samples": 2},
        outcomes={"learned_nothing": {"no_better_than_untrained": 0.01}, "good": {"at_least": 0.9}},
    )
    path = folder / "small.yaml"
    path.write_text(yaml.safe_dump(document | changes))
    study = load_study(str(path))
    return study, make_plan(study)


def note_of(study: Study, plan: Plan) -> dict[str, Any]:
    note = untrained_note(study, plan, InlineExecutor(), lambda: False)
    assert note is not None
    return note


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fewer networks and guesses, for tests that are not about their number."""
    for name, value in (("NETWORKS", 24), ("NETWORKS_OF_ARM", 12), ("NETWORKS_OF_CELL", 3), ("NETWORKS_OF_GAIN", 4)):
        monkeypatch.setattr(f"robustness.sweep.untrained.{name}", value)
    for name in ("LEAST_DRAWS", "MOST_DRAWS"):
        monkeypatch.setattr(f"robustness.sweep.guessing.{name}", 20_000)


@pytest.mark.usefixtures("few")
def test_scored_networks_are_counted(tmp_path: Path) -> None:
    study, plan = small_study(tmp_path)
    told: list[tuple[int, int]] = []
    note = untrained_note(study, plan, InlineExecutor(), lambda: False, lambda scored, of: told.append((scored, of)))
    assert note is not None
    count = len(note["scores"])
    assert [scored for scored, _ in told] == [*range(5, count, 5), count]
    assert {of for _, of in told} == {count}


def test_two_evaluations_stand_for_the_best_of_all_evaluations(tmp_path: Path) -> None:
    """Against networks that are evaluated as often as a trial is, with as many draws."""
    study, plan = small_study(tmp_path)
    note = note_of(study, plan)
    exact = []
    for number in range(160):
        trial = plan.trials[number % len(plan.trials)]
        run = Run.start(replace(trial, configuration=1000 + number))
        exact.append(max(run.evaluate(epoch)["auc"] for epoch in range(1, 6)))
    assert np.mean(note["scores"]) == pytest.approx(np.mean(exact), abs=0.04)
    assert np.quantile(note["scores"], 0.95) == pytest.approx(np.quantile(exact, 0.95), abs=0.06)
    assert note["evaluations"] == 5
    assert note["summaries"]["best"]["threshold"] == note["threshold"]
    # A trial judged by its last evaluation has one chance, not the best of five.
    assert np.mean(note["summaries"]["last"]["scores"]) < np.mean(note["scores"])
    cells = note["by_cell"]
    assert set(cells) == {f"{arm} {rho}" for arm in ("mfvi", "radial") for rho in (-6, -4, -2, 0)}
    assert {cell["networks"] for cell in cells.values()} == {25}
    assert min(cell["value"] for cell in cells.values()) == note["threshold"] >= note["permutation"]["point"]


@pytest.mark.usefixtures("few")
@pytest.mark.parametrize("rule", ["no_better_than_untrained", "no_better_than_start"])
def test_the_note_depends_on_the_study_alone(tmp_path: Path, rule: str) -> None:
    outcomes = {"learned_nothing": {rule: 0.01}, "good": {"at_least": 0.9}}
    study, plan = small_study(tmp_path, sampling={"strategy": "grid", "seed": 4}, outcomes=outcomes)
    assert note_of(study, plan) == note_of(study, plan)


@pytest.mark.usefixtures("few")
def test_the_first_evaluation_is_that_of_a_trial_with_as_many_draws(tmp_path: Path) -> None:
    study, plan = small_study(tmp_path, training={"epochs": 3, "pretrain_epochs": 1, "evaluation_samples": 3})
    note = note_of(study, plan)
    key = chosen(plan)[5]
    run = Run.start(plan.trial(key._replace(replicate=0)))
    run.streams = Streams(study.seed, key.configuration + key.replicate * len(plan.configurations), NO_REPLICATE)
    run.ensemble = build_ensemble(run.trial, run.options, 3, 2, run.streams)
    assert note["starts"][5] == run.evaluate(0)["auc"]


def test_an_error_of_the_scoring_job_is_one_line_without_its_traceback(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unreadable(task: str, device: str) -> None:
        raise OSError(f"no images in {task[:4]} on {device}")

    monkeypatch.setattr("robustness.trainables.classification.untrained._validation_set", unreadable)
    study, plan = small_study(tmp_path)
    with pytest.raises(RobustnessError, match=r"\Auntrained networks cannot be scored: OSError: no images in .*\Z"):
        untrained_note(study, plan, InlineExecutor(), lambda: False)


def test_a_cell_with_few_networks_gets_more(tmp_path: Path) -> None:
    _, plan = small_study(tmp_path, sampling={"strategy": "grid"})
    keys = [TrialKey(0, "mfvi"), TrialKey(0, "mfvi", 1), TrialKey(1, "mfvi")]
    added = further(plan, keys, None, 3)
    assert not set(added) & set(keys)
    cells = Counter((key.configuration, key.arm) for key in [*keys, *added])
    assert set(cells.values()) == {3}
    assert len(cells) == len(plan.trials)


def test_a_rho_of_many_values_is_divided_into_quarters(tmp_path: Path) -> None:
    space = {
        "optimizer": {"amsgrad": {"learning_rate": [0.001]}},
        "batch_size": [16],
        "variational_samples": [1],
        "initial_rho": {"low": -6.0, "high": 0.0},
    }
    _, plan = small_study(tmp_path, space=space, sampling={"strategy": "random", "configurations": 40})
    edges = edges_of(plan)
    assert edges is not None
    names = [cell_name("mfvi", configuration["initial_rho"], edges) for configuration in plan.configurations]
    assert Counter(names) == {f"mfvi {quarter}/4": 10 for quarter in (1, 2, 3, 4)}


@pytest.mark.usefixtures("few")
def test_a_note_covers_a_plan_with_the_same_cells(tmp_path: Path) -> None:
    study, plan = small_study(tmp_path)
    note = note_of(study, plan)
    assert covers(note, plan)
    assert covers({"threshold": 0.6, "cells": ["mfvi -4"]}, plan)
    other = replace(plan, trials=(*plan.trials, replace(plan.trials[0], arm="mfvi_scaled")))
    assert not covers(note, other)


def test_networks_are_spread_over_arms_and_configurations(tmp_path: Path) -> None:
    _, plan = small_study(tmp_path)
    keys = chosen(plan)
    assert len(keys) == len(set(keys)) >= NETWORKS
    assert {(key.configuration, key.arm) for key in keys} == {(t.configuration, t.arm) for t in plan.trials}
    counts = np.unique([key.configuration for key in keys], return_counts=True)[1]
    assert counts.max() - counts.min() <= 2


def test_an_arm_without_noise_keeps_its_scores() -> None:
    scored = [Scored("deterministic", "deterministic", value, value) for value in (0.4, 0.5, 0.7)]
    assert extrapolated(scored, 30, np.random.default_rng(0)).tolist() == [0.4, 0.5, 0.7]


def test_the_best_of_noisy_evaluations_is_that_of_a_normal_maximum() -> None:
    """Networks that are all alike but for noise of 0.02: the mean of the best of 11 is known by simulation."""
    generator = np.random.default_rng(1)
    draws = 0.5 + 0.02 * generator.standard_normal((4000, 2))
    scored = [Scored("arm", "cell", a, b) for a, b in draws]
    expected = 0.5 + 0.02 * norm.ppf(generator.random((100_000, 11)).max(axis=1)).mean()
    assert extrapolated(scored, 11, generator).mean() == pytest.approx(expected, abs=0.001)


@pytest.mark.usefixtures("few")
def test_the_threshold_of_guesses_ignores_networks_but_their_scores_are_kept(tmp_path: Path) -> None:
    notes = {}
    for rule in ("no_better_than_untrained", "no_better_than_guessing", "no_better_than_start"):
        study, plan = small_study(tmp_path, outcomes={"learned_nothing": {rule: 0.1}, "good": {"at_least": 0.9}})
        notes[rule] = note_of(study, plan)
    guesses = notes["no_better_than_guessing"]
    assert guesses["threshold"] == guesses["permutation"]["point"]
    assert "by_cell" not in guesses
    assert all(note["permutation"] == guesses["permutation"] for note in notes.values())
    assert len(guesses["scores"]) == len(guesses["arms"]) == guesses["mixed"] == 24
    assert guesses["summaries"]["last"]["threshold"] < guesses["threshold"]
    assert set(notes["no_better_than_start"]["by_cell"]) == set(notes["no_better_than_untrained"]["by_cell"])
    assert all(0 < cell["value"] < 0.5 for cell in notes["no_better_than_start"]["by_cell"].values())


def test_patients_are_resampled_with_all_of_their_images() -> None:
    """The variance of the mean over patients of two images each is that of independent patients, not of images."""
    generator = np.random.default_rng(6)
    per_patient = generator.integers(0, 2, 400)
    labels, patients = np.repeat(per_patient, 2), np.repeat(np.arange(400), 2)
    answers = np.tile([0.0, 1.0], (800, 1))
    means = resampled(labels, answers, patients, accuracy, 3000, generator)
    assert np.std(means) == pytest.approx(per_patient.std() / 20, rel=0.06)


def test_a_study_without_the_later_rules_is_the_study_it_was(tmp_path: Path) -> None:
    study, _ = small_study(tmp_path)
    assert study.document()["outcomes"]["learned_nothing"] == {"no_better_than_untrained": 0.01, "below": None}
    for rule in ("no_better_than_guessing", "no_better_than_start"):
        study, _ = small_study(tmp_path, outcomes={"learned_nothing": {rule: 0.02}, "good": {"at_least": 0.9}})
        document = study.document()["outcomes"]["learned_nothing"]
        assert document == {"no_better_than_untrained": None, rule: 0.02, "below": None}
