"""A study of every kind that a report opens with in another way, as frames of runs or made trials."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from support.searches import fill_search, made_search
from support.stores import fill, from_table, made_study

from report.analysis import Analysis, analyse
from robustness.api.importing import from_dataframe
from robustness.store import open_store
from robustness.study.sections import Stop
from robustness.sweep.plan import make_plan
from robustness.sweep.stopping import Decision
from robustness.sweep.trial_judge import TrialJudge

FIVE = ("mfvi", "radial", "mc_dropout", "deterministic", "deep_ensemble")


def runs(arms: dict[str, float], tasks: tuple[str, ...] = (), paired: bool = True, shift: float = 0.0) -> pd.DataFrame:
    """Runs of arms that differ by a shift: 36 learning rates, on each task, or rates of each arm's own."""
    rows: list[dict[str, Any]] = []
    for place, (arm, better) in enumerate(arms.items()):
        for task in tasks or ("",):
            for number in range(36):
                rate = 0.001 * (number + 1 + (0 if paired else 100 * place))
                noise = float(np.random.default_rng([number, len(task), place]).normal(0, 0.02))
                rows.append({"arm": arm, "rate": rate, "value": 0.4 + 0.01 * number + better + shift + noise})
                if task:
                    rows[-1]["task"] = task
    return pd.DataFrame(rows)


def _imported(frame: pd.DataFrame, folder: Path, **options: Any) -> Analysis:
    url = f"sqlite:///{folder / 'imported.db'}"
    task = "task" if "task" in frame else None
    return from_dataframe(frame, study="runs", store=url, arm="arm", metric="value", task=task, **options).analysis


def _made(folder: Path, **changes: Any) -> Analysis:
    with open_store(f"sqlite:///{folder / 'made.db'}") as store:
        return analyse(fill(store, made_study(**changes)))


def _against(folder: Path) -> Analysis:
    """Five arms, each compared with the second."""
    study = replace(made_study("against", arms=FIVE, configurations=40), compare_with="radial")
    with open_store(f"sqlite:///{folder / 'made.db'}") as store:
        return analyse(fill(store, study))


def _stopped(folder: Path) -> Analysis:
    study = replace(made_study("stopped", configurations=30, wide=True), stop=Stop())
    lost = {(number, arm): 0.5 if arm == "mfvi" else 0.7 for number in range(10) for arm in ("mfvi", "radial")}
    with open_store(f"sqlite:///{folder / 'made.db'}") as store:
        filled = fill(store, study, from_table(lost))
        decision = Decision.of(study, make_plan(study), TrialJudge.of(filled), filled)
        filled.save_note("stopped", decision.note())
        return analyse(filled)


def _searched(folder: Path) -> Analysis:
    with open_store(f"sqlite:///{folder / 'made.db'}") as store:
        return analyse(fill_search(store, made_search("searched", finals={"replicates": 3})))


TWO = {"slow": 0.0, "fast": 0.2}
KINDS: dict[str, Callable[[Path], Analysis]] = {
    "two arms": lambda folder: _made(folder, configurations=40),
    "five arms": lambda folder: _made(folder, arms=FIVE, configurations=40),
    "five arms against one": _against,
    "good is primary": lambda folder: _made(folder, configurations=40, outcomes={"primary": "good"}),
    "margin": lambda folder: _made(folder, configurations=40, outcomes={"equivalent_within": 0.06}),
    "no thresholds": lambda folder: _imported(runs(TWO), folder),
    "a loss": lambda folder: _imported(runs(TWO, shift=3.0), folder, goal="minimize"),
    "two tasks": lambda folder: _imported(runs(TWO, ("first", "second")), folder),
    "two tasks with thresholds": lambda folder: _imported(
        runs(TWO, ("first", "second")), folder, learned_nothing=0.6, good=0.8
    ),
    "unpaired": lambda folder: _imported(runs(TWO, paired=False), folder),
    "unpaired with thresholds": lambda folder: _imported(
        runs(TWO, paired=False), folder, learned_nothing=0.6, good=0.8
    ),
    "stopped": _stopped,
    "final models": _searched,
}
"""Studies that compare arms, each of another kind."""
