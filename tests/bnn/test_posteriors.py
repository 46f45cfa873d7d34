"""Posteriors, checked against numerical integration, closed forms and scipy."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
import pytest
import torch
from scipy import integrate, stats
from support.noise import SeededNoise
from torch.nn import functional as F

from robustness.bnn.posteriors import (
    GaussianPosterior,
    PointPosterior,
    Posterior,
    RadialPosterior,
    TruncatedGaussianPosterior,
    log_sphere,
)
from robustness.bnn.priors import GaussianPrior

DRAWS = 100_000


def heterogeneous(kind: type[GaussianPosterior], groups: Sequence[int]) -> GaussianPosterior:
    """A posterior with a different mean and scale for each weight, in double precision."""
    generator = torch.Generator().manual_seed(sum(groups))
    size = sum(groups)
    means = torch.randn(size, generator=generator, dtype=torch.float64)
    return kind(means, torch.randn(size, generator=generator, dtype=torch.float64), groups)


def test_radial_of_one_weight_is_the_gaussian() -> None:
    weights = torch.linspace(-4, 4, 41, dtype=torch.float64)[:, None]
    mean, rho = torch.tensor([0.3], dtype=torch.float64), torch.tensor([-0.7], dtype=torch.float64)
    radial, gaussian = RadialPosterior(mean, rho), GaussianPosterior(mean, rho)
    reference = stats.norm.logpdf(weights[:, 0], loc=0.3, scale=math.log1p(math.exp(-0.7)))
    torch.testing.assert_close(radial.log_density(weights), torch.as_tensor(reference), atol=1e-6, rtol=0)
    torch.testing.assert_close(radial.entropy(), gaussian.entropy(), atol=1e-6, rtol=0)
    torch.testing.assert_close(radial.variance(), gaussian.variance(), atol=1e-6, rtol=0)


def test_radial_density_integrates_to_one_in_two_dimensions() -> None:
    posterior = heterogeneous(RadialPosterior, (2,))
    centre, scale = posterior.mean.detach().numpy(), posterior.scale().detach().numpy()

    def density(angle: float, log_radius: float) -> float:
        # Polar coordinates around the mean with the log radius, since the density is infinite at the mean.
        r = math.exp(log_radius)
        point = centre + scale * r * np.array([math.cos(angle), math.sin(angle)])
        value = posterior.log_density(torch.as_tensor(point)).exp().item()
        return value * float(np.prod(scale)) * r * r

    total, _ = integrate.dblquad(density, -16, 2.4, 0, 2 * math.pi, epsabs=1e-5, epsrel=1e-5)
    assert total == pytest.approx(1.0, abs=1e-3)


def test_radial_density_integrates_to_one_in_three_dimensions() -> None:
    posterior = heterogeneous(RadialPosterior, (3,))
    centre, scale = posterior.mean.detach(), posterior.scale().detach()
    x, step = np.linspace(-16, 2.4, 401, retstep=True)
    angle, width = np.linspace(0, 2 * np.pi, 24, endpoint=False, retstep=True)
    height, weight = np.polynomial.legendre.leggauss(12)
    r, a, z = (torch.as_tensor(g) for g in np.meshgrid(np.exp(x), angle, height, indexing="ij"))
    ring = torch.sqrt(1 - z.square())
    unit = torch.stack([ring * torch.cos(a), ring * torch.sin(a), z], dim=-1)
    density = posterior.log_density(centre + scale * r[..., None] * unit).exp().detach() * scale.prod() * r**3
    total = float((density * torch.as_tensor(weight)).sum()) * step * width
    assert total == pytest.approx(1.0, abs=1e-3)


@pytest.mark.parametrize("kind", [GaussianPosterior, RadialPosterior])
@pytest.mark.parametrize("groups", [(1,), (2,), (7,), (50,), (12, 3), (40, 1)])
def test_entropy_and_cross_entropy_agree_with_monte_carlo(
    kind: type[GaussianPosterior], groups: tuple[int, ...]
) -> None:
    posterior = heterogeneous(kind, groups)
    prior = GaussianPrior(mean=0.2, scale=1.7)
    with torch.no_grad():
        draws = posterior.sample(DRAWS, SeededNoise(4))
        for values, closed in (
            (-posterior.log_density(draws), posterior.entropy()),
            (-prior.log_density(draws), prior.cross_entropy(posterior, draws)),
        ):
            error = values.std() / math.sqrt(DRAWS)
            assert abs(float(values.mean() - closed)) < 3 * float(error)


def mean_over_radius(function: Callable[[float], float]) -> float:
    """E[f(r)] for a half-normal r, by quadrature."""
    value, _ = integrate.quad(
        lambda r: stats.halfnorm.pdf(r) * function(r), 0, np.inf, limit=500, epsabs=0, epsrel=1e-11
    )
    return float(value)


@pytest.mark.parametrize("dimension", [1, 2, 3, 10, 1_000, 147_456, 1_000_000])
def test_radial_entropy_and_cross_entropy_agree_with_quadrature_over_the_radius(dimension: int) -> None:
    sigma, mu = 0.37, 0.05
    rho = math.log(math.expm1(sigma))
    posterior = RadialPosterior(torch.full((dimension,), mu, dtype=torch.float64), rho)
    # The area of the sphere from the factorial formulas for even and odd dimensions.
    k, odd = divmod(dimension, 2)
    if odd:
        gamma = 0.5 * math.log(math.pi) + math.fsum(math.log(i - 0.5) for i in range(1, k + 1))
    else:
        gamma = math.fsum(math.log(i) for i in range(1, k))
    sphere = math.log(2) + dimension / 2 * math.log(math.pi) - gamma
    assert log_sphere(dimension) == pytest.approx(sphere, rel=1e-9)
    log_density = mean_over_radius(
        lambda r: stats.halfnorm.logpdf(r) - (dimension - 1) * math.log(r) - sphere - dimension * math.log(sigma)
    )
    assert posterior.entropy().item() == pytest.approx(-log_density, rel=1e-6)
    # E[(mu + sigma u r)^2] summed over the weights, u uniform on the sphere: D mu^2 + sigma^2 E[r^2].
    squares = mean_over_radius(lambda r: dimension * mu**2 + sigma**2 * r**2)
    expected = 0.5 * squares + 0.5 * dimension * math.log(2 * math.pi)
    assert GaussianPrior().cross_entropy(posterior, posterior.mean[None]).item() == pytest.approx(expected, rel=1e-6)


def test_radial_kl_to_the_unit_gaussian_is_smallest_at_sigma_equal_to_sqrt_of_the_dimension() -> None:
    dimension = 10_000
    prior = GaussianPrior()

    def kl(sigma: float) -> float:
        posterior = RadialPosterior(torch.zeros(dimension, dtype=torch.float64), math.log(math.expm1(sigma)))
        return (prior.cross_entropy(posterior, posterior.mean[None]) - posterior.entropy()).item()

    assert kl(100.0) < min(kl(98.0), kl(102.0), kl(1.0))
    assert kl(100.0) / dimension == pytest.approx(0.635, abs=0.001)


def test_radial_directions_are_uniform_and_radii_half_normal() -> None:
    dimension, draws = 5, 20_000
    posterior = RadialPosterior(torch.zeros(dimension), math.log(math.expm1(1.0)))
    noise = posterior.standard_draws(draws, SeededNoise(1), 0).numpy()
    radius = np.linalg.norm(noise, axis=1)
    assert stats.kstest(radius, stats.halfnorm.cdf).pvalue > 0.01
    # For a coordinate u of a uniform direction, (u + 1) / 2 has a beta distribution.
    for coordinate in (noise / radius[:, None]).T:
        assert (
            stats.kstest((coordinate + 1) / 2, stats.beta((dimension - 1) / 2, (dimension - 1) / 2).cdf).pvalue > 0.01
        )
    assert abs(stats.spearmanr(radius, noise[:, 0] / radius).statistic) < 0.03


def test_each_group_of_a_radial_layer_has_its_own_radius() -> None:
    posterior = RadialPosterior(torch.zeros(8), math.log(math.expm1(1.0)), (6, 2))
    noise = posterior.standard_draws(5_000, SeededNoise(2), 0)
    weight, bias = noise[:, :6].norm(dim=1).numpy(), noise[:, 6:].norm(dim=1).numpy()
    assert stats.kstest(weight, stats.halfnorm.cdf).pvalue > 0.01
    assert stats.kstest(bias, stats.halfnorm.cdf).pvalue > 0.01
    assert abs(stats.spearmanr(weight, bias).statistic) < 0.05


def mean_distance(kind: type[GaussianPosterior], dimension: int, draws: int) -> float:
    posterior = kind(torch.zeros(dimension), 0.0)
    with torch.no_grad():
        distances = [float((posterior.sample(2, SeededNoise(seed)).diff(dim=0)).norm()) for seed in range(draws)]
    return float(np.mean(distances))


def test_distances_between_samples_do_not_grow_with_the_dimension_for_radial_but_do_for_gaussian() -> None:
    # Directions are nearly orthogonal: the distance is sigma sqrt(r_1^2 + r_2^2), whose mean is sigma sqrt(pi / 2).
    assert mean_distance(RadialPosterior, 1_000, 12_000) == pytest.approx(
        math.log(2) * math.sqrt(math.pi / 2), rel=0.02
    )
    # The same seed draws the same radii in every dimension, so 60 seeds compare the two to a fraction of a percent.
    few, many = mean_distance(RadialPosterior, 1_000, 60), mean_distance(RadialPosterior, 10**6, 60)
    assert many == pytest.approx(few, rel=0.05)
    gaussian = mean_distance(GaussianPosterior, 10**6, 3) / mean_distance(GaussianPosterior, 1_000, 50)
    assert gaussian == pytest.approx(math.sqrt(1_000), rel=0.05)


def test_truncated_noise_is_the_gaussian_below_its_threshold() -> None:
    posterior = TruncatedGaussianPosterior(torch.zeros(200), 0.0, threshold=0.5)
    noise = posterior.base_noise(100, SeededNoise(3), 0).flatten().numpy()
    assert np.abs(noise).max() <= 0.5
    assert stats.kstest(noise, stats.truncnorm(-0.5, 0.5).cdf).pvalue > 0.01


def test_a_truncated_posterior_has_the_entropy_and_moments_of_the_gaussian() -> None:
    means, rho = torch.randn(30), torch.randn(30)
    truncated, gaussian = TruncatedGaussianPosterior(means, rho, 0.1), GaussianPosterior(means, rho)
    torch.testing.assert_close(truncated.entropy(), gaussian.entropy())
    torch.testing.assert_close(truncated.variance(), gaussian.variance())


def test_truncation_at_a_large_threshold_has_no_effect() -> None:
    means = torch.randn(50)
    truncated, gaussian = TruncatedGaussianPosterior(means, 0.0, 100.0), GaussianPosterior(means, 0.0)
    torch.testing.assert_close(truncated.sample(3, SeededNoise()), gaussian.sample(3, SeededNoise()))


def test_gaussian_and_radial_draw_the_same_base_noise() -> None:
    gaussian, radial = GaussianPosterior(torch.zeros(64), 0.0), RadialPosterior(torch.zeros(64), 0.0)
    draws = [p.sample(4, SeededNoise(7)).detach() for p in (gaussian, radial)]
    torch.testing.assert_close(F.normalize(draws[0], dim=1), F.normalize(draws[1], dim=1))


def test_a_point_posterior_always_draws_its_means() -> None:
    posterior: Posterior = PointPosterior(torch.arange(5.0))
    torch.testing.assert_close(posterior.sample(2, SeededNoise()), torch.arange(5.0).expand(2, -1))
    assert posterior.entropy().item() == 0
    with pytest.raises(ValueError, match="no density"):
        posterior.log_density(torch.zeros(5))


def test_group_sizes_must_sum_to_the_number_of_weights() -> None:
    with pytest.raises(ValueError, match=r"\(3, 4\).*6"):
        GaussianPosterior(torch.zeros(6), 0.0, (3, 4))
