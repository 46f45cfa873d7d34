"""The regression trainable: it learns what can be learned, fairly and repeatably."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from support.files import data_set
from support.trials import NOISE, regression_trial, write_linear_set

from robustness.bnn.posteriors import LOG_TWO_PI
from robustness.errors import Diverged, MethodError, RobustnessError, StudyFileError
from robustness.plugins import find_object, find_trainable
from robustness.trainables.regression.flat import FlatNetwork
from robustness.trainables.regression.study import ARMS
from robustness.trainables.regression.training import Run, train
from robustness.trial import Trial


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_linear_set(tmp_path_factory.mktemp("uci"))


def measures(trial: Trial) -> list[dict[str, float]]:
    return [dict(result.measures) for result in train(trial)]


@pytest.mark.parametrize("method", ["mfvi", "radial"])
def test_a_linear_function_and_its_noise_are_learned(folder: Path, method: str) -> None:
    last = measures(regression_trial(folder, method, {"epochs": 3, "steps_per_epoch": 1000, "evaluation_samples": 50}))[
        -1
    ]
    assert NOISE * 0.8 < last["noise_scale"] < NOISE * 1.5
    assert last["test_rmse"] < NOISE * 1.5
    # The best achievable log-likelihood on these rows is that of the noise itself.
    ideal = -math.log(NOISE) - 0.5 * LOG_TWO_PI - 0.5
    assert ideal - 0.5 < last["test_log_likelihood"] < ideal + 0.25
    assert last["validation_gain"] > 1.5


def test_the_terms_of_the_loss_keep_their_constants(folder: Path) -> None:
    run = Run.start(regression_trial(folder, "mfvi"))
    terms = run.train_epoch(1)
    means, rhos = run.flat.mean.double(), run.flat.rho.double()
    sigma = torch.nn.functional.softplus(rhos)
    posterior = torch.distributions.Normal(means, sigma)
    kl = float(torch.distributions.kl_divergence(posterior, torch.distributions.Normal(0.0, 1.0)).sum())
    assert terms["cross_entropy"] - terms["entropy"] == pytest.approx(kl / 249, rel=1e-4)
    assert terms["loss"] == pytest.approx(terms["nll"] + kl / 249, rel=1e-4)


def test_an_untrained_network_of_wide_noise_gains_nothing(folder: Path) -> None:
    run = Run.start(regression_trial(folder, initial_rho=-20.0))
    run.flat.mean.zero_()
    result = run.evaluate(1)
    assert result["train_gain"] == pytest.approx(0.0, abs=1e-5)
    assert result["train_rmse"] == pytest.approx(run.problem.target_scale, rel=1e-5)


@pytest.mark.parametrize("method", ARMS)
def test_every_arm_trains_and_two_runs_are_equal(folder: Path, method: str) -> None:
    options = {"threshold": 1.0} if method == "mfvi_truncated" else {}
    trial = regression_trial(folder, method, options=options, variational_samples=2)
    first = measures(trial)
    assert len(first) == 2
    assert first == measures(trial)
    assert all(math.isfinite(value) for each in first for value in each.values())


class Recorded:
    """The batches, noise and initial means of a real training run."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, trial: Trial) -> None:
        self.batches: list[torch.Tensor] = []
        self.noise: list[torch.Tensor] = []
        step = FlatNetwork.step

        def recording(flat: FlatNetwork, inputs: torch.Tensor, targets: torch.Tensor, noise: torch.Tensor) -> Any:
            self.batches.append(inputs.clone())
            self.noise.append(noise.clone())
            return step(flat, inputs, targets, noise)

        with monkeypatch.context() as patch:
            patch.setattr(FlatNetwork, "step", recording)
            run = Run.start(trial)
            self.means = run.flat.mean.clone()
            for epoch in (1, 2):
                run.train_epoch(epoch)


