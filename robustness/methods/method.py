"""The record of a method: how to build its networks, and how its training departs from the study's."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Protocol

from pydantic import BaseModel, ConfigDict

from robustness import bnn
from robustness.errors import MethodError
from robustness.streams import Streams

if TYPE_CHECKING:
    import torch
    from torch import Tensor

    from robustness.bnn.layers import MakePosterior


class Options(BaseModel):
    """The options of a method without options; other methods subclass it with documented fields."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class TrainingTerms(Protocol):
    """The part of a study's training options that a method may use, whichever trainable trains it."""

    @property
    def epochs(self) -> int: ...

    @property
    def pretrain_epochs(self) -> int: ...

    @property
    def kl_weight(self) -> float: ...

    @property
    def grouping(self) -> Literal["layer", "tensor"]: ...


@dataclass(frozen=True)
class Setting:
    """What a method builds its networks from; only the options differ between arms."""

    blueprint: bnn.Blueprint
    hyperparameters: Mapping[str, Any]
    options: Any
    """The method's own options, an instance of its `Options`."""
    training: TrainingTerms
    streams: Streams

    def hyperparameter(self, name: str) -> float:
        """Return a hyperparameter that the method requires."""
        if name not in self.hyperparameters:
            raise MethodError(f"the configuration has no {name!r}, which this arm needs: add it to the search space")
        return float(self.hyperparameters[name])

    def initial_means(self, member: int) -> Callable[[int], torch.Generator]:
        """Return each layer's random stream for its initial means; member 0 of every arm starts from the same means."""
        return lambda layer: self.streams.torch("initialisation", layer + member * bnn.LAYERS_APART)

    def network(
        self,
        posterior: Callable[[Tensor, Sequence[int]], bnn.Posterior],
        prior: Callable[[bnn.Posterior], bnn.Prior] | None = None,
        member: int = 0,
        dropout_rate: float = 0.0,
    ) -> bnn.Network:
        """Build a network, making each layer's posterior from initial means [D] and normalisation groups."""
        make: MakePosterior = posterior
        if self.training.grouping == "layer":

            def make(means: Tensor, sizes: Sequence[int]) -> bnn.Posterior:
                return posterior(means, (sum(sizes),))

        return bnn.Network(self.blueprint, make, self.initial_means(member), prior, dropout_rate)


@dataclass(frozen=True)
class Schedule:
    """How long a method trains."""

    pretrain_epochs: int
    patience: int | None = None
    """Stop after this many epochs without an improved metric; None trains to the end."""


def follow_the_study(training: TrainingTerms, options: Any) -> Schedule:  # noqa: ARG001
    """Return the schedule of a method that trains exactly as the study says."""
    return Schedule(training.pretrain_epochs)


@dataclass(frozen=True)
class Method:
    """A method under comparison."""

    members: Callable[[Setting], list[bnn.Network]]
    """Builds its network, or the members of an ensemble."""
    options: type[BaseModel] = Options
    schedule: Callable[[TrainingTerms, Any], Schedule] = follow_the_study
    kl_weight: Callable[[TrainingTerms, Any], float] = lambda training, _: training.kl_weight
    needs: tuple[str, ...] = ()
    """Hyperparameters that must be in the search space, or set as options of the arm."""
    unused: tuple[str, ...] = ()
    """Hyperparameters of other methods that change nothing here, whatever their values."""


NOISE_HYPERPARAMETERS = ("initial_rho", "variational_samples")
"""What networks with point weights do not use: they have no noise to start from or to draw."""
