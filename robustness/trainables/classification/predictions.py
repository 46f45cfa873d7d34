"""Predictions of final models: their files, and the measures on the test set; the driver uses it without torch."""

from __future__ import annotations

from functools import partial
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from robustness import metrics
from robustness.errors import CheckpointError, StudyFileError
from robustness.guards.sealed import read_sealed, write_sealed
from robustness.trial import Trial


def model_file(trial: Trial) -> Path:
    """Return the file with the weights of a final trial's chosen epoch."""
    return _beside(trial, ".model.pt")


def predictions_file(trial: Trial) -> Path:
    """Return the file with a final trial's predictions for the test set."""
    return _beside(trial, ".predictions.npz")


def save_predictions(path: Path, **arrays: NDArray[Any]) -> None:
    """Write arrays to a compressed file with a checksum, atomically."""
    content = BytesIO()
    np.savez_compressed(content, allow_pickle=False, **arrays)
    write_sealed(path, content.getvalue())


def load_predictions(path: Path) -> dict[str, NDArray[Any]]:
    """Return the arrays of such a file; raises `CheckpointError` if it is damaged. Refuses pickled objects."""
    content, _ = read_sealed(path, "model_bytes", CheckpointError)
    try:
        with np.load(BytesIO(content), allow_pickle=False) as arrays:
            return dict(arrays)
    except Exception as error:  # numpy and zipfile raise almost anything for a damaged file.
        raise CheckpointError(f"{path}: damaged; remove it to go on without these predictions") from error


def measures_on_test(
    labels: NDArray[np.int64], patients: NDArray[np.int64], probabilities: NDArray[Any]
) -> dict[str, float]:
    """Return measures of probabilities [draws, n, classes]; the AUCs' standard errors are bootstrapped over patients.

    `test_auc_20` is the AUC after referring the 20 % of images with the highest mutual information.
    """
    mean = metrics.predictive_mean(probabilities)
    uncertainty = metrics.mutual_information(probabilities)
    measures = {f"test_{name}": value for name, value in metrics.scores(labels, probabilities).items()}
    for fraction in metrics.REFERRED:
        name = f"test_auc_{round(100 * fraction)}"
        referred = partial(referred_auc, fraction=fraction)
        measures[name] = referred(labels, mean, uncertainty)
        measures[f"{name}_error"] = metrics.bootstrap_standard_error(
            referred, (labels, mean, uncertainty), groups=patients
        )
    return measures


def referred_auc(labels: NDArray[Any], mean: NDArray[Any], uncertainty: NDArray[Any], fraction: float) -> float:
    """Return the AUC of the remaining images after referring this fraction, the most uncertain ones."""
    return float(metrics.referral_curve(labels, mean, uncertainty, (fraction,), metrics.multiclass_auc)[0])


def _beside(trial: Trial, suffix: str) -> Path:
    if trial.checkpoint is None:
        raise StudyFileError("a final model needs a file: set Trial.checkpoint")
    path = Path(trial.checkpoint)
    return path.with_name(path.stem + suffix)
