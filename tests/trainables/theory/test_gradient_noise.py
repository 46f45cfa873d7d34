"""The noise of the NLL's gradient at initialisation: the paper's claim, and the control with radial's scale."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from support.theory_studies import NOISE, results, study

from robustness.bnn.network import Draws
from robustness.errors import RobustnessError
from robustness.streams import Streams
from robustness.study.loading import load_study
from robustness.sweep.plan import make_plan
from robustness.trainables.classification.noise import StreamNoise
from robustness.trainables.theory.gradient_noise import MEASURED, batch, build, gradient_moments
from robustness.trainables.theory.options import NoiseOptions, PictureOptions


def measured(channels: int, sigma: float, samples: int, **changes: Any) -> dict[str, dict[str, float]]:
    """The measures of each arm at one point, one replicate."""
    point = study(
        NOISE,
        space={"channels": channels, "sigma": sigma},
        sampling={"strategy": "grid"},
        training={"samples": samples},
        **changes,
    )
    return {trial.arm: dict(result.measures) for trial, result in results(point)}


def test_at_sigma_0_3_and_512_channels_mfvi_is_at_least_ten_times_as_noisy_as_radial() -> None:
    measures = measured(512, 0.3, samples=3, task={"pictures": 4})
    assert measures["mfvi"]["noise_sd"] > 10 * measures["radial"]["noise_sd"]


def test_mean_field_with_radial_s_scale_is_about_as_noisy_as_radial() -> None:
    measures = measured(32, 0.3, samples=64)
    assert measures["mfvi_scaled"]["weight_sd"] == pytest.approx(measures["radial"]["weight_sd"], rel=1e-5)
    assert measures["radial"]["weight_sd"] == pytest.approx(0.3 / (9 * 32 * 32 + 32) ** 0.5, rel=1e-5)
    assert measures["mfvi"]["weight_sd"] == pytest.approx(0.3, rel=1e-5)
    assert 0.5 < measures["mfvi_scaled"]["noise_sd"] / measures["radial"]["noise_sd"] < 2
    assert measures["mfvi"]["noise_sd"] > 5 * measures["mfvi_scaled"]["noise_sd"]


def test_the_moments_are_those_of_gradients_taken_one_by_one_with_respect_to_the_means() -> None:
    point = study(NOISE, arms=["radial"], space={"channels": 4, "sigma": 0.5}, sampling={"strategy": "grid"})
    (trial,) = make_plan(point).trials
    task, streams = PictureOptions(pictures=6), Streams.of(trial)
    network = build(trial, task, NoiseOptions())
    pictures, labels = batch(task, streams)
    gradients = []
    for sample in range(5):
        network.zero_grad()
        draw = network.sample(1, StreamNoise(streams, (sample,)))
        logits = network.logits(pictures, Draws(draw.weights))[0]
        torch.nn.functional.nll_loss(logits.log_softmax(1), labels).backward()  # type: ignore[no-untyped-call]
        gradient = network.posteriors()[MEASURED].mean.grad
        assert gradient is not None
        gradients.append(gradient.clone().double())
    stacked = torch.stack(gradients)
    mean, variance = gradient_moments(network, pictures, labels, 5, streams)
    assert mean.numel() == 9 * 4 * 4 + 4
    torch.testing.assert_close(mean, stacked.mean(0), rtol=1e-4, atol=1e-7)
    torch.testing.assert_close(variance, stacked.var(0), rtol=1e-4, atol=1e-9)


def test_further_convolutions_make_the_noise_grow_faster() -> None:
    growth = []
    for further in (0, 1):
        low, high = (
            measured(16, sigma, samples=16, model={"further": further})["mfvi"]["noise_sd"] for sigma in (0.1, 1.0)
        )
        growth.append(high / low)
    assert growth[1] > 3 * growth[0]


def test_a_pair_shares_means_and_images_and_replicates_differ() -> None:
    trials = make_plan(study(NOISE)).trials
    first = [trial for trial in trials if trial.configuration == 0]
    task = PictureOptions()
    means = {
        (trial.arm, trial.replicate): build(trial, task, NoiseOptions()).posteriors()[MEASURED].mean.detach()
        for trial in first
    }
    assert torch.equal(means["mfvi", 0], means["radial", 0])
    assert not torch.equal(means["mfvi", 0], means["mfvi", 1])
    pictures = {trial.replicate: batch(task, Streams.of(trial))[0] for trial in first}
    assert not torch.equal(pictures[0], pictures[1])


def test_the_bundled_study_goes_from_0_01_to_1_and_has_the_paper_s_512_channels() -> None:
    space = load_study("gradient_noise").space.data
    assert (min(space["sigma"]), max(space["sigma"])) == (0.01, 1.0)
    assert {0.3} < set(space["sigma"])
    assert 512 in space["channels"]
    assert len(space["channels"]) > 2


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"task": {"pictres": 4}}, r"task\.pictres: .*pictures"),
        ({"model": {"name": "vgg16"}}, r"model\.name"),
        ({"training": {"samples": 1}}, r"training\.samples"),
        ({"arms": ["radail"]}, "radail.*radial"),
        ({"space": {"channels": 8, "sigma": [0, 0.1]}}, r"space\.sigma: must be a number above 0, found 0"),
        ({"space": {"channels": 8.5, "sigma": 0.1}}, r"space\.channels: must be an integer >= 1, found 8.5"),
        ({"space": {"channels": 8}}, r"space\.sigma: is missing"),
        ({"outcomes": NOISE["outcomes"] | {"metric": "noise_sd"}}, r"outcomes\.metric: .*signal_to_noise"),
    ],
)
def test_an_invalid_study_gets_one_line_that_names_the_problem(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(RobustnessError, match=words) as caught:
        study(NOISE, **changes)
    assert str(caught.value).startswith("mine.yaml: ")
    assert "\n" not in str(caught.value)
