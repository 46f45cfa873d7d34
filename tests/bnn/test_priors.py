"""Priors, especially the radial one: a non-negative KL, a known slope and a bounded gradient."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from scipy import integrate, stats
from support.noise import SeededNoise
from torch import Tensor

from robustness.bnn.posteriors import GaussianPosterior, PointPosterior, RadialPosterior
from robustness.bnn.priors import (
    GaussianPrior,
    RadialPrior,
    ScaleMixturePrior,
    mean_log_radius,
    trained_posterior_as_prior,
)


def radial(size: int, seed: int, groups: tuple[int, ...] | None = None) -> RadialPosterior:
    generator = torch.Generator().manual_seed(seed)
    mean = 0.5 * torch.randn(size, generator=generator, dtype=torch.float64)
    return RadialPosterior(mean, torch.randn(size, generator=generator, dtype=torch.float64), groups)


def moved(posterior: RadialPosterior, distance: float) -> RadialPosterior:
    """The same posterior with its mean shifted by `distance` standard deviations, equally in every coordinate."""
    step = distance * posterior.scale() / math.sqrt(posterior.size)
    return RadialPosterior((posterior.mean + step).detach(), posterior.rho.detach(), posterior.groups)


def kl(posterior: RadialPosterior, prior: RadialPrior, draws: int = 64, seed: int = 0) -> Tensor:
    return prior.cross_entropy(posterior, posterior.sample(draws, SeededNoise(seed))) - posterior.entropy()


def test_the_gaussian_prior_yields_the_kl_of_two_gaussians() -> None:
    generator = torch.Generator().manual_seed(0)
    mean, rho, centre = (torch.randn(20, generator=generator, dtype=torch.float64) for _ in range(3))
    posterior = GaussianPosterior(mean, rho)
    prior = trained_posterior_as_prior(GaussianPosterior(centre, rho.flip(0)))
    actual = prior.cross_entropy(posterior, posterior.mean[None]) - posterior.entropy()
    scale = torch.nn.functional.softplus(rho)
    expected = torch.distributions.kl_divergence(
        torch.distributions.Normal(mean, scale), torch.distributions.Normal(centre, scale.flip(0))
    ).sum()
    torch.testing.assert_close(actual.detach(), expected, rtol=1e-5, atol=1e-5)


def test_the_gaussian_kl_has_zero_gradient_at_the_prior() -> None:
    posterior = GaussianPosterior(torch.randn(40), torch.randn(40))
    prior = trained_posterior_as_prior(posterior)
    divergence = prior.cross_entropy(posterior, posterior.mean[None]) - posterior.entropy()
    divergence.backward()  # type: ignore[no-untyped-call]
    assert divergence.item() == pytest.approx(0, abs=1e-4)
    for parameter in posterior.parameters():
        assert parameter.grad is not None
        assert parameter.grad.abs().max().item() < 1e-5


def test_scale_mixture_is_the_mixture_of_two_gaussians() -> None:
    prior = ScaleMixturePrior(share=0.25, wide=1.5, narrow=0.1)
    weights = torch.linspace(-3, 3, 61, dtype=torch.float64)
    expected = np.log(0.25 * stats.norm.pdf(weights, scale=1.5) + 0.75 * stats.norm.pdf(weights, scale=0.1))
    torch.testing.assert_close(prior.log_density(weights[:, None]), torch.as_tensor(expected))


def test_scale_mixture_cross_entropy_agrees_with_quadrature() -> None:
    prior = ScaleMixturePrior(share=0.5, wide=1.0, narrow=0.05)
    posterior = GaussianPosterior(torch.tensor([0.2], dtype=torch.float64), math.log(math.expm1(0.3)))
    draws = posterior.sample(200_000, SeededNoise(5))

    def integrand(w: float) -> float:
        density = 0.5 * stats.norm.pdf(w) + 0.5 * stats.norm.pdf(w, scale=0.05)
        return -float(stats.norm.pdf(w, 0.2, 0.3)) * math.log(density)

    expected, _ = integrate.quad(integrand, -3, 3, points=[0.0, 0.2], limit=200)
    assert prior.cross_entropy(posterior, draws).item() == pytest.approx(expected, rel=0.01)


@pytest.mark.parametrize(("share", "wide", "narrow"), [(0.0, 1.0, 0.1), (1.0, 1.0, 0.1), (0.5, 0.1, 1.0)])
def test_scale_mixture_needs_a_share_and_two_scales(share: float, wide: float, narrow: float) -> None:
    with pytest.raises(ValueError, match="share"):
        ScaleMixturePrior(share, wide, narrow)


@pytest.mark.parametrize("groups", [(30,), (25, 5)])
@pytest.mark.parametrize("distance", [0.0, 0.01, 0.3, 3.0, 30.0])
def test_corrected_radial_kl_is_never_negative(groups: tuple[int, ...], distance: float) -> None:
    posterior = radial(30, 1, groups)
    for other in (posterior, radial(30, 2, groups)):
        prior = trained_posterior_as_prior(other)
        assert isinstance(prior, RadialPrior)
        divergence = kl(moved(posterior, distance), prior, draws=2_000).item()
        assert divergence > -0.02


def test_corrected_radial_kl_is_zero_at_the_prior_itself() -> None:
    for groups in ((30,), (25, 5), (1, 29)):
        posterior = radial(30, 3, groups)
        prior = trained_posterior_as_prior(posterior)
        assert isinstance(prior, RadialPrior)
        assert kl(posterior, prior, draws=4).item() == pytest.approx(0, abs=1e-7)
        # The log densities also agree for each draw.
        draws = posterior.sample(100, SeededNoise(1))
        torch.testing.assert_close(prior.log_density(draws), posterior.log_density(draws))


def test_corrected_radial_cross_entropy_agrees_with_its_monte_carlo_form() -> None:
    posterior, prior_posterior = radial(12, 4), radial(12, 5)
    prior = trained_posterior_as_prior(prior_posterior)
    draws = posterior.sample(100_000, SeededNoise(2)).detach()
    values = -prior.log_density(draws)
    error = (values.std() / math.sqrt(len(values))).item()
    assert prior.cross_entropy(posterior, draws).item() == pytest.approx(values.mean().item(), abs=4 * error)


def expected_log_radius(distance: float, dimension: int) -> float:
    """E[log ||delta e + r u||] for a half-normal r and a uniform direction u, by two-dimensional quadrature."""
    angles = stats.beta((dimension - 1) / 2, (dimension - 1) / 2)

    def integrand(cosine: float, r: float) -> float:
        square = distance**2 + r**2 + 2 * r * distance * cosine
        return float(stats.halfnorm.pdf(r) * angles.pdf((cosine + 1) / 2) / 2) * 0.5 * math.log(square)

    value, _ = integrate.dblquad(integrand, 0, 8, -1, 1, epsabs=1e-7, epsrel=1e-7)
    return value


@pytest.mark.parametrize("distance", [0.2, 1.0])
def test_the_slope_away_from_the_prior_agrees_with_quadrature(distance: float) -> None:
    dimension, h = 5, 0.02
    posterior = RadialPosterior(torch.zeros(dimension, dtype=torch.float64), 0.0)
    prior = trained_posterior_as_prior(posterior)
    assert isinstance(prior, RadialPrior)
    noise = posterior.sample(20_000, SeededNoise(3))

    def divergence(at: float) -> float:
        shifted = moved(posterior, at)
        draws = noise - posterior.mean + shifted.mean
        return float((prior.cross_entropy(shifted, draws) - shifted.entropy()).detach())

    slope = (divergence(distance + h) - divergence(distance - h)) / (2 * h)
    radius = (expected_log_radius(distance + h, dimension) - expected_log_radius(distance - h, dimension)) / (2 * h)
    assert slope == pytest.approx(distance + (dimension - 1) * radius, rel=0.02)


def test_the_cone_has_the_theoretical_slope_in_high_dimensions() -> None:
    dimension, distance = 20_000, 1e-3
    posterior = RadialPosterior(torch.zeros(dimension, dtype=torch.float64), 0.0)
    prior = trained_posterior_as_prior(posterior)
    assert isinstance(prior, RadialPrior)
    rise = (kl(moved(posterior, distance), prior, 8) - kl(posterior, prior, 8)).item()
    assert rise / distance == pytest.approx(math.sqrt(math.pi / 2) * (dimension - 1), rel=0.01)


def test_mean_log_radius_agrees_with_quadrature() -> None:
    generator = torch.Generator().manual_seed(0)
    for scale in (0.0, 1e-3, 0.3, 5.0):
        offset = scale * torch.randn(6, generator=generator, dtype=torch.float64)
        axis = torch.randn(6, generator=generator, dtype=torch.float64)

        def integrand(r: float, offset: Tensor = offset, axis: Tensor = axis) -> float:
            return float(stats.norm.pdf(r)) * math.log(float((offset + r * axis).norm()))

        ends = ((-9.0, -1e-12), (1e-12, 9.0))
        parts = [integrate.quad(integrand, low, high, limit=400)[0] for low, high in ends]
        assert mean_log_radius(offset, axis[None]).item() == pytest.approx(sum(parts), rel=1e-6, abs=1e-8)


def test_the_uncorrected_radial_prior_fails() -> None:
    """The paper's "KL" is far below zero for a posterior that is merely wider than its prior."""
    prior_posterior = RadialPosterior(torch.zeros(200, dtype=torch.float64), 0.0)
    wider = RadialPosterior(torch.zeros(200, dtype=torch.float64), 1.0)
    paper = trained_posterior_as_prior(prior_posterior, corrected=False)
    corrected_prior = trained_posterior_as_prior(prior_posterior, corrected=True)
    assert isinstance(paper, RadialPrior)
    assert isinstance(corrected_prior, RadialPrior)
    assert kl(wider, paper).item() < -10
    assert kl(wider, corrected_prior).item() > 0


