"""The optimisers a configuration can name: SGD with Nesterov momentum, Adam, Amsgrad; with a decay each epoch."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from robustness.bnn.ensemble import Ensemble
from robustness.errors import MethodError, one_of

OPTIMIZERS = ("adam", "amsgrad", "sgd")


def make_optimizer(ensemble: Ensemble, hyperparameters: Mapping[str, Any]) -> torch.optim.Optimizer:
    """The optimiser of a configuration; means and rhos are groups of their own.

    Pre-training gives only the means a gradient, and a fused SGD cannot mix parameters that have momentum already with
    ones that have none, so the two are never stepped in one group.
    """
    name = hyperparameters.get("optimizer")
    if name not in OPTIMIZERS:
        raise MethodError(one_of("optimizer", name, OPTIMIZERS))
    if "learning_rate" not in hyperparameters:
        raise MethodError("the configuration has no 'learning_rate': give it in the search space")
    means = [p for key, p in ensemble.named_parameters() if not key.endswith("rho")]
    rhos = [p for key, p in ensemble.named_parameters() if key.endswith("rho")]
    # The KL to the prior takes the place of weight decay where there is one.
    decay = 0.0 if ensemble.variational else float(hyperparameters.get("weight_decay", 0.0))
    groups = [{"params": means, "weight_decay": decay}] + ([{"params": rhos}] if rhos else [])
    rate = float(hyperparameters["learning_rate"])
    if name == "sgd":
        momentum = float(hyperparameters.get("momentum", 0.9))
        nesterov = bool(hyperparameters.get("nesterov", True)) and momentum > 0
        return torch.optim.SGD(groups, lr=rate, momentum=momentum, nesterov=nesterov, fused=True)
    return torch.optim.Adam(groups, lr=rate, amsgrad=name == "amsgrad", fused=True)


def set_learning_rate(optimizer: torch.optim.Optimizer, hyperparameters: Mapping[str, Any], epoch: int) -> None:
    """Set the rate of an epoch, counted from 1: learning_rate x learning_rate_decay^(epoch - 1)."""
    decay = float(hyperparameters.get("learning_rate_decay", 1.0))
    for group in optimizer.param_groups:
        group["lr"] = float(hyperparameters["learning_rate"]) * decay ** (epoch - 1)
