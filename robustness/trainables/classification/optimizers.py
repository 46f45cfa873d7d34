"""The optimisers a configuration can name: SGD with Nesterov momentum, Adam, Amsgrad; with a decay each epoch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch

from robustness.bnn.ensemble import Ensemble
from robustness.bnn.vectors import Vector
from robustness.errors import MethodError, unknown_name

OPTIMIZERS = ("adam", "amsgrad", "sgd")


class JoinedOptimizer:
    """An optimiser of vectors that many parameters are parts of.

    A step's bookkeeping grows with the number of tensors, its arithmetic with their size: for networks of many small
    layers the first would be the larger part.
    """

    def __init__(self, vectors: Sequence[Vector], optimizer: torch.optim.Optimizer) -> None:
        """An optimiser of the vectors' values."""
        self.vectors = vectors
        self.optimizer = optimizer

    @property
    def param_groups(self) -> list[dict[str, Any]]:
        return self.optimizer.param_groups

    def zero_grad(self) -> None:
        """Forget the gradients of vectors and parameters."""
        for vector in self.vectors:
            vector.forget_gradients()

    def step(self) -> None:
        """Step along the gradients; a vector without one stays where it is."""
        for vector in self.vectors:
            vector.gather_gradients()
        self.optimizer.step()

    def state_dict(self) -> dict[str, Any]:
        return self.optimizer.state_dict()

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.optimizer.load_state_dict(state)


def make_optimizer(ensemble: Ensemble, hyperparameters: Mapping[str, Any]) -> JoinedOptimizer:
    """The optimiser of a configuration; it joins the parameters, so the ensemble has to be on its device before."""
    name = hyperparameters.get("optimizer")
    if name not in OPTIMIZERS:
        raise MethodError(unknown_name("optimizer", name, OPTIMIZERS))
    if "learning_rate" not in hyperparameters:
        raise MethodError("the configuration has no 'learning_rate': give it in the search space")
    means, *rhos = zip(*(member.join() for member in ensemble.members), strict=True)
    # The KL to the prior takes the place of weight decay where there is one.
    decay = 0.0 if ensemble.variational else float(hyperparameters.get("weight_decay", 0.0))
    # Groups of their own: pre-training gives the means alone a gradient, and a fused SGD cannot mix vectors that have
    # momentum already with ones that have none.
    groups = [{"params": [vector.value for vector in means], "weight_decay": decay}]
    groups += [{"params": [vector.value for vector in vectors]} for vectors in rhos]
    rate = float(hyperparameters["learning_rate"])
    vectors = [vector for kind in (means, *rhos) for vector in kind]
    if name == "sgd":
        momentum = float(hyperparameters.get("momentum", 0.9))
        nesterov = bool(hyperparameters.get("nesterov", True)) and momentum > 0
        sgd = torch.optim.SGD(groups, lr=rate, momentum=momentum, nesterov=nesterov, fused=True)
        return JoinedOptimizer(vectors, sgd)
    return JoinedOptimizer(vectors, torch.optim.Adam(groups, lr=rate, amsgrad=name == "amsgrad", fused=True))


def set_learning_rate(optimizer: JoinedOptimizer, hyperparameters: Mapping[str, Any], epoch: int) -> None:
    """Set the rate of an epoch, counted from 1: learning_rate x learning_rate_decay^(epoch - 1)."""
    decay = float(hyperparameters.get("learning_rate_decay", 1.0))
    for group in optimizer.param_groups:
        group["lr"] = float(hyperparameters["learning_rate"]) * decay ** (epoch - 1)
