"""Shared by the variational methods: their options, priors and initial scales."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Literal

from pydantic import Field

from robustness import bnn
from robustness.methods.method import Method, Options, Schedule, Setting, TrainingTerms


class VariationalOptions(Options):
    """Options of every variational method; by default the study's training and search space apply."""

    initial_rho: float | None = None
    """The initial value of every rho, instead of the configuration's."""
    prior: Literal["gaussian", "scale_mixture"] = "gaussian"
    """The prior: a Gaussian, or the mixture of two Gaussians of Blundell et al."""
    prior_scale: float = Field(default=1.0, gt=0)
    """The Gaussian prior's standard deviation, or the mixture's wider one."""
    tight_prior: bool = False
    """Divide the prior's scale by sqrt(D), where D is the number of weights in the layer."""
    mixture_share: float = Field(default=0.5, gt=0, lt=1)
    """The weight of the wider Gaussian in the mixture."""
    mixture_narrow: float = Field(default=math.exp(-6), gt=0)
    """The mixture's narrower standard deviation."""
    kl_weight: float | None = Field(default=None, ge=0)
    """The factor on the KL term, instead of the study's."""
    pretrain_epochs: int | None = Field(default=None, ge=0)
    """Epochs that train only the means, instead of the study's."""


def initial_rho(setting: Setting) -> float:
    """Return the initial rho of this trial: the arm's option, or the configuration's value."""
    rho: float | None = setting.options.initial_rho
    return setting.hyperparameter("initial_rho") if rho is None else rho


def make_prior(setting: Setting) -> Callable[[bnn.Posterior], bnn.Prior]:
    """Return a function that builds a layer's prior from the method's options."""
    options: VariationalOptions = setting.options

    def prior(posterior: bnn.Posterior) -> bnn.Prior:
        scale = options.prior_scale / (math.sqrt(posterior.size) if options.tight_prior else 1.0)
        if options.prior == "scale_mixture":
            return bnn.ScaleMixturePrior(options.mixture_share, scale, min(options.mixture_narrow, 0.999 * scale))
        return bnn.GaussianPrior(scale=scale)

    return prior


def variational_schedule(training: TrainingTerms, options: Any) -> Schedule:
    """Return the study's schedule, with the arm's number of pre-training epochs if it sets one."""
    epochs: int | None = options.pretrain_epochs
    return Schedule(training.pretrain_epochs if epochs is None else min(epochs, training.epochs))


def variational_kl_weight(training: TrainingTerms, options: Any) -> float:
    """Return the factor on the KL term: the arm's option, or the study's."""
    weight: float | None = options.kl_weight
    return training.kl_weight if weight is None else weight


def variational_method(
    members: Callable[[Setting], list[bnn.Network]], options: type[VariationalOptions] = VariationalOptions
) -> Method:
    """Return a method that needs `initial_rho` and reads KL weight and pre-training from its options or the study."""
    return Method(members, options, variational_schedule, variational_kl_weight, needs=("initial_rho",))
