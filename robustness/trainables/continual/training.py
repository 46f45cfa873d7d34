"""Variational continual learning: the posterior after each task is the prior of the next (Nguyen et al. 2018).

As in the paper there is no coreset and no pre-training. The first prior is a unit Gaussian for every arm, and so is the
prior of a new head. Each task has a new optimiser, so that Amsgrad's running maximum does not carry the gradients of
one task into the next.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor, nn

from robustness.bnn.elbo import Loss, nll
from robustness.bnn.ensemble import Ensemble
from robustness.bnn.models import mlp
from robustness.bnn.network import Draws, Network
from robustness.bnn.posteriors import GaussianPosterior, Noise, Posterior, RadialPosterior
from robustness.bnn.priors import trained_posterior_as_prior
from robustness.errors import Diverged, MethodError
from robustness.streams import Streams
from robustness.trainables.classification.checkpoints import epochs_of
from robustness.trainables.classification.devices import pick_device
from robustness.trainables.classification.noise import StreamNoise
from robustness.trainables.continual.measures import accuracy_measures
from robustness.trainables.continual.options import LearningOptions, read_arm, read_learning, read_model, read_task
from robustness.trainables.continual.tasks import CLASSES_PER_TASK, Examples, load_sequence
from robustness.trainables.continual.tasks import Sequence as TaskSequence
from robustness.trainables.optimizers import JoinedOptimizer, make_optimizer, set_learning_rate
from robustness.trial import EpochResult, Trial


def train(trial: Trial) -> Iterator[EpochResult]:
    """Learn the tasks in turn; a task whose loss is not finite raises `Diverged` after all earlier ones were yielded.

    A trial with a checkpoint file resumes from there and yields the earlier tasks again.
    """
    return epochs_of(Learner.start(trial))


@dataclass
class Learner:
    """A running trial: its tasks, its network, and the results of finished tasks."""

    trial: Trial
    options: LearningOptions
    streams: Streams
    device: torch.device
    sequence: TaskSequence
    network: Network
    heads: int
    optimizer: JoinedOptimizer
    epochs: list[EpochResult] = field(default_factory=list)
    """One result per finished task."""

    @staticmethod
    def start(trial: Trial) -> Learner:
        """Load the tasks and build the network: the state before the first task."""
        task, options = read_task(trial.task), read_learning(trial.training)
        model = read_model(trial.model, task.tasks)
        torch.use_deterministic_algorithms(options.deterministic)
        sequence = load_sequence(task, shared_head=model.heads == 1)
        classes = CLASSES_PER_TASK * task.tasks // model.heads
        streams, device = Streams.of(trial), pick_device(options.device)
        network = Network(
            mlp(sequence.features, classes, model.hidden, model.heads),
            lambda means, sizes: make_posterior(trial, options, means, sizes),
            lambda layer: streams.torch("initialisation", layer),
        ).to(device)
        return Learner(trial, options, streams, device, sequence, network, model.heads, _optimizer(network, trial))

    @property
    def task(self) -> int:
        """The current task, counted from 0."""
        return len(self.epochs)

    def head_of(self, task: int) -> int:
        return task if self.heads > 1 else 0

    def active_layers(self) -> list[int]:
        """Return the hidden layers and the current task's head; other heads are neither trained nor sampled.

        Including the heads of earlier tasks would only add noise, since they are already at the minimum of their KL.
        """
        hidden = len(self.network.layers) - self.heads
        return [*range(hidden), hidden + self.head_of(self.task)]

    @property
    def checkpoint_every(self) -> int:
        return self.options.checkpoint_every

    def state(self) -> tuple[nn.Module, JoinedOptimizer]:
        """Return what a checkpoint contains: the posteriors, which are the next task's priors, and the optimiser."""
        return self.network.layers, self.optimizer

    def over(self) -> bool:
        return len(self.epochs) == len(self.sequence.tasks)

    def next_epoch(self) -> EpochResult:
        """Learn the next task."""
        self.begin_task()
        return self.learn_task()

    def begin_task(self) -> None:
        """Make the trained posteriors the priors of the current task, and start a new optimiser."""
        posteriors = self.network.posteriors()
        layers = self.active_layers()
        if self.task > 0:
            for layer in layers if self.heads == 1 else layers[:-1]:
                corrected = self.trial.method != "radial_uncorrected"
                self.network.priors[layer] = trained_posterior_as_prior(posteriors[layer], corrected)
        self.optimizer = _optimizer(self.network, self.trial)

    def learn_task(self) -> EpochResult:
        """Train the current task for all its epochs, then evaluate it and all earlier tasks."""
        start = time.perf_counter()
        number = self.task + 1
        examples = self.sequence.tasks[self.task].train
        images = self.sequence.inputs(examples.images, self.device)
        labels = examples.labels.to(self.device)
        epochs = [
            self.learn_epoch(images, labels, epoch) for epoch in range(1, int(self.trial.hyperparameters["epochs"]) + 1)
        ]
        validation, test = self.evaluate(number)
        measures = epochs[-1] | accuracy_measures(validation, test, [result.measures for result in self.epochs])
        curves = {name: [epoch[name] for epoch in epochs] for name in ("nll", "kl", "train_accuracy")}
        result = EpochResult(number, measures, seconds=time.perf_counter() - start, curves=curves)
        self.epochs.append(result)
        return result

    def learn_epoch(self, images: Tensor, labels: Tensor, epoch: int) -> dict[str, float]:
        """Train one pass over the task's images in full batches; return the terms of the loss and the accuracy."""
        set_learning_rate(self.optimizer, self.trial.hyperparameters, epoch)
        size = min(int(self.trial.hyperparameters.get("batch_size", 1024)), len(images))
        order = torch.from_numpy(self.streams.numpy("data_order", self.task, epoch).permutation(len(images)))
        # The last, incomplete batch is discarded, as in the paper.
        batches = order.to(self.device)[: len(images) // size * size].view(-1, size)
        layers = self.active_layers()
        terms = []
        for step, index in enumerate(batches):
            noise = StreamNoise(self.streams, (self.task, epoch, step), device=self.device)
            loss, accuracy = self.step(layers, images[index], labels[index], len(images), noise)
            terms.append(torch.stack([loss.total, loss.nll, loss.cross_entropy, loss.entropy, accuracy]).detach())
            if self.device.type == "cpu" or step + 1 == len(batches):
                finite = torch.stack(terms)[:, 0].isfinite()
                if not bool(finite.all()):
                    raise Diverged(self.task + 1, int(finite.int().argmin()) + 1)
        loss_terms = torch.stack(terms).double().mean(0).tolist()
        measures = dict(zip(("loss", "nll", "cross_entropy", "entropy", "train_accuracy"), loss_terms, strict=True))
        return measures | {"kl": measures["cross_entropy"] - measures["entropy"]}

    def step(
        self,
        layers: Sequence[int],
        images: Tensor,
        labels: Tensor,
        examples: int,
        noise: Noise,
    ) -> tuple[Loss, Tensor]:
        """Make one optimiser step; return the loss and the accuracy of the mean prediction."""
        samples = int(self.trial.hyperparameters.get("variational_samples", 1))
        draws = self.draw(layers, samples, noise)
        logits = self.network.logits(images, draws, self.head_of(self.task))
        loss = self.loss(layers, draws, logits, labels, examples)
        self.optimizer.zero_grad()
        loss.total.backward()  # type: ignore[no-untyped-call]
        self.optimizer.step()
        accuracy = (logits.detach().softmax(-1).mean(0).argmax(1) == labels).float().mean()
        return loss, accuracy

    def draw(self, layers: Sequence[int], samples: int, noise: Noise) -> Draws:
        """Return draws of these layers' weights; the other layers are at their means and not used."""
        weights = tuple(
            posterior.sample(samples, noise, layer) if layer in layers else posterior.mean.detach()[None]
            for layer, posterior in enumerate(self.network.posteriors())
        )
        return Draws(weights)

    def loss(self, layers: Sequence[int], draws: Draws, logits: Tensor, labels: Tensor, examples: int) -> Loss:
        """Return the negative ELBO per example of the task, with the KL of these layers to their priors."""
        posteriors, priors = self.network.posteriors(), self.network.priors
        data = nll(logits, labels)
        crosses = [priors[layer].cross_entropy(posteriors[layer], draws.weights[layer]) for layer in layers]  # type: ignore[operator]
        cross_entropy = torch.stack(crosses).sum() / examples
        entropy = torch.stack([posteriors[layer].entropy() for layer in layers]).sum() / examples
        return Loss(data + self.options.kl_weight * (cross_entropy - entropy), data, cross_entropy, entropy)

    @torch.inference_mode()
    def evaluate(self, number: int) -> tuple[list[float], list[float]]:
        """Return the validation and test accuracies on tasks 1 to `number`, each with its own head."""
        tasks = self.sequence.tasks[:number]
        sets = [(place, part) for place, task in enumerate(tasks) for part in (task.validation, task.test)]
        inputs = [self.sequence.inputs(part.images, self.device) for _, part in sets]
        totals = [torch.zeros((), device=self.device)] * len(sets)
        for sample in range(self.options.evaluation_samples):
            draws = self.network.sample(1, StreamNoise(self.streams, (number, sample), "evaluation", self.device))
            for place, (task, _) in enumerate(sets):
                predicted = self.network.logits(inputs[place], draws, self.head_of(task))[0].softmax(-1)
                totals[place] = totals[place] + predicted
        accuracies = [_accuracy(total, part) for total, (_, part) in zip(totals, sets, strict=True)]
        return accuracies[::2], accuracies[1::2]


def make_posterior(trial: Trial, options: LearningOptions, means: Tensor, sizes: Sequence[int]) -> Posterior:
    """Return a layer's posterior at the start of the first task, according to the trial's arm."""
    rho = read_arm(trial.method, trial.method_options).initial_rho
    if rho is None:
        if "initial_rho" not in trial.hyperparameters:
            raise MethodError("the configuration has no 'initial_rho': add it to the search space")
        rho = float(trial.hyperparameters["initial_rho"])
    groups = (sum(sizes),) if options.grouping == "layer" else tuple(sizes)
    kind = GaussianPosterior if trial.method == "mfvi" else RadialPosterior
    return kind(means, rho, groups)


def _optimizer(network: Network, trial: Trial) -> JoinedOptimizer:
    return make_optimizer(Ensemble([network]), trial.hyperparameters)


def _accuracy(probabilities: Tensor, examples: Examples) -> float:
    return float((probabilities.argmax(1).cpu() == examples.labels).double().mean())
