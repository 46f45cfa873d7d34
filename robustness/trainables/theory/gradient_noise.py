"""The noise of the NLL's gradient before any training: the paper's figure of exploding gradient variance.

The space of the trainable `gradient_noise` has `channels` and `sigma`, the initial scale of every weight in every
layer. The network is a 3 x 3 convolution from the images to C channels, the 3 x 3 convolution from C to C channels
whose gradient is measured, `further` more of the same, global pooling and a linear layer. The paper does not specify
the network, input and loss of its figure; here the loss is the NLL on one batch of images with standard normal pixels,
at means initialised as in He et al. (2015).

A trial has one `EpochResult`. Replicates differ in initial means, images and draws; the error is their spread.
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
    """Measure the variance of d NLL / d mu over draws in the convolution from C to C channels."""
    start = time.perf_counter()
    options = read_options(NoiseOptions, trial.training, "training", StudyFileError)
    task = read_options(PictureOptions, trial.task, "task", TaskError)
    streams = Streams.of(trial)
    network = build(trial, task, options)
    pictures, labels = batch(task, streams)
    mean, variance = gradient_moments(network, pictures, labels, options.samples, streams)
    weights = mean.numel()
    noise = float(variance.sum())
    # Subtract the noise that remains in the mean of a finite number of draws.
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
    """Return the untrained network of a trial, with every scale at the trial's sigma."""
    model = read_options(ConvolutionOptions, trial.model, "model", ModelError)
    width = int(trial.hyperparameters["channels"])
    wide = (Convolution(width, width),) * (1 + model.further)
    shape: Blueprint = (Convolution(task.channels, width), *wide, GlobalPool(), Heads(2 * width, task.classes))
    rho = float(inverse_softplus(float(trial.hyperparameters["sigma"])))
    method_options = read_method_options(trial.method, trial.method_options)
    training = TrainingOptions(epochs=1, grouping=options.grouping)
    setting = Setting(shape, {"initial_rho": rho}, method_options, training, Streams.of(trial))
    (network,) = find_method(trial.method).members(setting)
    return network


def batch(task: PictureOptions, streams: Streams) -> tuple[Tensor, Tensor]:
    """Return images [batch, channels, size, size] of standard normal pixels, and labels cycling through the classes."""
    shape = (task.pictures, task.channels, task.image_size, task.image_size)
    return torch.randn(shape, generator=streams.torch("data_order")), torch.arange(task.pictures) % task.classes


def gradient_moments(
    network: Network, pictures: Tensor, labels: Tensor, samples: int, streams: Streams
) -> tuple[Tensor, Tensor]:
    """Return the mean and variance over draws of the measured layer's d NLL / d mu, [D] each, in double precision.

    Since w = mu + noise, d NLL / d mu is the gradient at the drawn weights.
    """
    # Welford's running mean and sum of squares, so that only the current gradient is in memory.
    mean = squares = torch.zeros((), dtype=torch.float64)
    for sample in range(samples):
        leaves = [weights.detach() for weights in network.sample(1, StreamNoise(streams, (sample,))).weights]
        leaves[MEASURED].requires_grad_()
        loss = nll(network.logits(pictures, Draws(tuple(leaves))), labels)
        gradient = torch.autograd.grad(loss, leaves[MEASURED])[0].flatten().double()
        change = gradient - mean
        mean = mean + change / (sample + 1)
        squares = torch.addcmul(squares, change, gradient - mean)
    return mean, squares / (samples - 1)
