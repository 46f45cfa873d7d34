"""Distributions of both posteriors' draws in closed form: the distance from the mean, and a single weight.

In units of sigma, for a normalisation group of D weights: r = ||(w - mu) / sigma|| and z = (w_1 - mu_1) / sigma_1.

    Gaussian    r ~ chi with D degrees of freedom       z ~ N(0, 1)
    Radial      r ~ |N(0, 1)|, whatever D is            z = |r| u, u one coordinate of a uniform direction

The density of u is c (1 - u^2)^((D-3)/2) with c = Gamma(D/2) / (sqrt(pi) Gamma((D-1)/2)). Substituting
|u| = 1 / cosh(s) and |u| = sin(theta) turns the density and the CDF of the radial z into integrals of smooth functions:

    p(z) = c integral_0^inf  h(|z| cosh s) tanh(s)^(D-2) ds                          h: the half-normal density
    P(|Z| <= a) = 2 c integral_0^(pi/2)  erf(a / (sqrt 2 sin theta)) cos(theta)^(D-2) dtheta

which Gauss-Legendre quadrature computes to about twelve digits. For D > 1 the density diverges as -log |z| at z = 0.
"""

from __future__ import annotations

import math
from functools import cache

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

Values = NDArray[np.float64]

NODES = 400
"""Number of quadrature nodes."""
FAR = 10.0
"""The half-normal density beyond this radius is treated as 0; it is below 1e-21 there."""


def log_volume_factor(radius: ArrayLike, dimension: int) -> Values:
    """Return log r^(D-1): how the volume of a thin shell grows with its radius."""
    return special.xlogy(dimension - 1, np.asarray(radius, dtype=float))


def log_gaussian_factor(radius: ArrayLike) -> Values:
    """Return log exp(-r^2 / 2): how the Gaussian density falls with the radius."""
    values: Values = -0.5 * np.square(np.asarray(radius, dtype=float))
    return values


def log_gaussian_constant(dimension: int) -> float:
    """Return log S_D / (2 pi)^(D/2), the constant that normalises the product of the two factors."""
    return (1.0 - 0.5 * dimension) * math.log(2.0) - math.lgamma(0.5 * dimension)


def gaussian_radius_density(radius: ArrayLike, dimension: int) -> Values:
    """Density of r for a Gaussian posterior: S_D / (2 pi)^(D/2) r^(D-1) exp(-r^2 / 2), the paper's soap bubble."""
    logarithm = log_volume_factor(radius, dimension) + log_gaussian_factor(radius)
    values: Values = np.exp(logarithm + log_gaussian_constant(dimension))
    return values


def gaussian_radius_cdf(radius: ArrayLike, dimension: int) -> Values:
    """P(R <= r) for a Gaussian posterior: the regularised incomplete gamma function of D/2 at r^2 / 2."""
    values: Values = special.gammainc(0.5 * dimension, 0.5 * np.square(np.asarray(radius, dtype=float)))
    return values


def gaussian_radius_moments(dimension: int) -> tuple[float, float]:
    """Mean and standard deviation of r for a Gaussian posterior: sqrt 2 Gamma((D+1)/2) / Gamma(D/2), sqrt(D - mean^2).

    For large D they tend to sqrt(D) and 1 / sqrt 2.
    """
    mean = math.sqrt(2.0) * math.exp(math.lgamma(0.5 * (dimension + 1)) - math.lgamma(0.5 * dimension))
    return mean, math.sqrt(dimension - mean * mean)


def radial_radius_moments() -> tuple[float, float]:
    """Mean and standard deviation of r for a radial posterior: sqrt(2 / pi) and sqrt(1 - 2 / pi)."""
    return math.sqrt(2.0 / math.pi), math.sqrt(1.0 - 2.0 / math.pi)


def radial_radius_density(radius: ArrayLike) -> Values:
    """Density of r for a radial posterior: sqrt(2 / pi) exp(-r^2 / 2) in every dimension."""
    values: Values = math.sqrt(2.0 / math.pi) * np.exp(log_gaussian_factor(radius))
    return values


def radial_radius_cdf(radius: ArrayLike) -> Values:
    """P(R <= r) for a radial posterior: erf(r / sqrt 2)."""
    values: Values = special.erf(np.asarray(radius, dtype=float) / math.sqrt(2.0))
    return values


def gaussian_weight_density(weight: ArrayLike) -> Values:
    """Density of z for a Gaussian posterior."""
    values: Values = np.exp(log_gaussian_factor(weight)) / math.sqrt(2.0 * math.pi)
    return values


def gaussian_weight_cdf(weight: ArrayLike) -> Values:
    """P(Z <= z) for a Gaussian posterior."""
    values: Values = special.ndtr(np.asarray(weight, dtype=float))
    return values


def radial_weight_density(weight: ArrayLike, dimension: int) -> Values:
    """Density of z for a radial posterior; infinite at 0 unless D = 1."""
    if dimension == 1:
        return gaussian_weight_density(weight)
    size = np.abs(np.asarray(weight, dtype=float))
    nodes, weights = _quadrature()
    # Beyond cosh s = FAR / |z| the half-normal density is negligible; |z| = 0 is handled at the end.
    end = np.arccosh(np.maximum(1.0, FAR / np.maximum(size, 1e-300)))[..., None]
    s = end * nodes
    inner = radial_radius_density(size[..., None] * np.cosh(s)) * np.tanh(s) ** (dimension - 2)
    density: Values = _direction_constant(dimension) * (inner * weights).sum(axis=-1) * end[..., 0]
    return np.where(size == 0, np.inf, density)


def radial_weight_cdf(weight: ArrayLike, dimension: int) -> Values:
    """P(Z <= z) for a radial posterior."""
    if dimension == 1:
        return gaussian_weight_cdf(weight)
    z = np.asarray(weight, dtype=float)
    nodes, weights = _quadrature()
    # In high dimensions nearly all directions are orthogonal to the weight's axis, so larger theta are negligible.
    end = min(0.5 * math.pi, 12.0 / math.sqrt(dimension))
    theta = end * nodes
    inner = special.erf(np.abs(z)[..., None] / (math.sqrt(2.0) * np.sin(theta))) * np.cos(theta) ** (dimension - 2)
    within = 2.0 * end * _direction_constant(dimension) * (inner * weights).sum(axis=-1)
    values: Values = 0.5 + 0.5 * np.sign(z) * within
    return values


def _direction_constant(dimension: int) -> float:
    """c = Gamma(D/2) / (sqrt(pi) Gamma((D-1)/2))."""
    return math.exp(math.lgamma(0.5 * dimension) - math.lgamma(0.5 * (dimension - 1))) / math.sqrt(math.pi)


@cache
def _quadrature() -> tuple[Values, Values]:
    """Return Gauss-Legendre nodes and weights on [0, 1]."""
    nodes, weights = np.polynomial.legendre.leggauss(NODES)
    return 0.5 * (nodes + 1.0), 0.5 * weights
