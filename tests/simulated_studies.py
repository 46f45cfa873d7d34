"""Study files around the trainables of `simulated.py`, and a table of results to compare sweeps by."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from report.frames import results_frame
from report.results import as_csv
from robustness.store import open_store


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


def results(url: str, name: str = "simulated") -> bytes:
    """All results of a study: the file of `robustness report --format csv`, and every epoch without its time."""
    with open_store(url, create=False) as store:
        study = store.study(name)
        epochs = study.epochs().drop(columns="seconds")
        return as_csv(results_frame(study)) + str(epochs.to_csv()).encode()
