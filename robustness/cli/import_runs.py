"""`robustness import RUNS.csv --study NAME`: runs that were made elsewhere, into the store and so into reports."""

from __future__ import annotations

import argparse
from pathlib import Path


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "files", nargs="+", metavar="[ARM=]RUNS.csv", help="a CSV file with a row a run; ARM= if it has no such column"
    )
    parser.add_argument("--study", required=True, metavar="NAME", help="the study's name in the store")
    parser.add_argument("--store", metavar="URL", help="where the results go (default: ROBUSTNESS_STORE)")
    parser.add_argument("--good", required=True, type=float, metavar="X", help="a run is good from this metric on")
    parser.add_argument(
        "--learned-nothing", required=True, type=float, metavar="X", help="a run below this metric learned nothing"
    )
    parser.add_argument("--arm", metavar="COLUMN", help="the column of the arm (default: arm or method)")
    parser.add_argument("--metric", metavar="COLUMN", help="the column of the metric (default: metric or value)")
    parser.add_argument("--replicate", metavar="COLUMN", help="the column of the replicate (default: counted)")
    parser.add_argument(
        "--hyperparameters", metavar="A,B,...", help="the columns of a configuration (default: params_*, or the rest)"
    )


def run(arguments: argparse.Namespace) -> int:
    """Write the runs; 0."""
    from robustness.importing.csv_runs import Columns, read_runs
    from robustness.importing.imported_study import ImportedStudy
    from robustness.store import open_store
    from robustness.study.arms import check_label

    names = arguments.hyperparameters
    columns = Columns(arguments.arm, arguments.metric, arguments.replicate, None if names is None else names.split(","))
    check_label(arguments.study, "--study")
    files = [_file(text) for text in arguments.files]
    metric, runs = read_runs(files, columns)
    study = ImportedStudy.of(arguments.study, metric, runs, arguments.learned_nothing, arguments.good)
    with open_store(arguments.store) as store:
        study.save(store)
    configurations = len({trial.configuration for trial in study.trials})
    print(
        f"{len(study.runs)} runs of {len(study.arms)} arms ({', '.join(study.arms)}), {configurations} configurations"
    )
    print(f"robustness report {study.name}")
    return 0


def _file(text: str) -> tuple[str | None, Path]:
    """`mfvi=runs.csv` is the file of one arm; a file whose own name has a = in it is not."""
    label, equals, path = text.partition("=")
    return (label, Path(path)) if equals and not Path(text).exists() else (None, Path(text))
