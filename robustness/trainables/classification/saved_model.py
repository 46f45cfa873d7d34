"""A trained model as a file: weights and plain values only, with all that a prediction needs."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from robustness.bnn.ensemble import Ensemble
from robustness.bnn.posteriors import Noise
from robustness.errors import CheckpointError, RobustnessError
from robustness.files import replacing
from robustness.streams import Streams
from robustness.trainables.classification.batches import Pictures
from robustness.trainables.classification.checkpoints import identity, read_tensors
from robustness.trainables.classification.evaluation import predict
from robustness.trainables.classification.noise import StreamNoise
from robustness.trainables.classification.options import read_training
from robustness.trainables.classification.training import build_ensemble
from robustness.trial import Trial

FORMAT = 1
KEYS = {
    "format",
    "trial",
    "epoch",
    "metric",
    "image_size",
    "channels",
    "classes",
    "mean",
    "std",
    "weights",
    "uncertainty",
}


@dataclass(frozen=True)
class FinalModel:
    """Trained networks with what they were trained on."""

    trial: Trial
    epoch: int
    """The epoch whose weights these are."""
    metric: float
    """The study's metric at that epoch."""
    image_size: int
    mean: torch.Tensor
    std: torch.Tensor
    """[channels], by which pictures are normalised."""
    classes: int
    ensemble: Ensemble
    uncertainty: torch.Tensor = field(default_factory=lambda: torch.empty(0))
    """[n], the mutual information of each validation picture: to tell what is unusual. Empty until training ends."""

    @property
    def parameters(self) -> int:
        """How many numbers were trained."""
        return sum(parameter.numel() for parameter in self.ensemble.parameters())

    def save(self, path: Path) -> None:
        """Write the model; a reader finds the old file or the new one, never a part."""
        state = {
            "format": FORMAT,
            "trial": identity(self.trial),
            "epoch": self.epoch,
            "metric": self.metric,
            "image_size": self.image_size,
            "channels": len(self.mean),
            "classes": self.classes,
            "mean": self.mean.cpu(),
            "std": self.std.cpu(),
            "weights": self.ensemble.state_dict(),
            "uncertainty": self.uncertainty,
        }
        with replacing(path) as file:
            torch.save(state, file)

    def referral_threshold(self, fraction: float) -> float:
        """The mutual information above which this fraction of the validation pictures lies."""
        if len(self.uncertainty) == 0:
            raise CheckpointError(
                f"the model of trial {self.trial.key} was not trained to its end: no threshold is known"
            )
        return float(torch.quantile(self.uncertainty.double(), 1.0 - fraction))

    def predict(self, images: NDArray[np.uint8], samples: int = 16) -> NDArray[np.float32]:
        """Probabilities [draws, n, classes] of pictures [n, height, width, channels], the same each time."""
        nobody = torch.zeros(len(images), dtype=torch.int64)
        pictures = Pictures(torch.from_numpy(images), nobody, self.mean.view(-1, 1, 1), self.std.view(-1, 1, 1))
        return predict(self.ensemble, pictures, samples, evaluation_noise(self.trial, self.epoch))


def load_model(path: Path) -> FinalModel:
    """The model in a file; raises `CheckpointError` if it is none, is damaged, or holds code."""
    state = read_tensors(path)
    if not set(state) >= KEYS or state["format"] != FORMAT:
        raise CheckpointError(f"{path}: not a final model of this program")
    try:
        trial = Trial(**json.loads(state["trial"]))
        ensemble = build_ensemble(trial, read_training(trial.training), state["channels"], state["classes"])
        ensemble.load_state_dict(state["weights"])
    except (RobustnessError, RuntimeError, TypeError, ValueError) as error:
        raise CheckpointError(f"{path}: the model cannot be built again ({error})") from error
    ensemble.eval()
    return FinalModel(
        trial=trial,
        epoch=int(state["epoch"]),
        metric=float(state["metric"]),
        image_size=int(state["image_size"]),
        mean=state["mean"],
        std=state["std"],
        classes=int(state["classes"]),
        ensemble=ensemble,
        uncertainty=state["uncertainty"],
    )


def evaluation_noise(trial: Trial, epoch: int, device: torch.device | str = "cpu") -> Callable[[int], Noise]:
    """The noise of each draw that a trial's evaluation takes at an epoch."""
    streams = Streams.of(trial)

    def of_sample(sample: int) -> Noise:
        return StreamNoise(streams, (epoch, sample), "evaluation", device)

    return of_sample


def save_predictions(path: Path, **arrays: NDArray[Any]) -> None:
    """Write arrays to an .npz file, whole or not at all."""
    with replacing(path) as file:
        np.savez_compressed(file, allow_pickle=False, **arrays)


def load_predictions(path: Path) -> dict[str, NDArray[Any]]:
    """The arrays of an .npz file; pickled objects are refused."""
    with np.load(path, allow_pickle=False) as arrays:
        return dict(arrays)
