"""Mean-field variational inference: w = mu + sigma eps."""

from __future__ import annotations

from robustness.bnn.network import Network
from robustness.bnn.posteriors import GaussianPosterior
from robustness.methods.method import Setting
from robustness.methods.variational import initial_rho, make_prior, variational_method


def members(setting: Setting) -> list[Network]:
    """A network with a Gaussian posterior."""
    rho = initial_rho(setting)
    return [setting.network(lambda means, groups: GaussianPosterior(means, rho, groups), make_prior(setting))]


METHOD = variational_method(members)
