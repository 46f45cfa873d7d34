"""Folders of Ray Tune, made by Tune: a function with a grid, a class with random draws."""

from __future__ import annotations

import csv
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from support.importing import imported, rows_of

from robustness.errors import RobustnessError

SCRIPT = Path(__file__).parents[1] / "support" / "tune_experiments.py"


@pytest.fixture(scope="module")
def experiments(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tune")
    # Without what our own executor sets for Ray in this process, such as no files of results.
    plain = {name: value for name, value in os.environ.items() if not name.startswith(("RAY_", "TUNE_"))}
    environment = plain | {"RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0", "RAY_AIR_NEW_OUTPUT": "0"}
    done = subprocess.run(
        [sys.executable, str(SCRIPT), str(folder)],
        env=environment,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    for pickle in folder.rglob("*.pkl"):
        # Whoever opened one would notice.
        pickle.write_bytes(b"cos\nsystem\n(S'false'\ntR.")
    return folder


def independent(experiment: Path) -> dict[float, list[tuple[int, float]]]:
    """The curve of each trial by its rate, from `progress.csv` alone."""
    curves = {}
    for folder in experiment.iterdir():
        if not (folder / "params.json").is_file():
            continue
        rate = json.loads((folder / "params.json").read_text())["rate"]
        with (folder / "progress.csv").open(encoding="utf-8", newline="") as file:
            curves[rate] = [(int(row["training_iteration"]), float(row["accuracy"])) for row in csv.DictReader(file)]
    return curves


def curves_of(source: str) -> dict[float, list[tuple[int, float]]]:
    runs = imported(source, metric="accuracy", missing="diverged").runs
    return {row.hyperparameters["rate"]: row.curve for row in rows_of(runs)}


@pytest.mark.parametrize(("name", "count"), [("grid", 3), ("random", 2)])
def test_every_number_is_that_of_the_progress_files(experiments: Path, name: str, count: int) -> None:
    found, expected = curves_of(f"ray:{experiments / name}"), independent(experiments / name)
    assert len(found) == count
    assert repr(sorted(found.items())) == repr(sorted(expected.items()))


def test_statuses_parameters_and_sampling_are_understood(experiments: Path) -> None:
    with pytest.raises(RobustnessError, match=r"2 of 3 runs without a result \(1 empty or NaN, 1 crashed\)"):
        imported(f"ray:{experiments / 'grid'}", metric="accuracy")
    runs = imported(f"ray:{experiments / 'grid'}", metric="accuracy", missing="diverged").runs
    assert (runs.arms, runs.adaptive) == (["function"], False)
    assert set(runs.levels) == {"rate", "net/width"}
    assert sorted(runs.frame["status"]) == ["diverged", "diverged", "finished"]
    assert (runs.frame["ended"] >= runs.frame["started"]).all()


def test_a_folder_of_experiments_names_them(experiments: Path) -> None:
    with pytest.raises(RobustnessError, match=r"no experiment of Ray Tune; its folders are: import ray:.*/grid"):
        imported(f"ray:{experiments}", metric="accuracy")


def test_without_result_json_the_progress_file_is_read(experiments: Path, tmp_path: Path) -> None:
    copy = tmp_path / "grid"
    shutil.copytree(experiments / "grid", copy)
    for path in copy.rglob("result.json"):
        path.unlink()
    assert repr(curves_of(f"ray:{copy}")) == repr(curves_of(f"ray:{experiments / 'grid'}"))


def test_a_folder_without_trials_gets_one_line(tmp_path: Path) -> None:
    with pytest.raises(RobustnessError, match="no experiment of Ray Tune"):
        imported(f"ray:{tmp_path}", metric="accuracy")
    with pytest.raises(RobustnessError, match="no such folder"):
        imported(f"ray:{tmp_path / 'missing'}", metric="accuracy")
