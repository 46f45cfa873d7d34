"""The optimisers that a configuration can name, with a learning rate that decays every epoch."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from robustness.errors import MethodError, unknown_name

if TYPE_CHECKING:
    import torch

    from robustness.bnn.ensemble import Ensemble
    from robustness.bnn.vectors import Vector


@dataclass(frozen=True)
class OptimizerKind:
    """A class of `torch.optim` and the arguments that a configuration passes to it."""

    torch_class: str
    arguments: Callable[[Mapping[str, Any]], dict[str, Any]]
    """Maps the hyperparameters to keyword arguments other than the learning rate."""
    fused: bool = True
    """Whether the class has a fused form, which is faster for a few large vectors."""


def _sgd_arguments(hyperparameters: Mapping[str, Any]) -> dict[str, Any]:
    momentum = float(hyperparameters.get("momentum", 0.9))
    return {"momentum": momentum, "nesterov": bool(hyperparameters.get("nesterov", True)) and momentum > 0}


OPTIMIZERS = {
    "adam": OptimizerKind("Adam", lambda _: {}),
    "amsgrad": OptimizerKind("Adam", lambda _: {"amsgrad": True}),
    "sgd": OptimizerKind("SGD", _sgd_arguments),
}
"""The optimisers by their names in search spaces."""


class JoinedOptimizer:
    """An optimiser of a few long vectors that the parameters are slices of.

    The overhead of a step grows with the number of tensors and its arithmetic with their size, so in networks with many
    small layers the overhead would dominate.
    """

    def __init__(self, vectors: Sequence[Vector], optimizer: torch.optim.Optimizer) -> None:
        """`optimizer` must hold the values of the vectors."""
        self.vectors = vectors
        self.optimizer = optimizer

    @property
    def param_groups(self) -> list[dict[str, Any]]:
        return self.optimizer.param_groups

    def zero_grad(self) -> None:
        """Discard the gradients of the vectors and the parameters."""
        for vector in self.vectors:
            vector.forget_gradients()

    def step(self) -> None:
        """Make one step; a vector without a gradient does not change."""
        for vector in self.vectors:
            vector.gather_gradients()
        self.optimizer.step()

    def state_dict(self) -> dict[str, Any]:
        return self.optimizer.state_dict()

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.optimizer.load_state_dict(state)


def make_optimizer(ensemble: Ensemble, hyperparameters: Mapping[str, Any]) -> JoinedOptimizer:
    """Return the optimiser of a configuration; it joins the parameters, so move the ensemble to its device first."""
    # Study checks read OPTIMIZERS and must not load torch.
    import torch

    name = hyperparameters.get("optimizer")
    if name not in OPTIMIZERS:
        raise MethodError(unknown_name("optimizer", name, OPTIMIZERS))
    if "learning_rate" not in hyperparameters:
        raise MethodError("the configuration has no 'learning_rate': add it to the search space")
    means, *rhos = zip(*(member.join() for member in ensemble.members), strict=True)
    # Variational networks have the KL to the prior instead of weight decay.
    decay = 0.0 if ensemble.variational else float(hyperparameters.get("weight_decay", 0.0))
    # Separate groups: in pre-training only the means have a gradient, and fused SGD cannot mix vectors with and
    # without a momentum buffer.
    groups = [{"params": [vector.value for vector in means], "weight_decay": decay}]
    groups += [{"params": [vector.value for vector in vectors]} for vectors in rhos]
    kind = OPTIMIZERS[name]
    arguments = {"fused": True} if kind.fused else {}
    arguments |= kind.arguments(hyperparameters)
    rate = float(hyperparameters["learning_rate"])
    optimizer = getattr(torch.optim, kind.torch_class)(groups, lr=rate, **arguments)
    return JoinedOptimizer([vector for vectors in (means, *rhos) for vector in vectors], optimizer)


def set_learning_rate(optimizer: JoinedOptimizer, hyperparameters: Mapping[str, Any], epoch: int) -> None:
    """Set the learning rate of an epoch, counted from 1: learning_rate x learning_rate_decay^(epoch - 1)."""
    decay = float(hyperparameters.get("learning_rate_decay", 1.0))
    for group in optimizer.param_groups:
        group["lr"] = float(hyperparameters["learning_rate"]) * decay ** (epoch - 1)
