"""A method: mean-field variational inference that starts with one scale for all configurations."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict

from robustness import Method, Setting, bnn


class Options(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    rho: float = -6.0
    """The initial rho of every weight."""


def members(setting: Setting) -> list[bnn.Network]:
    rho = setting.options.rho
    return [setting.network(lambda means, groups: bnn.GaussianPosterior(means, rho, groups), prior)]


def prior(posterior: bnn.Posterior) -> bnn.Prior:
    return bnn.GaussianPrior(scale=1.0)


METHOD = Method(members, Options)
