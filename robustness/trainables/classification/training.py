"""The training loop: `train(trial)` yields one `EpochResult` per epoch."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

import numpy as np
import torch
from torch import Tensor, nn

from robustness.bnn.elbo import Loss, negative_elbo, nll_of_draws
from robustness.bnn.ensemble import Ensemble
from robustness.bnn.posteriors import GaussianPosterior
from robustness.errors import Diverged
from robustness.goal import find_goal
from robustness.methods import find_method, read_method_options
from robustness.methods.method import Schedule, Setting
from robustness.metrics import multiclass_auc, scores
from robustness.streams import Streams
from robustness.tasks import load_task
from robustness.trainables.classification.batches import Pictures
from robustness.trainables.classification.checkpoints import epochs_of
from robustness.trainables.classification.devices import forward_dtype, pick_device, set_determinism, to_device
from robustness.trainables.classification.evaluation import predict
from robustness.trainables.classification.gradient_noise import gradient_sd
from robustness.trainables.classification.noise import StreamNoise
from robustness.trainables.classification.options import TrainingOptions, read_training
from robustness.trainables.models import blueprint, check_model
from robustness.trainables.optimizers import JoinedOptimizer, make_optimizer, set_learning_rate
from robustness.trial import EpochResult, Trial

STEPS_BETWEEN_CHECKS = 50
"""On a GPU the loss is checked only this often, because reading it waits for all queued work."""
DIAGNOSTIC_BATCH = 64
"""The gradient noise is measured on this many training images, always the first ones."""

MOST_KEPT_BYTES = 2**27
"""Validation images of up to this size stay prepared between epochs."""


EvaluationPurpose: TypeAlias = Literal["evaluation", "diagnostics"]
"""The random stream from which an evaluation draws."""


def train(trial: Trial) -> Iterator[EpochResult]:
    """Train a trial; an epoch whose loss is not finite raises `Diverged` after all earlier epochs were yielded.

    A trial with a checkpoint file resumes from there and yields the earlier epochs again.
    """
    return epochs_of(Run.start(trial))


@dataclass
class Run:
    """A running trial: its data, networks, optimiser and finished epochs."""

    trial: Trial
    options: TrainingOptions
    streams: Streams
    train_set: Pictures
    validation_set: Pictures
    ensemble: Ensemble
    optimizer: JoinedOptimizer
    schedule: Schedule
    kl_weight: float
    dtype: torch.dtype
    """What forward passes compute in."""
    epochs: list[EpochResult] = field(default_factory=list)
    kept_batches: Sequence[Tensor] | None = None

    @staticmethod
    def start(trial: Trial) -> Run:
        """Load the data and build the networks and the optimiser: the state before the first epoch."""
        options = read_training(trial.training)
        set_determinism(options.deterministic)
        device = pick_device(options.device)
        data = load_task(trial.task)
        check_model(trial.model, data.image_size)
        ensemble = build_ensemble(trial, options, data.channels, data.classes).to(device)
        method = find_method(trial.method)
        method_options = read_method_options(trial.method, trial.method_options)
        return Run(
            trial=trial,
            options=options,
            streams=Streams.of(trial),
            train_set=Pictures.of(data, data.train, device),
            validation_set=Pictures.of(data, data.validation, device),
            ensemble=ensemble,
            optimizer=make_optimizer(ensemble, trial.hyperparameters),
            schedule=method.schedule(options, method_options),
            kl_weight=method.kl_weight(options, method_options),
            dtype=forward_dtype(options.precision, device),
        )

    @property
    def checkpoint_every(self) -> int:
        return self.options.checkpoint_every

    def state(self) -> tuple[nn.Module, JoinedOptimizer]:
        """Return what a checkpoint contains besides the epochs."""
        return self.ensemble, self.optimizer

    def over(self) -> bool:
        """Whether all epochs are done or the metric has not improved within the method's patience."""
        if self.trained >= self.options.epochs:
            return True
        goal, name, patience = find_goal(self.trial.goal), self.trial.metric, self.schedule.patience
        if patience is None or not self.is_evaluated(self.trained):
            return False
        counted = [e for e in self.epochs if not e.pretraining and self.is_evaluated(e.epoch)]
        recent = [e.measures.get(name, float("nan")) for e in counted if e.epoch > self.trained - patience]
        before = [e.measures.get(name, float("nan")) for e in counted if e.epoch <= self.trained - patience]
        return bool(before) and not goal.better(goal.best(recent), goal.best(before))

    def is_evaluated(self, epoch: int) -> bool:
        """Whether an epoch ends with an evaluation on the validation set."""
        return epoch % self.options.evaluate_every == 0 or epoch == self.options.epochs

    @property
    def trained(self) -> int:
        """The number of epochs trained so far, pre-training included."""
        return self.epochs[-1].epoch if self.epochs else 0

    def start_epoch(self) -> EpochResult:
        """Evaluate the untrained networks, with as many draws as after every epoch; draws of their own, those of 0."""
        start = time.perf_counter()
        measures = {f"validation_{name}": value for name, value in self.evaluate(0).items()}
        return EpochResult(0, measures, pretraining=True, seconds=time.perf_counter() - start)

    def next_epoch(self) -> EpochResult:
        """Train and evaluate one more epoch; the first is the start, without training, if the trial records it."""
        if self.trial.records_start and not self.epochs:
            self.epochs.append(self.start_epoch())
            return self.epochs[0]
        start = time.perf_counter()
        epoch = self.trained + 1
        pretraining = epoch <= self.schedule.pretrain_epochs
        set_learning_rate(self.optimizer, self.trial.hyperparameters, epoch)
        # The noise at the start, known only before the first step.
        started = {"noise_per_weight": noise} if epoch == 1 and (noise := self.noise_per_weight()) > 0 else {}
        measures = self.train_epoch(epoch, pretraining) | started
        if self.is_evaluated(epoch):
            measures |= self.evaluated(epoch)
            if not np.isfinite(measures["validation_nll"]):
                raise Diverged(epoch, self.steps)
        measures |= self.sigma_quantiles()
        if epoch == 1:
            measures["steps_per_epoch"] = float(self.steps)
        every = self.options.gradient_noise_every
        if every and self.ensemble.random and (epoch % every == 0 or epoch == 1):
            measures["gradient_sd"] = self.gradient_noise(epoch)
        result = EpochResult(epoch, measures, pretraining, time.perf_counter() - start)
        self.epochs.append(result)
        return result

    def evaluated(self, epoch: int) -> dict[str, float]:
        """Return the measures of an epoch on the validation set and, at the last one if asked for, the training set."""
        last = self.options.last_epoch_samples if epoch == self.options.epochs else None
        measures = {f"validation_{name}": value for name, value in self.evaluate(epoch, samples=last).items()}
        if last is not None:
            batches = self.train_set.batches(self.options.evaluation_batch_size, self.dtype)
            found = self.score(self.train_set, batches, epoch, last, "evaluation")
            measures |= {f"training_{name}": value for name, value in found.items()}
        return measures

    @property
    def batch_size(self) -> int:
        return int(self.trial.hyperparameters.get("batch_size", 32))

    @property
    def steps(self) -> int:
        """The number of steps per epoch; the last batch may be smaller."""
        return -(-len(self.train_set) // self.batch_size)

    def train_epoch(self, epoch: int, pretraining: bool) -> dict[str, float]:
        """Train one pass over the training set; return the terms of the loss, AUC and accuracy of its predictions."""
        order = torch.from_numpy(self.streams.numpy("data_order", epoch).permutation(len(self.train_set)))
        # Copied once per epoch: a copy in each step would wait for the device.
        device_order = to_device(order, self.train_set.device)
        terms, probabilities, labels = [], [], []
        size = self.batch_size
        parts = zip(order.split(size), device_order.split(size), strict=True)  # type: ignore[no-untyped-call]
        for step, (index, device_index) in enumerate(parts):
            augmentation = self.streams.torch("augmentation", epoch, step) if self.options.augment else None
            images = self.train_set.batch(index, augmentation)
            target = self.train_set.labels[device_index]
            loss, predicted = self.step(images, target, epoch, step, pretraining)
            terms.append(torch.stack([loss.total, loss.nll, loss.cross_entropy, loss.entropy]) * len(index))
            probabilities.append(predicted)
            labels.append(target)
            if images.device.type == "cpu" or (step + 1) % STEPS_BETWEEN_CHECKS == 0 or step + 1 == self.steps:
                self.check_finite(terms, epoch)
        names = ("loss", "nll", "cross_entropy", "entropy")
        means = (torch.stack(terms).double().sum(0) / len(self.train_set)).tolist()
        targets, predictions = torch.cat(labels).cpu().numpy(), torch.cat(probabilities).cpu().numpy()
        accuracy = float((predictions.argmax(1) == targets).mean())
        measures = dict(zip(names, means, strict=True))
        return measures | {"train_auc": multiclass_auc(targets, predictions), "train_accuracy": accuracy}

    def step(self, images: Tensor, labels: Tensor, epoch: int, step: int, pretraining: bool) -> tuple[Loss, Tensor]:
        """Make one optimiser step; return the detached loss and the mean probabilities [batch, classes]."""
        if pretraining:
            draws = self.ensemble.means()
        else:
            samples = int(self.trial.hyperparameters.get("variational_samples", 1))
            draws = self.ensemble.sample(samples, StreamNoise(self.streams, (epoch, step), device=images.device))
        losses, logits = [], []
        images = images.to(self.dtype)
        for network, draw in zip(self.ensemble.members, draws, strict=True):
            data, predicted = nll_of_draws(network, draw, images, labels)
            logits.append(predicted)
            if pretraining:
                losses.append(Loss(data, data, torch.zeros_like(data), torch.zeros_like(data)))
            else:
                estimate = self.options.cross_entropy
                losses.append(negative_elbo(network, draw, data, len(self.train_set), self.kl_weight, estimate))
        self.optimizer.zero_grad()
        # Members share no parameters, so the gradient of the sum is each member's own gradient.
        sum_of([loss.total for loss in losses]).backward()  # type: ignore[no-untyped-call]
        self.optimizer.step()
        return mean_of(losses), torch.cat(logits).softmax(-1).mean(0)

    def check_finite(self, terms: list[Tensor], epoch: int) -> None:
        """Raise `Diverged` at the first step since the last check whose loss is not finite."""
        since = max(0, len(terms) - (1 if terms[0].device.type == "cpu" else STEPS_BETWEEN_CHECKS))
        finite = torch.stack(terms[since:])[:, 0].isfinite().tolist()
        if not all(finite):
            raise Diverged(epoch, since + finite.index(False) + 1)

    def evaluate(
        self, epoch: int, purpose: EvaluationPurpose = "evaluation", samples: int | None = None
    ) -> dict[str, float]:
        """Return AUC, accuracy, NLL and calibration error on the validation set."""
        draws = self.options.evaluation_samples if samples is None else samples
        return self.score(self.validation_set, self.validation_batches(), epoch, draws, purpose)

    def score(
        self, pictures: Pictures, batches: Sequence[Tensor], epoch: int, samples: int, purpose: EvaluationPurpose
    ) -> dict[str, float]:
        """Return every metric of the mean prediction of `samples` draws for some images."""
        probabilities = predict(
            self.ensemble,
            batches,
            samples,
            lambda sample: StreamNoise(self.streams, (epoch, sample), purpose, pictures.device),
        )
        return scores(pictures.labels.cpu().numpy(), probabilities)

    def validation_batches(self) -> Sequence[Tensor]:
        """The validation images, normalised; prepared once per trial if they take little memory."""
        if self.kept_batches is None:
            batches = self.validation_set.batches(self.options.evaluation_batch_size, self.dtype)
            if sum(batch.nbytes for batch in batches) > MOST_KEPT_BYTES:
                return batches
            self.kept_batches = batches
        return self.kept_batches

    def sigma_quantiles(self) -> dict[str, float]:
        """Return the 5, 50 and 95 % quantiles of the scales of all weights; empty for networks without scales."""
        with torch.no_grad():
            posteriors = [p for network in self.ensemble.members for p in network.posteriors()]
            scales = [p.scale() for p in posteriors if isinstance(p, GaussianPosterior)]
            if not scales:
                return {}
            # On a GPU selecting a rank is not deterministic; on a CPU it is faster than sorting all weights.
            joined = torch.cat(scales).cpu()
            points = {"sigma_low": 0.05, "sigma_median": 0.5, "sigma_high": 0.95}
            ranks = {name: round(q * (len(joined) - 1)) + 1 for name, q in points.items()}
            return {name: float(joined.kthvalue(rank).values) for name, rank in ranks.items()}

    def noise_per_weight(self) -> float:
        """Return the median over weights of the standard deviation of their draws; 0 for networks without noise."""
        with torch.no_grad():
            variances = [p.variance() for network in self.ensemble.members for p in network.posteriors()]
            joined = torch.cat(variances).cpu()
            return math.sqrt(float(joined.kthvalue((len(joined) + 1) // 2).values))

    def gradient_noise(self, epoch: int) -> float:
        """Return the NLL gradient's standard deviation over draws of the weights, on one batch without augmentation."""
        first = slice(0, DIAGNOSTIC_BATCH)
        return gradient_sd(
            self.ensemble,
            self.train_set.batch(first),
            self.train_set.labels[first],
            self.options.gradient_noise_samples,
            lambda sample: StreamNoise(self.streams, (epoch, sample), "diagnostics", self.train_set.device),
        )


def build_ensemble(
    trial: Trial, options: TrainingOptions, channels: int, classes: int, streams: Streams | None = None
) -> Ensemble:
    """Return the untrained networks of a trial, initialised from `streams` or else from the trial's own streams."""
    shape = blueprint(trial.model, channels, classes)
    method_options = read_method_options(trial.method, trial.method_options)
    setting = Setting(shape, trial.hyperparameters, method_options, options, streams or Streams.of(trial))
    return Ensemble(find_method(trial.method).members(setting))


def mean_of(losses: Sequence[Loss]) -> Loss:
    """Return the detached mean of the members' losses."""
    if len(losses) == 1:
        return Loss(*(term.detach() for term in _terms(losses[0])))
    return Loss(*(sum_of(part).detach() / len(losses) for part in zip(*map(_terms, losses), strict=True)))


def _terms(loss: Loss) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    return loss.total, loss.nll, loss.cross_entropy, loss.entropy


def sum_of(values: Sequence[Tensor]) -> Tensor:
    """Return the sum of scalars."""
    return values[0] if len(values) == 1 else torch.stack(list(values)).sum()
