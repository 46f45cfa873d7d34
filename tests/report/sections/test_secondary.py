"""`outcomes.secondary`: the same trials by another metric, beside the verdict and without an effect on it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats
from support.studies import store_url, write

from report import write_report
from report.analysis import Analysis, analyse
from robustness.cli import main
from robustness.errors import StudyFileError
from robustness.store import open_store
from robustness.study.loading import make_study

SECONDARY = [
    {
        "metric": "loss",
        "goal": "minimize",
        "epoch": "last",
        "learned_nothing": {"above": 0.6},
        "good": {"at_most": 0.3},
    },
    {"metric": "loss", "goal": "minimize", "epoch": "best", "equivalent_within": {"score": 0.5}},
]


def document(**changes: Any) -> dict[str, Any]:
    return {
        "name": "two metrics",
        "trainable": "two_metrics:train",
        "arms": ["first", "second"],
        "space": {"rate": {"low": 0.1, "high": 1.0}},
        "sampling": {"configurations": 30, "seed": 1},
        "training": {"epochs": 3},
        "outcomes": {
            "metric": "score",
            "learned_nothing": {"below": 0.3},
            "good": {"at_least": 0.8},
            "secondary": SECONDARY,
        },
        **changes,
    }


TRAINABLE = """
import numpy as np

from robustness import EpochResult

def train(trial):
    noise = np.random.default_rng([trial.configuration, trial.arm == "second"]).normal(size=3)
    shift = 0.2 if trial.arm == "second" else 0.0
    for epoch in range(1, 4):
        loss = trial.hyperparameters["rate"] - shift + 0.05 * noise[epoch - 1]
        yield EpochResult(epoch, {"score": trial.hyperparameters["rate"], "loss": loss})
"""


@pytest.fixture(scope="module")
def analysis(tmp_path_factory: pytest.TempPathFactory) -> Analysis:
    folder = tmp_path_factory.mktemp("secondary")
    (folder / "two_metrics.py").write_text(TRAINABLE)
    study = write(folder, document())
    assert main(["sweep", study, "--store", store_url(folder), "--inline", "--quiet", "--no-report"]) == 0
    with open_store(store_url(folder), create=False) as store:
        return analyse(store.study("two metrics"))


def losses(analysis: Analysis, arm: str, summary: str) -> np.ndarray[Any, np.dtype[np.float64]]:
    epochs = analysis.frames.epochs
    own = epochs[epochs["arm"] == arm].groupby("configuration")["loss"]
    return (own.last() if summary == "last" else own.min()).to_numpy(dtype=float)


def test_each_judgement_has_its_own_metric_epoch_and_margin(analysis: Analysis) -> None:
    found = analysis.results["secondary"]
    assert found is not None
    assert [(entry["metric"], entry["epoch"], entry["goal"]) for entry in found] == [
        ("loss", "last", "minimize"),
        ("loss", "best", "minimize"),
    ]
    for entry in found:
        first, second = (losses(analysis, arm, entry["epoch"]) for arm in ("first", "second"))
        scores = next(each for each in entry["comparisons"] if each["outcome"] is None)
        assert scores["difference"] == pytest.approx(float((first - second).mean()))
        assert scores["p_value"] is not None
        # The same direction and order of magnitude as Student's test of the same differences.
        assert scores["p_value"] < 1e-6
        assert stats.ttest_rel(first, second).pvalue < 1e-6
    assert [entry["comparisons"][-1]["verdict"] for entry in found] == ["different", "equivalent"]
    nothing = int((losses(analysis, "first", "last") > 0.6).sum())
    assert found[0]["arms"]["first"]["learned_nothing"]["count"] == nothing
    assert found[1]["arms"] == {}


def test_the_studys_own_judgement_is_as_without_them(analysis: Analysis) -> None:
    assert analysis.results["metric"] == "score"
    assert analysis.results["arms"]["first"]["at"] == analysis.results["arms"]["second"]["at"]
    plain = document()
    del plain["outcomes"]["secondary"]
    assert make_study(document(), "here").hash == make_study(plain, "here").hash


def test_the_page_has_a_table_of_each(analysis: Analysis, tmp_path: Path) -> None:
    write_report(analysis, tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert "By loss at the last epoch" in page
    assert "By loss at the best epoch" in page


@pytest.mark.parametrize(
    ("other", "line"),
    [
        ({"metric": "score"}, r"secondary.0: score at the best epoch is judged already"),
        ({"metric": "x", "learned_nothing": {"no_better_than_guessing": 0.01}, "good": {"at_least": 1}}, "set|must be"),
        ({"metric": "x", "goal": "minimize", "learned_nothing": {"below": 1}, "good": {"at_most": 0}}, "wrong side"),
        ({"metric": "x", "secondary": []}, "secondary"),
    ],
)
def test_a_judgement_that_makes_no_sense_gets_one_line(other: dict[str, Any], line: str) -> None:
    own = document()
    own["outcomes"]["secondary"] = [other]
    with pytest.raises(StudyFileError, match=line):
        make_study(own, "here")
