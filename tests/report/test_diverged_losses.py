"""A loss that diverged counts in means with the worst loss that any trial on its task reached, not with 1e35."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from report.sections.cautions import cautions
from robustness import Result, from_dataframe
from robustness.sweep.outcomes import Summary

RATES = [round(0.001 * 1.5**number, 6) for number in range(16)]
LEVELS = {"small": 1.0, "large": 100.0}
"""The tasks with the scale of their losses."""


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ROBUSTNESS_STORE", f"sqlite:///{tmp_path / 'runs.db'}")


def made_epochs(tasks: tuple[str, ...] = ("small",)) -> pd.DataFrame:
    """Three epochs a run; SGD explodes at the four largest rates: 1e35 in its second epoch, NaN in its third."""
    generator = np.random.default_rng(0)
    rows: list[dict[str, Any]] = []
    for task in tasks:
        for arm in ("adam", "sgd"):
            for place, rate in enumerate(RATES):
                losses = LEVELS[task] * np.sort(generator.uniform(0.1, 0.9, 3))[::-1]
                if arm == "sgd" and place >= 12:
                    losses = np.array([2.5 * LEVELS[task], 1e35, np.nan])
                rows += [
                    {"arm": arm, "task": task, "rate": rate, "epoch": epoch + 1, "loss": loss}
                    for epoch, loss in enumerate(losses)
                ]
    return pd.DataFrame(rows)


def imported(frame: pd.DataFrame, judged: Summary = "last", study: str = "losses") -> Result:
    table = frame if "large" in set(frame["task"]) else frame.drop(columns="task")
    return from_dataframe(
        table,
        study=study,
        metric="loss",
        goal="minimize",
        hyperparameters=["rate"],
        epoch="epoch",
        missing="diverged",
        judged=judged,
    )


def last_losses(frame: pd.DataFrame, task: str = "small") -> pd.DataFrame:
    """The final losses [rates, arms] of a task, 2.5 levels where they diverged: the worst that a trial counts by."""
    own = frame[(frame["task"] == task) & (frame["epoch"] == 3)]
    return own.pivot_table(index="rate", columns="arm", values="loss", dropna=False).fillna(2.5 * LEVELS[task])


def test_means_stay_on_the_scale_of_losses_that_were_reached() -> None:
    frame = made_epochs()
    result = imported(frame)
    wide = last_losses(frame)
    differences = (wide["adam"] - wide["sgd"]).to_numpy()
    (found,) = [entry for entry in result.results["scores"] if entry["epoch"] == "last"]
    assert found["mean_difference"] == pytest.approx(differences.mean(), abs=1e-12)
    assert found["p_wilcoxon"] == pytest.approx(stats.wilcoxon(differences).pvalue)
    assert found["first_wins"]["count"] == (differences < 0).sum()
    assert abs(found["low"] or 0.0) < 3
    assert "1e" not in result.verdict


def test_a_diverged_trial_is_never_better_at_its_last_epoch_than_at_its_best() -> None:
    judged = imported(made_epochs()).analysis.trials
    gone = judged[judged["status"] == "diverged"]
    assert len(gone) == 4
    assert gone["score_best"].tolist() == gone["score_last"].tolist() == [2.5] * 4
    assert judged["score_last"].max() == 2.5


def test_each_task_has_a_worst_loss_of_its_own() -> None:
    frame = made_epochs(("small", "large"))
    result = imported(frame)
    judged = result.analysis.trials
    gone = judged[judged["status"] == "diverged"]
    assert gone.groupby("task")["score_last"].unique().map(list).to_dict() == {"small": [2.5], "large": [250.0]}
    for entry in result.results["tasks"]["on"]:
        wide = last_losses(frame, entry["task"])
        (scores,) = entry["scores"]
        assert scores["mean_difference"] == pytest.approx((wide["adam"] - wide["sgd"]).mean(), rel=1e-12)


def test_the_page_says_what_diverged_trials_count_with() -> None:
    (said,) = [line for line in cautions(imported(made_epochs()).analysis) if "no loss at the last epoch" in line]
    assert said == (
        "4 of sgd's 16 trials have no loss at the last epoch, because they diverged. In means, each counts as 2.5, "
        "the highest score that any trial had at its best or last epoch: means depend on that number, wins and medians "
        "hardly do."
    )
    # At the best epoch they have a loss: that of their first epoch.
    assert not [
        line
        for line in cautions(imported(made_epochs(), "best", "best").analysis)
        if "a loss" in line or "no loss" in line
    ]


def test_a_finished_run_with_an_extreme_loss_is_pointed_out() -> None:
    frame = made_epochs()
    frame.loc[(frame["loss"] > 1e30) | frame["loss"].isna(), "loss"] = 1e35
    said = [line for line in cautions(imported(frame).analysis) if "Extreme scores decide the means" in line]
    assert len(said) == 1
    assert "the worst is 1e+35" in said[0]
