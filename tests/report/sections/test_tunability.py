from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from support.stores import Made, fill, made_study, typical

from report.analysis import Analysis, analyse
from report.sections import tunability
from robustness.statistics.tunability import tunability as gains
from robustness.store import open_store
from robustness.study.loading import make_study
from robustness.study.study import Study
from robustness.trial import Trial

DEFAULT = {
    "optimizer": "sgd",
    "learning_rate": 0.01,
    "learning_rate_decay": 1.0,
    "momentum": 0.9,
    "nesterov": True,
    "batch_size": 16,
    "variational_samples": 1,
    "initial_rho": -4,
}


def studied(folder: Path, study: Study, name: str = "store") -> Analysis:
    def made(trial: Trial, epochs: int) -> Made:
        if trial.stage == "default":
            scores = {"mfvi": 0.6, "radial": 0.7}
            return Made(scores=[scores[trial.arm] + 0.01 * trial.replicate] * epochs)
        return typical(trial, epochs)

    with open_store(f"sqlite:///{folder / name}.db") as store:
        return analyse(fill(store, study, made))


@pytest.fixture(scope="module")
def analysis(tmp_path_factory: pytest.TempPathFactory) -> Analysis:
    study = replace(made_study(configurations=40, replicates=3), default=DEFAULT)
    return studied(tmp_path_factory.mktemp("tunability"), study)


def results_of(analysis: Analysis) -> tunability.TunabilityResults:
    found = analysis.results["tunability"]
    assert found is not None
    return found


def means_of(analysis: Analysis, arm: str) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    own = analysis.trials[analysis.trials["arm"] == arm]
    means: np.ndarray[tuple[int], np.dtype[np.float64]] = own.groupby("configuration")["score"].mean().to_numpy()
    return means


def test_the_gain_is_that_of_the_best_over_the_mean_of_the_default(analysis: Analysis) -> None:
    for arm, default in (("mfvi", 0.61), ("radial", 0.71)):
        entry, scores = results_of(analysis)["arms"][arm], means_of(analysis, arm)
        assert entry["default"] == pytest.approx(default)
        assert entry["best"] == pytest.approx(scores.max())
        assert entry["gain"] == pytest.approx(scores.max() - default)
        assert entry["better"]["count"] == (scores > default).sum()
        # The default's mean over three replicates, Student's interval: 0.01 / sqrt(3) * 4.303.
        assert entry["high"] == pytest.approx(default + 0.02484, abs=1e-4)
        first, last = entry["gains"][0], entry["gains"][-1]
        assert (first["trials"], last["trials"]) == (1, 40)
        assert first["gain"] == pytest.approx(scores.mean() - default)
        assert last["low"] is None
        assert "tenth" in last["interval"]


def test_arms_are_compared_on_the_same_configurations(analysis: Analysis) -> None:
    found = results_of(analysis)
    one = found["differences"][0]
    a, b = means_of(analysis, "mfvi"), means_of(analysis, "radial")
    assert one["arms"] == ["mfvi", "radial"]
    assert one["difference"] == pytest.approx((a - 0.61).mean() - (b - 0.71).mean())
    # The replicates of the two defaults differ by exactly 0.1, so only configurations vary.
    assert one["low"] is not None
    assert one["high"] is not None
    assert (one["high"] - one["low"]) / 2 == pytest.approx(2.03 * (a - b).std(ddof=1) / 40**0.5, rel=0.05)


def test_the_replicates_of_the_default_widen_the_interval(analysis: Analysis) -> None:
    scores = means_of(analysis, "mfvi")
    fixed, noisy = (gains(scores, default, [4])[0].interval for default in (0.61, [0.41, 0.61, 0.81]))
    assert noisy.high - noisy.low > 2 * (fixed.high - fixed.low)
    assert "held fixed" in fixed.method


def test_a_hyperparameter_alone_needs_configurations_that_differ_in_it_alone(tmp_path: Path) -> None:
    space = {"optimizer": {"amsgrad": {"learning_rate": [0.001, 0.0001]}}, "initial_rho": [-6, -4, -2]}
    data = made_study().document() | {
        "space": {**space, "batch_size": 16, "variational_samples": 1},
        "arms": ["mfvi", "radial"],
        "sampling": {"strategy": "grid"},
        "default": {"optimizer": "amsgrad", "learning_rate": 0.001, "initial_rho": -4},
    }
    grid = studied(tmp_path, make_study({key: value for key, value in data.items() if value is not None}, "grid"))
    alone = {entry["hyperparameter"]: entry for entry in results_of(grid)["arms"]["radial"]["alone"]}
    rhos = [0, 1, 2, 3, 4, 5]
    table = grid.frames.configurations.loc[rhos]
    scores = dict(zip(rhos, means_of(grid, "radial"), strict=True))
    others = [n for n in rhos if table.loc[n, "initial_rho"] != -4 and table.loc[n, "learning_rate"] == 0.001]
    assert alone["initial_rho"]["values"] == len(others) == 2
    assert alone["initial_rho"]["gain"] == pytest.approx(max(scores[n] for n in others) - 0.7)
    (section,) = tunability.sections(grid)
    assert section.numbers is not None
    assert any(row[0] == "initial rho alone" for row in section.numbers.rows)


def test_the_page_says_why_there_is_no_interval(analysis: Analysis) -> None:
    (section,) = tunability.sections(analysis)
    notes = " ".join(section.notes)
    assert "resampling cannot produce a configuration better than the best one drawn" in notes
    assert "is not one of them" in notes
    assert "differs from the default in this hyperparameter alone" in notes
    assert "trained once" not in notes
    assert section.reading.startswith("mfvi: the best of 40 drawn configurations gains")


def test_a_default_that_was_trained_once_is_said_to_be_fixed(tmp_path: Path) -> None:
    once = studied(tmp_path, replace(made_study(configurations=12), default=DEFAULT))
    (section,) = tunability.sections(once)
    assert any("trained once" in note for note in section.notes)


def test_a_loss_gains_where_it_falls(tmp_path: Path) -> None:
    outcomes = {
        "metric": "validation_nll",
        "goal": "minimize",
        "learned_nothing": {"above": 0.9},
        "good": {"at_most": 0.6},
    }
    loss = studied(tmp_path, replace(made_study(outcomes=outcomes), default=DEFAULT))
    entry, scores = results_of(loss)["arms"]["radial"], means_of(loss, "radial")
    assert loss.study.default is not None
    default = float(loss.study.default.set_index("arm")["best"].to_dict()["radial"])
    assert entry["default"] == pytest.approx(default)
    assert entry["gain"] == pytest.approx(default - scores.min())
    assert entry["best"] == pytest.approx(scores.min())
    assert entry["better"]["count"] == (scores < default).sum()


def test_a_study_without_a_default_has_no_section(tmp_path: Path) -> None:
    plain = studied(tmp_path, made_study())
    assert plain.results["tunability"] is None
    assert not list(tunability.sections(plain))
