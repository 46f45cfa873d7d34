"""Mean-field with the tweaks that make it train: pre-trained means, a tiny initial variance, early stopping."""

from __future__ import annotations

import math
from typing import Any

from pydantic import Field

from robustness import bnn
from robustness.methods.method import Method, Schedule, Setting, TrainingTerms
from robustness.methods.variational import VariationalOptions, make_prior, variational_kl_weight


class TweakedOptions(VariationalOptions):
    """The options of `mfvi_tweaked`."""

    initial_variance: float = Field(default=1e-6, gt=0)
    """The initial variance of each weight, regardless of the configuration's `initial_rho`."""
    pretrained_share: float = Field(default=1 / 3, ge=0, lt=1)
    """The fraction of the epochs that train only the means, unless `pretrain_epochs` is set."""
    patience: int = Field(default=10, ge=1)
    """Training stops after this many epochs without an improved metric."""


def members(setting: Setting) -> list[bnn.Network]:
    """A network with a Gaussian posterior that starts almost as a point."""
    options: TweakedOptions = setting.options
    rho = (
        float(bnn.inverse_softplus(math.sqrt(options.initial_variance)))
        if options.initial_rho is None
        else options.initial_rho
    )
    return [setting.network(lambda means, groups: bnn.GaussianPosterior(means, rho, groups), make_prior(setting))]


def schedule(training: TrainingTerms, options: Any) -> Schedule:
    """Pre-train the means for a third of the epochs by default, then train with early stopping."""
    epochs: int | None = options.pretrain_epochs
    if epochs is None:
        epochs = max(training.pretrain_epochs, round(options.pretrained_share * training.epochs))
    return Schedule(min(epochs, training.epochs - 1), options.patience)


METHOD = Method(members, TweakedOptions, schedule, variational_kl_weight, unused=("initial_rho",))
