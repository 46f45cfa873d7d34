"""An ordinary network, one value for each weight: shows which configurations can learn at all."""

from __future__ import annotations

from robustness import bnn
from robustness.methods.method import Method, Setting


def members(setting: Setting) -> list[bnn.Network]:
    """A network of point weights; a `weight_decay` in the configuration goes to the optimiser."""
    return [setting.network(bnn.PointPosterior)]


METHOD = Method(members)
