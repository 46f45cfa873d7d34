"""A control: mean-field with w = mu + (sigma / sqrt(D)) eps throughout training: radial without the shared radius."""

from __future__ import annotations

from robustness import bnn
from robustness.methods.method import Setting
from robustness.methods.variational import initial_rho, make_prior, variational_method


def members(setting: Setting) -> list[bnn.Network]:
    """A network with a Gaussian posterior whose scales are softplus(rho) / sqrt(D)."""
    rho = initial_rho(setting)
    return [
        setting.network(
            lambda means, groups: bnn.GaussianPosterior(means, rho, groups, spread=bnn.per_weight(groups)),
            make_prior(setting),
        )
    ]


METHOD = variational_method(members)
