"""Arms that are one method with several values of an option: the metric by that value."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.multitest import multipletests
from support.results import ends, excludes_zero, p_value
from support.stores import Made, fill, made_study

from report.analysis import analyse
from report.drawing.style import drawing
from report.frames import StudyFrames, load_frames
from report.judged_study import JudgedStudy
from report.sections import dose
from report.sections.dose import find_dose
from robustness.store import open_store
from robustness.study.arms import Arm
from robustness.study.loading import load_study
from robustness.trial import Trial


def _made(trial: Trial, epochs: int) -> Made:
    """Truncation gains 0.2 at 0.25, nothing from 1 on, and half as much with four samples; seeds differ."""
    gain = {0.25: 0.2, 0.5: 0.1}.get(float(trial.method_options.get("threshold", 9)), 0.0)
    seeds = np.random.default_rng([trial.configuration, trial.replicate, len(trial.arm)])
    samples = trial.hyperparameters["variational_samples"]
    score = 0.6 + gain / (2 if samples == 4 else 1) + 0.01 * seeds.normal() + 0.001 * trial.replicate
    return Made(scores=[score] * epochs)


@pytest.fixture
def frames(tmp_path: Path) -> StudyFrames:
    """The bundled study of truncation, with made-up scores."""
    with open_store(f"sqlite:///{tmp_path / 'store.db'}") as store:
        return load_frames(fill(store, load_study("truncation"), _made))


def test_each_number_of_samples_is_a_line_over_ten_seeds(frames: StudyFrames) -> None:
    found = dose.results(JudgedStudy.of(frames))
    assert found is not None
    assert (found["method"], found["option"], found["by"]) == ("mfvi_truncated", "threshold", "variational_samples")
    assert [line["value"] for line in found["lines"]] == [1, 2, 4]
    assert [line["units"] for line in found["lines"]] == [10, 10, 10]
    assert [entry["dose"] for entry in found["lines"][0]["doses"]] == [0.25, 0.5, 1.0, 2.0]
    assert [entry["arm"] for entry in found["lines"][0]["without"]] == ["mfvi"]
    # The study's thresholds and the scores decide nothing else: there is no sample of configurations.
    assert found["unit"] == "replicate"
    assert found["alone"]


def test_differences_are_paired_by_seed_and_corrected_over_all(frames: StudyFrames) -> None:
    found = dose.results(JudgedStudy.of(frames))
    assert found is not None
    assert len(found["differences"]) == 12
    wide = frames.trials.pivot_table(index=["configuration", "replicate"], columns="arm", values="last")
    gains = (wide["truncated_0.25"] - wide["mfvi"]).loc[0].to_numpy()
    first = found["differences"][0]
    assert first["difference"] == pytest.approx(gains.mean())
    # Student's interval and p-value, or wider and larger where the gains are skewed.
    student = stats.ttest_1samp(gains, 0)
    t = student.confidence_interval(0.95)
    low, high = ends(first)
    assert t.low - 0.01 < low <= t.low + 1e-12
    assert t.high - 1e-12 <= high < t.high + 0.01
    assert student.pvalue - 1e-12 <= p_value(first) < 0.05
    adjusted = multipletests([entry["p_value"] for entry in found["differences"]], method="holm")[1]
    assert [entry["p_adjusted"] for entry in found["differences"]] == pytest.approx(list(adjusted))
    for entry in found["differences"]:
        assert excludes_zero(entry) is (p_value(entry) < 0.05)
    assert found["sentences"][0].startswith(
        "With variational samples 1, mfvi gains most in validation AUC from threshold"
    )


def test_the_figure_has_dotted_lines_for_the_arms_without(frames: StudyFrames) -> None:
    analysis = analyse(frames)
    (section,) = dose.sections(analysis)
    with drawing():
        axes = section.pictures[0].draw().axes[0]
    means = [line["without"][0]["mean"] for line in analysis.results["dose"]["lines"]]
    level = [np.asarray(line.get_ydata())[0] for line in axes.get_lines() if line.get_linestyle() not in {"-", "None"}]
    assert level == pytest.approx(means)
    assert section.numbers is not None
    assert len(section.numbers.rows) == 12
    assert analysis.results["verdict"] == analysis.results["dose"]["sentences"]


def test_where_configurations_vary_in_more_they_are_the_unit(tmp_path: Path) -> None:
    arms = [Arm("mfvi", "mfvi"), *(Arm(f"kl {w:g}", "radial", {"kl_weight": w}) for w in (1.0, 0.01, 0.1))]
    study = replace(made_study(configurations=8), arms=tuple(arms))
    with open_store(f"sqlite:///{tmp_path / 'store.db'}") as store:
        found = dose.results(JudgedStudy.of(load_frames(fill(store, study))))
    assert found is not None
    assert (found["option"], found["by"], found["unit"], found["alone"]) == ("kl_weight", None, "configuration", False)
    assert [entry["dose"] for entry in found["lines"][0]["doses"]] == [0.01, 0.1, 1.0]
    assert found["lines"][0]["units"] == 8


@pytest.mark.parametrize(
    "options",
    [
        [{"kl_weight": 0.1}, {"kl_weight": 1.0}],
        [{"kl_weight": 0.1}, {"kl_weight": 1.0}, {"kl_weight": 1.0, "prior_scale": 2.0}],
        [{"prior": "gaussian"}, {"prior": "scale_mixture"}, {}],
        [{"kl_weight": 0.1}, {"kl_weight": 1.0}, {}],
    ],
)
def test_two_values_or_two_options_or_words_are_no_dose(frames: StudyFrames, options: list[dict[str, object]]) -> None:
    arms = [{"label": str(place), "method": "mfvi", "options": given} for place, given in enumerate(options)]
    assert find_dose(replace(frames, document={**frames.document, "arms": arms})) is None
