"""What the variational methods share: their options, their priors and the start of their scales."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Literal

from pydantic import Field

from robustness import bnn
from robustness.methods.method import Method, Options, Schedule, Setting, TrainingTerms


class VariationalOptions(Options):
    """Options that every variational method takes; left out, the study's training and search space decide."""

    initial_rho: float | None = None
    """Where every rho starts, in place of the configuration's."""
    prior: Literal["gaussian", "scale_mixture"] = "gaussian"
    """The prior: a Gaussian, or Blundell et al.'s mixture of two."""
    prior_scale: float = Field(default=1.0, gt=0)
    """The Gaussian prior's standard deviation, or the mixture's wider one."""
    tight_prior: bool = False
    """Divide the prior's scale by sqrt(D), D being the number of weights in a layer."""
    mixture_share: float = Field(default=0.5, gt=0, lt=1)
    """The mixture's weight of the wider Gaussian."""
    mixture_narrow: float = Field(default=math.exp(-6), gt=0)
    """The mixture's narrower standard deviation."""
    kl_weight: float | None = Field(default=None, ge=0)
    """The factor on the KL, in place of the study's."""
    pretrain_epochs: int | None = Field(default=None, ge=0)
    """Epochs that train the means alone, in place of the study's."""


def initial_rho(setting: Setting) -> float:
    """The rho at which the study starts this trial."""
    given: float | None = setting.options.initial_rho
    return setting.hyperparameter("initial_rho") if given is None else given


def make_prior(setting: Setting) -> Callable[[bnn.Posterior], bnn.Prior]:
    """The prior of a layer, by the method's options."""
    options: VariationalOptions = setting.options

    def prior(posterior: bnn.Posterior) -> bnn.Prior:
        scale = options.prior_scale / (math.sqrt(posterior.size) if options.tight_prior else 1.0)
        if options.prior == "scale_mixture":
            return bnn.ScaleMixturePrior(options.mixture_share, scale, min(options.mixture_narrow, 0.999 * scale))
        return bnn.GaussianPrior(scale=scale)

    return prior


def variational_schedule(training: TrainingTerms, options: Any) -> Schedule:
    """The study's schedule, with the method's own number of pre-training epochs if it has one."""
    given: int | None = options.pretrain_epochs
    return Schedule(training.pretrain_epochs if given is None else min(given, training.epochs))


def variational_kl_weight(training: TrainingTerms, options: Any) -> float:
    """The study's factor on the KL, or the method's own."""
    given: float | None = options.kl_weight
    return training.kl_weight if given is None else given


def variational_method(
    members: Callable[[Setting], list[bnn.Network]], options: type[VariationalOptions] = VariationalOptions
) -> Method:
    """A method that starts at the configuration's rho and trains as the study and its options say."""
    return Method(members, options, variational_schedule, variational_kl_weight, needs=("initial_rho",))
