"""`robustness sweep STUDY`: run the trials of a study that have not ended; rerun the same command to resume."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from robustness.api.sweeping import Listener, register, rerun_failed, run_sweep
from robustness.cli import DONE, INCOMPLETE, INTERRUPTED
from robustness.cli.display import Display, Printer
from robustness.cli.interruption import Interruption, interruptible
from robustness.cli.running import check_live_page, load_named_study, machines_of, print_warning, run_study
from robustness.errors import StudyFileError
from robustness.execution.inline import InlineExecutor
from robustness.guards.printable import printable
from robustness.store import open_store
from robustness.store.study_store import StudyStore
from robustness.study.study import Study
from robustness.sweep.plan import Plan, make_plan
from robustness.sweep.shards import Shard, check_shard, read_shard
from robustness.sweep.sweep import read_keys, terms_of
from robustness.trial import TrialKey

if TYPE_CHECKING:
    from report.analysis import Analysis

STOPPED = {
    "decided": "the evidence is decisive",
    "futility": "for futility, since the remaining configurations are unlikely to decide it",
}
"""Why a sweep ended before its last trial."""


def run(arguments: argparse.Namespace) -> int:
    """Sweep a study; the exit code says whether it is complete."""
    shard = None if arguments.shard is None else read_shard(arguments.shard)
    if shard is not None and arguments.only:
        raise StudyFileError("--shard: cannot be combined with --only, which names single trials")
    study = load_named_study(arguments)
    if study.search is not None:
        raise StudyFileError(f"{arguments.study}: has a `search` section; run it with `robustness optimize`")
    check_live_page(arguments)
    machines_of(arguments).check(study)
    plan = make_plan(study)
    only = read_keys(arguments.only, plan)
    if shard is not None:
        check_shard(shard, study, plan)
        if arguments.store is None:
            # Jobs of an array would all write to the same default store.
            arguments.store = f"sqlite:///shard-{shard.number}-of-{shard.of}.db"
    with interruptible() as interruption, open_store(arguments.store) as store:
        study, plan, registered = register(study, plan, store, machines_of(arguments))
        if only and arguments.inline:
            ended = set(only) - set(registered.pending())
            if ended:
                return _reproduce(study, plan, sorted(ended), interruption)
        with registered.lock():
            if arguments.retry:
                rerun_failed(registered, "--retry", lambda line: _say(line, arguments.quiet))
            return run_study(
                arguments,
                registered,
                interruption,
                lambda: _sweep(study, plan, registered, arguments, only, shard, interruption),
                None if arguments.quiet or shard is not None else _print_headline,
            )


def _sweep(
    study: Study,
    plan: Plan,
    store: StudyStore,
    arguments: argparse.Namespace,
    only: Sequence[TrialKey],
    shard: Shard | None,
    interruption: Interruption,
) -> bool:
    """Run pending trials; returns whether all that were asked for have ended."""
    listener = Listener(
        watch=lambda progress: Display(progress, arguments.quiet),
        say=lambda line: _say(line, arguments.quiet),
        warn=print_warning,
        stop=interruption,
    )
    executor = machines_of(arguments).executor(print_warning)
    result = run_sweep(study, plan, store, executor, listener, only, shard)
    if result is None:
        return False
    if result.stopped is not None:
        print(f"stopped early: {STOPPED[result.stopped]}", file=sys.stderr)
    if shard is not None and not result.left and not arguments.quiet:
        print(printable(f"shard {shard} of {study.name} is done; when all are: robustness merge STORE... --into FILE"))
    return result.left == 0 or result.stopped is not None or bool(only)


def _reproduce(study: Study, plan: Plan, keys: Sequence[TrialKey], interruption: Interruption) -> int:
    """Rerun trials that have ended, in this process, and print their epochs without storing them."""
    printer = Printer(study.outcomes.metric)
    trials = (plan.trial(key) for key in keys)
    InlineExecutor().run(trials, printer, terms_of(study), interruption)
    print("nothing was stored: these trials had already ended", file=sys.stderr)
    if interruption():
        return INTERRUPTED
    return INCOMPLETE if printer.failed else DONE


def _say(line: str, quiet: bool) -> None:
    if not quiet:
        print(line, file=sys.stderr, flush=True)


def _print_headline(analysis: Analysis) -> None:
    from robustness.cli.report import caveats_line, print_headline  # pandas: not needed while trials run

    print_headline(analysis)
    print(caveats_line(analysis))
