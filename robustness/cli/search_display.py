"""What `robustness optimize` shows: a line for each run and final model that ends, and the results at the end."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.table import Table
from rich.text import Text

from robustness.api.progress_lines import tell
from robustness.cli.display import print_table, value_text
from robustness.execution.protocol import Started
from robustness.guards.printable import printable
from robustness.optimize.final_models import winners
from robustness.optimize.proposals import SearchRun
from robustness.optimize.search import search_of, searched_arms
from robustness.store.study_store import StudyStore
from robustness.study.study import Study
from robustness.sweep.outcomes import Outcome
from robustness.sweep.progress import in_words
from robustness.trial import EpochResult, Status, TrialKey

COLUMNS = {
    "accuracy": ("accuracy", ".3f"),
    "nll": ("NLL", ".3f"),
    "calibration_error": ("calibration error", ".3f"),
    "seconds_per_epoch": ("s/epoch", ".2f"),
    "parameters": ("parameters", ",.0f"),
}
"""Heading and number format of each measure in the table of final models."""


class SearchLines:
    """Prints a line for each run that ends; a `SearchWatcher`."""

    def __init__(self, study: Study, search_number: int = 0, quiet: bool = False) -> None:
        self._search = _search_words(study, search_number)
        self._runs = search_of(study).runs
        self._metric = study.objective
        self._goal = study.objective_goal
        self._quiet = quiet
        self._best: dict[str, float] = {}

    def started(self, arm: str, number: int, where: Started) -> None:
        pass

    def ended(self, arm: str, run: SearchRun, seconds: float) -> None:
        if run.score is not None and run.status == "finished":
            self._best[arm] = self._goal.best((run.score, self._best.get(arm, run.score)))
        best = f" (best {self._best[arm]:.3f})" if arm in self._best else ""
        score = "" if run.score is None else f", {self._metric} {run.score:.3f}{best}"
        name = f"{arm}: {self._search}run {run.number + 1} of {self._runs}"
        line = f"{name} {in_words(run.status)} in {seconds:.0f} s{score}"
        _print_progress(line, self._quiet)


class FinalLines:
    """Prints a line for each final model that ends; a `Watcher`."""

    def __init__(self, study: Study, quiet: bool = False) -> None:
        self._study = study
        self._quiet = quiet

    def started(self, key: TrialKey, where: Started) -> None:
        pass

    def epoch(self, key: TrialKey, result: EpochResult) -> None:
        pass

    def ended(self, key: TrialKey, status: Status, outcome: Outcome | None, seconds: float) -> None:  # noqa: ARG002
        name = f"{key.arm}: {_search_words(self._study, key.search)}final model {key.replicate + 1}"
        line = f"{name} {in_words(status)} in {seconds:.0f} s"
        _print_progress(line, self._quiet)


def print_results(study: Study, store: StudyStore, results: Mapping[str, Any]) -> None:
    """Print the best run of each arm and search and, from the report's results, the final models and comparison."""
    best = [winners(study, store, number) for number in range(study.searches)]
    for arm in searched_arms(study):
        for number, runs in enumerate(best):
            if arm not in runs:
                continue
            run = runs[arm]
            values = ", ".join(f"{name} {value_text(value)}" for name, value in run.hyperparameters.items())
            place = f"{_search_words(study, number)}run {run.number + 1}"
            print(printable(f"{arm}: best {study.objective} {run.score:.3f} in {place}: {values}"))
    finals = results.get("finals")
    if finals is not None:
        _print_final_models(finals)
        print(printable(finals["sentences"][0]))


def _search_words(study: Study, search_number: int) -> str:
    """`search 2 of 3, ` for a study with several searches."""
    return f"search {search_number + 1} of {study.searches}, " if study.searches > 1 else ""


def _print_final_models(finals: Mapping[str, Any]) -> None:
    """A table of the final models; a deterministic network has no uncertainty to refer by, so its cells stay empty."""
    table = Table("arm", box=None, pad_edge=False)
    for fraction in finals["referred"]:
        table.add_column(f"AUC, {100 * fraction:.0f} % referred", justify="right")
    for heading, _ in COLUMNS.values():
        table.add_column(heading, justify="right")
    for arm, measures in finals["arms"].items():
        aucs = [_with_error(auc) if measures["refers"] or not auc["referred"] else "–" for auc in measures["auc"]]
        others = [_number(measures[name]["mean"], form) for name, (_, form) in COLUMNS.items()]
        table.add_row(Text(printable(arm)), *aucs, *others)
    print_table(table)


def _with_error(auc: Mapping[str, Any]) -> str:
    return f"{_number(auc['mean'], '.3f')} ± {_number(auc['total_error'], '.3f')}"


def _number(value: float | None, form: str) -> str:
    return "–" if value is None else format(value, form)


def _print_progress(line: str, quiet: bool) -> None:
    if not quiet:
        tell(line)
