"""What an import asks, all at once and with proposals, and what it suggests afterwards."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest
from support.importing import imported

from robustness import from_dataframe
from robustness.cli import main
from robustness.errors import RobustnessError


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ROBUSTNESS_STORE", f"sqlite:///{tmp_path / 'runs.db'}")
    return tmp_path


@pytest.fixture
def experiment(tmp_path: Path) -> str:
    """A Tune experiment of two optimisers on six rates each."""
    folder = tmp_path / "tuned"
    for place, (optimizer, rate) in enumerate((each, rate) for each in ("adam", "sgd") for rate in range(1, 7)):
        trial = folder / f"trial_{place}"
        trial.mkdir(parents=True)
        (trial / "params.json").write_text(json.dumps({"lr": rate / 10, "optimizer": optimizer, "width": 8}))
        result = {"training_iteration": 1, "accuracy": rate / 10 - (optimizer == "sgd") / 20}
        (trial / "result.json").write_text(json.dumps(result))
    return f"ray:{folder}"


def frame() -> pd.DataFrame:
    """An export of 24 runs without any usual name for its arm and metric; two of them crashed."""
    rows = [
        {"state": "finished", "lr": rate, "optimizer": optimizer, "val/accuracy": rate * gain, "val/loss": 1 - rate**2}
        for rate in (0.1, 0.2, 0.3, 0.4, 0.5, 0.6)
        for optimizer, gain in (("adam", 0.9), ("sgd", 0.7))
    ]
    table = pd.DataFrame(rows)
    table.loc[[2, 5], ["val/accuracy", "val/loss"]] = float("nan")
    return table


def test_a_single_arm_beside_a_category_is_asked_about(experiment: str) -> None:
    with pytest.raises(RobustnessError) as question:
        imported(experiment)
    assert "one arm only, 'tuned': to compare the values of 'optimizer' (adam, sgd), add --arm optimizer" in str(
        question.value
    )
    assert imported(experiment, arm="optimizer").runs.arms == ["adam", "sgd"]
    assert imported(f"mine={experiment}").runs.arms == ["mine"]


def test_a_table_with_one_label_is_asked_about_as_well() -> None:
    table = frame().dropna().assign(method="mlp")
    table.to_csv("runs.csv", index=False)
    with pytest.raises(RobustnessError, match="add --arm optimizer, or write mlp=SOURCE"):
        imported("runs.csv", metric="val/accuracy", hyperparameters=["lr"])
    options = {"metric": "val/accuracy", "hyperparameters": ["lr"], "missing": "left-out"}
    assert imported("runs.csv", arm="method", **options).runs.arms == ["mlp"]


def test_arm_metric_and_missing_are_asked_at_once_with_proposals() -> None:
    frame().to_csv("runs.csv", index=False)
    with pytest.raises(RobustnessError) as asked:
        imported("runs.csv")
    line = str(asked.value)
    assert "--arm COLUMN, such as --arm optimizer, or write ARM=SOURCE" in line
    assert "--metric COLUMN, such as --metric val/accuracy or --metric val/loss" in line
    assert "say --missing diverged" in line
    assert "\n" not in line
    with pytest.raises(RobustnessError, match=r"arm='COLUMN', such as arm='optimizer' .*metric='val/accuracy'"):
        from_dataframe(frame(), study="mine")


def test_good_alone_makes_every_other_run_one_that_learned_nothing(experiment: str) -> None:
    outcomes = imported(experiment, arm="optimizer", good=0.3).study.document()["outcomes"]
    assert (outcomes["good"], outcomes["learned_nothing"]["below"]) == ({"at_least": 0.3}, 0.3)
    assert outcomes["primary"] == "good"
    with pytest.raises(RobustnessError, match="--learned-nothing also needs --good"):
        imported(experiment, arm="optimizer", learned_nothing=0.3)


def test_what_an_import_lacks_is_suggested_as_a_whole_command(
    experiment: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["import", experiment, "--study", "tuned", "--arm", "optimizer"]) == 0
    hint = "compared by means; for the fractions of configurations that fail or succeed"
    assert f"{hint}, add --learned-nothing X --good Y" in capsys.readouterr().out
    assert main(["report", "tuned"]) == 0
    command = f"robustness import {experiment} --study tuned --arm optimizer --replace --learned-nothing X --good Y"
    assert f"{hint}: {command}" in capsys.readouterr().out
    assert main(["import", f"mine={experiment}", "--study", "single"]) == 0
    assert main(["report", "single"]) == 0
    shown = capsys.readouterr().out
    assert "one arm only, so nothing is compared: import the runs again with a column of arms, such as " in shown
    assert shown.splitlines()[-1] == "report: single.html"
    assert main(["import", experiment, "--study", "tuned", "--arm", "optimizer", "--good", "0.3"]) == 2
    assert "with other runs or other options: replace it with --replace" in capsys.readouterr().err


def test_a_password_is_not_part_of_the_command() -> None:
    from robustness.cli.import_runs import _without_secrets

    assert _without_secrets("optuna:postgresql://me:secret@host/runs") == "optuna:URL"
    assert _without_secrets("optuna:sqlite:///runs.db") == "optuna:sqlite:///runs.db"
