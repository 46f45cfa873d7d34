"""The CSV that W&B's web page exports, written here in its layout: no package makes it, and offline runs have none.

Each cell is quoted. First come the page's own columns, then the sorted keys of the configuration (`.` between levels),
then the sorted keys of the summary; nothing marks where one ends and the other begins.
"""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.importing import imported, rows_of

from robustness.errors import RobustnessError
from robustness.importing.understanding import sorted_last

PAGE = ("Name", "Agent", "State", "Notes", "User", "Tags", "Created", "Runtime", "Sweep")
CONFIGURATION = ("batch_size", "data.workers", "lr", "optimizer", "output_dir", "seed")
SUMMARY = ("best_epoch", "epoch", "lr_now", "train/loss", "val/accuracy")


def made_runs() -> list[dict[str, Any]]:
    """Two optimisers, twelve rates, two seeds; one run crashed before its first epoch and one ended in NaN."""
    generator = np.random.default_rng(3)
    rates = [float(rate) for rate in 10 ** generator.uniform(-4, 0, 12)]
    runs: list[dict[str, Any]] = []
    for optimizer in ("adam", "sgd"):
        for rate in rates:
            for seed in (1, 2):
                name = f"run-{len(runs)}"
                accuracy, loss = generator.uniform(0.1, 0.95), generator.uniform(0.1, 2)
                runs.append(
                    dict.fromkeys(PAGE, "")
                    | {"Name": name, "State": "finished", "Notes": "-", "User": "me", "Runtime": "9910"}
                    | {"Created": "2025-11-13T09:48:11.000Z"}
                    | {"batch_size": 32, "data.workers": 4, "lr": rate, "optimizer": optimizer}
                    | {"output_dir": f"./out/{name}", "seed": seed, "best_epoch": int(generator.integers(1, 10))}
                    | {"epoch": 10, "lr_now": rate / 10, "train/loss": loss, "val/accuracy": accuracy}
                )  # fmt: skip
    runs[5] |= {"State": "crashed", **dict.fromkeys(SUMMARY, "")}
    runs[30] |= {"val/accuracy": "NaN", "train/loss": "NaN"}
    return runs


@pytest.fixture
def export(tmp_path: Path) -> Path:
    path = tmp_path / "wandb_export_2025-11-13T10_00_00.000+01_00.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        table = csv.DictWriter(file, [*PAGE, *CONFIGURATION, *SUMMARY], quoting=csv.QUOTE_ALL)
        table.writeheader()
        table.writerows(made_runs())
    return path


def test_measures_are_told_from_hyperparameters_by_their_place_and_the_import_asks(export: Path) -> None:
    options = {"arm": "optimizer", "metric": "val/accuracy", "missing": "diverged"}
    with pytest.raises(RobustnessError) as problem:
        imported(f"wandb:{export}", **options)
    line = str(problem.value)
    assert "Going by their order, best_epoch, lr_now, train/loss are measures" in line
    assert "say --hyperparameters batch_size,data.workers,lr, or list others" in line
    assert "\n" not in line


def test_all_open_questions_are_asked_at_once(export: Path) -> None:
    with pytest.raises(RobustnessError) as problem:
        imported(f"wandb:{export}", arm="optimizer", metric="val/accuracy")
    line = str(problem.value)
    assert "say --hyperparameters batch_size,data.workers,lr, or list others; also: 2 of 48 runs without a" in line
    assert "say --missing diverged" in line
    assert line.count(str(export)) == 1
    assert "\n" not in line


def test_every_number_of_an_export_is_that_of_the_file(export: Path) -> None:
    found = imported(
        f"wandb:{export}",
        arm="optimizer",
        metric="val/accuracy",
        missing="diverged",
        hyperparameters=["batch_size", "data.workers", "lr"],
    )
    rows, runs = list(rows_of(found.runs)), made_runs()
    assert found.runs.arms == ["adam", "sgd"]
    assert len(rows) == len(runs) == 48
    assert len(found.runs.configurations) == 12
    for row, run in zip(rows, runs, strict=True):
        assert row.arm == run["optimizer"]
        assert row.hyperparameters == {"batch_size": 32, "data.workers": 4, "lr": pytest.approx(run["lr"], rel=1e-6)}
        assert row.replicate == run["seed"] - 1
        whole = run["State"] == "finished" and run["val/accuracy"] != "NaN"
        assert row.status == ("finished" if whole else "diverged")
        if whole:
            assert [value for _, value in row.curve] == [run["val/accuracy"]]
        assert row.started == 1763027291.0


def test_without_further_measures_nothing_is_asked(export: Path) -> None:
    # The metric is taken, the last epoch is known, so only the four others could be hyperparameters.
    text = export.read_text(encoding="utf-8").replace("best_epoch", "a").replace("lr_now", "b")
    export.write_text(text, encoding="utf-8")
    found = imported(
        f"wandb:{export}",
        arm="optimizer",
        metric="val/accuracy",
        missing="diverged",
        ignore=["a", "b", "train/loss", "output_dir"],
    )
    assert set(found.understood.hyperparameters) == {"batch_size", "data.workers", "lr"}
    assert found.understood.ignored["Notes"] == found.understood.ignored["Agent"] == "bookkeeping"


@pytest.mark.parametrize(
    ("names", "second"),
    [
        (["batch", "lr", "acc", "loss"], ["acc", "loss"]),
        (["a", "b", "c"], []),
        (["b", "a", "c", "b"], []),
        ([], []),
    ],
)
def test_two_sorted_lists_are_told_apart(names: list[str], second: list[str]) -> None:
    assert sorted_last(names) == second
