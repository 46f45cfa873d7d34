"""Where the draws of a layer lie: the paper's soap bubble, measured on the project's own layers.

The space of the trainable `soap_bubble` has a `layer` (`linear`, or a 3 x 3 `convolution`) with its `inputs` and
`outputs`, and `initial_rho`; the dimension D counts weights and biases, which a radial posterior normalises together.
The `training` section is `BubbleOptions`. There is no task and no model.

A trial has one `EpochResult`, with the curves `radius_edges`, `radius_counts`, `weight_edges` and `weight_counts`: the
histograms of ||(w - mu) / sigma|| and of (w_1 - mu_1) / sigma_1 over the draws.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import numpy as np
import torch
from scipy.stats import kstest

from robustness.bnn.network import Convolution, Heads
from robustness.bnn.posteriors import GaussianPosterior
from robustness.errors import StudyFileError
from robustness.methods import find_method, read_method_options
from robustness.methods.method import Setting
from robustness.streams import Streams
from robustness.trainables.classification.noise import StreamNoise
from robustness.trainables.classification.options import TrainingOptions
from robustness.trainables.theory import densities
from robustness.trainables.theory.options import BubbleOptions
from robustness.trainables.theory.study import SOAP_BUBBLE_METRIC
from robustness.trial import EpochResult, Trial
from robustness.validation import read_options

AT_ONCE = 4_000_000
"""Weights drawn at a time."""

Cdf = Callable[[densities.Values], densities.Values]


def radius_cdf(method: str, dimension: int) -> Cdf:
    """Return the theoretical CDF of the radius of a method's draws."""
    if method == "radial":
        return densities.radial_radius_cdf
    return lambda radius: densities.gaussian_radius_cdf(radius, dimension)


def weight_cdf(method: str, dimension: int) -> Cdf:
    """Return the theoretical CDF of a single weight of a method's draws."""
    if method == "radial":
        return lambda weight: densities.radial_weight_cdf(weight, dimension)
    return densities.gaussian_weight_cdf


def train(trial: Trial) -> Iterator[EpochResult]:
    """Draw a layer's weights, and compare the radii and the first weight with theory."""
    start = time.perf_counter()
    options = read_options(BubbleOptions, trial.training, "training", StudyFileError)
    dimension, radii, weights = draws(trial, options.samples)
    # The theoretical CDF of the draws should be uniform on [0, 1].
    radius_test = kstest(radius_cdf(trial.method, dimension)(radii), "uniform")
    weight_test = kstest(weight_cdf(trial.method, dimension)(weights), "uniform")
    measures = {
        "dimension": float(dimension),
        "samples": float(options.samples),
        "radius_mean": float(radii.mean()),
        "radius_sd": float(radii.std(ddof=1)),
        "weight_sd": float(weights.std(ddof=1)),
        "ks_distance": float(radius_test.statistic),
        SOAP_BUBBLE_METRIC: float(radius_test.pvalue),
        "weight_ks_distance": float(weight_test.statistic),
        "weight_ks_p_value": float(weight_test.pvalue),
    }
    curves: dict[str, list[float]] = {}
    for name, values in (("radius", radii), ("weight", weights)):
        counts, edges = np.histogram(values, bins=options.bins)
        curves |= {f"{name}_edges": edges.tolist(), f"{name}_counts": [float(count) for count in counts]}
    yield EpochResult(1, measures, seconds=time.perf_counter() - start, curves=curves)


def draws(trial: Trial, samples: int) -> tuple[int, densities.Values, densities.Values]:
    """Return D, and ||(w - mu) / sigma|| and (w_1 - mu_1) / sigma_1 of each draw of the layer, [samples] each."""
    configuration = trial.hyperparameters
    shape = Convolution if configuration["layer"] == "convolution" else Heads
    blueprint = (shape(int(configuration["inputs"]), int(configuration["outputs"])),)
    streams = Streams.of(trial)
    method_options = read_method_options(trial.method, trial.method_options)
    setting = Setting(blueprint, configuration, method_options, TrainingOptions(epochs=1), streams)
    (network,) = find_method(trial.method).members(setting)
    (posterior,) = network.posteriors()
    if not isinstance(posterior, GaussianPosterior):
        raise TypeError(f"{trial.method} has no scales")
    piece = max(1, AT_ONCE // posterior.size)
    radii, firsts = [], []
    with torch.no_grad():
        for number, begin in enumerate(range(0, samples, piece)):
            sampled = network.sample(min(piece, samples - begin), StreamNoise(streams, (number,)))
            standard = (sampled.weights[0] - posterior.mean) / posterior.scale()
            radii.append(torch.linalg.vector_norm(standard, dim=1, dtype=torch.float64).numpy())
            firsts.append(standard[:, 0].double().numpy())
    return posterior.size, np.concatenate(radii), np.concatenate(firsts)
