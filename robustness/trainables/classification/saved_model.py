"""A trained model as a file: weights and plain values, with everything that a prediction needs."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from robustness.bnn.ensemble import Ensemble
from robustness.bnn.network import weights_in
from robustness.bnn.posteriors import Noise
from robustness.errors import CheckpointError, shown
from robustness.guards.limits import check
from robustness.methods import METHODS, read_method_options
from robustness.plugins import trainable_name
from robustness.streams import Streams
from robustness.tasks import TASKS
from robustness.trainables import TRAINABLES
from robustness.trainables.classification.batches import Pictures
from robustness.trainables.classification.checkpoints import identity, read_tensors, write_tensors
from robustness.trainables.classification.evaluation import predict
from robustness.trainables.classification.noise import StreamNoise
from robustness.trainables.classification.options import read_training
from robustness.trainables.classification.training import build_ensemble
from robustness.trainables.models import blueprint
from robustness.trial import Trial

FORMAT = 1
LARGEST_IMAGE, MOST_CHANNELS = 4096, 64
BATCH = 256
"""Images predicted at a time."""
EXAMPLE = asdict(Trial(study="", seed=0, configuration=0, arm=""))
"""A trial whose fields have the types that a file's must have."""
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
        """Write the model with a checksum, atomically."""
        write_tensors(
            path,
            {
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
            },
        )

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
        return predict(self.ensemble, pictures.batches(BATCH), samples, evaluation_noise(self.trial, self.epoch))


def load_model(path: Path, trust: bool = False) -> FinalModel:
    """Return the model in a file; raises `CheckpointError` if it is not a model, damaged, or contains code.

    A file that names a method, task or trainable other than the bundled ones is refused unless it is trusted: loading
    it imports the module that it names.
    """
    state = read_tensors(path)
    if not set(state) >= KEYS or state["format"] != FORMAT:
        raise CheckpointError(f"{path}: not a final model written by robustness (NAME.model.pt)")
    try:
        trial = _read_trial(state["trial"])
        if not trust:
            _check_names(path, trial)
        ensemble = _rebuild(path, trial, state)
        model = FinalModel(
            trial=trial,
            epoch=int(state["epoch"]),
            metric=float(state["metric"]),
            image_size=int(state["image_size"]),
            mean=_vector(state["mean"], state["channels"]),
            std=_vector(state["std"], state["channels"]),
            classes=int(state["classes"]),
            ensemble=ensemble,
            uncertainty=_vector(state["uncertainty"]),
        )
    except CheckpointError:
        raise
    except Exception as error:  # The file may be a stranger's, and torch raises almost anything.
        raise CheckpointError(f"{path}: the model cannot be rebuilt ({error})") from error
    if not 1 <= model.image_size <= LARGEST_IMAGE:
        raise CheckpointError(f"{path}: images of {model.image_size} px, not 1 to {LARGEST_IMAGE}")
    return model


def _read_trial(text: object) -> Trial:
    trial = Trial(**json.loads(str(text)))
    for field_ in fields(Trial):
        value, default = getattr(trial, field_.name), EXAMPLE[field_.name]
        if default is not None and not isinstance(value, type(default)):
            raise TypeError(f"{field_.name} is {shown(value)}")
    return trial


def _check_names(path: Path, trial: Trial) -> None:
    """Refuse names whose modules would be imported from wherever this process finds them."""
    named = (
        ("method", trial.method, METHODS),
        ("task", trial.task.get("name"), TASKS),
        ("trainable", trainable_name(trial.trainable), TRAINABLES),
    )
    for kind, name, bundled in named:
        if name not in bundled:
            raise CheckpointError(
                f"{path}: names the {kind} {shown(name)}, which is not bundled, and loading it would run its code; "
                "if you trust the file, add --trust"
            )


def _rebuild(path: Path, trial: Trial, state: Mapping[str, Any]) -> Ensemble:
    """Return the networks with their weights; nothing is built that has more weights than the file."""
    channels, classes = int(state["channels"]), int(state["classes"])
    if not 1 <= channels <= MOST_CHANNELS:
        raise CheckpointError(f"{path}: images of {channels} channels, not 1 to {MOST_CHANNELS}")
    check("classes", classes, path, CheckpointError)
    # Several tensors may lie in one storage.
    storages = {w.untyped_storage().data_ptr(): w.untyped_storage().nbytes() // 4 for w in state["weights"].values()}
    stored = sum(storages.values())
    options = read_method_options(trial.method, trial.method_options)
    needed = weights_in(blueprint(trial.model, channels, classes)) * int(getattr(options, "members", 1))
    if needed > stored:
        raise CheckpointError(f"{path}: the model has {needed:,} weights, but the file has {stored:,}")
    ensemble = build_ensemble(trial, read_training(trial.training), channels, classes)
    ensemble.load_state_dict(state["weights"])
    return ensemble.eval()


def _vector(value: torch.Tensor, length: int | None = None) -> torch.Tensor:
    if value.ndim != 1 or not value.is_floating_point() or (length is not None and len(value) != length):
        raise ValueError(f"a vector was expected, found {value.dtype} of shape {tuple(value.shape)}")
    return value


def evaluation_noise(trial: Trial, epoch: int, device: torch.device | str = "cpu") -> Callable[[int], Noise]:
    """Return the noise of each draw in a trial's evaluation at an epoch."""
    streams = Streams.of(trial)

    def of_sample(sample: int) -> Noise:
        return StreamNoise(streams, (epoch, sample), "evaluation", device)

    return of_sample
