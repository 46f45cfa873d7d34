"""How noisy the NLL's gradient is before any training: the paper's figure of exploding gradient variance.

The trainable `gradient_noise`. Its space has `channels` and `sigma`, the scale
at which every weight of every layer starts. The network is a 3 x 3 convolution from the pictures to C channels, the
3 x 3 convolution from C to C channels whose gradient is measured, `further` more like it, global pooling and a linear
layer. The paper does not say what network, input and loss its figure has; here the loss is the NLL on one batch of
pictures of standard normal pixels, at means drawn as He et al. (2015) do.

A trial has one `EpochResult`. Replicates differ in initial means, pictures and draws, and their spread is the error.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator

import torch
from torch import Tensor

from robustness.bnn.elbo import nll
from robustness.bnn.network import Blueprint, Convolution, Draws, GlobalPool, Heads, Network
from robustness.bnn.scales import inverse_softplus
from robustness.errors import Diverged, ModelError, StudyFileError, TaskError
from robustness.methods import find_method, read_method_options
from robustness.methods.method import Setting
from robustness.streams import Streams
from robustness.trainables.classification.noise import StreamNoise
from robustness.trainables.classification.options import TrainingOptions
from robustness.trainables.theory.options import ConvolutionOptions, NoiseOptions, PictureOptions
from robustness.trainables.theory.study import GRADIENT_NOISE_METRIC
from robustness.trial import EpochResult, Trial
from robustness.validation import read_options

MEASURED = 1
"""The layer whose gradient is measured."""


def train(trial: Trial) -> Iterator[EpochResult]:
    """Measure the variance of d NLL / d mu over draws, in the convolution from C to C channels."""
    start = time.perf_counter()
    options = read_options(NoiseOptions, trial.training, "training", StudyFileError)
    task = read_options(PictureOptions, trial.task, "task", TaskError)
    streams = Streams.of(trial)
    network = build(trial, task, options)
    pictures, labels = batch(task, streams)
    mean, variance = gradient_moments(network, pictures, labels, options.samples, streams)
    weights = mean.numel()
    noise = float(variance.sum())
    # The mean of so many draws has its share of the noise, which is taken off.
    signal = max(0.0, float(mean.square().sum()) - noise / options.samples)
    if not math.isfinite(noise):
        raise Diverged(1, options.samples)
    measures = {
        "noise_sd": math.sqrt(noise / weights),
        "noise_variance": noise / weights,
        "weight_sd": math.sqrt(float(network.posteriors()[MEASURED].variance().detach().double().mean())),
        "dimension": float(weights),
        GRADIENT_NOISE_METRIC: math.sqrt(signal / noise) if noise > 0 else math.inf,
    }
    yield EpochResult(1, measures, seconds=time.perf_counter() - start)


def build(trial: Trial, task: PictureOptions, options: NoiseOptions) -> Network:
    """The untrained network of a trial, every scale at its sigma."""
    model = read_options(ConvolutionOptions, trial.model, "model", ModelError)
    width = int(trial.hyperparameters["channels"])
    wide = (Convolution(width, width),) * (1 + model.further)
    shape: Blueprint = (Convolution(task.channels, width), *wide, GlobalPool(), Heads(2 * width, task.classes))
    rho = float(inverse_softplus(float(trial.hyperparameters["sigma"])))
    own = read_method_options(trial.method, trial.method_options)
    training = TrainingOptions(epochs=1, grouping=options.grouping)
    setting = Setting(shape, {"initial_rho": rho}, own, training, Streams.of(trial))
    (network,) = find_method(trial.method).members(setting)
    return network


def batch(task: PictureOptions, streams: Streams) -> tuple[Tensor, Tensor]:
    """Pictures [batch, channels, size, size] of standard normal pixels, and their labels, each class in turn."""
    shape = (task.pictures, task.channels, task.image_size, task.image_size)
    return torch.randn(shape, generator=streams.torch("data_order")), torch.arange(task.pictures) % task.classes


def gradient_moments(
    network: Network, pictures: Tensor, labels: Tensor, samples: int, streams: Streams
) -> tuple[Tensor, Tensor]:
    """The mean and the variance of d NLL / d mu over draws, [D] both, of the measured layer, in double precision.

    Since w = mu + noise, d NLL / d mu is the gradient at the drawn weights.
    """
    # Welford's running mean and sum of squares: no gradient but the current one is kept.
    mean = squares = torch.zeros((), dtype=torch.float64)
    for sample in range(samples):
        leaves = [weights.detach() for weights in network.sample(1, StreamNoise(streams, (sample,))).weights]
        leaves[MEASURED].requires_grad_()
        loss = nll(network.logits(pictures, Draws(tuple(leaves))), labels)
        (found,) = torch.autograd.grad(loss, leaves[MEASURED])
        gradient = found.flatten().double()
        change = gradient - mean
        mean = mean + change / (sample + 1)
        squares = torch.addcmul(squares, change, gradient - mean)
    return mean, squares / (samples - 1)
