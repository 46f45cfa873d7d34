"""Networks: sizes, layers, draws, and a KL that does not grow with the number of draws."""

from __future__ import annotations

import pytest
import torch
from support.noise import SeededNoise
from torch.nn import functional as F

from robustness.bnn.elbo import negative_elbo, nll, nll_of_draws
from robustness.bnn.ensemble import Ensemble
from robustness.bnn.layers import BayesianConvolution, BayesianLinear
from robustness.bnn.models import SHORT, mlp, vgg
from robustness.bnn.network import Blueprint, Draws, Network
from robustness.bnn.parts import parts
from robustness.bnn.posteriors import GaussianPosterior, PointPosterior, Posterior, RadialPosterior
from robustness.trainables.models import blueprint


def first_stream(layer: int) -> torch.Generator:
    return torch.Generator().manual_seed(layer)


def network(shape: Blueprint, kind: type[GaussianPosterior] = GaussianPosterior, rho: float = -3.0) -> Network:
    return Network(shape, lambda means, sizes: kind(means, rho, (sum(sizes),)), first_stream)


def point_network(shape: Blueprint, dropout_rate: float = 0.0) -> Network:
    return Network(shape, lambda means, _: PointPosterior(means), first_stream, dropout_rate=dropout_rate)


def parameters(model: Network) -> int:
    return sum(p.numel() for p in model.parameters())


def test_parameter_counts_match_the_paper() -> None:
    assert parameters(network(blueprint({"name": "vgg16"}, 3, 2))) / 1e6 == pytest.approx(15.2, abs=0.05)
    deterministic = point_network(blueprint({"name": "vgg16", "base_channels": 64}, 3, 2))
    assert parameters(deterministic) / 1e6 == pytest.approx(14.7, abs=0.05)
    assert parameters(network(blueprint({"name": "vgg_small"}, 3, 2))) / 1e6 == pytest.approx(1.84, abs=0.005)


@pytest.mark.parametrize("size", [16, 17, 32, 50, 64])
@pytest.mark.parametrize("depth", ["full", "short"])
def test_a_vgg_accepts_images_of_any_size_from_16_px(size: int, depth: str) -> None:
    model = network(blueprint({"name": "vgg_small", "base_channels": 4, "depth": depth}, 3, 2))
    with torch.no_grad():
        logits = model.logits(torch.randn(2, 3, size, size), model.sample(3, SeededNoise()))
    assert logits.shape == (3, 2, 2)
    assert bool(logits.isfinite().all())


@pytest.mark.parametrize(("factor", "width"), [(1.0, 64), (0.625, 40), (0.375, 24)])
def test_the_channel_factor_scales_every_width(factor: float, width: int) -> None:
    shape = blueprint({"name": "vgg16", "base_channels": 64, "channel_factor": factor}, 3, 2)
    widths = [layer.outputs for layer in network(shape).layers if isinstance(layer, BayesianConvolution)]
    assert widths == [width] * 2 + [2 * width] * 2 + [4 * width] * 3 + [8 * width] * 6


def test_a_linear_layer_agrees_with_torch() -> None:
    layer = BayesianLinear(5, 3)
    layer.set_posterior(lambda means, _: PointPosterior(means), first_stream(0))
    draws, inputs = torch.randn(2, 18), torch.randn(4, 5)
    for output, draw in zip(layer([inputs], parts(draws, [layer.layout])[0]), draws, strict=True):
        torch.testing.assert_close(output, F.linear(inputs, draw[:15].view(3, 5), draw[15:]))


def test_a_convolution_applies_each_draw_to_its_own_activation() -> None:
    layer = BayesianConvolution(2, 3)
    draws, inputs = torch.randn(2, 57), [torch.randn(4, 2, 8, 8) for _ in range(2)]
    for output, x, draw in zip(layer(inputs, parts(draws, [layer.layout])[0]), inputs, draws, strict=True):
        weight = torch.empty(3, 2, 3, 3)
        for out in range(3):
            for row in range(3):
                for column in range(3):
                    for channel in range(2):
                        weight[out, channel, row, column] = draw[((out * 3 + row) * 3 + column) * 2 + channel]
        torch.testing.assert_close(output, F.conv2d(x, weight, draw[54:], padding=1))


