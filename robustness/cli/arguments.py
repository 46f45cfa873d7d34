"""The arguments of every command; this module imports nothing heavy, so that `--help` is fast."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import Any

REPORT_FORMATS = ("html", "json", "csv", "parquet", "latex", "archive")
COLUMNS = {"image": "image file name", "grade": "grade", "patient": "patient ID", "split": "split"}
"""The columns of a label table whose names can be set."""


def add_sweep_arguments(parser: argparse.ArgumentParser) -> None:
    _add_run_arguments(parser)
    which = parser.add_mutually_exclusive_group()
    which.add_argument(
        "--only",
        action="append",
        default=[],
        metavar="CONFIGURATION/ARM[/REPLICATE]",
        help="run only this trial (repeatable); with --inline, a trial that has ended is rerun, but its new result is "
        "not stored",
    )
    which.add_argument(
        "--retry",
        action="store_true",
        help="also rerun trials that failed, timed out or ran out of memory, discarding their stored results",
    )
    parser.add_argument(
        "--shard",
        metavar="K/N",
        help="run only part K of N of the study, such as 3/20, and store it separately (default: shard-K-of-N.db); "
        "`robustness merge` combines the parts",
    )


def add_optimize_arguments(parser: argparse.ArgumentParser) -> None:
    _add_run_arguments(parser)
    parser.add_argument("--search-only", action="store_true", help="train no final models")


def add_report_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("study", metavar="STUDY", help="name of a stored study, or a study file")
    _add_store(parser)
    parser.add_argument(
        "--format",
        choices=REPORT_FORMATS,
        default="html",
        help="default: html, a self-contained page; archive: the study itself, which `robustness import` restores on "
        "another machine",
    )
    _add_out(
        parser,
        "--output",
        metavar="PATH",
        help="file or folder to write (default: a file named after the study; for json and csv, standard output)",
    )
    parser.add_argument("--figures", metavar="DIR", help="also write each figure to this folder, as SVG and PDF")
    parser.add_argument(
        "--width",
        choices=("column", "page"),
        help="width of the figures for a paper: 3.3 inches (column) or 6.9 inches (page), with text of at least 7 pt",
    )
    parser.add_argument(
        "--force", action="store_true", help="overwrite existing files even if robustness did not write them"
    )
    _add_quiet(parser, "do not print the path of the report")


def add_compare_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("first", metavar="A", help="name of a stored study")
    parser.add_argument("second", metavar="B", help="name of another stored study")
    _add_store(parser)
    _add_json(parser, "print all statistics of both studies as JSON")


def add_status_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("study", metavar="STUDY", nargs="?", help="name of a stored study (default: all)")
    _add_store(parser)
    parser.add_argument("--watch", action="store_true", help="refresh until the study is done")
    _add_json(parser)


def add_serve_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = (
        "The page is read-only, updates automatically and leaves a running sweep alone. It can be started before its "
        "store exists. To watch from another machine, open a tunnel there with `ssh -L 8642:localhost:8642 MACHINE`, "
        "and then the URL that this command prints."
    )
    parser.add_argument("study", metavar="STUDY", nargs="?", help="name of the study to open (default: a list of all)")
    _add_store(parser)
    _add_port(parser, default=8642, help="port to listen on (default: 8642; 0: any free port)")
    parser.add_argument(
        "--host",
        default="127.0.0.1",
        metavar="ADDRESS",
        help="address to listen on (default: 127.0.0.1, this machine only); on any other address, pages open only with "
        "the token in the URL that is printed",
    )
    parser.add_argument(
        "--token",
        action="store_true",
        help="require the token on 127.0.0.1 as well, for machines that others can log in to",
    )


def add_plan_arguments(parser: argparse.ArgumentParser) -> None:
    _add_study(parser)
    _add_json(parser, "print the counts and all configurations as JSON")
    parser.add_argument("--configurations", metavar="N", help="shorthand for --set sampling.configurations=N")
    parser.add_argument(
        "--register",
        action="store_true",
        help="register the study and its analysis in the store before anything runs, and print their hash; the report "
        "then lists every later change",
    )
    _add_store(parser)
    parser.add_argument(
        "--difference",
        type=_share,
        default=0.2,
        metavar="D",
        help="difference to detect between the fractions of two arms, above 0 and at most 1 (default: 0.2)",
    )
    parser.add_argument(
        "--discordance",
        type=_share,
        metavar="P",
        help="expected share of pairs in which the arms disagree (default: 0.5)",
    )


def add_prepare_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("task", metavar="TASK", help="task to prepare: retinopathy")
    parser.add_argument(
        "--images", type=Path, required=True, metavar="PATH", help="folder or ZIP archive of photographs"
    )
    parser.add_argument(
        "--labels", type=Path, required=True, metavar="FILE", help="CSV file with one row per photograph"
    )
    _add_out(parser, type=Path, required=True, metavar="DIR", help="output folder; an interrupted run is resumed")
    parser.add_argument("--size", type=int, default=256, metavar="PIXELS", help="width and height (default: 256)")
    for kind, what in COLUMNS.items():
        parser.add_argument(f"--{kind}-column", metavar="NAME", help=f"column with the {what}, if it is not recognised")
    for split in ("validation", "test"):
        parser.add_argument(
            f"--{split}-share",
            type=float,
            default=0.15,
            metavar="SHARE",
            help=f"share of patients in the {split} set, if there is no split column (default: 0.15)",
        )
    parser.add_argument(
        "--seed", type=int, default=0, metavar="N", help="seed of the random split by patient (default: 0)"
    )
    # Checked by the command, so that an error is one line.
    _add_workers(parser, type=int, help="number of processes (default: one per core)")
    _add_quiet(parser)


def add_predict_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("model", type=Path, metavar="MODEL", help="file of a final model (NAME.model.pt)")
    parser.add_argument("images", type=Path, nargs="+", metavar="IMAGE", help="image, folder or ZIP archive of images")
    parser.add_argument(
        "--samples", type=int, default=16, metavar="N", help="number of weight samples to average (default: 16)"
    )
    parser.add_argument(
        "--refer",
        type=float,
        default=20.0,
        metavar="PERCENT",
        help="flag images as uncertain as the top PERCENT %% of validation images (default: 20)",
    )
    parser.add_argument(
        "--trust",
        action="store_true",
        help="also load a model whose method, task or trainable is not bundled; this runs the code that it names",
    )
    _add_json(parser, "print one JSON object per line")


def add_import_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = (
        "A source is a CSV, parquet or JSON file with one row for each run or each epoch, another store of robustness, "
        "the archive of a study (report --format archive), optuna:URL (sqlite:///FILE or a journal file), ray:FOLDER, "
        "mlflow:FOLDER or mlflow:sqlite:///FILE, wandb:FILE.csv, or tensorboard:FOLDER. "
        "Write ARM=SOURCE or ARM@TASK=SOURCE if its runs all belong to one arm."
    )
    parser.add_argument("sources", nargs="+", metavar="SOURCE", help="file, folder or URL with the runs; see below")
    parser.add_argument(
        "--study",
        metavar="NAME",
        help="name under which the study is stored (required, except for a store or an archive of robustness: default: "
        "the study's own name)",
    )
    _add_store(parser)
    parser.add_argument("--dry-run", action="store_true", help="show how the source is understood, and store nothing")
    parser.add_argument("--replace", action="store_true", help="replace an imported or copied study of the same name")
    judging = parser.add_argument_group("judging")
    judging.add_argument(
        "--metric", metavar="NAME", help="the measure by which runs are judged (default: metric or value)"
    )
    judging.add_argument(
        "--goal", choices=("maximize", "minimize"), help="direction of the metric, if the source does not state it"
    )
    judging.add_argument(
        "--judged",
        choices=("best", "last"),
        help="the epoch by which a run is judged (default: best; for Optuna, last: its objective)",
    )
    judging.add_argument(
        "--good",
        type=float,
        metavar="Y",
        help="a run with a metric of Y or better is good (default: no thresholds, means are compared)",
    )
    judging.add_argument(
        "--learned-nothing",
        type=float,
        metavar="X",
        help="a run with a metric worse than X learned nothing (default: every run that is not good, and the verdict "
        "is about good)",
    )
    columns = parser.add_argument_group("columns")
    columns.add_argument("--arm", metavar="COLUMN", help="column or parameter with the arm (default: arm or method)")
    columns.add_argument("--task", metavar="COLUMN", help="column with the task (default: task)")
    columns.add_argument("--seed", metavar="COLUMN", help="column with the seed (default: seed or replicate)")
    columns.add_argument("--epoch", metavar="COLUMN", help="column with the epoch, if there is one row per epoch")
    columns.add_argument(
        "--run", metavar="COLUMN", help="column that identifies the run, if there is one row per epoch"
    )
    columns.add_argument(
        "--hyperparameters",
        metavar="A,B,...",
        help="columns with hyperparameters (default: params_*, config.* and the like, or all other columns)",
    )
    columns.add_argument(
        "--only",
        action="append",
        default=[],
        metavar="COLUMN=VALUE,...",
        help="import only rows with one of these values in the column (repeatable)",
    )
    columns.add_argument("--ignore", metavar="A,B,...", help="columns to ignore")
    columns.add_argument(
        "--names", metavar="PATTERN", help="read columns from file or folder names, such as '{task}_{arm}.csv'"
    )
    columns.add_argument(
        "--digits",
        type=int,
        default=6,
        metavar="N",
        help="treat numbers that agree to N significant digits as equal (default: 6)",
    )
    runs = parser.add_argument_group("runs without a result")
    runs.add_argument(
        "--missing",
        choices=("diverged", "left-out", "absent-is-diverged"),
        help="runs that are empty, NaN or crashed (and, for a grid, absent): count them as diverged, or leave them out",
    )
    runs.add_argument(
        "--pruned",
        choices=("left-out", "last-value"),
        help="runs that were stopped early: leave them out, or judge them by the epochs that they have",
    )
    runs.add_argument(
        "--proposed",
        choices=("independently", "adaptively"),
        help="how configurations were chosen: independently (grid, random) or from earlier results (optimisation)",
    )
    trackers = parser.add_argument_group("parts of a source")
    trackers.add_argument(
        "--source-study",
        action="append",
        default=[],
        metavar="NAME",
        help="study to read from an Optuna database (each is an arm; repeatable; default: all) or from another store",
    )
    trackers.add_argument("--experiment", metavar="NAME", help="experiment to read from an MLflow store")


def add_merge_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "stores", nargs="+", metavar="STORE", help="store of a shard: a file, such as shard-*.db, or a URL"
    )
    parser.add_argument(
        "--into",
        required=True,
        metavar="STORE",
        help="store to write, a file or a URL; it must not hold the study yet",
    )
    _add_quiet(parser)


def add_schema_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = (
        "Save it next to your studies (robustness schema > study.schema.json) and begin each study file with "
        "`# yaml-language-server: $schema=study.schema.json`."
    )


def add_doctor_arguments(parser: argparse.ArgumentParser) -> None:
    _add_store(parser)


def _add_run_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments that `sweep` and `optimize` share."""
    _add_study(parser)
    _add_store(parser)
    _add_workers(
        parser,
        type=_positive_integer,
        help="maximum number of trials at once (default: as many as the resources allow)",
    )
    parser.add_argument(
        "--ray-address",
        metavar="ADDRESS",
        default=os.environ.get("RAY_ADDRESS"),
        help="join a running Ray cluster, `auto` or HOST:PORT (default: $RAY_ADDRESS, or start Ray locally)",
    )
    parser.add_argument(
        "--inline", action="store_true", help="run trials one after another in this process, without Ray"
    )
    _add_quiet(parser)
    parser.add_argument("--no-report", action="store_true", help="write no report at the end")
    parser.add_argument(
        "--serve",
        action="store_true",
        help="serve a live page on this machine until the run ends; `robustness serve` does so at any time",
    )
    _add_port(parser, help="port of the live page (default: 8642, or another if that one is in use)")


