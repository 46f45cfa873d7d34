"""Densities of the soap bubble, against scipy's distributions and numerical integration of their definitions."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import integrate, special, stats

from robustness.trainables.theory import densities

DIMENSIONS = (1, 2, 3, 10, 36_928)


@pytest.mark.parametrize("dimension", DIMENSIONS)
def test_the_gaussian_radius_is_scipy_s_chi(dimension: int) -> None:
    radius = stats.chi.ppf(np.linspace(0.001, 0.999, 21), dimension)
    # lgamma of D/2 = 18,464 is about 160,000, so ten digits are left.
    np.testing.assert_allclose(
        densities.gaussian_radius_density(radius, dimension), stats.chi.pdf(radius, dimension), rtol=1e-8
    )
    np.testing.assert_allclose(
        densities.gaussian_radius_cdf(radius, dimension), stats.chi.cdf(radius, dimension), rtol=1e-8
    )
    assert densities.gaussian_radius_moments(dimension) == pytest.approx(
        (stats.chi.mean(dimension), stats.chi.std(dimension)), rel=1e-5
    )


def test_volume_and_gaussian_factor_make_up_the_density() -> None:
    radius = np.linspace(0.1, 7, 50)
    sphere = 2 * math.pi**5 / math.gamma(5)
    product = sphere / (2 * math.pi) ** 5 * radius**9 * np.exp(-(radius**2) / 2)
    np.testing.assert_allclose(densities.gaussian_radius_density(radius, 10), product, rtol=1e-12)
    np.testing.assert_allclose(np.exp(densities.log_volume_factor(radius, 10)), radius**9, rtol=1e-12)


def test_the_radial_radius_is_half_normal() -> None:
    radius = np.linspace(0, 5, 31)
    np.testing.assert_allclose(densities.radial_radius_density(radius), stats.halfnorm.pdf(radius), rtol=1e-12)
    np.testing.assert_allclose(densities.radial_radius_cdf(radius), stats.halfnorm.cdf(radius), rtol=1e-12)
    assert densities.radial_radius_moments() == pytest.approx((stats.halfnorm.mean(), stats.halfnorm.std()))


@pytest.mark.parametrize("dimension", [2, 3, 10, 200])
@pytest.mark.parametrize("weight", [-2.5, -0.3, 1e-4, 0.05, 1.0, 3.0])
def test_a_radial_weight_is_the_integral_over_radius_and_direction(dimension: int, weight: float) -> None:
    """p(z) is the integral of h(r) f(z / r) / r over r, f being the density of a uniform direction's coordinate."""

    def direction(u: float) -> float:
        # (u + 1) / 2 of a uniform direction is Beta((D-1)/2, (D-1)/2).
        return float(stats.beta.pdf((u + 1) / 2, (dimension - 1) / 2, (dimension - 1) / 2)) / 2

    size = abs(weight)
    # Integrate over log r, since for a small weight the integrand spans many orders of magnitude; for D = 2 it has an
    # integrable singularity at r = |z|, which squaring the variable removes.
    top = math.sqrt(math.log(10 / size))
    value, _ = integrate.quad(
        lambda v: 2 * v * float(stats.halfnorm.pdf(size * math.exp(v * v))) * direction(math.exp(-v * v)),
        0,
        top,
        epsabs=1e-12,
        epsrel=1e-10,
        limit=400,
    )
    assert float(densities.radial_weight_density(weight, dimension)) == pytest.approx(value, rel=1e-6)


@pytest.mark.parametrize("dimension", [2, 3, 10, 36_928])
def test_a_radial_weight_s_distribution_is_the_integral_of_its_density(dimension: int) -> None:
    scale = 1 / math.sqrt(dimension)
    low, high = 0.2 * scale, 1.7 * scale
    between, _ = integrate.quad(lambda z: float(densities.radial_weight_density(z, dimension)), low, high)
    ends = densities.radial_weight_cdf(np.array([low, high]), dimension)
    assert ends[1] - ends[0] == pytest.approx(between, rel=1e-7)
    far = densities.radial_weight_cdf(np.array([-50.0, 0.0, 50.0]), dimension)
    # lgamma of D/2 = 18,464 leaves the constant ten digits.
    np.testing.assert_allclose(far, [0, 0.5, 1], atol=1e-9)


def test_a_radial_weight_has_variance_one_over_d() -> None:
    half, _ = integrate.quad(lambda z: z * z * float(densities.radial_weight_density(z, 10)), 0, 10)
    assert 2 * half == pytest.approx(0.1, rel=1e-7)


def test_a_radial_layer_of_one_weight_is_gaussian() -> None:
    weight = np.linspace(-3, 3, 7)
    np.testing.assert_allclose(densities.radial_weight_density(weight, 1), stats.norm.pdf(weight))
    np.testing.assert_allclose(densities.radial_weight_cdf(weight, 1), special.ndtr(weight))


def test_a_radial_weight_s_density_diverges_towards_the_mean() -> None:
    near = densities.radial_weight_density(np.array([1e-2, 1e-4, 1e-6, 0.0]), 10)
    # As -log |z|: equal steps for equal factors.
    assert near[1] - near[0] == pytest.approx(near[2] - near[1], rel=1e-3)
    assert near[1] > near[0] + 1
    assert np.isinf(near[3])
