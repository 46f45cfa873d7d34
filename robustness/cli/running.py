"""What `sweep` and `optimize` share: where they run, and how they end."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from typing import TYPE_CHECKING

from robustness.api.machines import Machines
from robustness.cli import DONE, INCOMPLETE, INTERRUPTED, print_error
from robustness.cli.interruption import Interruption, resume_line, store_option
from robustness.cli.process import only_our_lines
from robustness.errors import RobustnessError, StoreError, StudyFileError, TakenOverError, plural
from robustness.execution.protocol import ExecutionLost
from robustness.guards.printable import printable
from robustness.serve.addresses import ServeError, require_extra
from robustness.serve.beside import live_page
from robustness.store import open_store
from robustness.store.connection import address
from robustness.store.study_store import StudyStore
from robustness.study.bundled import bundled_names, is_path
from robustness.study.loading import load_study
from robustness.study.study import Study
from robustness.sweep.failed_trials import failed_trials, failure_lines
from robustness.trial import FUNCTION, IMPORTED, NO_RESULT, PENDING, Status

if TYPE_CHECKING:
    from report.analysis import Analysis


def machines_of(arguments: argparse.Namespace) -> Machines:
    """Where the arguments ask for trials to run."""
    return Machines(arguments.workers, arguments.ray_address, arguments.inline)


def check_live_page(arguments: argparse.Namespace) -> None:
    """Raise, before anything is written, if the live page that was asked for cannot be shown."""
    if arguments.serve:
        require_extra()
    elif arguments.port is not None:
        raise ServeError("--port is the port of the live page: it needs --serve")


def load_named_study(arguments: argparse.Namespace) -> Study:
    """Load the study that the arguments name; one without a file, but in the store, is refused with what to do."""
    try:
        return load_study(arguments.study, arguments.set)
    except StudyFileError:
        if is_path(arguments.study) or arguments.study in bundled_names("studies"):
            raise
        with suppress(StoreError), open_store(arguments.store, create=False) as store:
            if arguments.study in store.names():
                raise StudyFileError(_without_file(store.study(arguments.study))) from None
        raise


def _without_file(store: StudyStore) -> str:
    trainable = store.document().get("trainable")
    if trainable == FUNCTION:
        return (
            f"the study {store.name!r} was run from Python: make the same call of rb.sweep again, which resumes it; "
            "with retry=True it also reruns failed trials"
        )
    if trainable == IMPORTED:
        return f"the study {store.name!r} holds imported runs, which cannot be rerun"
    return f"the study {store.name!r} is in the store, but running it takes its file: give a path ending in .yaml"


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
        with _live_page(arguments, store), nullcontext() if arguments.debug or arguments.inline else only_our_lines():
            complete = run_trials()
    except (StoreError, ExecutionLost) as error:
        # The store could be opened, so this is not bad input: the run was cut short.
        if arguments.debug:
            raise
        print_error(error)
        if isinstance(error, TakenOverError):
            # Resuming is up to the sweep that took over.
            return INCOMPLETE
        print(f"cut short; resume with: {resume_line(arguments)}", file=sys.stderr)
        if isinstance(error, ExecutionLost):
            store.plan_again()
        return INCOMPLETE
    if interruption():
        store.plan_again()
    counts = store.counts()
    if interruption():
        unfinished = plural(sum(counts.get(status, 0) for status in PENDING), "trial")
        print(f"interrupted with {unfinished} unfinished; resume with: {resume_line(arguments)}", file=sys.stderr)
        return INTERRUPTED
    reported = _report(arguments, store, print_results)
    failed = sum(counts.get(status, 0) for status in failures)
    if failed:
        retry = ", `--retry` reruns them" if arguments.command == "sweep" else ""
        what_next = f"`robustness status {store.name}{store_option(arguments)}` lists them{retry}"
        for line in failure_lines(failed_trials(store.states(), store.errors(), failures), what_next):
            print(printable(line), file=sys.stderr)
    return DONE if complete and reported and not failed else INCOMPLETE


@contextmanager
def _live_page(arguments: argparse.Namespace, store: StudyStore) -> Iterator[None]:
    """The live page for the length of a block, if it was asked for."""
    if not arguments.serve:
        yield
        return
    with live_page(address(store.url), store.name, arguments.port) as url:
        print(f"live page: {url} (until this run ends)", file=sys.stderr, flush=True)
        yield


def print_warning(line: str) -> None:
    print(f"warning: {line}", file=sys.stderr, flush=True)


def _report(arguments: argparse.Namespace, store: StudyStore, print_results: Callable[[Analysis], None] | None) -> bool:
    """Analyse the study once, print its results and write its page; returns whether that succeeded."""
    # A shard's results are reported with those of the others.
    no_page = arguments.no_report or getattr(arguments, "shard", None) is not None
    if print_results is None and no_page:
        return True
    # pandas and matplotlib: not needed while trials run.
    from report.analysis import analyse
    from robustness.cli.report import write_page

    analysis = analyse(store)
    if print_results is not None:
        print_results(analysis)
    if not no_page:
        try:
            path = write_page(analysis)
        except RobustnessError as error:
            # The results are in the store.
            print_error(f"no report: {error}; write it with: robustness report {store.name} --out FILE")
            return False
        if not arguments.quiet:
            print(printable(f"report: {path}"))
    return True
