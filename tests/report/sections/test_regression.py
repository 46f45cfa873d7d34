"""The report of regression: winners over the splits, beside a reference's table."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from scipy import stats
from support.results import present

from report.analysis import Analysis, analyse
from report.page import render
from report.sections.regression.winners import _beside, implied
from report.sections.verdict import headline
from robustness.cli import main
from robustness.statistics.means import mean_with_error
from robustness.store import open_store
from robustness.study.loading import load_study
from robustness.sweep.plan import make_plan

FIGURES = {
    "test_rmse": {"yacht": {"mfvi": [5.0, 0.1], "radial": [0.1, 0.01]}},
    "test_log_likelihood": {"yacht": {"mfvi": [-9.0, 0.1], "radial": [-9.0, 0.1]}},
}


def write_set(folder: Path) -> None:
    """`yacht/data.txt` with its 308 rows: a linear function and noise."""
    rng = np.random.default_rng(5)
    inputs = rng.normal(size=(308, 6))
    targets = 40 + inputs @ np.array([2.0, -3.0, 4.0, 0.0, 0.0, 0.0]) + rng.normal(0, 0.5, size=308)
    (folder / "yacht").mkdir()
    np.savetxt(folder / "yacht" / "data.txt", np.column_stack([inputs, targets]))


def study_file(folder: Path, **changes: Any) -> Path:
    document = {
        "name": "lines",
        "trainable": "regression",
        "task": {"folder": str(folder)},
        "model": {"hidden": [8]},
        "arms": ["mfvi", "radial"],
        "space": {
            "data_set": ["yacht"],
            "optimizer": "adam",
            "learning_rate": [0.01, 0.001],
            "batch_size": 64,
            "initial_rho": -4,
        },
        "sampling": {"strategy": "grid", "seed": 0},
        "winners": {"by": "data_set", "replicates": 4},
        "training": {"epochs": 2, "steps_per_epoch": 100, "evaluation_samples": 10},
        "outcomes": {
            "metric": "validation_gain",
            "epoch": "last",
            "learned_nothing": {"below": 0.05},
            "good": {"at_least": 0.2},
        },
        "reference": {"label": "a paper", "figures": FIGURES},
    }
    path = folder / "lines.yaml"
    path.write_text(yaml.safe_dump(document | changes))
    return path


def swept(folder: Path, **changes: Any) -> str:
    write_set(folder)
    url = f"sqlite:///{folder / 'store.db'}"
    path = study_file(folder, **changes)
    assert main(["sweep", str(path), "--store", url, "--inline", "--quiet", "--no-report"]) == 0
    return url


@pytest.fixture(scope="module")
def lines(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Analysis]:
    with open_store(swept(tmp_path_factory.mktemp("lines"))) as store:
        yield analyse(store.study("lines"))


def test_the_winners_have_means_and_standard_errors_over_the_splits(lines: Analysis) -> None:
    epochs = lines.frames.epochs
    last = epochs[epochs["epoch"] == 2]
    for arm, found in lines.results["regression"]["sets"]["yacht"]["arms"].items():
        own = last[last["arm"] == arm]
        first = own[own["replicate"] == 0].set_index("configuration")
        assert found["configuration"] == first["validation_gain"].idxmax()
        chosen = own[own["configuration"] == found["configuration"]]
        assert found["splits"] == len(chosen) == 4
        for measure in ("test_rmse", "test_log_likelihood"):
            assert found[measure]["mean"] == pytest.approx(chosen[measure].mean())
            assert found[measure]["standard_error"] == pytest.approx(chosen[measure].sem())
        assert found["hyperparameters"] == {"learning_rate": 0.01}


def test_only_what_is_within_two_of_the_references_errors_agrees_with_it(lines: Analysis) -> None:
    found = lines.results["regression"]["sets"]["yacht"]["arms"]
    assert (found["mfvi"]["test_rmse"]["within"], found["mfvi"]["test_rmse"]["beside"]) == (False, "better")
    assert (found["radial"]["test_rmse"]["within"], found["radial"]["test_rmse"]["beside"]) == (False, "worse")
    assert found["radial"]["test_rmse"]["reference_error"] == 0.01
    assert "On 0 of 1 data sets" in lines.results["verdict"][0]
    assert "not on yacht (mfvi better, radial worse)." in lines.results["verdict"][0]


@pytest.mark.parametrize(
    ("ours", "lower", "expected"),
    [
        (1.1, True, "within"),
        (0.7, True, "better"),
        (1.3, True, "worse"),
        (0.7, False, "worse"),
        (1.3, False, "better"),
    ],
)
def test_better_and_worse_follow_the_direction_of_the_measure(ours: float, lower: bool, expected: str) -> None:
    assert _beside(ours, [1.0, 0.1], lower)["beside"] == expected


def test_the_difference_of_the_arms_is_paired_by_split(lines: Analysis) -> None:
    found = lines.results["regression"]["sets"]["yacht"]
    epochs = lines.frames.epochs[lines.frames.epochs["epoch"] == 2]
    errors = {
        arm: epochs[(epochs["arm"] == arm) & (epochs["configuration"] == entry["configuration"])]
        .set_index("replicate")["test_rmse"]
        .sort_index()
        .to_numpy()
        for arm, entry in found["arms"].items()
    }
    test = stats.ttest_rel(errors["mfvi"], errors["radial"])
    difference = present(found["difference"])
    assert difference["mean"] / present(difference["standard_error"]) == pytest.approx(test.statistic)
    assert difference["decided"] is bool(abs(test.statistic) > 2)


def test_the_page_has_the_table_and_both_pictures_in_the_place_of_fractions(lines: Analysis) -> None:
    page = render(lines)
    for name in ("regression", "curves"):
        assert f'id="{name}"' in page
    assert 'id="outcomes"' not in page
    assert "5.00 ± 0.10" in page
    for name in ("regression-rmse", "regression-likelihood"):
        assert name in page


def test_without_a_reference_there_is_the_table_alone(tmp_path: Path) -> None:
    with open_store(swept(tmp_path, reference=None, winners=None, arms=["radial"])) as store:
        analysis = analyse(store.study("lines"))
    found = analysis.results["regression"]["sets"]["yacht"]
    assert found["difference"] is None
    assert found["arms"]["radial"]["test_rmse"]["standard_error"] is None
    assert analysis.results["verdict"] == ["1 data sets have a result of every arm."]
    page = render(analysis)
    assert 'id="regression"' in page
    assert "regression-rmse" not in page


def test_splits_without_validation_rows_count_at_their_last_epoch(tmp_path: Path) -> None:
    training = {"epochs": 2, "steps_per_epoch": 20, "evaluation_samples": 4, "validation_splits": "first"}
    with open_store(swept(tmp_path, training=training)) as store:
        analysis = analyse(store.study("lines"))
    assert analysis.results["regression"]["sets"]["yacht"]["arms"]["mfvi"]["splits"] == 4


def test_before_anything_has_ended_the_report_says_so(tmp_path: Path) -> None:
    write_set(tmp_path)
    study = load_study(str(study_file(tmp_path)))
    with open_store(f"sqlite:///{tmp_path / 'store.db'}") as store:
        registered = store.register(study, make_plan(study))
        assert headline(analyse(registered)) == "No data set has a result of every arm yet."
        assert 'id="regression"' not in render(analyse(registered))


def test_a_gaussian_with_the_rmse_as_its_scale_has_the_likelihood_that_is_allowed() -> None:
    residuals = np.array([1.5, -0.5, 2.0, -3.0])
    rmse = math.sqrt(float((residuals**2).mean()))
    assert implied(rmse) == pytest.approx(stats.norm(scale=rmse).logpdf(residuals).mean())
    assert all(
        stats.norm(scale=s).logpdf(residuals).mean() <= implied(rmse) for s in (0.5 * rmse, 0.99 * rmse, 2 * rmse)
    )
    # At the paper's RMSE of 4.02 on Power Plant, where it prints -7.54.
    assert implied(4.02) == pytest.approx(-2.81, abs=0.005)


def test_a_mean_comes_with_its_standard_error() -> None:
    values = [1.0, 2.0, 4.0]
    found = mean_with_error(values)
    assert (found["mean"], found["standard_error"]) == pytest.approx((7 / 3, stats.sem(values)))
    assert mean_with_error([3.0]) == {"mean": 3.0, "standard_error": None}
