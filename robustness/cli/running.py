"""What `sweep` and `optimize` share: their executor, and how they end."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from robustness.cli import DONE, INCOMPLETE, INTERRUPTED, print_error
from robustness.cli.interruption import Interruption, resume_line, store_option
from robustness.errors import StoreError, plural
from robustness.execution.inline import InlineExecutor
from robustness.execution.protocol import Executor
from robustness.store.study_store import StudyStore
from robustness.trial import NO_RESULT, PENDING, Status

if TYPE_CHECKING:
    from report.analysis import Analysis

DID: dict[Status, str] = {"failed": "failed", "timed_out": "timed out", "out_of_memory": "ran out of memory"}


def make_executor(arguments: argparse.Namespace, workers: int | None = None) -> Executor:
    """The executor that the arguments ask for; `workers` is the default of --workers."""
    if arguments.inline:
        return InlineExecutor()
    from robustness.execution.tune import TuneExecutor  # Ray: --inline does without it

    return TuneExecutor(arguments.workers or workers, arguments.ray_address)


def run_study(
    arguments: argparse.Namespace,
    store: StudyStore,
    interruption: Interruption,
    run_trials: Callable[[], bool],
    print_results: Callable[[Analysis], None] | None,
    failures: Sequence[Status] = NO_RESULT,
) -> int:
    """Run the trials of a study, print and report its results, and return the exit code.

    `run_trials` returns whether all trials that were asked for have ended. Trials that ended as one of `failures` are
    counted on stderr and make the study incomplete. The caller holds the study's lock.
    """
    try:
        complete = run_trials()
    except StoreError as error:
        # The store could be opened, so this is not bad input: the run was cut short.
        if arguments.debug:
            raise
        print_error(error)
        print(f"cut short; resume with: {resume_line(arguments)}", file=sys.stderr)
        return INCOMPLETE
    counts = store.counts()
    if interruption():
        unfinished = plural(sum(counts.get(status, 0) for status in PENDING), "trial")
        print(f"interrupted with {unfinished} unfinished; resume with: {resume_line(arguments)}", file=sys.stderr)
        return INTERRUPTED
    _report(arguments, store, print_results)
    failed = sum(counts.get(status, 0) for status in failures)
    if failed:
        how = ", ".join(f"{counts[status]:,} {DID[status]}" for status in failures if counts.get(status))
        retry = ", `--retry` reruns them" if arguments.command == "sweep" else ""
        print(
            f"trials without a result: {how}; `robustness status {store.name}{store_option(arguments)}` "
            f"lists them{retry}",
            file=sys.stderr,
        )
    return DONE if complete and not failed else INCOMPLETE


def _report(arguments: argparse.Namespace, store: StudyStore, print_results: Callable[[Analysis], None] | None) -> None:
    """Analyse the study once, print its results and write its page."""
    if print_results is None and arguments.no_report:
        return
    # pandas and matplotlib: not needed while trials run.
    from report.analysis import analyse
    from robustness.cli.report import write_page

    analysis = analyse(store)
    if print_results is not None:
        print_results(analysis)
    if not arguments.no_report:
        path = write_page(analysis)
        if not arguments.quiet:
            print(f"report: {path}")
