"""Radial Bayesian neural networks: w = mu + sigma (eps / ||eps||) |r|."""

from __future__ import annotations

from robustness import bnn
from robustness.methods.method import Setting
from robustness.methods.variational import initial_rho, make_prior, variational_method


def members(setting: Setting) -> list[bnn.Network]:
    """A network with a radial posterior."""
    rho = initial_rho(setting)
    return [setting.network(lambda means, groups: bnn.RadialPosterior(means, rho, groups), make_prior(setting))]


METHOD = variational_method(members)
