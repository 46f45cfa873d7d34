"""Deep ensembles (Lakshminarayanan et al. 2017): networks from different starts that predict together.

The members see the same minibatches, as every arm of a pair does; their initial weights are their own.
"""

from __future__ import annotations

from pydantic import Field

from robustness import bnn
from robustness.methods.method import Method, Options, Setting


class EnsembleOptions(Options):
    """The options of `deep_ensemble`."""

    members: int = Field(default=3, ge=1)
    """How many networks there are."""


def members(setting: Setting) -> list[bnn.Network]:
    """Networks of point weights."""
    return [setting.network(bnn.PointPosterior, member=index) for index in range(setting.options.members)]


METHOD = Method(members, EnsembleOptions)
