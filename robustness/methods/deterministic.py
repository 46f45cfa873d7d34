"""An ordinary network with one value per weight: a baseline that shows which configurations learn without noise."""

from __future__ import annotations

from robustness import bnn
from robustness.methods.method import NOISE_HYPERPARAMETERS, Method, Setting


def members(setting: Setting) -> list[bnn.Network]:
    """A network with point weights; the optimiser applies the configuration's `weight_decay`, if any."""
    return [setting.network(bnn.PointPosterior)]


METHOD = Method(members, unused=NOISE_HYPERPARAMETERS)
