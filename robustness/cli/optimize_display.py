"""What `robustness optimize` says: a line for each run and final model that ends, and a table at the end."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

from robustness.execution.protocol import Started
from robustness.optimize.proposals import SearchRun
from robustness.optimize.search import search_of
from robustness.store.study_store import StudyStore
from robustness.study.study import Study
from robustness.sweep.outcomes import Outcome
from robustness.trial import EpochResult, Status, TrialKey


class SearchLines:
    """A line for each run that ends."""

    def __init__(self, study: Study, quiet: bool = False) -> None:
        self._runs = search_of(study).runs
        self._metric = study.objective
        self._quiet = quiet
        self._best: dict[str, float] = {}

    def started(self, arm: str, number: int, where: Started) -> None:
        pass

    def ended(self, arm: str, run: SearchRun, seconds: float) -> None:
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
    """The best run of each arm and, where there are final models, a table of them and what they show."""
    from report.analysis import analyse
    from robustness.optimize.final_models import winners

    for arm, run in winners(study, store).items():
        values = ", ".join(f"{name} {_cell(value)}" for name, value in run.hyperparameters.items())
        print(f"{arm}: best {study.objective} {run.score:.3f} in run {run.number + 1}: {values}")
    finals = analyse(store).results.get("finals")
    if finals is not None:
        _print_table(finals)
        print(finals["sentences"][0])


def _print_table(finals: Mapping[str, Any]) -> None:
    """The table of final models; a single network without draws is equally sure of everything and refers nothing."""
    from rich.console import Console
    from rich.table import Table

    table = Table("arm", box=None, pad_edge=False)
    for fraction in finals["referred"]:
        table.add_column(f"AUC, {100 * fraction:.0f} % referred", justify="right")
    for name in ("accuracy", "NLL", "calibration error", "s an epoch", "parameters"):
        table.add_column(name, justify="right")
    for arm, found in finals["arms"].items():
        aucs = [_with_error(each) if found["refers"] or not each["referred"] else "–" for each in found["auc"]]
        formats = {"accuracy": ".3f", "nll": ".3f", "calibration_error": ".3f", "seconds_per_epoch": ".2f"}
        others = [_number(found[name]["mean"], form) for name, form in (*formats.items(), ("parameters", ",.0f"))]
        table.add_row(arm, *aucs, *others)
    Console(width=None if sys.stdout.isatty() else 160).print(table)


def _with_error(auc: Mapping[str, Any]) -> str:
    return f"{_number(auc['mean'], '.3f')} ± {_number(auc['error'], '.3f')}"


def _number(value: float | None, form: str) -> str:
    return "–" if value is None else format(value, form)


def _word(status: Status) -> str:
    return status.replace("_", " ")


def _cell(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _say(line: str, quiet: bool) -> None:
    if not quiet:
        print(line, file=sys.stderr, flush=True)
