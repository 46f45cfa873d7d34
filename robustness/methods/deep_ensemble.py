"""Deep ensembles (Lakshminarayanan et al. 2017): networks with different initial weights, averaged in prediction.

All members see the same minibatches, as all arms of a pair do.
"""

from __future__ import annotations

from pydantic import Field

from robustness import bnn
from robustness.methods.method import NOISE_HYPERPARAMETERS, Method, Options, Setting


class EnsembleOptions(Options):
    """The options of `deep_ensemble`."""

    members: int = Field(default=3, ge=1)
    """The number of networks."""


def members(setting: Setting) -> list[bnn.Network]:
    """Networks with point weights."""
    return [setting.network(bnn.PointPosterior, member=index) for index in range(setting.options.members)]


METHOD = Method(members, EnsembleOptions, unused=NOISE_HYPERPARAMETERS)
