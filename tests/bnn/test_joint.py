"""Joint draws of all layers match the draws, KL terms and autograd gradients of the separate layers."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest
import torch
from support.noise import SeededNoise
from torch import Tensor

from robustness.bnn.models import mlp
from robustness.bnn.network import Network
from robustness.bnn.posteriors import GaussianPosterior, Posterior, RadialPosterior, TruncatedGaussianPosterior
from robustness.bnn.priors import GaussianPrior, Prior, ScaleMixturePrior

POSTERIORS: dict[str, Callable[[Tensor, Sequence[int]], Posterior]] = {
    "gaussian": lambda means, groups: GaussianPosterior(means, -2.0, groups),
    "radial": lambda means, groups: RadialPosterior(means, -1.0, groups),
    "truncated": lambda means, groups: TruncatedGaussianPosterior(means, -2.0, 1.0, groups),
    "scaled": lambda means, groups: GaussianPosterior(means, 0.5, groups, spread=0.1 + torch.rand(len(means))),
    "steep": lambda means, groups: GaussianPosterior(means, 30.0, groups),
}
PRIORS: dict[str, Callable[[Posterior], Prior]] = {
    "unit": lambda _: GaussianPrior(),
    "by layer": lambda posterior: GaussianPrior(scale=posterior.size**-0.5),
    "elsewhere": lambda posterior: GaussianPrior(0.3 * torch.ones(posterior.size), 0.5 + torch.rand(posterior.size)),
    "mixture": lambda _: ScaleMixturePrior(),
}


def network(posterior: str, prior: str) -> Network:
    torch.manual_seed(0)
    model = Network(
        mlp(3, 2, (4, 5)), POSTERIORS[posterior], lambda i: torch.Generator().manual_seed(i), PRIORS[prior]
    ).double()
    for parameter in model.parameters():
        # Every weight gets its own mean and scale.
        parameter.data += 0.1 * torch.randn_like(parameter)
    return model


def gradients(model: Network, loss: Tensor) -> list[Tensor]:
    model.zero_grad()
    loss.backward()  # type: ignore[no-untyped-call]
    return [torch.zeros_like(p) if p.grad is None else p.grad for p in model.parameters()]


@pytest.mark.parametrize("prior", PRIORS)
@pytest.mark.parametrize("posterior", POSTERIORS)
@pytest.mark.parametrize(("samples", "chunk"), [(1, 10**9), (3, 10**9), (1, 20), (3, 1)])
@pytest.mark.parametrize("as_on_gpu", [False, True])
def test_draws_terms_and_gradients_match_those_of_separate_layers(
    posterior: str, prior: str, samples: int, chunk: int, as_on_gpu: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("robustness.bnn.joint.CHUNK", chunk)
    if as_on_gpu:
        monkeypatch.setattr("robustness.bnn.joint._factor", lambda scalar: scalar)
    model = network(posterior, prior)
    draws = model.sample(samples, SeededNoise(1))
    separate = [each.sample(samples, SeededNoise(1), index) for index, each in enumerate(model.posteriors())]
    for joint, single in zip(draws.weights, separate, strict=True):
        torch.testing.assert_close(joint, single)
    cross_entropy, entropy = model.cross_entropy(draws), draws.entropy
    assert entropy is not None
    crosses = [p.cross_entropy(q, w) for p, q, w in zip(model.priors, model.posteriors(), separate, strict=True)]  # type: ignore[operator]
    torch.testing.assert_close(cross_entropy, torch.stack(crosses).sum())
    separate_entropy = torch.stack([each.entropy() for each in model.posteriors()]).sum()
    torch.testing.assert_close(entropy, separate_entropy)
    # A loss whose gradient has different coefficients for the weights and for each KL term.
    slopes = [torch.randn_like(each) for each in separate]
    data = sum((slope * weights).sum() for slope, weights in zip(slopes, draws.weights, strict=True))
    separate_data = sum((slope * weights).sum() for slope, weights in zip(slopes, separate, strict=True))
    actual = gradients(model, data + 0.7 * cross_entropy - 0.4 * entropy)
    expected = gradients(model, separate_data + 0.7 * torch.stack(crosses).sum() - 0.4 * separate_entropy)
    torch.testing.assert_close(actual, expected)


def test_replacing_a_prior_takes_effect() -> None:
    model = network("gaussian", "unit")
    before = model.cross_entropy(model.sample(1, SeededNoise(1))).item()
    model.priors[1] = GaussianPrior(scale=0.1)
    posterior = model.posteriors()[1]
    change = GaussianPrior(scale=0.1).cross_entropy(posterior, posterior.mean[None])
    change = change - GaussianPrior().cross_entropy(posterior, posterior.mean[None])
    assert model.cross_entropy(model.sample(1, SeededNoise(1))).item() == pytest.approx(before + change.item())
