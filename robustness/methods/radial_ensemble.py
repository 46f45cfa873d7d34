"""An ensemble of radial networks with different initial weights and different noise."""

from __future__ import annotations

from pydantic import Field

from robustness import bnn
from robustness.methods.method import Setting
from robustness.methods.variational import VariationalOptions, initial_rho, make_prior, variational_method


class RadialEnsembleOptions(VariationalOptions):
    """The options of `radial_ensemble`."""

    members: int = Field(default=3, ge=1)
    """The number of networks."""


def members(setting: Setting) -> list[bnn.Network]:
    """Networks with radial posteriors."""
    rho, prior = initial_rho(setting), make_prior(setting)
    return [
        setting.network(lambda means, groups: bnn.RadialPosterior(means, rho, groups), prior, member=index)
        for index in range(setting.options.members)
    ]


METHOD = variational_method(members, RadialEnsembleOptions)
