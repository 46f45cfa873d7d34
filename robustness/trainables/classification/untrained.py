"""Scores of untrained networks, computed on workers: each trial of this trainable scores several networks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

import numpy as np
import torch

from robustness.metrics import metric_function
from robustness.streams import NO_REPLICATE, Streams
from robustness.tasks import load_task
from robustness.trainables.classification.batches import Pictures
from robustness.trainables.classification.devices import pick_device
from robustness.trainables.classification.noise import StreamNoise
from robustness.trainables.classification.options import read_training
from robustness.trainables.classification.training import build_ensemble
from robustness.trainables.trainable import Trainable
from robustness.trial import EpochResult, Trial


def score(piece: Trial) -> Iterator[EpochResult]:
    """Score the networks of a piece; yields one `EpochResult` with a curve per network."""
    scores = [_score(packed["trial"], packed["stream"]) for packed in piece.hyperparameters["networks"]]
    yield EpochResult(1, {"networks": len(scores)}, curves={str(i): values for i, values in enumerate(scores)})


def _score(trial: Trial, stream: int) -> list[float]:
    options = read_training(trial.training)
    device = pick_device(options.device)
    data = load_task(trial.task)
    streams = Streams(trial.seed, stream, NO_REPLICATE)
    ensemble = build_ensemble(trial, options, data.channels, data.classes, streams).to(device)
    batches = _batches(_Task(trial.task), options.evaluation_batch_size, str(device))
    draws = []
    with torch.inference_mode():
        for draw in range(2 if ensemble.random else 1):
            weights = ensemble.sample(1, StreamNoise(streams, (draw,), "evaluation", device))
            logits = torch.cat([ensemble.logits(batch, weights) for batch in batches], dim=1)
            draws.append(logits.softmax(-1).mean(0).float().cpu().numpy())
    metric = metric_function(trial.metric)
    labels = data.validation.labels
    single = [metric(labels, draw) for draw in draws]
    return [single[0], single[-1], metric(labels, np.mean(draws, axis=0))]


class _Task:
    """A task's options as the key of a cache."""

    def __init__(self, options: Mapping[str, Any]) -> None:
        self.options = options
        self._key = repr(sorted(options.items()))

    def __hash__(self) -> int:
        return hash(self._key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Task) and self._key == other._key


class _Batches:
    """The validation set in normalised batches, kept in memory if small, or else recomputed each time."""

    def __init__(self, pictures: Pictures, size: int) -> None:
        self._pictures = pictures
        self._slices = [slice(start, start + size) for start in range(0, len(pictures), size)]
        small = pictures.images.numel() <= 2**25
        self._made = [pictures.batch(part) for part in self._slices] if small else None

    def __iter__(self) -> Iterator[Any]:
        return iter(self._made) if self._made is not None else map(self._pictures.batch, self._slices)


@lru_cache(maxsize=1)
def _batches(task: _Task, size: int, device: str) -> _Batches:
    data = load_task(task.options)
    return _Batches(Pictures.of(data, data.validation, torch.device(device)), size)


SCORER = Trainable(score, needs_torch=True, loads_task=True)
