"""The methods: how each starts, and the errors for a wrong name or option."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from torch.nn import functional as F

from robustness.bnn.network import Network
from robustness.bnn.posteriors import (
    GaussianPosterior,
    PointPosterior,
    RadialPosterior,
    TruncatedGaussianPosterior,
)
from robustness.bnn.priors import GaussianPrior, ScaleMixturePrior
from robustness.errors import MethodError
from robustness.methods import METHODS, find_method, read_method_options
from robustness.methods.method import Method, Setting
from robustness.streams import Streams
from robustness.trainables.classification.noise import StreamNoise
from robustness.trainables.classification.options import TrainingOptions
from robustness.trainables.models import blueprint


def build(name: str, options: dict[str, Any] | None = None, **training: Any) -> list[Network]:
    setting = Setting(
        blueprint({"name": "vgg_small", "base_channels": 4, "depth": "short"}, 3, 2),
        {"initial_rho": -2.0, "learning_rate": 1e-3},
        read_method_options(name, options or {}),
        TrainingOptions(epochs=9, **training),
        Streams(0, 0),
    )
    return find_method(name).members(setting)


@pytest.mark.parametrize("name", METHODS)
def test_every_method_builds_and_its_first_member_starts_from_the_same_means(name: str) -> None:
    means, reference = ([p.mean for p in build(n)[0].posteriors()] for n in (name, "mfvi"))
    assert all(torch.equal(a, b) for a, b in zip(means, reference, strict=True))


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("mfvi", GaussianPosterior),
        ("mfvi_noise_matched", GaussianPosterior),
        ("mfvi_scaled", GaussianPosterior),
        ("mfvi_tweaked", GaussianPosterior),
        ("mfvi_truncated", TruncatedGaussianPosterior),
        ("radial", RadialPosterior),
        ("radial_unscaled", RadialPosterior),
        ("radial_ensemble", RadialPosterior),
        ("deterministic", PointPosterior),
        ("mc_dropout", PointPosterior),
        ("deep_ensemble", PointPosterior),
    ],
)
def test_each_method_has_its_posterior(name: str, kind: type) -> None:
    assert {type(p) for network in build(name) for p in network.posteriors()} == {kind}


@pytest.mark.parametrize("grouping", ["layer", "tensor"])
@pytest.mark.parametrize(
    ("control", "matched"), [("mfvi_noise_matched", "radial"), ("mfvi_scaled", "radial"), ("radial_unscaled", "mfvi")]
)
def test_a_control_starts_with_as_much_noise_per_weight_as_the_arm_it_matches(
    control: str, matched: str, grouping: str
) -> None:
    for ours, theirs in zip(
        build(control, grouping=grouping)[0].posteriors(),
        build(matched, grouping=grouping)[0].posteriors(),
        strict=True,
    ):
        torch.testing.assert_close(ours.variance(), theirs.variance(), rtol=1e-4, atol=0)


@pytest.mark.parametrize(("unscaled", "scaled"), [("mfvi", "mfvi_scaled"), ("radial_unscaled", "radial")])
def test_scaling_divides_every_weights_noise_by_sqrt_d_whatever_rho_becomes(unscaled: str, scaled: str) -> None:
    noisy, quiet = (build(name)[0].posteriors()[2] for name in (unscaled, scaled))
    for posterior in (noisy, quiet):
        assert isinstance(posterior, GaussianPosterior)
        with torch.no_grad():
            posterior.rho.fill_(1.0)
    torch.testing.assert_close(noisy.variance(), quiet.variance() * noisy.size, rtol=1e-4, atol=0)


def test_the_kl_of_radial_unscaled_is_that_of_mfvi_up_to_a_constant() -> None:
    """Both weights have the variance sigma^2, so the entropies differ by no function of sigma (the paper's notes)."""
    gaussian, radial = (build(name)[0].posteriors()[2] for name in ("mfvi", "radial_unscaled"))
    gaps = []
    for rho in (-6.0, -2.0, 0.5):
        for posterior in (gaussian, radial):
            assert isinstance(posterior, GaussianPosterior)
            with torch.no_grad():
                posterior.rho.fill_(rho)
        torch.testing.assert_close(gaussian.variance(), radial.variance(), rtol=1e-4, atol=0)
        gaps.append(float((gaussian.entropy().double() - radial.entropy().double()).detach()))
    assert gaps == pytest.approx([gaps[0]] * 3, rel=1e-4)


def test_noise_matched_trains_freely_and_scaled_keeps_its_factor() -> None:
    matched, scaled = (build(name)[0].posteriors()[2] for name in ("mfvi_noise_matched", "mfvi_scaled"))
    assert isinstance(matched, GaussianPosterior)
    assert isinstance(scaled, GaussianPosterior)
    for posterior in (matched, scaled):
        with torch.no_grad():
            posterior.rho.fill_(1.0)
    expected = F.softplus(torch.tensor(1.0))
    torch.testing.assert_close(matched.scale().mean(), expected)
    torch.testing.assert_close(scaled.scale().mean(), expected / math.sqrt(scaled.size))


def test_grouping_by_tensor_normalises_weight_and_bias_separately() -> None:
    by_layer, by_tensor = (build("radial", grouping=g)[0].posteriors()[0] for g in ("layer", "tensor"))
    assert by_layer.groups == (3 * 9 * 4 + 4,)
    assert by_tensor.groups == (3 * 9 * 4, 4)


def test_tweaked_starts_with_a_tiny_variance_and_pretrains_a_third() -> None:
    posterior = build("mfvi_tweaked")[0].posteriors()[0]
    torch.testing.assert_close(posterior.variance(), torch.full_like(posterior.mean, 1e-6), rtol=1e-3, atol=0)
    schedule = find_method("mfvi_tweaked").schedule(
        TrainingOptions(epochs=30), read_method_options("mfvi_tweaked", {"patience": 4})
    )
    assert (schedule.pretrain_epochs, schedule.patience) == (10, 4)


def test_members_of_an_ensemble_start_from_different_weights() -> None:
    for name in ("deep_ensemble", "radial_ensemble"):
        members = build(name, {"members": 4})
        assert len(members) == 4
        assert len({m.posteriors()[0].mean.sum().item() for m in members}) == 4


def test_prior_options_choose_the_prior() -> None:
    mixture = build("mfvi", {"prior": "scale_mixture", "prior_scale": 2.0})[0].priors[0]
    assert isinstance(mixture, ScaleMixturePrior)
    assert mixture.wide == 2.0
    network = build("radial", {"tight_prior": True, "prior_scale": 3.0})[0]
    tight = network.priors[0]
    assert isinstance(tight, GaussianPrior)
    assert tight.scale.item() == pytest.approx(3.0 / math.sqrt(network.posteriors()[0].size))


def test_options_take_precedence_over_the_configuration_and_the_study() -> None:
    posterior = build("mfvi", {"initial_rho": -5.0})[0].posteriors()[0]
    assert isinstance(posterior, GaussianPosterior)
    assert posterior.rho.unique().tolist() == [-5.0]  # type: ignore[no-untyped-call]
    options = read_method_options("mfvi", {"kl_weight": 0.1, "pretrain_epochs": 4})
    method, training = find_method("mfvi"), TrainingOptions(epochs=9)
    assert method.kl_weight(training, options) == 0.1
    assert method.schedule(training, options).pretrain_epochs == 4


def test_an_unknown_arm_gets_the_nearest_name() -> None:
    with pytest.raises(MethodError, match=r"unknown arm 'radail'; did you mean 'radial'\?"):
        read_method_options("radail", {})


@pytest.mark.parametrize(
    ("name", "options", "words"),
    [
        (
            "radial",
            {"prior_scal": 1.0},
            r"arm radial, prior_scal: unknown key .*did you mean 'prior_scale'\?",
        ),
        ("deterministic", {"members": 2}, "deterministic takes no options, found 'members'"),
        ("mc_dropout", {"dropout_rate": 1.5}, "mc_dropout, dropout_rate: .*less than 1, found 1.5"),
        ("tests.nowhere:METHOD", {}, "cannot import 'tests.nowhere'"),
        ("robustness.methods.mfvi:METHOT", {}, "has no 'METHOT'"),
        ("robustness.methods.mfvi:members", {}, "is a function, not a robustness.methods.method.Method"),
    ],
)
def test_bad_options_and_names_are_named(name: str, options: dict[str, Any], words: str) -> None:
    with pytest.raises(MethodError, match=words):
        read_method_options(name, options)


def test_a_users_own_method_is_found_by_its_path() -> None:
    assert isinstance(find_method("robustness.methods.mfvi:METHOD"), Method)
    read_method_options("robustness.methods.mfvi:METHOD", {"prior_scale": 2.0})


def test_a_missing_hyperparameter_is_named() -> None:
    setting = Setting((), {}, read_method_options("mfvi", {}), TrainingOptions(epochs=1), Streams(0, 0))
    with pytest.raises(MethodError, match=r"'initial_rho'.*search space"):
        find_method("mfvi").members(setting)


@pytest.mark.parametrize("name", METHODS)
def test_a_method_draws_the_same_weights_whatever_the_hyperparameters_that_it_does_not_use(name: str) -> None:
    def weights(**changed: float) -> list[torch.Tensor]:
        setting = Setting(
            blueprint({"name": "vgg_small", "base_channels": 4, "depth": "short"}, 3, 2),
            {"initial_rho": -2.0, "variational_samples": 1, **changed},
            read_method_options(name, {}),
            TrainingOptions(epochs=9),
            Streams(0, 0),
        )
        samples = int(setting.hyperparameters["variational_samples"])
        draws = [
            each.sample(samples, StreamNoise(setting.streams, (1, 0))) for each in find_method(name).members(setting)
        ]
        return [layer[-1] for draw in draws for layer in draw.weights]

    unused = find_method(name).unused
    for hyperparameter, value in {"initial_rho": -4.0, "variational_samples": 3}.items():
        same = [torch.equal(a, b) for a, b in zip(weights(), weights(**{hyperparameter: value}), strict=True)]
        if hyperparameter in unused:
            assert all(same)
        elif name != "mc_dropout":  # whose noise is in its units, not in its weights
            assert not all(same)
