"""A user's trainable with hooks, in a module beside the study file, has what a built-in one has."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from report.frames import load_frames
from robustness.cli import main
from robustness.store import open_store

MODULE = """
from dataclasses import replace

from robustness import EpochResult, Trainable
from robustness.errors import StudyFileError


def train(trial):
    for epoch in range(1, trial.training["epochs"] + 1):
        yield EpochResult(epoch, {"score": epoch / 10}, curves={"steps": [0.1, 0.2]})


def check(study, check_data):
    if "epochs" in study.training and study.training["epochs"] > 5:
        raise StudyFileError("training.epochs: must be at most 5")
    return replace(study, training={"epochs": 2, **study.training})


HOOKED = Trainable(train, check=check, metrics=("score",), keeps_curves=True)
"""


@pytest.fixture
def study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, object]:
    (tmp_path / "hooked_trainable.py").write_text(MODULE, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    return {
        "name": "hooked",
        "trainable": "hooked_trainable:HOOKED",
        "arms": ["first", "second"],
        "space": {"rate": [0.1, 0.2, 0.3]},
        "sampling": {"configurations": 2, "seed": 0},
        "outcomes": {"metric": "score", "learned_nothing": {"below": 0.1}, "good": {"at_least": 0.2}},
    }


def sweep(study: dict[str, object], **changes: object) -> int:
    Path("study.yaml").write_text(yaml.safe_dump({**study, **changes}), encoding="utf-8")
    return main(["sweep", "study.yaml", "--inline", "--quiet", "--no-report", "--store", "sqlite:///store.db"])


def test_its_check_fills_in_defaults_and_its_curves_reach_the_report(study: dict[str, object]) -> None:
    assert sweep(study) == 0
    with open_store("sqlite:///store.db") as store:
        stored = store.study("hooked")
        assert stored.document()["training"] == {"epochs": 2}
        frames = load_frames(stored)
    assert len(frames.epochs) == 2 * 2 * 2
    assert set(frames.curves["name"]) == {"steps"}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"training": {"epochs": 6}}, "study.yaml: training.epochs: must be at most 5"),
        (
            {"outcomes": {"metric": "scores", "learned_nothing": {"below": 0.1}, "good": {"at_least": 0.2}}},
            "study.yaml: outcomes.metric: unknown metric 'scores'; did you mean 'score'?",
        ),
    ],
)
def test_its_check_and_its_metrics_refuse_a_study_in_one_line(
    study: dict[str, object], changes: dict[str, object], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert sweep(study, **changes) == 2
    assert message in capsys.readouterr().err
    assert not Path("store.db").exists()


def test_a_plain_function_keeps_its_curves_out_of_the_report(study: dict[str, object]) -> None:
    assert sweep(study, trainable="hooked_trainable:train", training={"epochs": 1}) == 0
    with open_store("sqlite:///store.db") as store:
        assert load_frames(store.study("hooked")).curves.empty