def _add_study(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("study", metavar="STUDY", help="study file, or name of a bundled study")
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="override a field of the study, such as training.epochs=5 (repeatable)",
    )


def _add_store(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "-s", "--store", metavar="URL", help="SQL store (default: $ROBUSTNESS_STORE, or sqlite:///robustness.db)"
    )


def _add_port(parser: argparse.ArgumentParser, **options: Any) -> None:
    parser.add_argument("--port", type=_port, metavar="N", **options)


def _add_out(parser: argparse.ArgumentParser, *names: str, **options: Any) -> None:
    parser.add_argument("-o", "--out", *names, **options)


def _add_workers(parser: argparse.ArgumentParser, **options: Any) -> None:
    parser.add_argument("-w", "--workers", metavar="N", **options)


def _add_quiet(parser: argparse.ArgumentParser, text: str = "print only warnings and errors") -> None:
    parser.add_argument("-q", "--quiet", action="store_true", help=text)


def _add_json(parser: argparse.ArgumentParser, text: str = "print JSON") -> None:
    parser.add_argument("--json", action="store_true", help=text)


def _positive_integer(text: str) -> int:
    try:
        number = int(text)
    except ValueError:
        number = 0
    if number < 1:
        raise argparse.ArgumentTypeError(f"must be an integer >= 1, found {text!r}")
    return number


def _port(text: str) -> int:
    if not text.isascii() or not text.isdecimal() or int(text) > 65535:
        raise argparse.ArgumentTypeError(f"must be an integer from 0 to 65535, found {text!r}")
    return int(text)


def _share(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value <= 1:
        raise argparse.ArgumentTypeError(f"must be a number above 0 and at most 1, found {text!r}")
    return value