def test_the_gradient_of_the_mean_at_the_prior_is_finite_and_zero() -> None:
    dimension = 50
    posterior = RadialPosterior(torch.randn(dimension), torch.randn(dimension))
    prior = trained_posterior_as_prior(posterior)
    assert isinstance(prior, RadialPrior)
    largest = 0.0
    for seed in range(10_000):
        if seed % 2_000 == 0:
            posterior.zero_grad()
        divergence = kl(posterior, prior, draws=1, seed=seed)
        (gradient,) = torch.autograd.grad(divergence, posterior.mean)
        assert bool(gradient.isfinite().all())
        largest = max(largest, gradient.abs().max().item())
    assert largest < 1e-2


def test_the_gradient_of_the_scale_at_the_prior_is_zero_within_error() -> None:
    posterior = RadialPosterior(torch.randn(30, dtype=torch.float64), 0.0)
    prior = trained_posterior_as_prior(posterior)
    assert isinstance(prior, RadialPrior)
    gradients = torch.stack(
        [torch.autograd.grad(kl(posterior, prior, draws=1, seed=seed), posterior.rho)[0] for seed in range(2_000)]
    )
    error = gradients.std(0) / math.sqrt(len(gradients))
    assert bool((gradients.mean(0).abs() < 4.5 * error).all())


def test_a_gaussian_posterior_under_a_radial_prior_is_estimated_from_its_draws() -> None:
    prior = trained_posterior_as_prior(radial(10, 6))
    posterior = GaussianPosterior(torch.zeros(10, dtype=torch.float64), 0.0)
    draws = posterior.sample(50, SeededNoise())
    torch.testing.assert_close(prior.cross_entropy(posterior, draws), -prior.log_density(draws).mean())
    uncorrected = RadialPrior(torch.zeros(10), torch.ones(10), (10,), corrected=False)
    with pytest.raises(ValueError, match="only defined for a radial posterior"):
        uncorrected.cross_entropy(posterior, draws)


def test_a_point_posterior_cannot_become_a_prior() -> None:
    with pytest.raises(ValueError, match="PointPosterior"):
        trained_posterior_as_prior(PointPosterior(torch.zeros(3)))


def test_the_default_prior_is_the_unit_gaussian() -> None:
    weights = torch.linspace(-2, 2, 9, dtype=torch.float64)
    torch.testing.assert_close(
        GaussianPrior().log_density(weights[:, None]), torch.as_tensor(stats.norm.logpdf(weights))
    )