def test_the_arms_of_a_pair_share_means_batches_and_directions(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    mfvi, radial = (Recorded(monkeypatch, regression_trial(folder, name)) for name in ("mfvi", "radial"))
    assert torch.equal(mfvi.means, radial.means)
    assert len(mfvi.batches) == len(radial.batches) == 100
    assert all(torch.equal(a, b) for a, b in zip(mfvi.batches, radial.batches, strict=True))
    first_layer = slice(0, 6 * 8 + 8)
    for a, b in zip(mfvi.noise, radial.noise, strict=True):
        # Radial noise is the same Gaussian noise, rescaled to a different length.
        cosine = torch.nn.functional.cosine_similarity(a[0, first_layer], b[0, first_layer], dim=0)
        assert float(cosine) == pytest.approx(1.0, abs=1e-5)


def test_batches_and_noise_differ_between_steps_epochs_configurations_and_seeds(
    monkeypatch: pytest.MonkeyPatch, folder: Path
) -> None:
    trial = regression_trial(folder)
    seen = [
        Recorded(monkeypatch, changed) for changed in (trial, replace(trial, configuration=2), replace(trial, seed=4))
    ]
    for name in ("batches", "noise"):
        values = [getattr(each, name)[0] for each in seen] + [getattr(seen[0], name)[step] for step in (1, 50)]
        assert len({float(value.double().sum()) for value in values}) == 5, name


def test_a_batch_is_never_larger_than_the_training_rows(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    seen = Recorded(monkeypatch, regression_trial(folder, batch_size=1000))
    assert {len(batch) for batch in seen.batches} == {249}
    assert len(seen.batches[0].unique(dim=0)) == 249  # type: ignore[no-untyped-call]


def test_a_pass_over_the_rows_uses_none_twice(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    seen = Recorded(monkeypatch, regression_trial(folder, batch_size=60))
    assert len(torch.cat(seen.batches[:4]).unique(dim=0)) == 240  # type: ignore[no-untyped-call]
    assert len(torch.cat(seen.batches[:8]).unique(dim=0)) > 240  # type: ignore[no-untyped-call]


def test_a_searched_noise_scale_stays_fixed(folder: Path) -> None:
    trial = regression_trial(folder, noise_scale=0.25)
    run = Run.start(trial)
    assert measures(trial)[-1]["noise_scale"] == pytest.approx(0.25 * run.problem.target_scale, rel=1e-5)


def test_other_splits_train_on_all_rows_if_only_the_first_validates(folder: Path) -> None:
    trial = regression_trial(folder, training={"validation_splits": "first"})
    assert "validation_gain" in measures(trial)[0]
    later = replace(trial, replicate=1)
    assert len(Run.start(later).problem.train) == 277
    assert not any(name.startswith("validation") for name in measures(later)[0])


def test_a_replicate_is_another_split(folder: Path) -> None:
    first, second = (Run.start(regression_trial(folder, replicate=number)).problem for number in (0, 1))
    assert not np.array_equal(first.test.targets, second.test.targets)


def test_a_trial_that_blows_up_diverges(folder: Path) -> None:
    with pytest.raises(Diverged):
        measures(regression_trial(folder, "mfvi", learning_rate=1e30))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"hyperparameters": {"data_set": "yachts"}}, "did you mean 'yacht'"),
        ({"hyperparameters": {"noise_scale": "learnt"}}, "space.noise_scale"),
        ({"hyperparameters": {"optimizer": "sgd"}}, "space.optimizer: must be 'adam', found 'sgd'"),
        ({"hyperparameters": {"learning_rates": 1}}, "did you mean 'learning_rate'"),
        ({"training": {"epoch": 3}}, "training.epoch: unknown key 'epoch'; did you mean 'epochs'"),
        ({"model": {"hidden": 50}}, "model.hidden"),
        ({"task": {"folder": "nowhere"}}, "task.folder"),
        ({"method": "mc_dropout"}, "unknown regression arm 'mc_dropout'"),
        ({"method_options": {"prior": "scale_mixture"}}, "only the Gaussian prior"),
        ({"method_options": {"pretrain_epochs": 1}}, "no pre-training"),
    ],
)
def test_a_bad_setting_is_named(folder: Path, change: dict[str, Any], words: str) -> None:
    trial = regression_trial(folder)
    if "hyperparameters" in change:
        change = {"hyperparameters": dict(trial.hyperparameters) | change["hyperparameters"]}
    with pytest.raises(RobustnessError, match=words) as caught:
        measures(replace(trial, **change))
    assert "\n" not in str(caught.value)


def test_a_configuration_without_rho_is_refused(folder: Path) -> None:
    trial = regression_trial(folder)
    without = {name: value for name, value in trial.hyperparameters.items() if name != "initial_rho"}
    with pytest.raises(MethodError, match="initial_rho"):
        measures(replace(trial, hyperparameters=without))
    with pytest.raises(StudyFileError, match=r"space\.data_set: is missing"):
        measures(replace(trial, hyperparameters={}))


def test_the_trainable_is_found_by_its_name() -> None:
    assert find_object(str(find_trainable("regression").train), "trainable") is train


def test_the_energy_of_buildings_is_learned() -> None:
    trial = regression_trial(data_set("uci"), "mfvi", {"epochs": 1, "steps_per_epoch": 2000}, data_set="energy")
    last = measures(replace(trial, model={"hidden": [50]}))[-1]
    # Predicting the mean has an RMSE of 10, a linear regression about 3.
    assert last["test_rmse"] < 2.0
    assert last["test_log_likelihood"] > -2.3
