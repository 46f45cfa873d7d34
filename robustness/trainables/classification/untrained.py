"""Scores of untrained networks, computed on workers: each trial of this trainable scores several networks."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from robustness.metrics import MetricFunction, metric_function, predictive_mean
from robustness.streams import NO_REPLICATE, Streams
from robustness.tasks import load_task
from robustness.trainables.classification.batches import Pictures
from robustness.trainables.classification.devices import forward_dtype, pick_device
from robustness.trainables.classification.evaluation import predict
from robustness.trainables.classification.noise import StreamNoise
from robustness.trainables.classification.options import read_training
from robustness.trainables.classification.training import build_ensemble
from robustness.trainables.trainable import Trainable
from robustness.trial import EpochResult, Trial

EVALUATIONS = 2


def score(piece: Trial) -> Iterator[EpochResult]:
    """Score the networks of a piece; yields one `EpochResult` with curves of each network.

    "0": the metric of each of two evaluations of the first network; "resampled 0": that of its first evaluation on
    resampled patients, if `resamples` is among the hyperparameters. Every network sees the same resamples.
    """
    networks = piece.hyperparameters["networks"]
    resamples = int(piece.hyperparameters.get("resamples", 0))
    curves: dict[str, list[float]] = {}
    for number, packed in enumerate(networks):
        evaluations = _evaluations(packed["trial"], packed["stream"])
        data = load_task(packed["trial"].task).validation
        metric = metric_function(packed["trial"].metric)
        curves[str(number)] = [metric(data.labels, probabilities) for probabilities in evaluations]
        if resamples:
            generator = Streams(piece.seed, 0, NO_REPLICATE).numpy("diagnostics", 4)
            curves[f"resampled {number}"] = resampled(
                data.labels, evaluations[0], data.patients, metric, resamples, generator
            )
    yield EpochResult(1, {"networks": len(networks)}, curves=curves)


def resampled(
    labels: NDArray[np.int64],
    probabilities: NDArray[Any],
    patients: NDArray[np.int64],
    metric: MetricFunction,
    resamples: int,
    generator: np.random.Generator,
) -> list[float]:
    """The metric on samples of the patients, drawn with replacement, each with all of its images."""
    _, number = np.unique(patients, return_inverse=True)
    rows_of = np.split(np.argsort(number, kind="stable"), np.cumsum(np.bincount(number))[:-1])
    values = []
    for _ in range(resamples):
        rows = np.concatenate([rows_of[patient] for patient in generator.integers(len(rows_of), size=len(rows_of))])
        values.append(metric(labels[rows], probabilities[rows]))
    return values


def _evaluations(trial: Trial, stream: int) -> list[NDArray[Any]]:
    """The mean probabilities [n, classes] of each evaluation of an untrained network, with the draws of a trial's."""
    options = read_training(trial.training)
    device = pick_device(options.device)
    data = load_task(trial.task)
    streams = Streams(trial.seed, stream, NO_REPLICATE)
    ensemble = build_ensemble(trial, options, data.channels, data.classes, streams).to(device)
    pictures = _validation_set(json.dumps(dict(trial.task), sort_keys=True, default=str), str(device))
    batches = pictures.batches(options.evaluation_batch_size, forward_dtype(options.precision, device))
    evaluations = []
    for evaluation in range(EVALUATIONS if ensemble.random else 1):
        probabilities = predict(
            ensemble,
            batches,
            options.evaluation_samples,
            lambda sample, evaluation=evaluation: StreamNoise(  # type: ignore[misc]
                streams, (evaluation, sample), "evaluation", device
            ),
        )
        evaluations.append(predictive_mean(probabilities))
    # Without noise every evaluation is the same.
    return evaluations * (EVALUATIONS // len(evaluations))


@lru_cache(maxsize=1)
def _validation_set(task: str, device: str) -> Pictures:
    data = load_task(json.loads(task))
    return Pictures.of(data, data.validation, torch.device(device))


SCORER = Trainable(score, needs_torch=True, loads_task=True)
