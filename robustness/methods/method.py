"""What a method is: how to build its networks, and where it departs from the study's training."""

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
    """The options of a method that has none; those of others are subclasses with documented fields."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class TrainingTerms(Protocol):
    """What a method may know of the study's training, whichever trainable trains it."""

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
    """What a method builds its networks from: all of it the same for every arm but the options."""

    blueprint: bnn.Blueprint
    hyperparameters: Mapping[str, Any]
    options: Any
    """The method's own options, an instance of its `Options`."""
    training: TrainingTerms
    streams: Streams

    def hyperparameter(self, name: str) -> float:
        """A number of the drawn configuration that the method cannot do without."""
        if name not in self.hyperparameters:
            raise MethodError(f"the configuration has no {name!r}, which this arm needs: give it in the search space")
        return float(self.hyperparameters[name])

    def initial_means(self, member: int) -> Callable[[int], torch.Generator]:
        """The stream of each layer's initial means; member 0 of every arm starts from the same ones."""
        return lambda layer: self.streams.torch("initialisation", layer + member * bnn.LAYERS_APART)

    def network(
        self,
        posterior: Callable[[Tensor, Sequence[int]], bnn.Posterior],
        prior: Callable[[bnn.Posterior], bnn.Prior] | None = None,
        member: int = 0,
        dropout_rate: float = 0.0,
    ) -> bnn.Network:
        """A network whose layers' posteriors are made from initial means [D] and normalisation groups."""
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
    """Stop after so many epochs without a better metric; None trains to the end."""


def follow_the_study(training: TrainingTerms, options: Any) -> Schedule:  # noqa: ARG001
    """The schedule of a method that trains as the study says."""
    return Schedule(training.pretrain_epochs)


@dataclass(frozen=True)
class Method:
    """A method under comparison."""

    members: Callable[[Setting], list[bnn.Network]]
    """Builds its networks: one, or the members of an ensemble."""
    options: type[BaseModel] = Options
    schedule: Callable[[TrainingTerms, Any], Schedule] = follow_the_study
    kl_weight: Callable[[TrainingTerms, Any], float] = lambda training, _: training.kl_weight
    needs: tuple[str, ...] = ()
    """Hyperparameters that the search space must give, or the options replace."""
