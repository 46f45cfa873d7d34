"""The training loop: fair pairs, equal reruns, divergence, checkpoints."""

from __future__ import annotations

import math
from collections.abc import Generator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from support.trials import small_trial

from robustness.bnn.posteriors import GaussianPosterior
from robustness.errors import Diverged, MethodError, ModelError, StudyFileError
from robustness.methods import METHODS
from robustness.trainables.classification.batches import Pictures
from robustness.trainables.classification.evaluation import predict
from robustness.trainables.classification.noise import StreamNoise
from robustness.trainables.classification.training import Run, train
from robustness.trial import EpochResult, Trial


def measures(trial: Trial) -> list[dict[str, float]]:
    return [dict(result.measures) for result in train(trial)]


class Recorded:
    """The initial means, batches and weight noise of a real training run."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, trial: Trial) -> None:
        self.batches: list[torch.Tensor] = []
        self.noise: list[torch.Tensor] = []
        batch, base_noise = Pictures.batch, GaussianPosterior.base_noise

        def recording_batch(pictures: Pictures, *arguments: Any) -> torch.Tensor:
            self.batches.append(batch(pictures, *arguments))
            return self.batches[-1].clone()

        def recording_noise(posterior: GaussianPosterior, *arguments: Any) -> torch.Tensor:
            noise = base_noise(posterior, *arguments)
            self.noise.append(noise.clone())
            return noise

        with monkeypatch.context() as patch:
            patch.setattr(Pictures, "batch", recording_batch)
            patch.setattr(GaussianPosterior, "base_noise", recording_noise)
            run = Run.start(trial)
            self.means = [p.mean.detach().clone() for p in run.ensemble.members[0].posteriors()]
            while not run.over():
                run.next_epoch()


def test_the_arms_of_a_pair_share_means_batches_and_noise(monkeypatch: pytest.MonkeyPatch) -> None:
    mfvi, radial = (Recorded(monkeypatch, small_trial(name)) for name in ("mfvi", "radial"))
    # Four steps in each of three epochs, and the validation set, which is prepared once.
    assert len(mfvi.batches) == 3 * 4 + 1
    # Eight layers: two epochs of four steps after one of pre-training, and two draws for each of three evaluations.
    assert len(mfvi.noise) == 8 * (2 * 4 + 3 * 2)
    for name in ("means", "batches", "noise"):
        first, second = getattr(mfvi, name), getattr(radial, name)
        assert len(first) == len(second)
        assert all(torch.equal(a, b) for a, b in zip(first, second, strict=True)), name


def test_batches_and_noise_differ_between_epochs_replicates_and_configurations(monkeypatch: pytest.MonkeyPatch) -> None:
    trial = small_trial()
    seen = [
        Recorded(monkeypatch, changed)
        for changed in (trial, replace(trial, replicate=1), replace(trial, configuration=2), replace(trial, seed=4))
    ]
    for values in ([s.batches[0] for s in seen], [s.noise[0] for s in seen], [s.means[0] for s in seen]):
        sums = [float(value.double().sum()) for value in values]
        assert len(set(sums)) == len(sums)
    first = seen[0]
    assert not torch.equal(first.batches[0], first.batches[5])


@pytest.mark.parametrize("method", METHODS)
def test_every_method_trains_and_two_runs_are_equal(method: str) -> None:
    trial = small_trial(method)
    first, second = measures(trial), measures(trial)
    assert first == second
    assert len(first) == 3
    assert all(math.isfinite(value) for epoch in first for value in epoch.values())


def test_an_epoch_has_the_expected_measures() -> None:
    results = list(train(small_trial(training={"gradient_noise_every": 2, "gradient_noise_samples": 3})))
    assert [r.epoch for r in results] == [1, 2, 3]
    assert [r.pretraining for r in results] == [True, False, False]
    usual = {
        *("loss", "nll", "cross_entropy", "entropy", "train_auc", "train_accuracy"),
        *("validation_auc", "validation_accuracy", "validation_nll", "validation_calibration_error"),
        *("sigma_low", "sigma_median", "sigma_high"),
    }
    assert set(results[2].measures) == usual
    assert set(results[1].measures) == usual | {"gradient_sd"}
    assert set(results[0].measures) - {"gradient_sd"} == usual | {"steps_per_epoch", "noise_per_weight"}
    for result in results:
        m = result.measures
        assert m["loss"] == pytest.approx(m["nll"] + m["cross_entropy"] - m["entropy"], rel=1e-6)
        assert m["sigma_low"] <= m["sigma_median"] <= m["sigma_high"]
        assert result.seconds > 0
    assert results[0].measures["cross_entropy"] == 0
    assert results[1].measures["cross_entropy"] > 0


def test_pretraining_is_the_same_for_every_arm_except_for_the_evaluation() -> None:
    first = [measures(small_trial(name, training={"epochs": 1}))[0] for name in ("mfvi", "radial", "deterministic")]
    assert first[0]["loss"] == first[1]["loss"] == first[2]["loss"]
    assert first[0]["train_auc"] == first[1]["train_auc"]


def test_a_loss_that_is_not_finite_ends_the_trial_at_once() -> None:
    trial = small_trial("deterministic", optimizer="sgd", learning_rate=1e12)
    results: list[EpochResult] = []
    with pytest.raises(Diverged) as caught:
        results.extend(train(trial))
    assert caught.value.epoch == 1
    assert caught.value.step <= 4


def test_divergence_in_a_later_epoch_keeps_the_earlier_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    run = Run.start(small_trial())
    run.next_epoch()
    with torch.no_grad():
        next(iter(run.ensemble.parameters())).fill_(math.nan)
    with pytest.raises(Diverged) as caught:
        run.next_epoch()
    assert (caught.value.epoch, caught.value.step) == (2, 1)
    assert len(run.epochs) == 1


def test_the_learning_rate_decays_each_epoch() -> None:
    run = Run.start(small_trial(optimizer="sgd", learning_rate=0.01, learning_rate_decay=0.5))
    rates = []
    while not run.over():
        run.next_epoch()
        rates.append([group["lr"] for group in run.optimizer.param_groups])
    assert rates == [[0.01] * 2, [0.005] * 2, [0.0025] * 2]
    sgd = run.optimizer.param_groups[0]
    assert sgd["nesterov"]
    assert sgd["momentum"] == 0.9


def test_amsgrad_is_adam_with_a_running_maximum() -> None:
    assert Run.start(small_trial(optimizer="amsgrad")).optimizer.param_groups[0]["amsgrad"]
    assert not Run.start(small_trial(optimizer="adam")).optimizer.param_groups[0]["amsgrad"]


def test_early_stopping_ends_when_the_metric_no_longer_improves() -> None:
    options = {"patience": 2, "pretrain_epochs": 1}
    trial = small_trial("mfvi_tweaked", {"epochs": 40}, options, optimizer="sgd", learning_rate=1e-12)
    results = list(train(trial))
    counted = [r.measures["validation_auc"] for r in results if not r.pretraining]
    assert len(results) < 40
    assert max(counted[-2:]) <= max(counted[:-2])


@pytest.mark.parametrize("method", ["radial", "mfvi", "mc_dropout", "deep_ensemble"])
@pytest.mark.parametrize("optimizer", ["sgd", "amsgrad"])
def test_a_trial_resumed_from_a_checkpoint_ends_as_an_uninterrupted_one(
    tmp_path: Path, method: str, optimizer: str
) -> None:
    trial = small_trial(method, {"checkpoint_every": 2, "epochs": 4}, optimizer=optimizer)
    uninterrupted = measures(trial)
    kept = replace(trial, checkpoint=str(tmp_path / "state.pt"))
    cut = train(kept)
    assert isinstance(cut, Generator)
    for _ in range(3):
        next(cut)
    cut.close()
    assert measures(kept) == uninterrupted
    assert [p.name for p in tmp_path.iterdir()] == ["state.pt"]


@pytest.mark.parametrize("method", ["radial", "deterministic"])
def test_the_start_is_recorded_where_it_is_asked_for_and_shifts_nothing(tmp_path: Path, method: str) -> None:
    trial = small_trial(method, {"checkpoint_every": 2, "epochs": 4})
    plain = list(train(trial))
    asked = replace(trial, records_start=True)
    start, *rest = train(asked)
    assert [dict(result.measures) for result in rest] == [dict(result.measures) for result in plain]
    assert [result.epoch for result in rest] == [1, 2, 3, 4]
    assert (start.epoch, start.pretraining) == (0, True)
    untrained = {f"validation_{name}": value for name, value in Run.start(trial).evaluate(0).items()}
    assert dict(start.measures) == untrained
    # A resumed trial keeps it; a checkpoint without it belongs to another trial.
    for first, resumed in ((asked, asked), (trial, asked)):
        path = tmp_path / f"{first.records_start}.pt"
        for result in train(replace(first, checkpoint=str(path))):
            if result.epoch == 3:
                break
        again = list(train(replace(resumed, checkpoint=str(path))))
        assert [dict(result.measures) for result in again] == [dict(result.measures) for result in (start, *rest)]


def test_a_damaged_or_foreign_checkpoint_costs_only_time(tmp_path: Path) -> None:
    trial = small_trial(training={"checkpoint_every": 1, "epochs": 2})
    expected = measures(trial)
    path = tmp_path / "state.pt"
    path.write_bytes(b"not a checkpoint")
    assert measures(replace(trial, checkpoint=str(path))) == expected
    other = replace(trial, configuration=5, checkpoint=str(path))
    list(train(other))
    assert measures(replace(trial, checkpoint=str(path))) == expected


def test_the_evaluation_batch_size_changes_nothing() -> None:
    one = small_trial(training={"epochs": 1, "evaluation_batch_size": 7})
    all_at_once = small_trial(training={"epochs": 1, "evaluation_batch_size": 512})
    for a, b in zip(measures(one), measures(all_at_once), strict=True):
        assert a["validation_nll"] == pytest.approx(b["validation_nll"], rel=1e-5)


def test_more_evaluation_samples_begin_with_the_same_draws() -> None:
    run = Run.start(small_trial())
    seen = [
        predict(
            run.ensemble,
            run.validation_batches(),
            samples,
            lambda sample: StreamNoise(run.streams, (1, sample), "evaluation"),
        )
        for samples in (2, 4)
    ]
    assert np.array_equal(seen[0], seen[1][:2])


@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        ({"optimizer": "amsgrd"}, MethodError, "did you mean 'amsgrad'"),
        ({"learning_rate": None}, MethodError, "learning_rate"),
    ],
)
def test_a_configuration_that_cannot_train_is_named(change: dict[str, Any], error: type, words: str) -> None:
    trial = small_trial(**change)
    if change.get("learning_rate", 1) is None:
        trial = replace(trial, hyperparameters={k: v for k, v in trial.hyperparameters.items() if k != "learning_rate"})
    with pytest.raises(error, match=words):
        next(train(trial))


def test_bad_training_and_model_options_are_named() -> None:
    with pytest.raises(StudyFileError, match=r"training\.epochs"):
        next(train(small_trial(training={"epochs": 0})))
    with pytest.raises(ModelError, match="did you mean 'vgg_small'"):
        next(train(replace(small_trial(), model={"name": "vgg_smal"})))
    with pytest.raises(ModelError, match=r"model\.base_chanels: unknown key .*did you mean 'base_channels'"):
        next(train(replace(small_trial(), model={"name": "vgg_small", "base_chanels": 4})))


def test_the_gradient_sd_agrees_with_gradients_computed_one_by_one() -> None:
    run = Run.start(small_trial("mfvi", {"gradient_noise_samples": 5}))
    sd = run.gradient_noise(1)
    images, labels = run.train_set.batch(slice(0, 64)), run.train_set.labels[:64]
    network = run.ensemble.members[0]
    means, _ = network.join()
    gradients = []
    for sample in range(5):
        draws = network.sample(1, StreamNoise(run.streams, (1, sample), "diagnostics"))
        loss = torch.nn.functional.cross_entropy(network.logits(images, draws)[0], labels)
        gradients.append(torch.autograd.grad(loss, means.value)[0])
    expected = torch.stack(gradients).double().var(0).mean().sqrt().item()
    assert sd == pytest.approx(expected, rel=1e-5)


def test_the_first_epoch_records_the_noise_of_a_weight_before_training() -> None:
    noise = {
        arm: next(iter(train(small_trial(arm, training={"pretrain_epochs": 0})))).measures.get("noise_per_weight")
        for arm in ("mfvi", "mfvi_noise_matched", "mfvi_scaled", "radial", "deterministic")
    }
    sigma = math.log1p(math.exp(small_trial().hyperparameters["initial_rho"]))
    assert noise["mfvi"] == pytest.approx(sigma, rel=1e-6)
    # All three start with sigma / sqrt(D) in every layer.
    assert noise["radial"] == pytest.approx(noise["mfvi_scaled"], rel=1e-5)
    assert noise["radial"] == pytest.approx(noise["mfvi_noise_matched"], rel=1e-4)
    assert noise["radial"] is not None
    assert noise["radial"] < 0.1 * sigma
    assert noise["deterministic"] is None
