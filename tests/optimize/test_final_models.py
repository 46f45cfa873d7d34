"""From search to final models and ensembles, with the built-in trainable on pictures of 16 px."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.trials import SMALL_TASK

from report.analysis import analyse
from robustness import metrics
from robustness.cli import main
from robustness.cli.search_display import print_results
from robustness.execution.inline import InlineExecutor
from robustness.optimize.ensembles import combine, final_counts, members_of
from robustness.optimize.final_models import (
    final_measures,
    final_trials,
    is_done,
    model_folder,
    store_predictions,
    train_finals,
    winners,
)
from robustness.optimize.search import NOTHING, search
from robustness.store import open_store
from robustness.store.study_store import StudyStore
from robustness.study.loading import make_study
from robustness.study.study import Study
from robustness.trainables.classification.predictions import measures_on_test, save_predictions
from robustness.trainables.classification.saved_model import load_model
from robustness.trial import TrialKey

POINT_SPACE = {
    "optimizer": "adam",
    "learning_rate": {"low": 1e-3, "high": 1e-2, "scale": "log"},
    "batch_size": 32,
    "weight_decay": {"low": 1e-6, "high": 1e-3, "scale": "log"},
}


def small_study(**changes: Any) -> Study:
    document: dict[str, Any] = {
        "name": "small",
        "task": SMALL_TASK | {"test": 40},
        "model": {"name": "vgg_small", "base_channels": 4, "depth": "short"},
        "arms": [
            "radial",
            "deterministic",
            "deep_ensemble",
            {"name": "pair", "method": "radial_ensemble", "members": 2},
        ],
        "space": {
            "optimizer": "adam",
            "learning_rate": {"low": 1e-3, "high": 1e-2, "scale": "log"},
            "batch_size": 32,
            "initial_rho": {"low": -8, "high": -2},
        },
        "search": {
            "runs": 2,
            "epochs": 2,
            "objective": "accuracy",
            "spaces": {"deterministic": POINT_SPACE},
            "models": {"deterministic": {"base_channels": 5}},
        },
        "finals": {"replicates": 2},
        "training": {"epochs": 3, "pretrain_epochs": 1, "evaluation_samples": 2},
        "outcomes": {"learned_nothing": {"below": 0.5}, "good": {"at_least": 0.8}},
    }
    return make_study(document | changes, "small.yaml")


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Study, StudyStore]]:
    study = small_study()
    with open_store(f"sqlite:///{tmp_path_factory.mktemp('finals') / 'store.db'}") as store:
        registered = store.register(study, NOTHING)
        search(study, registered, InlineExecutor())
        train_finals(study, registered, InlineExecutor())
        yield study, registered


def test_ensembles_are_made_of_arms_that_are_there() -> None:
    study = small_study()
    assert members_of(study) == {"deep_ensemble": "deterministic", "pair": "radial"}
    assert final_counts(study) == {"radial": 2, "deterministic": 3}
    alone = small_study(arms=["mfvi", "deep_ensemble"], search={"runs": 2, "spaces": {"deep_ensemble": POINT_SPACE}})
    assert members_of(alone) == {}
    tight = {"method": "radial_ensemble", "tight_prior": True}
    assert members_of(small_study(arms=["radial", tight], search={"runs": 2})) == {}


def test_the_winner_of_each_arm_is_trained_anew_and_scored_on_the_test_set(trained: tuple[Study, StudyStore]) -> None:
    study, store = trained
    best = winners(study, store)
    assert set(best) == {"radial", "deterministic"}
    frame = store.trials()
    for arm in best:
        runs = frame[(frame["arm"] == arm) & (frame["stage"] == "search")]
        assert len(runs) == 2
        assert best[arm].score == runs["metric"].max()
        models = frame[(frame["arm"] == arm) & (frame["stage"] == "final")]
        assert list(models["status"]) == ["finished"] * final_counts(study)[arm]
        assert set(models["run"]) == {best[arm].number}
        assert models["configuration"].nunique() == 1
        assert set(models["learning_rate"]) == {best[arm].hyperparameters["learning_rate"]}
    measures = final_measures(store)
    assert list(measures["arm"]) == ["radial"] * 2 + ["deterministic"] * 3 + ["deep_ensemble", "pair"]
    assert measures["test_auc_20_error"].notna().all()
    lengths = store.epochs().groupby("configuration")["epoch"].max()
    assert lengths[0] == 2
    (final,) = set(frame.loc[(frame["arm"] == "radial") & (frame["stage"] == "final"), "configuration"])
    assert lengths[final] == 3


def test_configurations_are_numbered_as_they_are_proposed_and_models_of_a_run_share_one(
    trained: tuple[Study, StudyStore],
) -> None:
    _, store = trained
    stored = {trial.key.configuration: (trial.key.arm, trial.stage) for trial in store.results()}
    assert [stored[number] for number in range(8)] == [
        *[("radial", "search"), ("deterministic", "search")] * 2,
        *[("radial", "final"), ("deterministic", "final"), ("deep_ensemble", "final"), ("pair", "final")],
    ]
    assert store.next_configuration() == 8


def test_the_network_of_an_arm_may_be_another(trained: tuple[Study, StudyStore]) -> None:
    study, store = trained
    files = sorted(model_folder(study, store).iterdir())
    assert [file.name.endswith(".model.pt") for file in files] == [True] * 5
    models = {file.name.split("-")[1]: load_model(file) for file in files}
    assert models["radial"].trial.model["base_channels"] == 4
    assert models["deterministic"].trial.model["base_channels"] == 5
    assert models["radial"].trial.metric == "validation_accuracy"


def test_an_ensemble_has_the_draws_of_all_its_members(trained: tuple[Study, StudyStore]) -> None:
    _, store = trained
    kept = store.predictions("test")
    by_arm: dict[str, list[np.ndarray[Any, Any]]] = {}
    for key, arrays in kept.items():
        by_arm.setdefault(key.arm, []).append(arrays["probabilities"])
    assert by_arm["deep_ensemble"][0].shape == (3, 40, 2)
    assert np.array_equal(by_arm["deep_ensemble"][0], np.concatenate(by_arm["deterministic"]))
    assert by_arm["pair"][0].shape == (32, 40, 2)
    measures = final_measures(store).set_index("arm")
    single = measures.loc[["deterministic"], "parameters"].iloc[0]
    assert measures.loc["deep_ensemble", "parameters"] == 3 * single
    labels = next(iter(kept.values()))["labels"]
    mean = metrics.predictive_mean(by_arm["pair"][0])
    assert measures.loc["pair", "test_auc"] == metrics.auc(labels, mean[:, 1])


def test_accuracy_as_objective_selects_runs_and_epochs_and_both_measures_are_recorded(
    trained: tuple[Study, StudyStore], capsys: pytest.CaptureFixture[str]
) -> None:
    study, store = trained
    counted = store.epochs()
    counted = counted[~counted["pretraining"]]
    by_trial = counted.groupby(["configuration", "arm", "replicate"])
    best = by_trial["validation_accuracy"].max()
    frame = store.trials().set_index(["configuration", "arm", "replicate"])
    trained_ones = [key for key in frame.index if key in best.index and key[1] in ("radial", "deterministic")]
    assert len(trained_ones) == 9
    assert (frame.loc[trained_ones, "metric"] == best.loc[trained_ones]).all()
    # The AUC would have judged differently.
    assert (frame.loc[trained_ones, "metric"] != by_trial["validation_auc"].max().loc[trained_ones]).any()
    measures = final_measures(store)
    assert measures[["test_auc", "test_accuracy"]].notna().all(axis=None)
    for row in measures[measures["arm"].isin(["radial", "deterministic"])].itertuples():
        epochs = by_trial.get_group((row.configuration, row.arm, row.replicate)).set_index("epoch")
        assert row.chosen_epoch == epochs["validation_accuracy"].idxmax()
    print_results(study, store, analyse(store).results)
    said = capsys.readouterr().out
    assert said.count("best validation_accuracy") == 2
    assert "AUC, 0 % referred" in said
    assert "accuracy" in said


def test_a_second_time_nothing_is_left_to_do(trained: tuple[Study, StudyStore]) -> None:
    study, store = trained
    assert is_done(study, store, finals=True)
    before = store.trials()
    search(study, store, InlineExecutor())
    train_finals(study, store, InlineExecutor())
    assert store.trials().equals(before)


def test_predictions_of_a_model_that_ended_just_before_a_kill_are_taken_in(trained: tuple[Study, StudyStore]) -> None:
    study, store = trained
    folder = model_folder(study, store)
    trial = final_trials(study, store)[0]
    kept = store.predictions("test")[trial.key]
    path = folder / f"{trial.configuration}-{trial.arm}-{trial.replicate}.predictions.npz"
    save_predictions(path, **{name: array[:0] if name == "patients" else array for name, array in kept.items()})
    store_predictions([trial], folder, store)
    assert not path.exists()
    assert len(store.predictions("test")[trial.key]["patients"]) == 0
    store.save_predictions(trial.key, "test", kept)


def test_an_ensemble_of_one_member_equals_the_member(trained: tuple[Study, StudyStore]) -> None:
    _, store = trained
    key, member = next(iter(store.predictions("test").items()))
    assert isinstance(key, TrialKey)
    alone = combine([member])
    assert all(np.array_equal(alone[name], member[name]) for name in member)
    arrays = (member["labels"], member["patients"])
    assert measures_on_test(*arrays, alone["probabilities"]) == measures_on_test(*arrays, member["probabilities"])


def test_the_command_predicts_with_a_model_that_the_search_left(
    trained: tuple[Study, StudyStore], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from PIL import Image

    from robustness.tasks import load_task

    study, store = trained
    (tmp_path / "bad.png").write_bytes(b"no picture")
    Image.fromarray(load_task(study.task).test.images[0]).save(tmp_path / "good.png")
    model = next(model_folder(study, store).glob("*-radial-0.model.pt"))
    assert main(["predict", str(model), str(tmp_path / "bad.png"), str(tmp_path / "good.png")]) == 2
    said = capsys.readouterr()
    assert "good.png" in said.out
    assert said.err.count("\n") == 1
    assert "bad.png" in said.err


def test_real_runs_are_pruned_leave_no_checkpoint_and_the_winner_is_trained_in_full(tmp_path: Path) -> None:
    study = small_study(
        arms=["deterministic"],
        search={
            "runs": 5,
            "epochs": 4,
            "sampler": "random",
            "pruning": {"startup_runs": 1, "warmup_epochs": 2},
            "spaces": {"deterministic": POINT_SPACE | {"learning_rate": {"low": 1e-7, "high": 1e-2, "scale": "log"}}},
        },
        finals={"replicates": 1},
        training={"epochs": 5, "pretrain_epochs": 1, "evaluation_samples": 1, "checkpoint_every": 1},
    )
    with open_store(f"sqlite:///{tmp_path / 'store.db'}") as store:
        registered = store.register(study, NOTHING)
        runs = search(study, registered, InlineExecutor())["deterministic"]
        assert not (tmp_path / "small.checkpoints").exists()
        assert {run.status for run in runs} == {"finished", "pruned"}
        lengths = {run.number: max(run.values) for run in runs}
        assert all(lengths[run.number] == 4 for run in runs if run.status == "finished")
        assert all(lengths[run.number] == 3 for run in runs if run.status == "pruned")
        train_finals(study, registered, InlineExecutor())
        (best,) = winners(study, registered).values()
        assert best.status == "finished"
        assert best.score == max(run.score or 0.0 for run in runs)
        assert list(final_measures(registered)["epoch"]) == [5]
