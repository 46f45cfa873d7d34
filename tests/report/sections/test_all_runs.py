"""Runs that not all arms share: why, of which comparison, and in which unit all of them are compared."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from support.results import present
from support.stores import Made, fill, made_study

from report.analysis import Analysis, analyse
from report.sections.all_runs import disagreement, sections
from robustness.api.importing import from_dataframe
from robustness.store import Store, open_store
from robustness.trial import Trial

ARMS = ("a", "b", "c")


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with open_store(f"sqlite:///{tmp_path / 'made.db'}") as opened:
        yield opened


def imported(
    folder: Path, extra: dict[tuple[str, float], int], without: tuple[tuple[str, float], ...] = ()
) -> Analysis:
    """Three arms with one run at each of 30 rates on two tasks, and so many further seeds of some on the first."""
    rng = np.random.default_rng(0)
    rows: list[dict[str, Any]] = []
    for arm in ARMS:
        for rate in range(30):
            for task in ("first", "second"):
                seeds = 1 + (extra.get((arm, rate), 0) if task == "first" else 0)
                rows += [
                    {"arm": arm, "rate": rate / 10, "task": task, "seed": seed, "value": rate / 50 + rng.normal(0, 0.1)}
                    for seed in range(seeds)
                    if (arm, rate) not in without
                ]
    url = f"sqlite:///{folder / 'runs.db'}"
    frame = pd.DataFrame(rows)
    return from_dataframe(
        frame, study="runs", store=url, arm="arm", metric="value", task="task", missing="left-out"
    ).analysis


def test_extra_seeds_are_called_so_and_two_arms_that_share_them_are_partners(tmp_path: Path) -> None:
    analysis = imported(tmp_path, {("a", 5): 9, ("b", 5): 9, ("c", 7): 4})
    every = present(analysis.results["all_runs"])
    assert every["reasons"] == {"lost": 0, "untried": 0, "extra": 22}
    alone = {tuple(entry["arms"]): entry["alone"] for entry in every["comparisons"]}
    assert alone == {("a", "b"): 0, ("a", "c"): 13, ("b", "c"): 13}
    (section,) = sections(analysis)
    assert section.reading.startswith(
        "22 of 202 runs are not shared by all arms (extra seeds that not every arm has at that configuration): means"
    )
    assert section.numbers is not None
    by_arms = {row[0]: row for row in section.numbers.rows}
    assert by_arms["b minus a"][1:3] == ("mean value, standard deviations of its task", "0 of 138")
    assert by_arms["c minus b"][2] == "13 of 133"
    assert next(disagreement(analysis)).endswith("“Runs without a partner” compares all runs.")


def test_configurations_of_some_arms_are_told_from_extra_seeds(tmp_path: Path) -> None:
    analysis = imported(tmp_path, {("a", 5): 1}, without=(("c", 3),))
    every = present(analysis.results["all_runs"])
    assert every["reasons"] == {"lost": 0, "untried": 4, "extra": 1}
    (section,) = sections(analysis)
    assert "(extra seeds that not every arm has at that configuration: 1; of configurations that" in section.reading


def test_a_partner_without_a_result_is_named_as_the_reason(store: Store) -> None:
    def make(trial: Trial, epochs: int) -> Made:
        lost = trial.arm == "mfvi" and trial.configuration < 3
        return Made("failed", [], "ValueError: no") if lost else Made(scores=[0.7] * epochs)

    analysis = analyse(fill(store, made_study(configurations=12), make))
    every = present(analysis.results["all_runs"])
    assert every["reasons"] == {"lost": 3, "untried": 0, "extra": 0}
    assert every["comparisons"] == [{"arms": ["mfvi", "radial"], "counted": 21, "alone": 3}]
    (section,) = sections(analysis)
    assert section.reading.startswith(
        "3 of 21 runs are not shared by all arms (of configurations on which another arm has no result): fractions and"
    )
