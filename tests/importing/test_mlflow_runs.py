"""Stores of MLflow, made by MLflow and read independently by its client."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from support.importing import imported, rows_of

from robustness.errors import RobustnessError

SCRIPT = Path(__file__).parents[1] / "support" / "mlflow_experiments.py"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("mlflow")
    done = subprocess.run(
        [sys.executable, str(SCRIPT), str(folder)], capture_output=True, text=True, timeout=240, check=False, cwd=folder
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return folder


def source_of(folder: Path, kind: str) -> str:
    return f"mlflow:{folder / 'mlruns'}" if kind == "files" else f"mlflow:sqlite:///{folder / 'mlflow.db'}"


@pytest.mark.parametrize("kind", ["files", "database"])
def test_every_number_is_that_of_mlflows_client(folder: Path, kind: str) -> None:
    runs = imported(source_of(folder, kind), experiment="comparison", metric="val/accuracy", missing="diverged").runs
    expected = json.loads((folder / "read.json").read_text())[kind]
    assert len(runs.frame) == len(expected) == 6
    found: dict[tuple[str, float], Any] = {}
    for row in rows_of(runs):
        assert set(row.hyperparameters) == {"rate", "net/width"}
        found[row.arm, float(row.hyperparameters["rate"])] = (
            row.status,
            pytest.approx(row.started * 1000),
            repr([list(point) for point in row.curve]),
        )
    for run in expected:
        params = run["params"]
        failed = run["status"] != "FINISHED" or params["rate"] == "10.0"
        start, curve = run["start"], repr(sorted(run["curve"]))
        assert found[params["method"], float(params["rate"])] == ("diverged" if failed else "finished", start, curve)


@pytest.mark.parametrize("kind", ["files", "database"])
def test_the_only_experiment_with_runs_is_found_and_failures_are_asked_about(folder: Path, kind: str) -> None:
    with pytest.raises(RobustnessError, match=r"3 of 6 runs without a result \(2 empty or NaN, 1 crashed"):
        imported(source_of(folder, kind), metric="val/accuracy")
    with pytest.raises(RobustnessError, match="did you mean 'comparison'"):
        imported(source_of(folder, kind), experiment="comparisons", metric="val/accuracy")
    with pytest.raises(RobustnessError, match=r"which measure is the metric\? .*val/accuracy"):
        imported(source_of(folder, kind))


def test_a_database_is_not_changed(folder: Path) -> None:
    path = folder / "mlflow.db"
    before = (path.read_bytes(), sorted(folder.iterdir()))
    imported(f"mlflow:{path}", metric="val/accuracy", missing="diverged")
    assert (path.read_bytes(), sorted(folder.iterdir())) == before


def test_a_server_is_refused_with_a_recipe() -> None:
    with pytest.raises(RobustnessError, match=r"mlflow\.search_runs.*from_dataframe"):
        imported("mlflow:http://127.0.0.1:5000")
