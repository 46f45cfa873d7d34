"""The trainable of final models: trains like any trial, keeps the best epoch's weights, scores them on the test set.

It needs `trial.checkpoint`, a path in a folder that the driver can also read. Beside that file it writes
`NAME.model.pt`, the weights of the chosen epoch, and `NAME.predictions.npz`, their predictions for the test set.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from robustness import metrics
from robustness.errors import CheckpointError
from robustness.goal import find_goal
from robustness.tasks import load_task
from robustness.trainables.classification.batches import Pictures
from robustness.trainables.classification.checkpoints import epochs_of, identity, read_checkpoint, warn
from robustness.trainables.classification.evaluation import predict
from robustness.trainables.classification.predictions import (
    measures_on_test,
    model_file,
    predictions_file,
    save_predictions,
)
from robustness.trainables.classification.saved_model import FinalModel, evaluation_noise, load_model
from robustness.trainables.classification.training import Run
from robustness.trial import EpochResult, Trial

TEST_SAMPLES = 16


def train(trial: Trial) -> Iterator[EpochResult]:
    """Train a final model; the result of the last epoch includes the measures on the test set."""
    run = Run.start(trial)
    chosen = model_file(trial)
    _forget_without_model(trial, chosen)
    for result in epochs_of(run):
        if _is_best(run, result):
            model_of(run, result).save(chosen)
        if result.epoch == len(run.epochs) and run.over():
            result = replace(result, measures=dict(result.measures) | finish(run, chosen))
        yield result


def finish(run: Run, chosen: Path) -> dict[str, float]:
    """Score the chosen epoch's weights on the test set and write the predictions to their file."""
    data = load_task(run.trial.task)
    device = run.train_set.device
    # The trial itself names the code that built it.
    model = load_model(chosen, trust=True)
    if model.epoch != _best_epoch(run.epochs, run.trial) or identity(model.trial) != identity(run.trial):
        raise CheckpointError(f"{chosen}: holds another model than the one that this trial chose")
    ensemble = model.ensemble.to(device)
    noise = evaluation_noise(run.trial, model.epoch, device)

    def predictions(pictures: Pictures) -> NDArray[np.float32]:
        return predict(ensemble, pictures.batches(run.options.evaluation_batch_size), TEST_SAMPLES, noise)

    validation_uncertainty = metrics.mutual_information(predictions(run.validation_set))
    replace(model, uncertainty=torch.from_numpy(validation_uncertainty)).save(chosen)
    probabilities = predictions(Pictures.of(data, data.test, device))
    labels, patients = data.test.labels, data.test.patients
    save_predictions(
        predictions_file(run.trial), labels=labels, patients=patients, probabilities=probabilities.astype(np.float32)
    )
    seconds = [e.seconds for e in run.epochs]
    return measures_on_test(labels, patients, probabilities) | {
        "chosen_epoch": float(model.epoch),
        "parameters": float(model.parameters),
        "seconds_per_epoch": math.fsum(seconds) / len(seconds),
    }


def model_of(run: Run, result: EpochResult) -> FinalModel:
    """Return the model of a run at the end of an epoch."""
    data = load_task(run.trial.task)
    statistics = (run.train_set.mean.flatten(), run.train_set.std.flatten())
    metric = result.measures[run.trial.metric]
    return FinalModel(
        run.trial, result.epoch, metric, data.image_size, *statistics, classes=data.classes, ensemble=run.ensemble
    )


def _forget_without_model(trial: Trial, chosen: Path) -> None:
    """Remove a checkpoint whose best epoch is not in the model file: the trial starts again, with the same numbers.

    The file may be ahead of the checkpoint, because the same epochs will choose it again.
    """
    checkpoint = Path(trial.checkpoint or "")
    if not checkpoint.is_file():
        return
    try:
        epochs, _ = read_checkpoint(checkpoint, trial)
        best = _best_epoch(epochs, trial)
        if best in (None, len(epochs)):
            return
        model = load_model(chosen, trust=True)
        if (model.epoch == best or model.epoch > len(epochs)) and identity(model.trial) == identity(trial):
            return
        line = f"{chosen}: does not hold the model that {checkpoint.name} needs"
    except CheckpointError as error:
        line = str(error)
    warn(f"{line}; the trial starts again")
    checkpoint.unlink(missing_ok=True)


def _best_epoch(epochs: Sequence[EpochResult], trial: Trial) -> int | None:
    """The first epoch with the best metric; pre-training does not count."""
    counted, goal = _counted(epochs, trial), find_goal(trial.goal)
    return max(counted, key=lambda each: goal.oriented(each.measures[trial.metric])).epoch if counted else None


def _is_best(run: Run, result: EpochResult) -> bool:
    """Whether an epoch is the best so far and the run still has its weights; ties keep the earlier epoch."""
    if result.epoch != len(run.epochs) or not _counted([result], run.trial):
        return False
    name, goal = run.trial.metric, find_goal(run.trial.goal)
    return all(goal.better(result.measures[name], each.measures[name]) for each in _counted(run.epochs[:-1], run.trial))


def _counted(epochs: Sequence[EpochResult], trial: Trial) -> list[EpochResult]:
    """The epochs after pre-training that were evaluated."""
    return [each for each in epochs if not each.pretraining and trial.metric in each.measures]
