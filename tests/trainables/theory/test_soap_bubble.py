"""Draws of the project's own layers lie where theory says, and a study of them is checked before it runs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import stats
from support.theory_studies import BUBBLE, results, study

from robustness.errors import RobustnessError
from robustness.study.loading import load_study
from robustness.sweep.plan import make_plan
from robustness.trainables.theory.soap_bubble import AT_ONCE, draws


def test_draws_of_both_layers_lie_on_theory_by_kolmogorov_smirnov() -> None:
    """Eight tests at the level 0.001; the seed is fixed."""
    measured = results(study(BUBBLE, training={"samples": 2000}))
    assert {(trial.arm, result.measures["dimension"]) for trial, result in measured} == {
        (arm, dimension) for arm in ("mfvi", "radial") for dimension in (10, 36_928)
    }
    for trial, result in measured:
        assert result.measures["ks_p_value"] > 0.001, trial.key
        assert result.measures["weight_ks_p_value"] > 0.001, trial.key


def test_draws_do_not_lie_on_the_other_posterior_s_theory() -> None:
    """The test has power: 2,000 draws distinguish D = 10 from D = 11, and a radial weight from a matched Gaussian."""
    trials = make_plan(study(BUBBLE)).trials
    by_arm = {trial.arm: trial for trial in trials if trial.hyperparameters["layer"] == "linear"}
    _, radii, _ = draws(by_arm["mfvi"], 2000)
    _, _, weights = draws(by_arm["radial"], 2000)
    assert stats.kstest(radii, stats.chi(11).cdf).pvalue < 1e-6
    narrow = stats.norm(scale=1 / np.sqrt(10))
    assert stats.kstest(weights, narrow.cdf).pvalue < 1e-6


def test_histograms_count_every_draw() -> None:
    for _, result in results(study(BUBBLE, training={"samples": 300, "bins": 12})):
        for name in ("radius", "weight"):
            assert len(result.curves[f"{name}_edges"]) == 13
            assert sum(result.curves[f"{name}_counts"]) == 300


def test_a_trial_repeats_its_draws_in_several_pieces() -> None:
    trials = make_plan(study(BUBBLE)).trials
    trial = next(trial for trial in trials if trial.hyperparameters["layer"] == "convolution")
    count = 2 * (AT_ONCE // 36_928) + 1
    size, radii, weights = draws(trial, count)
    assert size == 36_928
    assert radii.shape == weights.shape == (count,)
    assert len(np.unique(radii)) == count
    _, again, _ = draws(trial, count)
    assert np.array_equal(radii, again)


def test_the_bundled_study_has_the_paper_s_dimensions() -> None:
    options = load_study("soap_bubble").space.data["layer"]
    linear, convolution = options["linear"], options["convolution"]
    assert (linear["inputs"] + 1) * linear["outputs"] == 10
    assert 9 * convolution["inputs"] * convolution["outputs"] == 3 * 3 * 64 * 64


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"task": {"name": "retinopathy"}}, r"task\.name"),
        ({"training": {"sample": 5}}, r"training\.sample: .*samples"),
        ({"training": {"samples": 1}}, r"training\.samples"),
        ({"arms": ["mfvi_scaled"]}, "mfvi_scaled.*choose from: mfvi, radial"),
        ({"arms": [{"name": "mfvi", "initial_roh": 1}]}, "initial_roh.*initial_rho"),
        ({"space": BUBBLE["space"] | {"layer": "convolutoin"}}, r"space\.layer: must be one of convolution, linear"),
        ({"space": {"layer": "linear", "initial_rho": -2, "inputs": 3}}, r"space\.outputs: is missing"),
        ({"outcomes": BUBBLE["outcomes"] | {"metric": "ks_distance"}}, r"outcomes\.metric: .*ks_p_value"),
    ],
)
def test_an_invalid_study_gets_one_line_that_names_the_problem(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(RobustnessError, match=words) as caught:
        study(BUBBLE, **changes)
    assert str(caught.value).startswith("mine.yaml: ")
    assert "\n" not in str(caught.value)
