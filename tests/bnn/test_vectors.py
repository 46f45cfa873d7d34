"""Parameters joined into vectors keep their values and gradients."""

from __future__ import annotations

import copy
from typing import Any

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


def loss(model: Network) -> torch.Tensor:
    draws = model.sample(2, SeededNoise(1))
    data = model.logits(torch.ones(4, 3, dtype=draws.weights[0].dtype), draws).square().sum()
    if not model.variational:
        return data
    assert draws.entropy is not None
    return data + 0.1 * (model.cross_entropy(draws) - draws.entropy)


def test_parameters_are_views_of_the_vectors_and_keep_their_values() -> None:
    model = network()
    before = [parameter.detach().clone() for parameter in model.parameters()]
    means, rhos = model.join()
    torch.testing.assert_close([parameter.detach() for parameter in model.parameters()], before, rtol=0, atol=0)
    with torch.no_grad():
        means.value.fill_(3.0)
        rhos.value.fill_(-1.0)
    for posterior in model.posteriors():
        assert bool((posterior.mean == 3.0).all())
        assert bool((posterior.rho == -1.0).all())  # type: ignore[union-attr]
    assert model.join() == (means, rhos)


@pytest.mark.parametrize(("mixture", "point"), [(False, False), (True, False), (False, True)])
def test_gradients_match_those_of_separate_layers(mixture: bool, point: bool) -> None:
    separate, joined = network(mixture, point), network(mixture, point)
    loss(separate).backward()  # type: ignore[no-untyped-call]
    vectors = joined.join()
    loss(joined).backward()  # type: ignore[no-untyped-call]
    for vector in vectors:
        vector.gather_gradients()
    groups: list[list[Any]] = [
        [p.mean for p in separate.posteriors()],
        [] if point else [p.rho for p in separate.posteriors()],
    ]
    for vector, group in zip(vectors, filter(None, groups), strict=True):
        assert vector.value.grad is not None
        torch.testing.assert_close(vector.value.grad, torch.cat([p.grad for p in group]))


def test_a_network_that_was_converted_is_no_longer_joined_and_can_be_joined_again() -> None:
    model = network()
    old = model.join()
    model.double()
    assert not any(vector.intact() for vector in old)
    loss(model).backward()  # type: ignore[no-untyped-call]
    assert all(vector.value.grad is None for vector in old)
    assert all(parameter.grad is not None for parameter in model.parameters())
    assert model.join()[0].value.dtype == torch.float64


def test_a_copy_is_independent_of_the_original() -> None:
    model = network()
    model.join()
    other = copy.deepcopy(model)
    with torch.no_grad():
        other.join()[0].value.add_(1.0)
    noise = SeededNoise(1)
    assert not torch.allclose(model.sample(1, noise).weights[0], other.sample(1, noise).weights[0])
    torch.testing.assert_close(model.means().weights[0] + 1.0, other.means().weights[0])


@pytest.mark.parametrize("name", ["adam", "amsgrad", "sgd"])
def test_a_step_matches_torchs_optimiser_on_the_separate_parameters(name: str) -> None:
    separate, joined = network(), network()
    rate = {"optimizer": name, "learning_rate": 0.05}
    optimizer = make_optimizer(Ensemble([joined]), rate)
    theirs: torch.optim.Optimizer
    if name == "sgd":
        theirs = torch.optim.SGD(separate.parameters(), lr=0.05, momentum=0.9, nesterov=True)
    else:
        theirs = torch.optim.Adam(separate.parameters(), lr=0.05, amsgrad=name == "amsgrad")
    for _ in range(4):
        for model, each in ((separate, theirs), (joined, optimizer)):
            each.zero_grad()
            loss(model).backward()  # type: ignore[no-untyped-call]
            each.step()
    for ours, other in zip(joined.parameters(), separate.parameters(), strict=True):
        torch.testing.assert_close(ours.detach(), other.detach(), rtol=1e-5, atol=1e-6)
