"""Study files around the trainables of `simulated.py`, and a table of results to compare sweeps by."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from robustness.store import open_store

NO_RESULT = ["seconds", "attempts", "started", "ended", "worker", "device", "error"]
"""Columns of trials that may differ between two sweeps of a study."""


def write_study(folder: Path, trainable: str = "quick", **changes: Any) -> Path:
    """A study file in this folder; `changes` replace whole sections."""
    document: dict[str, Any] = {
        "name": "simulated",
        "trainable": f"simulated:{trainable}",
        "arms": ["first", "second"],
        "space": {"rate": {"low": 0.001, "high": 1.0, "scale": "log"}},
        "sampling": {"configurations": 5, "seed": 3},
        "training": {"epochs": 3},
        "outcomes": {"learned_nothing": {"below": 0.4}, "good": {"at_least": 0.8}},
        "resources": {"cpu": 1},
    }
    path = folder / "simulated.yaml"
    path.write_text(yaml.safe_dump(document | changes))
    return path


def store_url(folder: Path, name: str = "store") -> str:
    return f"sqlite:///{folder / name}.db"


def results(url: str) -> str:
    """All results of the study `simulated` as text: trials and epochs, without times and places."""
    with open_store(url, create=False) as store:
        study = store.study("simulated")
        trials, epochs = study.trials(), study.epochs()
    return str(trials.drop(columns=NO_RESULT).to_csv()) + str(epochs.drop(columns="seconds").to_csv())
