"""A network of Bayesian layers: draws its weights, applies them, and computes its KL."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from robustness.bnn.joint import Joint
from robustness.bnn.layers import BayesianConvolution, BayesianLayer, BayesianLinear, MakePosterior
from robustness.bnn.parts import Parts, parts
from robustness.bnn.posteriors import GaussianPosterior, Noise, Posterior
from robustness.bnn.priors import GaussianPrior, Prior
from robustness.bnn.vectors import Vector


@dataclass(frozen=True)
class Convolution:
    """A 3 x 3 convolution and a ReLU."""

    inputs: int
    outputs: int


@dataclass(frozen=True)
class Pool:
    """2 x 2 max pooling, skipped if a side of the image is a single pixel; followed by dropout."""


@dataclass(frozen=True)
class GlobalPool:
    """Concatenated mean and maximum over the image; followed by dropout."""


@dataclass(frozen=True)
class Dense:
    """A linear layer and a ReLU; followed by dropout."""

    inputs: int
    outputs: int


@dataclass(frozen=True)
class Heads:
    """The linear output layer, or one for each of several tasks."""

    inputs: int
    outputs: int
    count: int = 1


Step = Convolution | Pool | GlobalPool | Dense | Heads
Blueprint = tuple[Step, ...]
"""Architecture of a network, from images to logits; the same for every arm."""


def weights_in(blueprint: Blueprint) -> int:
    """Number of weights and biases of a network with this blueprint, counted without building it."""
    total = 0
    for step in blueprint:
        match step:
            case Convolution(inputs, outputs):
                total += (9 * inputs + 1) * outputs
            case Dense(inputs, outputs):
                total += (inputs + 1) * outputs
            case Heads(inputs, outputs, count):
                total += (inputs + 1) * outputs * count
    return total


@dataclass(frozen=True)
class Draws:
    """Draws of all weights and of the corresponding dropout masks."""

    weights: tuple[Tensor, ...]
    """[samples, D] for each layer."""
    joined: Tensor | None = None
    """The draws of all layers concatenated, [samples, D], if they were drawn jointly."""
    dropout: Callable[[Tensor, int, int], Tensor] | None = None
    """Applies dropout to an activation, given the index of the sample and of the step in the blueprint."""
    entropy: Tensor | None = None
    """Entropy of the posterior; None for means."""
    cross_entropy: Tensor | None = None
    """Closed-form cross-entropy with respect to the priors; None for means, and where no closed form exists."""

    @property
    def samples(self) -> int:
        return len(self.weights[0])

    def to(self, dtype: torch.dtype) -> Draws:
        """The same draws for a forward pass in `dtype`; jointly drawn layers are converted by a single operation."""
        if self.weights[0].dtype == dtype:
            return self
        if self.joined is None:
            return replace(self, weights=tuple(each.to(dtype) for each in self.weights))
        joined = self.joined.to(dtype)
        sizes = [each.shape[1] for each in self.weights]
        return replace(self, weights=torch.split(joined, sizes, dim=1), joined=joined)


class Network(nn.Module):
    """A network with a given blueprint; `means` and `sample` draw its weights, `logits` applies them."""

    def __init__(
        self,
        blueprint: Blueprint,
        make_posterior: MakePosterior,
        generator_of_layer: Callable[[int], torch.Generator],
        make_prior: Callable[[Posterior], Prior] | None = None,
        dropout_rate: float = 0.0,
    ) -> None:
        """The initial means of layer i come from `generator_of_layer(i)`, independent of its posterior."""
        super().__init__()
        self.blueprint = blueprint
        self.dropout_rate = dropout_rate
        layers: list[BayesianLayer] = []
        for step in blueprint:
            if isinstance(step, Convolution):
                layers.append(BayesianConvolution(step.inputs, step.outputs))
            elif isinstance(step, Dense):
                layers.append(BayesianLinear(step.inputs, step.outputs))
            elif isinstance(step, Heads):
                layers.extend(BayesianLinear(step.inputs, step.outputs) for _ in range(step.count))
        for index, layer in enumerate(layers):
            layer.set_posterior(make_posterior, generator_of_layer(index))
        self.layers = nn.ModuleList(layers)
        prior = make_prior or (lambda _: GaussianPrior())
        self.priors = nn.ModuleList(prior(layer.posterior) for layer in layers)
        self._layouts = [layer.layout for layer in layers]
        self._sizes = [layer.posterior.size for layer in layers]
        self._vectors: tuple[Vector, ...] = ()
        self._cached_joint: tuple[tuple[object, ...], Joint] | None = None

    def posteriors(self) -> list[Posterior]:
        """Posteriors of the layers, from input to output."""
        return [layer.posterior for layer in self._layers()]

    @property
    def variational(self) -> bool:
        """Whether the weights have a distribution, so that the loss has a KL term."""
        return isinstance(self.posteriors()[0], GaussianPosterior)

    @property
    def random(self) -> bool:
        """Whether predictions are stochastic."""
        return self.variational or self.dropout_rate > 0

    def join(self) -> tuple[Vector, ...]:
        """Store the means of all layers in one vector and their rhos in another; return the vectors.

        Gradients of draws then accumulate in the vectors. Moving the network to another device separates them again.
        """
        if not self._joined():
            posteriors = self.posteriors()
            rhos = [posterior.rho for posterior in posteriors if isinstance(posterior, GaussianPosterior)]
            groups = ([posterior.mean for posterior in posteriors], rhos)
            self._vectors = tuple(Vector.join(group) for group in groups if group)
        return self._vectors

    def means(self) -> Draws:
        """The means as a single draw without dropout."""
        return self._draws(self._all_means()[None])

    def sample(self, samples: int, noise: Noise) -> Draws:
        """Draw the weights, [samples, D] for each layer, and the dropout masks."""
        dropout = self._dropout(noise) if self.dropout_rate > 0 else None
        if not self.variational:
            return self._draws(self._all_means().expand(samples, -1), dropout)
        joint = self._joint()
        mean, rho = self._all_parameters()
        drawn = joint.draw(samples, noise, mean, rho)
        cross_entropy = None if joint.prior is None else drawn.cross_entropy
        return self._draws(drawn.weights, dropout, drawn.entropy, cross_entropy)

    def logits(self, images: Tensor, draws: Draws, head: int = 0) -> Tensor:
        """Logits [samples, batch, classes] of images [batch, channels, height, width] or vectors [batch, features].

        Layers compute in the dtype of the images.
        """
        draws = draws.to(images.dtype)
        x: list[Tensor] = [images]
        layers = iter(zip(self._layers(), self._parts(draws), strict=True))
        for place, step in enumerate(self.blueprint):
            if isinstance(step, Convolution | Dense):
                layer, drawn = next(layers)
                x = layer(x, drawn)
                # ReLU and max pooling commute, and ReLU after pooling costs a quarter as much.
                if not isinstance(self.blueprint[place + 1], Pool):
                    x = [F.relu(y, inplace=True) for y in x]
            elif isinstance(step, Pool):
                x = [F.relu(F.max_pool2d(y, 2) if min(y.shape[-2:]) > 1 else y, inplace=True) for y in x]
            elif isinstance(step, GlobalPool):
                x = [torch.cat([y.mean((-2, -1)), y.amax((-2, -1))], dim=1) for y in x]
            else:
                layer, drawn = list(layers)[head]
                x = layer(x, drawn)
            if draws.dropout is not None and not isinstance(step, Convolution | Heads):
                x = [draws.dropout(y, sample, place) for sample, y in enumerate(x)]
        return torch.stack(x)

    def entropy(self) -> Tensor:
        """Entropy of the posterior over all weights, in nats."""
        return torch.stack([posterior.entropy() for posterior in self.posteriors()]).sum()

    def cross_entropy(self, draws: Draws, estimate: Literal["closed_form", "monte_carlo"] = "closed_form") -> Tensor:
        """-E_q[log p(w)] over all weights in nats, in closed form where one exists unless `estimate` says otherwise."""
        closed = estimate == "closed_form"
        if closed and draws.cross_entropy is not None:
            return draws.cross_entropy
        parts = []
        for posterior, prior, weights in zip(self.posteriors(), self._priors(), draws.weights, strict=True):
            parts.append(prior.cross_entropy(posterior, weights) if closed else prior.monte_carlo(weights))
        return torch.stack(parts).sum()

    def _draws(self, joined: Tensor, *others: Any) -> Draws:
        return Draws(torch.split(joined, self._sizes, dim=1), joined, *others)

    def _joined(self) -> bool:
        return bool(self._vectors) and all(vector.intact() for vector in self._vectors)

    def _all_means(self) -> Tensor:
        """Means of all layers, [D]."""
        return self._vectors[0].value if self._joined() else torch.cat([each.mean for each in self.posteriors()])

    def _all_parameters(self) -> tuple[Tensor, Tensor]:
        """Means and rhos of all layers, each [D]."""
        if self._joined():
            return self._vectors[0].value, self._vectors[1].value
        posteriors = self.posteriors()
        rhos: list[Tensor] = [each.rho for each in posteriors if isinstance(each, GaussianPosterior)]
        return torch.cat([each.mean for each in posteriors]), torch.cat(rhos)

    def _joint(self) -> Joint:
        """All layers jointly, rebuilt when a prior is replaced or the network moves to another device."""
        first = self.posteriors()[0].mean
        key = (*self._priors(), first.device, first.dtype)
        if self._cached_joint is None or self._cached_joint[0] != key:
            self._cached_joint = (key, Joint.of(self.posteriors(), self._priors()))  # type: ignore[arg-type]
        return self._cached_joint[1]

    def _parts(self, draws: Draws) -> list[Parts]:
        """Weight and bias of each draw, for each layer."""
        if draws.joined is not None:
            return parts(draws.joined, self._layouts)
        return [parts(weights, [layout])[0] for weights, layout in zip(draws.weights, self._layouts, strict=True)]

    def _layers(self) -> Sequence[BayesianLayer]:
        return self.layers  # type: ignore[return-value]

    def _priors(self) -> Sequence[Prior]:
        return self.priors  # type: ignore[return-value]

    def _dropout(self, noise: Noise) -> Callable[[Tensor, int, int], Tensor]:
        keep = 1.0 - self.dropout_rate
        generators: dict[int, torch.Generator] = {}

        def drop(x: Tensor, sample: int, place: int) -> Tensor:  # noqa: ARG001
            generator = generators.setdefault(place, noise.generator("dropout", place))
            mask = torch.empty_like(x).bernoulli_(keep, generator=generator)
            return x * mask / keep

        return drop
