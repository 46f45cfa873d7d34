"""What `robustness optimize` says: a line for each run and final model that ends, and a table at the end."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from robustness.execution import Started
from robustness.metrics import REFERRED
from robustness.optimize import search_of
from robustness.outcomes import Outcome
from robustness.proposals import Run
from robustness.store.studies import StudyStore
from robustness.study import Study
from robustness.study_search import objective
from robustness.trial import EpochResult, Status, TrialKey

if TYPE_CHECKING:
    import pandas as pd


class SearchLines:
    """A line for each run that ends."""

    def __init__(self, study: Study, quiet: bool = False) -> None:
        self._runs = search_of(study).runs
        self._metric = objective(study)
        self._quiet = quiet
        self._best: dict[str, float] = {}

    def started(self, arm: str, number: int, where: Started) -> None:
        pass

    def ended(self, arm: str, run: Run, seconds: float) -> None:
        if run.score is not None and run.status == "finished":
            self._best[arm] = max(run.score, self._best.get(arm, run.score))
        best = f" (best {self._best[arm]:.3f})" if arm in self._best else ""
        shown = "" if run.score is None else f", {self._metric} {run.score:.3f}{best}"
        _say(f"{arm}: run {run.number + 1} of {self._runs} {_word(run.status)} in {seconds:.0f} s{shown}", self._quiet)


class FinalLines:
    """A line for each final model that ends."""

    def __init__(self, quiet: bool = False) -> None:
        self._quiet = quiet

    def started(self, key: TrialKey, where: Started) -> None:
        pass

    def epoch(self, key: TrialKey, result: EpochResult) -> None:
        pass

    def ended(self, key: TrialKey, status: Status, outcome: Outcome | None, seconds: float) -> None:  # noqa: ARG002
        _say(f"{key.arm}: final model {key.replicate + 1} {_word(status)} in {seconds:.0f} s", self._quiet)


def print_results(study: Study, store: StudyStore) -> None:
    """The best run of each arm, and a table of the final models where there are any."""
    from robustness.finals import final_measures, winners

    for arm, run in winners(study, store).items():
        values = ", ".join(f"{name} {_cell(value)}" for name, value in run.hyperparameters.items())
        print(f"{arm}: best {objective(study)} {run.score:.3f} in run {run.number + 1}: {values}")
    measures = final_measures(store)
    if "test_auc" in measures:
        _print_table(measures)


def _print_table(measures: pd.DataFrame) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table("arm", box=None, pad_edge=False)
    for percent in (round(100 * fraction) for fraction in REFERRED):
        table.add_column(f"AUC, {percent} % referred", justify="right")
    for name in ("accuracy", "NLL", "calibration error", "s an epoch", "parameters"):
        table.add_column(name, justify="right")
    for arm, rows in measures.groupby("arm", sort=False):
        means = rows.mean(numeric_only=True)
        aucs = [_with_error(means, f"test_auc_{round(100 * fraction)}") for fraction in REFERRED]
        others = [f"{means[f'test_{name}']:.3f}" for name in ("accuracy", "nll", "calibration_error")]
        table.add_row(str(arm), *aucs, *others, f"{means['seconds_per_epoch']:.2f}", f"{means['parameters']:,.0f}")
    Console(width=None if sys.stdout.isatty() else 160).print(table)


def _with_error(means: Any, name: str) -> str:
    return f"{means[name]:.3f} ± {means[f'{name}_error']:.3f}"


def _word(status: Status) -> str:
    return status.replace("_", " ")


def _cell(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _say(line: str, quiet: bool) -> None:
    if not quiet:
        print(line, file=sys.stderr, flush=True)
