"""A control: mean-field that starts with radial's noise per weight, sigma_0 / sqrt(D), and then trains freely."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from robustness import bnn
from robustness.methods.method import Setting
from robustness.methods.variational import initial_rho, make_prior, variational_method

if TYPE_CHECKING:
    from torch import Tensor


def members(setting: Setting) -> list[bnn.Network]:
    """A network with a Gaussian posterior whose scales start at softplus(rho) / sqrt(D)."""
    rho = initial_rho(setting)

    def posterior(means: Tensor, groups: Sequence[int]) -> bnn.GaussianPosterior:
        sigma = bnn.softplus(rho) * bnn.per_weight(groups).double()
        return bnn.GaussianPosterior(means, bnn.inverse_softplus(sigma), groups)

    return [setting.network(posterior, make_prior(setting))]


METHOD = variational_method(members)
