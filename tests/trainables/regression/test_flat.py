"""The hand-written gradient against autograd through the project's own modules."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest
import torch
from support.noise import SeededNoise
from torch import Tensor

from robustness.bnn.gaussian import gaussian_log_density
from robustness.bnn.models import mlp
from robustness.bnn.network import Draws, Network
from robustness.bnn.posteriors import GaussianPosterior, PointPosterior, Posterior, RadialPosterior
from robustness.bnn.priors import GaussianPrior, ScaleMixturePrior
from robustness.errors import MethodError
from robustness.trainables.regression.adam import Adam
from robustness.trainables.regression.flat import FlatNetwork

EXAMPLES, KL_WEIGHT, NOISE_SCALE = 37, 0.8, 0.6


def gaussian(means: Tensor, sizes: Sequence[int]) -> Posterior:
    return GaussianPosterior(means, -1.0)


def radial(means: Tensor, sizes: Sequence[int]) -> Posterior:
    return RadialPosterior(means, 1.0)


def radial_by_tensor(means: Tensor, sizes: Sequence[int]) -> Posterior:
    return RadialPosterior(means, 1.0, sizes)


def scaled(means: Tensor, sizes: Sequence[int]) -> Posterior:
    return GaussianPosterior(means, 0.5, spread=torch.linspace(0.1, 0.4, len(means)))


def network(posterior: Callable[[Tensor, Sequence[int]], Posterior], hidden: Sequence[int] = (7,)) -> Network:
    made = Network(
        mlp(3, 1, hidden),
        posterior,
        lambda layer: torch.Generator().manual_seed(layer),
        lambda _: GaussianPrior(0.2, 0.7),
    )
    for each in made.posteriors():
        if isinstance(each, GaussianPosterior):
            each.rho.data += 0.3 * torch.randn(each.size, generator=torch.Generator().manual_seed(each.size))
    return made


@pytest.mark.parametrize("hidden", [(7,), (5, 4), ()])
@pytest.mark.parametrize("samples", [1, 3])
@pytest.mark.parametrize("posterior", [gaussian, radial, radial_by_tensor, scaled])
def test_the_gradient_is_that_of_the_negative_elbo(
    posterior: Callable[[Tensor, Sequence[int]], Posterior], samples: int, hidden: Sequence[int]
) -> None:
    generator = torch.Generator().manual_seed(9)
    inputs, targets = torch.randn(11, 3, generator=generator), torch.randn(11, generator=generator)
    flat = FlatNetwork(network(posterior, hidden), samples, EXAMPLES, KL_WEIGHT, NOISE_SCALE, learned_noise=True)
    standard = flat.standard_draws(2, SeededNoise(1))[1]
    square = flat.step(inputs, targets, standard)

    plain = network(posterior, hidden)
    log_noise = torch.tensor(NOISE_SCALE).log().requires_grad_()
    weights, start = [], 0
    for each in plain.posteriors():
        assert isinstance(each, GaussianPosterior)
        weights.append(each.mean + each.scale() * standard[:, start : start + each.size])
        start += each.size
    draws = Draws(tuple(weights))
    predictions = plain.logits(inputs, draws).squeeze(-1)
    nll = -gaussian_log_density(predictions, targets, log_noise.exp()).mean()
    (nll + KL_WEIGHT * (plain.cross_entropy(draws) - plain.entropy()) / EXAMPLES).backward()  # type: ignore[no-untyped-call]
    assert isinstance(log_noise.grad, Tensor)
    gradients: list[Any] = [p.mean.grad for p in plain.posteriors()] + [p.rho.grad for p in plain.posteriors()]
    expected = torch.cat([*gradients, log_noise.grad[None]])
    torch.testing.assert_close(flat.gradient, expected, rtol=2e-4, atol=2e-5)
    assert flat.nll(square) == pytest.approx(nll.item(), rel=1e-5)


def test_adam_is_torchs() -> None:
    generator = torch.Generator().manual_seed(4)
    ours = torch.randn(20, generator=generator)
    theirs = ours.clone()
    theirs.grad = torch.zeros(20)
    gradient = torch.zeros(20)
    adam, reference = Adam(ours, gradient, 0.03), torch.optim.Adam([theirs], lr=0.03)
    for step in range(50):
        gradient.copy_(torch.randn(20, generator=generator) * 10.0 ** (step % 5 - 3))
        theirs.grad.copy_(gradient)
        adam.step()
        reference.step()
    torch.testing.assert_close(ours, theirs, rtol=1e-5, atol=1e-6)


def test_a_fixed_noise_scale_has_no_gradient() -> None:
    flat = FlatNetwork(network(gaussian), 1, EXAMPLES, 1.0, NOISE_SCALE, learned_noise=False)
    flat.step(torch.randn(4, 3), torch.randn(4), flat.standard_draws(1, SeededNoise(1))[0])
    assert float(flat.gradient[-1]) == 0.0
    assert flat.noise_scale == pytest.approx(NOISE_SCALE)


def test_a_step_of_the_vector_is_seen_by_the_networks_modules() -> None:
    made = network(radial)
    before = [float(p.mean.detach()[0]) for p in made.posteriors()]
    flat = FlatNetwork(made, 1, EXAMPLES, 1.0, 1.0, learned_noise=True)
    flat.parameters += 1.0
    assert [float(p.mean.detach()[0]) for p in made.posteriors()] == pytest.approx([x + 1 for x in before])


def test_noise_for_several_steps_is_that_of_the_posteriors() -> None:
    flat = FlatNetwork(network(radial), 2, EXAMPLES, 1.0, 1.0, learned_noise=True)
    standard = flat.standard_draws(5, SeededNoise(2))
    assert standard.shape == (5, 2, flat.size)
    first = flat.network.posteriors()[0]
    assert isinstance(first, RadialPosterior)
    expected = first.standard_draws(10, SeededNoise(2), 0).view(5, 2, -1)
    assert torch.equal(standard[..., : first.size], expected)


def test_networks_without_scales_and_other_priors_are_refused() -> None:
    point = Network(mlp(3, 1, [4]), lambda means, _: PointPosterior(means), lambda _: torch.Generator())
    with pytest.raises(MethodError, match="mean-field or radial"):
        FlatNetwork(point, 1, EXAMPLES, 1.0, 1.0, True)
    mixture = Network(mlp(3, 1, [4]), gaussian, lambda _: torch.Generator(), lambda _: ScaleMixturePrior())
    with pytest.raises(MethodError, match="only the Gaussian prior"):
        FlatNetwork(mixture, 1, EXAMPLES, 1.0, 1.0, True)
