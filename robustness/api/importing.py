"""Runs in a data frame as a study: what `robustness import` does, from Python.

import robustness

result = robustness.from_dataframe(frame, study="optimizers", arm="optimizer", metric="accuracy")
result.verdict, result.report("page.html")
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Literal

from robustness.api.result import Result
from robustness.importing.frame import make_import, table_of_frame
from robustness.importing.options import ImportOptions
from robustness.importing.values import DIGITS
from robustness.store import open_store

if TYPE_CHECKING:
    import pandas as pd


def from_dataframe(
    frame: pd.DataFrame,
    *,
    study: str,
    store: str | None = None,
    arm: str | None = None,
    metric: str | None = None,
    goal: Literal["maximize", "minimize"] | None = None,
    hyperparameters: Sequence[str] | None = None,
    seed: str | None = None,
    epoch: str | None = None,
    task: str | None = None,
    run: str | None = None,
    ignore: Sequence[str] = (),
    only: Mapping[str, Sequence[str]] | None = None,
    missing: Literal["diverged", "left-out", "absent-is-diverged"] | None = None,
    pruned: Literal["left-out", "last-value"] | None = None,
    proposed: Literal["independently", "adaptively"] | None = None,
    digits: int = DIGITS,
    judged: Literal["best", "last"] | None = None,
    good: float | None = None,
    learned_nothing: float | None = None,
    replace: bool = False,
) -> Result:
    """Store the runs of a frame, one row for each run or each epoch, and return the study's result.

    `arm`, `metric`, `seed`, `epoch`, `task` and `run` name columns, `hyperparameters` and `ignore` several, and `only`
    has the values of columns to keep; what is not named is recognised as in `robustness import`. Raises RobustnessError
    with one line that names the argument to set.
    """
    options = ImportOptions(
        arm=arm,
        metric=metric,
        goal=goal,
        hyperparameters=hyperparameters,
        seed=seed,
        epoch=epoch,
        task=task,
        run=run,
        ignore=ignore,
        only=only or {},
        missing=missing,
        pruned=pruned,
        proposed=proposed,
        digits=digits,
        judged=judged,
        good=good,
        learned_nothing=learned_nothing,
        in_python=True,
    )
    found = make_import(study, [table_of_frame(frame)], options)
    with open_store(store) as opened:
        found.study.save(opened, replace)
    return Result(store, study)
