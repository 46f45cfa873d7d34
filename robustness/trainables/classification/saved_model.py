"""A trained model as a file: weights and plain values, with everything that a prediction needs."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

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
    """Trained networks with the trial and the statistics of the data that they were trained on."""

    trial: Trial
    epoch: int
    """The epoch that the weights are from."""
    metric: float
    """The study's metric at that epoch."""
    image_size: int
    mean: torch.Tensor
    std: torch.Tensor
    """[channels], for normalising images."""
    classes: int
    ensemble: Ensemble
    uncertainty: torch.Tensor = field(default_factory=lambda: torch.empty(0))
    """[n], the mutual information of each validation image, for referral thresholds. Empty until training ends."""

    @property
    def parameters(self) -> int:
        """The number of trained parameters."""
        return sum(parameter.numel() for parameter in self.ensemble.parameters())

    def save(self, path: Path) -> None:
        """Write the model, atomically."""
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
        """Return the mutual information that this fraction of the validation images exceeds."""
        if len(self.uncertainty) == 0:
            raise CheckpointError(
                f"the model of trial {self.trial.key} has no referral threshold: its training did not finish"
            )
        return float(torch.quantile(self.uncertainty.double(), 1.0 - fraction))

    def predict(self, images: NDArray[np.uint8], samples: int = 16) -> NDArray[np.float32]:
        """Return probabilities [draws, n, classes] of images [n, height, width, channels]; deterministic."""
        no_labels = torch.zeros(len(images), dtype=torch.int64)
        pictures = Pictures(torch.from_numpy(images), no_labels, self.mean.view(-1, 1, 1), self.std.view(-1, 1, 1))
        return predict(self.ensemble, pictures, samples, evaluation_noise(self.trial, self.epoch))


def load_model(path: Path) -> FinalModel:
    """Return the model in a file; raises `CheckpointError` if it is not a model, damaged, or contains code."""
    state = read_tensors(path)
    if not set(state) >= KEYS or state["format"] != FORMAT:
        raise CheckpointError(f"{path}: not a final model written by robustness (NAME.model.pt)")
    try:
        trial = Trial(**json.loads(state["trial"]))
        ensemble = build_ensemble(trial, read_training(trial.training), state["channels"], state["classes"])
        ensemble.load_state_dict(state["weights"])
    except (RobustnessError, RuntimeError, TypeError, ValueError) as error:
        raise CheckpointError(f"{path}: the model cannot be rebuilt ({error})") from error
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
    """Return the noise of each draw in a trial's evaluation at an epoch."""
    streams = Streams.of(trial)

    def of_sample(sample: int) -> Noise:
        return StreamNoise(streams, (epoch, sample), "evaluation", device)

    return of_sample
