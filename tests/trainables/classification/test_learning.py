"""What the arms can learn: the paper's claim on synthetic images, and real photographs."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.files import data_set

from robustness.cli import main
from robustness.trainables.classification.training import train
from robustness.trial import Trial


def last_auc(method: str, rho: float, epochs: int, task: dict[str, object], configuration: int = 0) -> float:
    """The validation AUC at the last epoch of the short VGG, with Amsgrad at 1e-3."""
    trial = Trial(
        study="learning",
        seed=0,
        configuration=configuration,
        arm=method,
        hyperparameters={
            "optimizer": "amsgrad",
            "learning_rate": 1e-3,
            "batch_size": 32,
            "variational_samples": 1,
            "initial_rho": rho,
        },
        method=method,
        task=task,
        model={"name": "vgg_small", "depth": "short"},
        training={"epochs": epochs, "evaluation_samples": 4},
    )
    *_, last = train(trial)
    return last.measures["validation_auc"]


FUNDUS = {"name": "synthetic_fundus", "image_size": 32, "train": 1200, "validation": 600}


def test_with_wide_posteriors_radial_learns_where_mfvi_does_not() -> None:
    assert last_auc("radial", 0.0, 10, FUNDUS) > 0.75
    assert last_auc("mfvi", 0.0, 10, FUNDUS) < 0.60


@pytest.mark.parametrize("method", ["mfvi", "radial"])
def test_with_narrow_posteriors_both_learn(method: str) -> None:
    assert last_auc(method, -6.0, 8, FUNDUS) > 0.75


def test_the_synthetic_task_is_neither_trivial_nor_impossible() -> None:
    assert 0.80 <= last_auc("deterministic", 0.0, 20, FUNDUS) <= 0.97


def test_radial_learns_from_real_photographs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = data_set("deepdrid")
    out = tmp_path / "deepdrid_32"
    arguments = ["--images", f"{folder}/deepdrid_128.zip", "--labels", f"{folder}/labels_full.csv", "--size", "32"]
    assert main(["prepare", "retinopathy", *arguments, "--out", str(out)]) == 0
    capsys.readouterr()
    assert last_auc("radial", -6.0, 26, {"name": "retinopathy", "folder": str(out)}) > 0.78
