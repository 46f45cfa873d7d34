"""`robustness prepare TASK`: downloaded data into the form that trains fast."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from robustness.errors import TaskError, unknown_name

TASKS = ("retinopathy",)
"""The tasks that need preparing."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command."""
    parser.add_argument("task", metavar="TASK", help="what to prepare: retinopathy")
    parser.add_argument("--images", type=Path, required=True, help="a folder of photographs, or a ZIP archive of them")
    parser.add_argument("--labels", type=Path, required=True, help="a CSV file with a line for each photograph")
    parser.add_argument("--out", type=Path, required=True, help="the folder to write, or to go on with")
    parser.add_argument("--size", type=int, default=256, help="the side of the pictures in pixels (256)")
    for kind in ("image", "grade", "patient", "split"):
        parser.add_argument(f"--{kind}-column", metavar="NAME", help=f"the column of the {kind}, if it is not found")
    parser.add_argument("--validation-share", type=float, default=0.15, help="without a split column (0.15)")
    parser.add_argument("--test-share", type=float, default=0.15, help="without a split column (0.15)")
    parser.add_argument("--seed", type=int, default=0, help="of the split by patient (0)")
    parser.add_argument("--workers", type=int, default=None, help="processes (as many as there are cores)")
    parser.add_argument("--quiet", action="store_true", help="show no progress")


def run(arguments: argparse.Namespace) -> int:
    """Prepare; raises `TaskError`, after everything else is done, if some pictures could not be read."""
    if arguments.task not in TASKS:
        raise TaskError(unknown_name("task to prepare", arguments.task, TASKS))
    shares = (arguments.validation_share, arguments.test_share)
    if min(shares) < 0 or sum(shares) >= 1:
        raise TaskError(
            f"--validation-share {shares[0]} and --test-share {shares[1]}: each should be at least 0, their sum below 1"
        )
    if arguments.workers is not None and arguments.workers < 1:
        raise TaskError(f"--workers is {arguments.workers}, but it should be at least 1")
    if arguments.seed < 0:
        raise TaskError(f"--seed is {arguments.seed}, but it should be at least 0")
    return _prepare_retinopathy(arguments, shares)


def _prepare_retinopathy(arguments: argparse.Namespace, shares: tuple[float, float]) -> int:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    from robustness.tasks.fundus.label_table import USUAL_COLUMNS, read_labels
    from robustness.tasks.fundus.preparation import UNREADABLE, prepare

    named = {kind: getattr(arguments, f"{kind}_column") for kind in USUAL_COLUMNS}
    columns = {kind: name for kind, name in named.items() if name is not None}
    photographs = read_labels(arguments.labels, columns, shares, arguments.seed)
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    workers = arguments.workers or cores or 1
    parts = (TextColumn("photographs"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    hidden = arguments.quiet or not sys.stderr.isatty()
    with Progress(*parts, console=Console(stderr=True), disable=hidden) as progress:
        bar = progress.add_task("", total=len(photographs))
        prepared = prepare(
            arguments.images,
            photographs,
            arguments.size,
            arguments.out,
            workers,
            lambda done, total: progress.update(bar, completed=done, total=total),
        )
    usable = sum(prepared.counts.values())
    counts = ", ".join(f"{count} {split}" for split, count in prepared.counts.items())
    if not arguments.quiet:
        print(f"{usable} photographs of {prepared.patients} patients in {arguments.out}: {counts}")
    if prepared.unreadable:
        name, reason = prepared.unreadable[0]
        raise TaskError(
            f"{arguments.images}: {len(prepared.unreadable)} of {len(photographs)} photographs cannot be used, "
            f"the first is {name!r} ({reason}); all are listed in {arguments.out / UNREADABLE}, the others are ready"
        )
    return 0
