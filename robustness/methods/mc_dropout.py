"""Monte Carlo dropout (Gal and Ghahramani 2016): dropout during training and in every prediction."""

from __future__ import annotations

from pydantic import Field

from robustness import bnn
from robustness.methods.method import Method, Options, Setting


class DropoutOptions(Options):
    """The options of `mc_dropout`."""

    dropout_rate: float = Field(default=0.2, gt=0, lt=1)
    """The dropout probability after each pooling or hidden layer; a configuration's `dropout_rate` takes precedence."""


def members(setting: Setting) -> list[bnn.Network]:
    """A network with point weights and dropout."""
    rate = float(setting.hyperparameters.get("dropout_rate", setting.options.dropout_rate))
    return [setting.network(bnn.PointPosterior, dropout_rate=rate)]


METHOD = Method(members, DropoutOptions, unused=("initial_rho",))
