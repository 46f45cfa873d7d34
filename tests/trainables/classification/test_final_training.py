"""Final models: the best epoch's weights, scored on the test set, in files without code."""

from __future__ import annotations

import os
import pickle
import zipfile
from collections.abc import Generator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from support.trials import small_trial

from robustness import metrics
from robustness.errors import CheckpointError, StudyFileError
from robustness.tasks import load_task
from robustness.trainables.classification import final_training
from robustness.trainables.classification.predictions import load_predictions, model_file, predictions_file
from robustness.trainables.classification.saved_model import load_model
from robustness.trial import Trial


def final_trial(folder: Path, method: str = "radial", epochs: int = 4) -> Trial:
    trial = small_trial(method, {"epochs": epochs, "checkpoint_every": 1})
    return replace(trial, checkpoint=str(folder / "3.pt"), trainable="final_classification")


@pytest.mark.parametrize("method", ["radial", "mc_dropout", "deep_ensemble", "deterministic"])
def test_a_final_model_is_kept_at_its_best_epoch_and_scored_on_the_test_set(tmp_path: Path, method: str) -> None:
    trial = final_trial(tmp_path, method)
    results = list(final_training.train(trial))
    model = load_model(model_file(trial))
    counted = {r.epoch: r.measures["validation_auc"] for r in results if not r.pretraining}
    assert model.epoch == max(counted, key=lambda epoch: (counted[epoch], -epoch))
    assert model.metric == counted[model.epoch]
    last = results[-1].measures
    assert last["chosen_epoch"] == model.epoch
    assert last["parameters"] == model.parameters
    test = load_task(trial.task).test
    kept = load_predictions(predictions_file(trial))
    assert np.array_equal(kept["labels"], test.labels)
    assert np.array_equal(kept["patients"], test.patients)
    np.testing.assert_allclose(model.predict(test.images), kept["probabilities"], rtol=1e-5, atol=1e-7)
    mean = metrics.predictive_mean(kept["probabilities"])
    assert last["test_auc"] == last["test_auc_0"] == metrics.auc(test.labels, mean[:, 1])
    uncertainty = metrics.mutual_information(kept["probabilities"])
    curve = metrics.referral_curve(test.labels, mean[:, 1], uncertainty)
    assert [last[f"test_auc_{percent}"] for percent in (0, 10, 20, 30)] == pytest.approx(list(curve))
    assert not any("test_auc" in r.measures for r in results[:-1])


def test_an_interrupted_final_model_ends_as_an_uninterrupted_one(tmp_path: Path) -> None:
    whole = final_trial(tmp_path / "whole")
    expected = [dict(r.measures) for r in final_training.train(whole)]
    for stop in (1, 2, 3, 4):
        trial = final_trial(tmp_path / f"cut_{stop}")
        cut = final_training.train(trial)
        assert isinstance(cut, Generator)
        for _ in range(stop):
            next(cut)
        cut.close()
        resumed = [dict(r.measures) for r in final_training.train(trial)]
        for a, b in zip(resumed, expected, strict=True):
            assert {k: v for k, v in a.items() if "seconds" not in k} == {
                k: v for k, v in b.items() if "seconds" not in k
            }
        assert load_model(model_file(trial)).epoch == load_model(model_file(whole)).epoch


def test_a_file_that_would_run_code_is_refused_and_not_run(tmp_path: Path) -> None:
    class Evil:
        def __reduce__(self) -> tuple[object, tuple[str]]:
            return os.mkdir, (str(tmp_path / "ran"),)

    for name, write in (("torch.pt", torch.save), ("plain.pt", lambda o, p: p.write_bytes(pickle.dumps(o)))):
        path = tmp_path / name
        write({"format": 1, "evil": Evil()}, path)
        with pytest.raises(CheckpointError, match=f"{name}: not a model or checkpoint written by robustness; refused"):
            load_model(path)
    assert not (tmp_path / "ran").exists()


def test_a_file_without_a_model_is_named(tmp_path: Path) -> None:
    text = tmp_path / "text.pt"
    text.write_text("hello")
    archive = tmp_path / "archive.pt"
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr("a", "b")
    other = tmp_path / "other.pt"
    torch.save({"weights": torch.zeros(3)}, other)
    for path in (text, archive, other, tmp_path / "missing.pt"):
        with pytest.raises(CheckpointError, match=path.name):
            load_model(path)


def test_a_final_model_needs_a_file(tmp_path: Path) -> None:
    with pytest.raises(StudyFileError, match=r"Trial\.checkpoint"):
        next(final_training.train(replace(final_trial(tmp_path), checkpoint=None)))


def test_an_ensemble_of_one_member_predicts_as_the_member_does(tmp_path: Path) -> None:
    alone, ensemble = final_trial(tmp_path / "a", "radial", 2), final_trial(tmp_path / "b", "radial_ensemble", 2)
    ensemble = replace(ensemble, method_options={"members": 1})
    predictions = []
    for trial in (alone, ensemble):
        list(final_training.train(trial))
        predictions.append(load_predictions(predictions_file(trial))["probabilities"])
    np.testing.assert_array_equal(predictions[0], predictions[1])
