"""A control: mean-field that starts with radial's noise per weight, sigma_0 / sqrt(D), and is free from then on."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor
from torch.nn import functional as F

from robustness.bnn.network import Network
from robustness.bnn.posteriors import GaussianPosterior
from robustness.methods.method import Setting
from robustness.methods.variational import initial_rho, inverse_softplus, make_prior, per_weight, variational_method


def members(setting: Setting) -> list[Network]:
    """A network with a Gaussian posterior whose scales start at softplus(rho) / sqrt(D)."""
    rho = initial_rho(setting)

    def posterior(means: Tensor, groups: Sequence[int]) -> GaussianPosterior:
        sigma = F.softplus(means.new_tensor(rho).double()) * per_weight(groups).double()
        return GaussianPosterior(means, inverse_softplus(sigma), groups)

    return [setting.network(posterior, make_prior(setting))]


METHOD = variational_method(members)
