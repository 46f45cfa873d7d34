"""Studies with several tasks: where the variance comes from, and performance against sensitivity."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from support.results import present

from report.analysis import Analysis
from report.page import render
from report.sections import plane, task_variance
from robustness import from_dataframe

TASKS = tuple("abcdefgh")


def imported(folder: Path, arms: dict[str, np.ndarray], replicated: int = 0) -> Analysis:
    """Scores [configurations, tasks] of each arm; the first arm has a second run of some on the first task."""
    rows = [
        {"arm": arm, "task": task, "rate": place + 1.0, "seed": 0, "value": float(scores[place, t])}
        for arm, scores in arms.items()
        for t, task in enumerate(TASKS)
        for place in range(len(scores))
    ]
    rows += [{**row, "seed": 1} for row in rows[:replicated]]
    url = f"sqlite:///{folder / 'runs.db'}"
    frame = pd.DataFrame(rows)
    return from_dataframe(
        frame,
        study="runs",
        store=url,
        arm="arm",
        metric="value",
        task="task",
        seed="seed",
        hyperparameters=["rate"],
    ).analysis


def noise(seed: int, configurations: int = 14) -> np.ndarray:
    return np.random.default_rng(seed).uniform(size=(configurations, len(TASKS)))


def test_each_share_of_the_variance_has_its_name_and_unused_replicates_are_counted(tmp_path: Path) -> None:
    analysis = imported(tmp_path, {"a": noise(0), "b": noise(1)}, replicated=4)
    variance = present(analysis.results["tasks"])["variance"]
    assert {part["seed"] for part in variance.values()} == {None}
    section = task_variance.variance_section(analysis, variance)
    whole = variance["a"]["task"] + variance["a"]["hyperparameters"]
    shares = [f"{100 * variance['a'][name] / whole:.0f}" for name in ("task", "hyperparameters")]
    expected = f"a: task {shares[0]} %, hyperparameters and seed {shares[1]} %;"
    assert expected in section.reading.replace("\u00a0", " ")
    assert present(section.numbers).columns == ("Arm", "Standard deviation by task", "By hyperparameters and seed")
    assert "The other 4 runs are replicates in 4 combinations of arm, task and configuration" in section.notes[0]


def test_two_arms_differ_on_the_plane_if_the_interval_of_their_difference_says_so(tmp_path: Path) -> None:
    same, rng = noise(0, 40)[:, :1], np.random.default_rng(2)
    steady = np.repeat(same, len(TASKS), axis=1)
    fickle = np.stack([rng.permutation(same[:, 0]) for _ in TASKS], axis=1) ** 3
    analysis = imported(tmp_path, {"steady": steady, "fickle": fickle, "alike": steady[::-1].copy()})
    found = present(analysis.results["plane"])
    differences = {tuple(entry["arms"]): entry for entry in found["differences"]}
    pair = differences["steady", "fickle"]
    sensitivity = {arm: present(entry["sensitivity"]) for arm, entry in found["arms"].items()}
    assert pair["difference"] == pytest.approx(sensitivity["steady"] - sensitivity["fickle"])
    assert present(pair["high"]) < 0
    assert differences["steady", "alike"]["difference"] == pytest.approx(0)
    # What the ranks say is in the verdict, and not repeated in each section about tasks.
    assert render(analysis).count("(Friedman") == 1
    (section,) = plane.sections(analysis)
    assert "Differences whose 95 % interval excludes 0: fickle minus steady +" in section.reading.replace("\u00a0", " ")
    assert "alike minus steady" not in section.reading
    assert any(note.startswith("The verdict compares mean scores over all configurations;") for note in section.notes)
