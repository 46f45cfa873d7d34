"""The training loop: `train(trial)` yields one `EpochResult` every `steps_per_epoch` steps."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from dataclasses import dataclass, field

import torch
from torch import Tensor

from robustness.bnn.gaussian import gaussian_log_density, predictive_log_likelihood, root_mean_squared_error
from robustness.bnn.models import mlp
from robustness.bnn.network import Draws, Network
from robustness.errors import Diverged, MethodError
from robustness.methods import find_method, read_method_options
from robustness.methods.method import Setting
from robustness.streams import Streams
from robustness.trainables.classification.noise import StreamNoise
from robustness.trainables.classification.options import TrainingOptions
from robustness.trainables.regression.adam import Adam
from robustness.trainables.regression.data_sets import Problem, Rows, load_problem
from robustness.trainables.regression.flat import FlatNetwork
from robustness.trainables.regression.options import (
    Hyperparameters,
    RegressionOptions,
    read_hyperparameters,
    read_model,
    read_task,
    read_training,
)
from robustness.trainables.regression.study import check_arm
from robustness.trial import EpochResult, Trial

STEPS_AT_ONCE = 200
"""Steps whose noise is drawn together."""
DRAWS_AT_ONCE = 10
"""Draws that predict together: more would only use more memory."""
TRAIN_ROWS = 1000
"""Training rows for the training measures: the first ones, which the split has shuffled."""


def train(trial: Trial) -> Iterator[EpochResult]:
    """Train a trial on the split given by its replicate; a loss that is not finite raises `Diverged`.

    A trial takes seconds, so it saves no checkpoint and starts again after an interruption.

    The measures are `loss`, `nll`, `cross_entropy` and `entropy` (nats per training row, for normalised targets),
    `noise_scale`, and for each of `train`, `validation` and `test`: `_rmse` and `_log_likelihood` in the target's own
    units, and `_gain`, the log-likelihood per row minus that of a Gaussian fitted to the training targets, which is 0
    for a network that learned nothing and comparable between data sets.
    """
    run = Run.start(trial)
    for epoch in range(1, run.options.epochs + 1):
        start = time.perf_counter()
        measures = run.train_epoch(epoch)
        measures |= run.evaluate(epoch)
        if not all(math.isfinite(value) for value in measures.values()):
            raise Diverged(epoch, run.options.steps_per_epoch)
        yield EpochResult(epoch, measures, seconds=time.perf_counter() - start)


@dataclass
class EpochNoise:
    """Noise that continues from step to step: one generator per purpose and layer of an epoch."""

    noise: StreamNoise
    generators: dict[tuple[str, int], torch.Generator] = field(default_factory=dict)

    def generator(self, purpose: str, layer: int) -> torch.Generator:
        if (purpose, layer) not in self.generators:
            self.generators[purpose, layer] = self.noise.generator(purpose, layer)
        return self.generators[purpose, layer]


@dataclass
class Run:
    """A running trial: its data, network and optimiser."""

    options: RegressionOptions
    hyperparameters: Hyperparameters
    streams: Streams
    problem: Problem
    flat: FlatNetwork
    optimizer: Adam
    passes: int = 0
    """The number of passes over the training rows that have started."""

    @staticmethod
    def start(trial: Trial) -> Run:
        """Load the split and build the network and the optimiser: the state before the first step."""
        options = read_training(trial.training)
        hyperparameters = read_hyperparameters(trial.hyperparameters)
        held_out = options.validation_splits == "every" or trial.replicate == 0
        problem = load_problem(
            read_task(trial.task).folder,
            hyperparameters.data_set,
            trial.replicate,
            options.validation_share if held_out else 0.0,
        )
        streams = Streams.of(trial)
        network, kl_weight = _network(trial, options, problem, streams)
        noise_scale = hyperparameters.noise_scale
        learned = noise_scale == "learned"
        flat = FlatNetwork(
            network,
            hyperparameters.variational_samples,
            len(problem.train),
            kl_weight,
            options.initial_noise_scale if isinstance(noise_scale, str) else noise_scale,
            learned,
        )
        optimizer = Adam(flat.parameters, flat.gradient, hyperparameters.learning_rate)
        return Run(options, hyperparameters, streams, problem, flat, optimizer)

    def batches(self) -> Iterator[tuple[Tensor, Tensor]]:
        """Yield batches [B, features], [B] endlessly; each pass drops the last incomplete batch.

        If a batch has all rows, they are not shuffled.
        """
        inputs, targets = map(torch.from_numpy, (self.problem.train.inputs, self.problem.train.targets))
        rows = len(targets)
        size = min(self.hyperparameters.batch_size, rows)
        while size == rows:
            yield inputs, targets
        while True:
            self.passes += 1
            order = torch.from_numpy(self.streams.numpy("data_order", self.passes).permutation(rows))
            order = order[: rows - rows % size]
            yield from zip(torch.split(inputs[order], size), torch.split(targets[order], size), strict=True)

    @torch.no_grad()
    def train_epoch(self, epoch: int) -> dict[str, float]:
        """Train the steps of an epoch; return the terms of the loss afterwards and the noise scale."""
        noise = EpochNoise(StreamNoise(self.streams, (epoch,)))
        steps = self.options.steps_per_epoch
        squares = []
        # Each epoch starts a new pass, so that its batches do not depend on where the last one stopped.
        batches = self.batches()
        for start in range(0, steps, STEPS_AT_ONCE):
            for standard in self.flat.standard_draws(min(STEPS_AT_ONCE, steps - start), noise):
                squares.append(self.flat.step(*next(batches), standard))
                self.optimizer.step()
            finite = torch.stack(squares[start:]).isfinite().tolist()
            if not all(finite):
                raise Diverged(epoch, start + finite.index(False) + 1)
        nll = self.flat.nll(torch.stack(squares).mean())
        examples = len(self.problem.train)
        network = self.flat.network
        entropy = float(network.entropy()) / examples
        cross_entropy = float(network.cross_entropy(network.means())) / examples
        return {
            "loss": nll + self.flat.kl_weight * (cross_entropy - entropy),
            "nll": nll,
            "cross_entropy": cross_entropy,
            "entropy": entropy,
            "noise_scale": self.flat.noise_scale * self.problem.target_scale,
        }

    @torch.no_grad()
    def evaluate(self, epoch: int) -> dict[str, float]:
        """Return RMSE, log-likelihood and gain on the training, validation and test rows, all with the same draws."""
        network = self.flat.network
        noise = StreamNoise(self.streams, (epoch,), "evaluation")
        draws = network.sample(self.options.evaluation_samples, noise)
        measures = {}
        for part in ("train", "validation", "test"):
            rows: Rows | None = getattr(self.problem, part)
            if rows is None:
                continue
            inputs, targets = torch.from_numpy(rows.inputs), torch.from_numpy(rows.targets)
            if part == "train":
                inputs, targets = inputs[:TRAIN_ROWS], targets[:TRAIN_ROWS]
            predictions = predict(network, inputs, draws)
            scale = self.problem.target_scale
            likelihood = predictive_log_likelihood(predictions, targets, self.flat.noise_scale)
            # The Gaussian fitted to the normalised training targets is standard normal.
            baseline = float(gaussian_log_density(torch.zeros(()), targets, 1.0).mean())
            measures[f"{part}_rmse"] = root_mean_squared_error(predictions, targets, scale)
            measures[f"{part}_log_likelihood"] = likelihood - math.log(scale)
            measures[f"{part}_gain"] = likelihood - baseline
        return measures


def predict(network: Network, inputs: Tensor, draws: Draws) -> Tensor:
    """Return predictions [samples, n] for inputs [n, features]."""
    parts = []
    for start in range(0, draws.samples, DRAWS_AT_ONCE):
        some = Draws(tuple(weights[start : start + DRAWS_AT_ONCE] for weights in draws.weights))
        parts.append(network.logits(inputs, some).squeeze(-1))
    return torch.cat(parts)


def _network(trial: Trial, options: RegressionOptions, problem: Problem, streams: Streams) -> tuple[Network, float]:
    """Return the arm's network and its factor on the KL term."""
    check_arm(trial.method, trial.method_options, set(trial.hyperparameters))
    method = find_method(trial.method)
    method_options = read_method_options(trial.method, trial.method_options)
    shared = TrainingOptions(
        epochs=options.epochs, pretrain_epochs=0, kl_weight=options.kl_weight, grouping=options.grouping
    )
    shape = mlp(problem.train.inputs.shape[1], 1, read_model(trial.model).hidden)
    members = method.members(Setting(shape, trial.hyperparameters, method_options, shared, streams))
    if len(members) != 1:
        raise MethodError(f"regression supports only methods with one network, {trial.method!r} has {len(members)}")
    return members[0], method.kl_weight(shared, method_options)
