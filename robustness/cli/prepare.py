"""`robustness prepare TASK`: convert downloaded data into the form used for training."""

from __future__ import annotations

import argparse
import os
import sys

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from robustness.cli import DONE
from robustness.errors import TaskError, unknown_name
from robustness.guards.printable import printable
from robustness.tasks.fundus.label_table import USUAL_COLUMNS, read_labels
from robustness.tasks.fundus.preparation import UNREADABLE, prepare

TASKS = ("retinopathy",)
"""The tasks that need preparing."""


def run(arguments: argparse.Namespace) -> int:
    """Prepare the data; raises `TaskError`, after preparing all others, if some images could not be read."""
    _check(arguments)
    named = {kind: getattr(arguments, f"{kind}_column") for kind in USUAL_COLUMNS}
    columns = {kind: name for kind, name in named.items() if name is not None}
    shares = (arguments.validation_share, arguments.test_share)
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
        print(printable(f"{usable} photographs of {prepared.patients} patients in {arguments.out}: {counts}"))
    if prepared.unreadable:
        name, reason = prepared.unreadable[0]
        raise TaskError(
            f"{arguments.images}: {len(prepared.unreadable)} of {len(photographs)} photographs cannot be used, "
            f"the first is {name!r} ({reason}); all are listed in {arguments.out / UNREADABLE}, the others are ready"
        )
    return DONE


def _check(arguments: argparse.Namespace) -> None:
    """Raise `TaskError` for arguments out of range."""
    if arguments.task not in TASKS:
        raise TaskError(unknown_name("task to prepare", arguments.task, TASKS))
    validation, test = arguments.validation_share, arguments.test_share
    if min(validation, test) < 0 or validation + test >= 1:
        raise TaskError(f"--validation-share {validation} and --test-share {test} must be >= 0, with a sum below 1")
    if arguments.workers is not None and arguments.workers < 1:
        raise TaskError(f"--workers is {arguments.workers}, but must be an integer >= 1")
    if arguments.seed < 0:
        raise TaskError(f"--seed is {arguments.seed}, but must be an integer >= 0")
