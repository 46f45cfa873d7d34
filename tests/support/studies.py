"""Study files for tests: a small study of drawn pictures, and studies of the trainables in `trainables.py`."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import yaml

from report.exports import results_csv
from robustness.execution.inline import InlineExecutor
from robustness.store import open_store
from robustness.study.loading import load_study
from robustness.sweep.plan import make_plan
from robustness.sweep.sweep import sweep

SMALL: dict[str, Any] = {
    "name": "small",
    "description": "for tests",
    "task": {"name": "synthetic_fundus", "image_size": 32, "train": 64, "validation": 32},
    "model": {"name": "vgg_small", "base_channels": 4, "depth": "short"},
    "arms": ["mfvi", "radial"],
    "space": {
        "optimizer": {
            "sgd": {"learning_rate": [0.01, 0.001], "momentum": 0.9},
            "amsgrad": {"learning_rate": [0.001, 0.0001]},
        },
        "batch_size": [16, 32, 64],
        "variational_samples": [1, 2],
        "initial_rho": {"low": -6, "high": 0},
        "where": "batch_size * variational_samples <= 64",
        "stratify": "optimizer",
    },
    "sampling": {"strategy": "random", "configurations": 12, "replicates": 1, "seed": 0},
    "training": {"epochs": 12, "pretrain_epochs": 1, "evaluation_samples": 4},
    "outcomes": {
        "metric": "validation_auc",
        "epoch": "best",
        "learned_nothing": {"no_better_than_untrained": 0.01},
        "good": {"at_least": 0.8},
        "primary": "learned_nothing",
    },
    "resources": {"cpu": 1, "gpu": 0},
}


def small(**changes: Any) -> dict[str, Any]:
    """The small study with some of its fields replaced: `small(training__epochs=3)`."""
    data = copy.deepcopy(SMALL)
    for name, value in changes.items():
        *way, last = name.split("__")
        place = data
        for key in way:
            place = place.setdefault(key, {})
        place[last] = value
    return data


def write(folder: Path, data: dict[str, Any], name: str = "study.yaml") -> str:
    """The path of a study file with this data."""
    path = folder / name
    path.write_text(yaml.safe_dump(data, sort_keys=False), encoding="utf-8")
    return str(path)


def write_study(folder: Path, trainable: str = "quick", **changes: Any) -> Path:
    """A study file in this folder; `changes` replace whole sections."""
    document: dict[str, Any] = {
        "name": "simulated",
        "trainable": f"support.trainables:{trainable}",
        "arms": ["first", "second"],
        "space": {"rate": {"low": 0.001, "high": 1.0, "scale": "log"}},
        "sampling": {"configurations": 5, "seed": 3},
        "training": {"epochs": 3},
        "outcomes": {"learned_nothing": {"below": 0.4}, "good": {"at_least": 0.8}},
        "resources": {"cpu": 1},
    }
    path = folder / "simulated.yaml"
    # Through JSON, because the strict reader refuses the aliases of parts that occur twice.
    path.write_text(yaml.safe_dump(json.loads(json.dumps(document | changes))))
    return path


def store_url(folder: Path, name: str = "store") -> str:
    return f"sqlite:///{folder / name}.db"


def run_study(folder: Path, trainable: str, **changes: Any) -> str:
    """Sweep the study of `write_study` into this folder's store; returns its name."""
    study = load_study(str(write_study(folder, trainable, **changes)))
    plan = make_plan(study)
    with open_store(store_url(folder)) as store:
        registered = store.register(study, plan)
        with registered.lock():
            sweep(study, plan, registered, InlineExecutor())
    return study.name


def results(url: str, name: str = "simulated") -> bytes:
    """All results of a study: the file of `robustness report --format csv`, and every epoch without its time."""
    with open_store(url, create=False) as store:
        study = store.study(name)
        epochs = study.epochs().drop(columns="seconds")
        return (results_csv(study) + str(epochs.to_csv())).encode()
