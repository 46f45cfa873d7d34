"""Tasks and trainables of a user, in a module beside the study file."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
from support.studies import small, write

from robustness.errors import StudyFileError
from robustness.plugins import find_trainable
from robustness.study.arms import Arm
from robustness.study.loading import load_study
from robustness.sweep.plan import make_plan


@pytest.fixture
def importable(monkeypatch: pytest.MonkeyPatch) -> None:
    """Restore `sys.path` and the imported modules after a test."""
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.delitem(sys.modules, "my_training", raising=False)


TRAINABLE = """
from robustness.trial import EpochResult

def train(trial):
    yield EpochResult(1, {"score": trial.hyperparameters["x"]})
"""


def own(**changes: Any) -> dict[str, Any]:
    return {
        "name": "mine",
        "trainable": "my_training:train",
        "arms": ["one", {"name": "two", "flavour": "sweet"}],
        "space": {"x": [1, 2, 3]},
        "sampling": {"strategy": "grid"},
        "outcomes": {"metric": "score", "learned_nothing": {"below": 1.5}, "good": {"at_least": 100}},
        "training": {"anything": [1, 2]},
        **changes,
    }


@pytest.mark.usefixtures("importable")
def test_a_users_own_task_is_found_beside_the_study(tmp_path: Path) -> None:
    (tmp_path / "their_eyes.py").write_text("from robustness.tasks.fundus.synthetic import *\n", encoding="utf-8")
    path = write(tmp_path, small(task__name="their_eyes"))
    study = load_study(path)
    assert study.task["name"] == "their_eyes"
    # Its data is loaded once and shared as well.
    assert find_trainable(make_plan(study).trials[0].trainable).loads_task


@pytest.mark.usefixtures("importable")
def test_a_users_own_trainable_is_found_beside_the_study_and_takes_its_own_options(tmp_path: Path) -> None:
    (tmp_path / "my_training.py").write_text(TRAINABLE)
    study = load_study(write(tmp_path, own()))
    assert study.arms == (Arm("one", "one"), Arm("two", "two", {"flavour": "sweet"}))
    assert study.training == {"anything": [1, 2]}
    assert study.task == {}


@pytest.mark.usefixtures("importable")
@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("", "has no 'train'"),
        ("train = 5", "is not callable"),
        ("1 / 0", "importing 'my_training' failed: ZeroDivisionError: division by zero"),
        ("def train(:", "importing 'my_training' failed: SyntaxError"),
        ("import not_there_at_all", "cannot import 'my_training'"),
    ],
)
def test_a_users_own_trainable_that_cannot_be_loaded_is_refused(tmp_path: Path, code: str, words: str) -> None:
    (tmp_path / "my_training.py").write_text(code)
    with pytest.raises(StudyFileError, match=words):
        load_study(write(tmp_path, own()))


@pytest.mark.usefixtures("importable")
def test_a_users_own_trainable_has_no_untrained_networks(tmp_path: Path) -> None:
    (tmp_path / "my_training.py").write_text(TRAINABLE)
    outcomes = {"learned_nothing": {"no_better_than_untrained": 0.01}, "good": {"at_least": 1}}
    with pytest.raises(StudyFileError, match=r"set \{below: number\}"):
        load_study(write(tmp_path, own(outcomes=outcomes)))


@pytest.mark.usefixtures("importable")
def test_a_trainable_without_predictions_for_each_example_has_no_gain_over_its_start(tmp_path: Path) -> None:
    (tmp_path / "my_training.py").write_text(TRAINABLE)
    outcomes = {"learned_nothing": {"no_better_than_start": 0.01}, "good": {"at_least": 1}}
    with pytest.raises(
        StudyFileError, match=r"no_better_than_start: needs predictions .* 'my_training:\w+' .* set"
    ) as error:
        load_study(write(tmp_path, own(outcomes=outcomes)))
    assert "\n" not in str(error.value)
