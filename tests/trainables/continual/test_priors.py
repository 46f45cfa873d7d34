"""The prior at the start of a task, where posterior and prior are identical."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
import torch
from support.files import continual_trial, write_idx_files
from support.noise import SeededNoise
from torch import Tensor

from robustness.bnn.posteriors import GaussianPosterior
from robustness.bnn.priors import GaussianPrior, RadialPrior
from robustness.trainables.continual.training import Learner


def at_the_second_task(folder: Path, method: str, heads: int = 3) -> tuple[Learner, list[int]]:
    """A learner in double precision at the start of its second task, and the layers trained by the first."""
    learner = Learner.start(continual_trial(write_idx_files(folder), method, heads, epochs=2))
    learner.next_epoch()
    learner.network.double()
    learner.begin_task()
    layers = learner.active_layers()
    return learner, layers if heads == 1 else layers[:-1]


def kl(learner: Learner, layers: list[int], seed: int) -> Tensor:
    """The KL of these layers to their priors, as in the loss with one draw."""
    draws = learner.draw(layers, 1, SeededNoise(seed))
    logits, labels = torch.zeros(1, 1, 2, dtype=torch.float64), torch.zeros(1, dtype=torch.int64)
    loss = learner.loss(layers, draws, logits, labels, examples=1)
    return loss.cross_entropy - loss.entropy


def parameters(learner: Learner, layers: list[int], name: str) -> list[torch.nn.Parameter]:
    return [getattr(learner.network.posteriors()[layer], name) for layer in layers]


@pytest.mark.parametrize("heads", [1, 3])
def test_a_gaussian_prior_has_kl_0_and_no_gradient(tmp_path: Path, heads: int) -> None:
    learner, layers = at_the_second_task(tmp_path, "mfvi", heads)
    divergence = kl(learner, layers, seed=0)
    assert all(isinstance(learner.network.priors[layer], GaussianPrior) for layer in layers)
    assert divergence.item() == pytest.approx(0, abs=1e-4)
    for name in ("mean", "rho"):
        for gradient in torch.autograd.grad(divergence, parameters(learner, layers, name), retain_graph=True):
            assert gradient.abs().max().item() < 1e-4


@pytest.mark.parametrize("heads", [1, 3])
@pytest.mark.parametrize("method", ["radial", "radial_uncorrected"])
def test_a_radial_prior_has_kl_0_on_shared_draws(tmp_path: Path, method: str, heads: int) -> None:
    learner, layers = at_the_second_task(tmp_path, method, heads)
    for seed in range(5):
        assert kl(learner, layers, seed).item() == pytest.approx(0, abs=1e-6)
    draws = learner.network.sample(20, SeededNoise(9))
    for layer in layers:
        prior, posterior = learner.network.priors[layer], learner.network.posteriors()[layer]
        assert isinstance(prior, RadialPrior)
        assert prior.corrected is (method == "radial")
        torch.testing.assert_close(
            prior.log_density(draws.weights[layer]), posterior.log_density(draws.weights[layer]), rtol=0, atol=1e-7
        )


@pytest.mark.parametrize("method", ["radial", "radial_uncorrected"])
def test_the_mean_s_gradient_is_0_since_draws_come_with_both_signs(tmp_path: Path, method: str) -> None:
    learner, layers = at_the_second_task(tmp_path, method)
    for seed in range(20):
        for gradient in torch.autograd.grad(kl(learner, layers, seed), parameters(learner, layers, "mean")):
            assert gradient.abs().max().item() < 1e-9


def test_the_scale_s_gradient_is_0_within_error(tmp_path: Path) -> None:
    learner, layers = at_the_second_task(tmp_path, "radial")
    rhos = parameters(learner, layers, "rho")
    gradients = torch.stack([torch.cat(torch.autograd.grad(kl(learner, layers, seed), rhos)) for seed in range(600)])
    error = gradients.std(0) / math.sqrt(len(gradients))
    assert bool((error > 0).all())
    scores = gradients.mean(0) / error
    assert scores.abs().max().item() < 5
    # The scores are independent up to one constraint per layer, so their mean square is about 1.
    assert scores.square().mean().item() == pytest.approx(1, abs=0.25)


def test_the_paper_s_prior_pushes_every_scale_up(tmp_path: Path) -> None:
    """Without the correction term, as in the paper, d KL / d log sigma is 1/D - 1 for every weight; it should be 0."""
    learner, layers = at_the_second_task(tmp_path, "radial_uncorrected")
    for layer in layers:
        posterior = learner.network.posteriors()[layer]
        assert isinstance(posterior, GaussianPosterior)
        (gradient,) = torch.autograd.grad(kl(learner, [layer], seed=0), posterior.rho)
        # d log sigma / d rho for sigma = log(1 + exp(rho)).
        slope = posterior.rho.sigmoid() / posterior.scale()
        torch.testing.assert_close(gradient / slope, torch.full_like(gradient, 1 / posterior.size - 1))


def test_the_first_prior_and_that_of_a_new_head_are_unit_gaussians(tmp_path: Path) -> None:
    learner = Learner.start(continual_trial(write_idx_files(tmp_path), "radial", heads=3, epochs=1))
    learner.begin_task()
    for prior in learner.network.priors:
        assert isinstance(prior, GaussianPrior)
        assert (float(prior.mean), float(prior.scale)) == (0.0, 1.0)
    learner, layers = at_the_second_task(tmp_path, "radial")
    assert isinstance(learner.network.priors[layers[-1]], RadialPrior)
    assert isinstance(learner.network.priors[learner.active_layers()[-1]], GaussianPrior)
