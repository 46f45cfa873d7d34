"""`robustness import RUNS.csv --study NAME`: store runs made elsewhere, so that they can be reported and compared."""

from __future__ import annotations

import argparse
import shlex
from pathlib import Path

from robustness.cli import DONE
from robustness.cli.interruption import store_option
from robustness.errors import plural
from robustness.guards.limits import is_file
from robustness.guards.printable import printable
from robustness.importing.csv_runs import Columns, read_runs
from robustness.importing.imported_study import ImportedStudy
from robustness.store import open_store
from robustness.study.arms import check_label


def run(arguments: argparse.Namespace) -> int:
    """Read the files and store their runs."""
    check_label(arguments.study, "--study")
    names = arguments.hyperparameters
    columns = Columns(arguments.arm, arguments.metric, arguments.replicate, None if names is None else names.split(","))
    files = [_file(text) for text in arguments.files]
    metric, runs = read_runs(files, columns)
    study = ImportedStudy.of(arguments.study, metric, runs, arguments.learned_nothing, arguments.good)
    with open_store(arguments.store) as store:
        study.save(store)
    configurations = len({trial.configuration for trial in study.trials})
    line = (
        f"imported {plural(len(study.runs), 'run')} of {plural(len(study.arms), 'arm')} "
        f"({', '.join(study.arms)}) in {plural(configurations, 'configuration')}"
    )
    print(printable(line))
    print(printable(f"write the report with: robustness report {shlex.quote(study.name)}{store_option(arguments)}"))
    return DONE


def _file(text: str) -> tuple[str | None, Path]:
    """`mfvi=runs.csv` as arm and file, unless there is a file of that whole name."""
    label, equals, path = text.partition("=")
    return (label, Path(path)) if equals and not is_file(Path(text)) else (None, Path(text))
