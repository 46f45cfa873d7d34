"""The paper's full-size network, as far as a CPU can check it."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from robustness.optimize.search import as_searched, trial_of
from robustness.study.loading import load_study
from robustness.tasks import provide_task
from robustness.tasks.data import Split, TaskData
from robustness.trainables.classification.checkpoints import load_checkpoint, save_checkpoint
from robustness.trainables.classification.gpu_memory import gpu_memory
from robustness.trainables.classification.training import Run
from robustness.trial import Trial, TrialKey


@pytest.fixture
def trial() -> Trial:
    """A radial trial of retinopathy_vgg at batch 2, with two made-up pictures of 512 px in place of the photographs."""
    study = as_searched(load_study("retinopathy_vgg", check_data=False))
    values = study.space_of("radial").draw("random", 1, 0)[0]
    values |= {"batch_size": 2, "initial_rho": -6.0}
    trial = trial_of(study, TrialKey(0, "radial"), values, "search", 0)
    trial = replace(trial, training={**trial.training, "epochs": 2, "pretrain_epochs": 0, "evaluation_samples": 1})
    images = np.random.default_rng(0).integers(0, 256, (2, 512, 512, 3), dtype=np.uint8)
    split = Split(images, np.array([0, 1]), np.array([0, 1]), None)
    half = np.full(3, 0.5, dtype=np.float32)
    provide_task(trial.task, TaskData(split, split, split, half, half))
    return trial


def test_one_step_of_the_full_size_network_has_a_finite_loss_and_its_state_is_kept(
    trial: Trial, tmp_path: Path
) -> None:
    run = Run.start(trial)
    weights = sum(parameter.numel() for parameter in run.ensemble.parameters())
    # Thirteen convolutions of VGG-16 with 46 channels for its 64, and one linear layer on global mean and maximum.
    widths = [3, 46, 46, 92, 92, 184, 184, 184, 368, 368, 368, 368, 368, 368]
    convolutions = sum(a * b * 9 + b for a, b in itertools.pairwise(widths))
    assert weights == 2 * (convolutions + 2 * 368 * 2 + 2)
    assert round(weights / 1e6, 1) == 15.2
    images, labels = run.train_set.batch(slice(0, 2)), run.train_set.labels
    loss, predicted = run.step(images, labels, epoch=1, step=0, pretraining=False)
    assert math.isfinite(float(loss.total))
    assert predicted.shape == (2, 2)
    path = tmp_path / "state.pt"
    save_checkpoint(path, trial, run.ensemble, run.optimizer, [])
    again = Run.start(trial)
    assert load_checkpoint(path, trial, again.ensemble, again.optimizer) == []
    pairs = zip(run.ensemble.state_dict().values(), again.ensemble.state_dict().values(), strict=True)
    assert all(torch.equal(a, b) for a, b in pairs)


def test_sixteen_pictures_fit_into_a_gpu_of_the_papers_time(trial: Trial) -> None:
    whole = replace(trial, hyperparameters={**trial.hyperparameters, "batch_size": 16})
    gigabytes = gpu_memory(whole) / 1e9
    assert 3 < gigabytes < 32
    assert gpu_memory(trial) < gpu_memory(whole)
