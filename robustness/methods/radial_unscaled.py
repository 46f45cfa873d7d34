"""A control: radial with w = mu + sigma sqrt(D) (eps / ||eps||) |r|: as noisy as mean-field, with the shared radius."""

from __future__ import annotations

from robustness import bnn
from robustness.methods.method import Setting
from robustness.methods.variational import initial_rho, make_prior, variational_method


def members(setting: Setting) -> list[bnn.Network]:
    """A network with a radial posterior whose scales are softplus(rho) sqrt(D)."""
    rho = initial_rho(setting)
    return [
        setting.network(
            lambda means, groups: bnn.RadialPosterior(means, rho, groups, spread=bnn.per_weight(groups).reciprocal()),
            make_prior(setting),
        )
    ]


METHOD = variational_method(members)