def test_the_first_layer_does_not_copy_its_input_for_each_draw() -> None:
    seen: list[int] = []

    class Recording(BayesianLinear):
        def apply_draw(self, inputs: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
            seen.append(inputs.data_ptr())
            return super().apply_draw(inputs, weight, bias)

    inputs = torch.randn(4, 5)
    layer = Recording(5, 3)
    layer([inputs], parts(torch.randn(6, 18), [layer.layout])[0])
    assert seen == [inputs.data_ptr()] * 6


def test_means_have_he_initialisation_independent_of_the_posterior() -> None:
    layer = BayesianConvolution(64, 64)
    layer.set_posterior(lambda means, _: PointPosterior(means), first_stream(3))
    means = layer.posterior.mean.detach()
    assert means[: layer.weights].std().item() == pytest.approx((2 / (64 * 9)) ** 0.5, rel=0.02)
    assert means[layer.weights :].abs().max().item() == 0
    shape = vgg(3, 2, 4, blocks=SHORT)
    models = [network(shape), network(shape, RadialPosterior), point_network(shape)]
    for others in zip(*(model.posteriors() for model in models), strict=True):
        assert all(torch.equal(others[0].mean, other.mean) for other in others[1:])


@pytest.mark.parametrize("kind", [GaussianPosterior, RadialPosterior])
def test_the_kl_does_not_change_with_the_number_of_draws(kind: type[GaussianPosterior]) -> None:
    model = network(vgg(3, 2, 4, blocks=SHORT), kind)
    images, labels = torch.randn(4, 3, 16, 16), torch.tensor([0, 1, 1, 0])
    kls = []
    for samples in (1, 2, 8):
        draws = model.sample(samples, SeededNoise(samples))
        loss = negative_elbo(model, draws, nll(model.logits(images, draws), labels), examples=100)
        kls.append((loss.cross_entropy - loss.entropy).item())
        torch.testing.assert_close(loss.total, loss.nll + loss.cross_entropy - loss.entropy)
    assert kls[0] == kls[1] == kls[2] > 0


def test_the_monte_carlo_cross_entropy_is_averaged_over_draws_not_summed() -> None:
    model = network(mlp(10, 2, (20,)), rho=0.0)
    closed = model.cross_entropy(model.means()).item()
    with torch.no_grad():
        for samples in (1, 4, 4_000):
            values = [
                model.cross_entropy(model.sample(samples, SeededNoise(seed)), "monte_carlo").item()
                for seed in range(1 if samples > 100 else 200)
            ]
            assert sum(values) / len(values) == pytest.approx(closed, rel=0.02)


def test_nll_is_the_mean_over_draws_and_images() -> None:
    logits, labels = torch.randn(3, 5, 2), torch.tensor([0, 1, 1, 0, 1])
    by_hand = [-logits[s, i].log_softmax(-1)[labels[i]] for s in range(3) for i in range(5)]
    torch.testing.assert_close(nll(logits, labels), torch.stack(by_hand).mean())


@pytest.mark.parametrize("dropout", [0.0, 0.4])
def test_passing_draws_one_at_a_time_has_the_nll_and_gradient_of_passing_all_at_once(dropout: float) -> None:
    model = network(vgg(3, 2, 4, blocks=SHORT)).double()
    model.dropout_rate = dropout
    images, labels = torch.randn(4, 3, 16, 16).double(), torch.tensor([0, 1, 1, 0])
    results = []
    for one_by_one in (True, False):
        draws = model.sample(4, SeededNoise(1))
        if one_by_one:
            value, logits = nll_of_draws(model, draws, images, labels)
        else:
            logits = model.logits(images, draws)
            value = nll(logits, labels)
        model.zero_grad()
        (3.0 * value).backward()  # type: ignore[no-untyped-call]
        gradients = [parameter.grad for parameter in model.parameters() if parameter.grad is not None]
        assert len(gradients) == len(list(model.parameters()))
        results.append([value.detach(), logits.detach(), *gradients])
    # Logits are in single precision.
    torch.testing.assert_close([x.double() for x in results[0]], results[1], rtol=1e-5, atol=1e-6)


def test_the_kl_weight_scales_only_the_kl() -> None:
    model = network(mlp(6, 2, (5,)))
    images, labels = torch.randn(4, 6), torch.tensor([0, 1, 1, 0])
    draws = model.sample(1, SeededNoise())
    logits = model.logits(images, draws)
    half = negative_elbo(model, draws, nll(logits, labels), examples=10, kl_weight=0.5)
    torch.testing.assert_close(half.total, half.nll + 0.5 * (half.cross_entropy - half.entropy))


def test_predicting_with_means_has_no_gradient_for_the_scales() -> None:
    model = network(mlp(6, 2, (5,)))
    nll(model.logits(torch.randn(4, 6), model.means()), torch.tensor([0, 1, 1, 0])).backward()  # type: ignore[no-untyped-call]
    gradients = {name.rsplit(".", 1)[1]: p.grad for name, p in model.named_parameters()}
    assert gradients["rho"] is None
    assert gradients["mean"] is not None


def test_each_head_of_an_mlp_has_its_own_weights() -> None:
    model = point_network(mlp(4, 2, (8,), heads=3))
    inputs, draws = torch.randn(5, 4), model.means()
    outputs = [model.logits(inputs, draws, head) for head in range(3)]
    assert not torch.allclose(outputs[0], outputs[1])
    first, last = model.posteriors()[0], model.posteriors()[3]
    hidden = F.relu(F.linear(inputs, first.mean[:32].view(8, 4)))
    torch.testing.assert_close(outputs[2][0], F.linear(hidden, last.mean[:16].view(2, 8)))


def test_dropout_drops_the_given_fraction_and_preserves_the_mean() -> None:
    model = point_network(mlp(3, 2, (4,)), dropout_rate=0.25)
    dropout = model.sample(1, SeededNoise()).dropout
    assert dropout is not None
    dropped = dropout(torch.ones(400, 500), 0, 0)
    assert (dropped == 0).float().mean().item() == pytest.approx(0.25, abs=0.005)
    assert dropped.mean().item() == pytest.approx(1.0, abs=0.01)
    images = torch.randn(6, 3)
    first, again = (model.logits(images, model.sample(2, SeededNoise(1))) for _ in range(2))
    torch.testing.assert_close(first, again)
    assert not torch.allclose(first[0], first[1])
    torch.testing.assert_close(model.logits(images, model.means())[0], model.logits(images, model.means())[0])


def test_an_ensemble_of_one_predicts_like_its_member() -> None:
    member = network(mlp(3, 2, (4,)))
    images = torch.randn(6, 3)
    expected = member.logits(images, member.sample(2, SeededNoise(1)))
    ensemble = Ensemble([member])
    torch.testing.assert_close(ensemble.logits(images, ensemble.sample(2, SeededNoise(1))), expected)


def test_members_of_an_ensemble_have_independent_noise() -> None:
    ensemble = Ensemble([network(mlp(3, 2, (4,))) for _ in range(2)])
    first, second = ensemble.sample(2, SeededNoise(1))
    assert not torch.allclose(first.weights[0], second.weights[0])
    assert ensemble.logits(torch.randn(6, 3), (first, second)).shape == (4, 6, 2)


def test_draws_report_their_number_of_samples() -> None:
    assert Draws((torch.zeros(3, 5),)).samples == 3


def test_posteriors_are_listed_from_input_to_output() -> None:
    posteriors: list[Posterior] = network(mlp(3, 2, (4, 5))).posteriors()
    assert [p.size for p in posteriors] == [3 * 4 + 4, 4 * 5 + 5, 5 * 2 + 2]
