"""Mean-field with truncated draws: a biased but less noisy gradient, as in a further experiment of the paper."""

from __future__ import annotations

from pydantic import Field

from robustness import bnn
from robustness.methods.method import Setting
from robustness.methods.variational import VariationalOptions, initial_rho, make_prior, variational_method


class TruncatedOptions(VariationalOptions):
    """The options of `mfvi_truncated`."""

    threshold: float = Field(default=1.0, gt=0)
    """Noise beyond this many standard deviations is redrawn; a configuration's `threshold` takes precedence."""


def members(setting: Setting) -> list[bnn.Network]:
    """A network with a Gaussian posterior and truncated draws."""
    rho = initial_rho(setting)
    threshold = float(setting.hyperparameters.get("threshold", setting.options.threshold))
    return [
        setting.network(
            lambda means, groups: bnn.TruncatedGaussianPosterior(means, rho, threshold, groups), make_prior(setting)
        )
    ]


METHOD = variational_method(members, TruncatedOptions)
