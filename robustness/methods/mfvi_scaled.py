"""A control: mean-field with w = mu + (sigma / sqrt(D)) eps all through training: radial without its shared radius."""

from __future__ import annotations

from robustness.bnn.network import Network
from robustness.bnn.posteriors import GaussianPosterior
from robustness.methods.method import Setting
from robustness.methods.variational import initial_rho, make_prior, per_weight, variational_method


def members(setting: Setting) -> list[Network]:
    """A network with a Gaussian posterior whose scales are softplus(rho) / sqrt(D)."""
    rho = initial_rho(setting)
    return [
        setting.network(
            lambda means, groups: GaussianPosterior(means, rho, groups, spread=per_weight(groups)), make_prior(setting)
        )
    ]


METHOD = variational_method(members)
