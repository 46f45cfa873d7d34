"""A small network's parameters as one vector, with a hand-written gradient of the negative ELBO.

For networks with a few hundred weights nearly all of a step is overhead: autograd through the layers' modules takes
about ten times as long as the same arithmetic below. The modules remain usable for sampling, predicting and computing
the KL, because their parameters become views of the vector.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional as F

from robustness.bnn.joint import Joint
from robustness.bnn.layers import BayesianLinear
from robustness.bnn.network import Network
from robustness.bnn.posteriors import LOG_TWO_PI, GaussianPosterior, Noise
from robustness.bnn.priors import GaussianPrior
from robustness.errors import MethodError


@dataclass(frozen=True)
class _Views:
    """Views of one layer's part of S draws and of their gradient."""

    weight: Tensor
    """[S, outputs, inputs]"""
    transposed: Tensor
    """[S, inputs, outputs]"""
    bias: Tensor
    """[S, 1, outputs]"""
    weight_gradient: Tensor
    bias_gradient: Tensor


class FlatNetwork:
    """A network with all weights in one vector, w = mu + sigma z, and a Gaussian likelihood y ~ N(f(x), tau^2).

    `parameters` is (mu, rho, log tau), [2 D + 1], and `gradient` is the gradient of

        1/(S B) sum_s sum_b -log N(y_b | f_s(x_b), tau^2)
        + kl_weight/N sum_i [((mu_i - m_i)^2 + c_i sigma_i^2) / (2 s_i^2) - log sigma_i] + constants

    with a N(m, s^2) prior and N training examples; c_i = Var[w_i] / sigma_i^2 is 1 for a Gaussian posterior and 1/D for
    a radial one.
    """

    def __init__(
        self, network: Network, samples: int, examples: int, kl_weight: float, noise_scale: float, learned_noise: bool
    ) -> None:
        posteriors = _posteriors(network)
        self.network = network
        self.samples, self.learned_noise, self.kl_weight = samples, learned_noise, kl_weight
        self.size = sum(posterior.size for posterior in posteriors)
        self.parameters = torch.empty(2 * self.size + 1)
        self.gradient = torch.zeros_like(self.parameters)
        parts = [self.size, self.size, 1]
        self.mean, self.rho, self.log_noise = torch.split(self.parameters, parts)
        self._mean_gradient, self._rho_gradient, self._noise_gradient = torch.split(self.gradient, parts)
        self.log_noise.fill_(math.log(noise_scale))
        self._draws = torch.empty(samples, self.size)
        self._draws_gradient = torch.empty(samples, self.size)
        self._adopt(posteriors)
        self._spread = Joint.of(posteriors, list(network.priors)).spread  # type: ignore[arg-type]
        shares = torch.cat([posterior.standard_variance() for posterior in posteriors])
        self._prior_mean, prior_scale = _gaussian_priors(network)
        self._one = torch.ones(())
        self._entropy_pull = kl_weight / examples
        self._mean_pull = self._entropy_pull / prior_scale.square()
        self._scale_pull = shares * self._mean_pull

    @property
    def noise_scale(self) -> float:
        """tau, on the scale of the normalised targets."""
        return math.exp(float(self.log_noise))

    def standard_draws(self, count: int, noise: Noise) -> Tensor:
        """Return z for `count` steps, [count, S, D]: the draws before scaling and shifting."""
        parts = []
        for layer, posterior in enumerate(_posteriors(self.network)):
            parts.append(posterior.standard_draws(count * self.samples, noise, layer))
        return torch.cat(parts, dim=1).view(count, self.samples, self.size)

    def step(self, inputs: Tensor, targets: Tensor, standard: Tensor) -> Tensor:
        """Set the gradient for a batch [B, features], [B] and draws z [S, D]; return the mean squared error."""
        sigma = F.softplus(self.rho)
        if self._spread is not None:
            sigma = sigma * self._spread
        torch.addcmul(self.mean, sigma, standard, out=self._draws)
        residual, activations = self._forward(inputs, targets)
        square = residual.square().mean()
        precision = torch.exp(-2.0 * self.log_noise)
        self._backward((residual * (precision / residual.numel())).unsqueeze_(-1), activations)
        if self.learned_noise:
            torch.sub(1.0, precision * square, out=self._noise_gradient)
        by_draw = self._draws_gradient
        torch.addcmul(by_draw.sum(0), self.mean - self._prior_mean, self._mean_pull, out=self._mean_gradient)
        by_sigma = (by_draw * standard).sum(0).addcmul_(sigma, self._scale_pull)
        by_sigma.addcdiv_(self._one, sigma, value=-self._entropy_pull)
        if self._spread is not None:
            by_sigma.mul_(self._spread)
        torch.mul(by_sigma, torch.sigmoid(self.rho), out=self._rho_gradient)
        return square

    def nll(self, squares: Tensor) -> float:
        """Return the mean of -log N(y | f, tau^2) for a mean squared error, at the current tau."""
        return 0.5 * float(squares) / self.noise_scale**2 + math.log(self.noise_scale) + 0.5 * LOG_TWO_PI

    def _forward(self, inputs: Tensor, targets: Tensor) -> tuple[Tensor, list[Tensor]]:
        """Return f - y, [S, B], and the inputs of each layer, [S, B, inputs]."""
        x = inputs.expand(self.samples, -1, -1)
        activations = []
        for index, layer in enumerate(self._layers):
            x = x if index == 0 else x.relu_()
            activations.append(x)
            x = torch.baddbmm(layer.bias, x, layer.transposed)
        return x.squeeze(-1) - targets, activations

    def _backward(self, by_output: Tensor, activations: list[Tensor]) -> None:
        """Set the gradient with respect to every layer's draws, from that with respect to the output [S, B, 1]."""
        for index in range(len(self._layers) - 1, -1, -1):
            layer, x = self._layers[index], activations[index]
            torch.sum(by_output, 1, keepdim=True, out=layer.bias_gradient)
            layer.weight_gradient.copy_(torch.bmm(by_output.transpose(1, 2), x))
            if index > 0:
                # The sign of a ReLU's output, 0 or 1, is its derivative.
                by_output = torch.bmm(by_output, layer.weight).mul_(x.sign())

    def _adopt(self, posteriors: Iterable[GaussianPosterior]) -> None:
        """Move the posteriors' parameters into the vector, and create the layers' views of the draws."""
        self._layers: list[_Views] = []
        start = 0
        for layer, posterior in zip(self.network.layers, posteriors, strict=True):
            if not isinstance(layer, BayesianLinear):
                raise MethodError("regression supports only networks of linear layers")
            end, bias = start + posterior.size, start + layer.weights
            for parameter, part in ((posterior.mean, self.mean[start:end]), (posterior.rho, self.rho[start:end])):
                part.copy_(parameter.detach())
                parameter.data = part
            shape = (self.samples, layer.outputs, layer.inputs)
            weight = self._draws[:, start:bias].view(shape)
            self._layers.append(
                _Views(
                    weight,
                    weight.transpose(1, 2),
                    self._draws[:, bias:end].unsqueeze(1),
                    self._draws_gradient[:, start:bias].view(shape),
                    self._draws_gradient[:, bias:end].unsqueeze(1),
                )
            )
            start = end


def _posteriors(network: Network) -> list[GaussianPosterior]:
    posteriors = network.posteriors()
    if network.dropout_rate > 0 or not all(isinstance(posterior, GaussianPosterior) for posterior in posteriors):
        raise MethodError("regression supports only networks with a mean-field or radial posterior")
    return posteriors  # type: ignore[return-value]


def _gaussian_priors(network: Network) -> tuple[Tensor, Tensor]:
    """Return the means and scales of the priors of all weights, [D] each."""
    means, scales = [], []
    for prior, posterior in zip(network.priors, network.posteriors(), strict=True):
        if not isinstance(prior, GaussianPrior):
            raise MethodError("regression supports only the Gaussian prior: leave out 'prior' or set it to 'gaussian'")
        means.append(prior.mean.expand(posterior.size))
        scales.append(prior.scale.expand(posterior.size))
    return torch.cat(means), torch.cat(scales)
