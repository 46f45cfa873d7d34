"""Parameters joined into vectors: the same numbers, and gradients wherever they arrive."""

from __future__ import annotations

import copy

import pytest
import torch
from support.noise import SeededNoise

from robustness.bnn.ensemble import Ensemble
from robustness.bnn.models import mlp
from robustness.bnn.network import Network
from robustness.bnn.posteriors import GaussianPosterior, PointPosterior
from robustness.bnn.priors import ScaleMixturePrior
from robustness.trainables.optimizers import make_optimizer


def network(mixture: bool = False, point: bool = False) -> Network:
    return Network(
        mlp(3, 2, (4, 5)),
        (lambda means, _: PointPosterior(means)) if point else (lambda means, _: GaussianPosterior(means, -2.0)),
        lambda i: torch.Generator().manual_seed(i),
        (lambda _: ScaleMixturePrior()) if mixture else None,
    )


def loss(made: Network) -> torch.Tensor:
    draws = made.sample(2, SeededNoise(1))
    data = made.logits(torch.ones(4, 3, dtype=draws.weights[0].dtype), draws).square().sum()
    if not made.variational:
        return data
    assert draws.entropy is not None
    return data + 0.1 * (made.cross_entropy(draws) - draws.entropy)


def test_parameters_are_parts_of_the_vectors_and_keep_their_values() -> None:
    made = network()
    before = [parameter.detach().clone() for parameter in made.parameters()]
    means, rhos = made.join()
    torch.testing.assert_close([parameter.detach() for parameter in made.parameters()], before, rtol=0, atol=0)
    with torch.no_grad():
        means.value.fill_(3.0)
        rhos.value.fill_(-1.0)
    for posterior in made.posteriors():
        assert bool((posterior.mean == 3.0).all())
        assert bool((posterior.rho == -1.0).all())  # type: ignore[union-attr]
    assert made.join() == (means, rhos)


@pytest.mark.parametrize(("mixture", "point"), [(False, False), (True, False), (False, True)])
def test_gradients_are_those_of_the_layers_apart(mixture: bool, point: bool) -> None:
    apart, joined = network(mixture, point), network(mixture, point)
    loss(apart).backward()  # type: ignore[no-untyped-call]
    vectors = joined.join()
    loss(joined).backward()  # type: ignore[no-untyped-call]
    for vector in vectors:
        vector.gather_gradients()
    groups = [[p.mean for p in apart.posteriors()], [] if point else [p.rho for p in apart.posteriors()]]  # type: ignore[union-attr]
    for vector, group in zip(vectors, filter(None, groups), strict=True):
        assert vector.value.grad is not None
        torch.testing.assert_close(vector.value.grad, torch.cat([p.grad for p in group]))  # type: ignore[misc]


def test_a_network_that_was_moved_is_not_joined_any_more_and_can_be_joined_again() -> None:
    made = network()
    old = made.join()
    made.double()
    assert not any(vector.intact() for vector in old)
    loss(made).backward()  # type: ignore[no-untyped-call]
    assert all(vector.value.grad is None for vector in old)
    assert all(parameter.grad is not None for parameter in made.parameters())
    assert made.join()[0].value.dtype == torch.float64


def test_a_copy_is_a_network_of_its_own() -> None:
    made = network()
    made.join()
    other = copy.deepcopy(made)
    with torch.no_grad():
        other.join()[0].value.add_(1.0)
    noise = SeededNoise(1)
    assert not torch.allclose(made.sample(1, noise).weights[0], other.sample(1, noise).weights[0])
    torch.testing.assert_close(made.means().weights[0] + 1.0, other.means().weights[0])


@pytest.mark.parametrize("name", ["adam", "amsgrad", "sgd"])
def test_a_step_is_that_of_torch_s_optimiser_on_the_parameters_apart(name: str) -> None:
    apart, joined = network(), network()
    rate = {"optimizer": name, "learning_rate": 0.05}
    optimizer = make_optimizer(Ensemble([joined]), rate)
    theirs: torch.optim.Optimizer
    if name == "sgd":
        theirs = torch.optim.SGD(apart.parameters(), lr=0.05, momentum=0.9, nesterov=True)
    else:
        theirs = torch.optim.Adam(apart.parameters(), lr=0.05, amsgrad=name == "amsgrad")
    for _ in range(4):
        for made, each in ((apart, theirs), (joined, optimizer)):
            each.zero_grad()
            loss(made).backward()  # type: ignore[no-untyped-call]
            each.step()
    for ours, other in zip(joined.parameters(), apart.parameters(), strict=True):
        torch.testing.assert_close(ours.detach(), other.detach(), rtol=1e-5, atol=1e-6)
