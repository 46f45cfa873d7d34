"""A study that grows arm by arm, configuration by configuration, replicate by replicate and task by task."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from support.studies import store_url, write_study

from robustness.execution.inline import InlineExecutor
from robustness.store import open_store
from robustness.study.loading import load_study
from robustness.sweep.plan import make_plan
from robustness.sweep.sweep import sweep

TIMES = ["seconds", "started", "ended", "worker", "checksum"]
SPACES: dict[str, dict[str, Any]] = {
    "shared": {"space": {"rate": {"low": 0.001, "high": 1.0, "scale": "log"}}},
    "partly own": {"space": {"batch": [16, 32]}, "own": True},
    "own": {"space": None, "own": True},
}


def run(folder: Path, url: str, spaces: str, arms: int, configurations: int, replicates: int, tasks: int) -> int:
    """Run what is pending of a study of this size, and return how many trials that were."""
    own = {"space": {"decay": {"low": 0.0, "high": 1.0}}} if SPACES[spaces].get("own") else {}
    changes: dict[str, Any] = {
        "space": SPACES[spaces]["space"],
        "arms": [{"name": name, **own} for name in ("a", "b", "c")[:arms]],
        "sampling": {"configurations": configurations, "replicates": replicates, "seed": 5},
        "tasks": [{"name": "x"}, {"name": "y", "classes": 3}][:tasks],
    }
    study = load_study(str(write_study(folder, "streamed", **changes)))
    plan = make_plan(study)
    with open_store(url) as store:
        registered = store.register(study, plan)
        with registered.lock():
            return sweep(study, plan, registered, InlineExecutor()).run


def content(url: str) -> str:
    """Everything in the store that does not depend on the time."""
    with open_store(url, create=False) as store:
        study = store.study("simulated")
        frames: list[pd.DataFrame] = [study.trials().drop(columns=TIMES), study.epochs().drop(columns="seconds")]
        document, checksums = study.document(), study.trials()["checksum"].notna().all()
    return "\n".join([str(document), str(checksums), *(frame.to_csv() for frame in frames)])


@pytest.mark.parametrize("spaces", list(SPACES))
def test_an_extended_study_equals_the_same_study_run_at_once(tmp_path: Path, spaces: str) -> None:
    sizes = [(2, 5, 1, 1), (3, 5, 1, 1), (3, 15, 1, 1), (3, 15, 3, 1), (3, 15, 3, 2)]
    ran = [run(tmp_path, store_url(tmp_path), spaces, *size) for size in sizes]
    assert ran == [10, 5, 30, 90, 135]
    assert run(tmp_path, store_url(tmp_path, "whole"), spaces, *sizes[-1]) == sum(ran)
    assert content(store_url(tmp_path)) == content(store_url(tmp_path, "whole"))


def test_the_order_of_extensions_does_not_matter(tmp_path: Path) -> None:
    texts = set()
    for order in itertools.permutations(range(4)):
        url = store_url(tmp_path, "".join(map(str, order)))
        size = [1, 2, 1, 1]
        run(tmp_path, url, "partly own", *size)
        for dimension in order:
            size[dimension] += 1
            run(tmp_path, url, "partly own", *size)
        texts.add(content(url))
    assert len(texts) == 1
