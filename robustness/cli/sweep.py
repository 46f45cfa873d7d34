"""`robustness sweep STUDY`: run what is planned and not yet finished; the same command goes on after a stop."""

from __future__ import annotations

import argparse
import sys
from contextlib import nullcontext, suppress
from typing import TYPE_CHECKING

from robustness.cli.arguments import (
    add_running_arguments,
    add_study_arguments,
    command_line,
    interruptible,
    make_executor,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from robustness.cli.arguments import Interruption
    from robustness.execution.protocol import Executor
    from robustness.store.study_store import StudyStore
    from robustness.study.study import Study
    from robustness.sweep.plan import Plan
    from robustness.sweep.sweep import SweepResult
    from robustness.trial import TrialKey


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_study_arguments(parser)
    add_running_arguments(parser)
    which = parser.add_mutually_exclusive_group()
    which.add_argument(
        "--only",
        action="append",
        default=[],
        metavar="CONFIGURATION/ARM[/REPLICATE]",
        help="run this trial alone; with --inline also one that has ended, and then nothing is stored (repeatable)",
    )
    which.add_argument(
        "--retry",
        action="store_true",
        help="run trials again, too, that failed, timed out or ran out of memory; what they left is forgotten",
    )
    parser.add_argument("--no-report", action="store_true", help="write no report at the end")


def run(arguments: argparse.Namespace) -> int:
    """Sweep a study; the exit code says whether it is complete."""
    from robustness.cli import BAD_INPUT, INTERRUPTED
    from robustness.errors import StoreError, StudyFileError
    from robustness.store import open_store
    from robustness.study.study import load_study
    from robustness.sweep.plan import make_plan
    from robustness.sweep.sweep import read_keys

    study = load_study(arguments.study, arguments.set)
    if study.search is not None:
        raise StudyFileError(f"{arguments.study}: has a `search`: `robustness optimize` runs it")
    plan = make_plan(study)
    only = read_keys(arguments.only, plan)
    with interruptible() as interruption, open_store(arguments.store) as store:
        registered = store.register(study, plan)
        if only and arguments.inline:
            ended = set(only) - set(registered.pending())
            if ended:
                return _reproduce(study, plan, sorted(ended), interruption)
        with registered.lock():
            if arguments.retry:
                _reopen(registered, arguments.quiet)
            try:
                swept = _sweep(study, plan, registered, arguments, only, interruption)
            except StoreError as error:
                # The store was fine when the sweep began, so this is no bad input: the sweep was cut short.
                print(f"robustness: {' '.join(str(error).split())}", file=sys.stderr)
                print(f"cut short; to go on: {command_line('sweep', arguments)}", file=sys.stderr)
                return BAD_INPUT if arguments.debug else 1
        if interruption():
            print(
                f"interrupted, {swept.left} trials left; to go on: {command_line('sweep', arguments)}", file=sys.stderr
            )
            return INTERRUPTED
        return _end(registered, swept, arguments)


def _reopen(store: StudyStore, quiet: bool) -> None:
    """Plan what ended without a result once more."""
    from robustness.errors import StudyFileError
    from robustness.sweep.sweep import STOPPED_NOTE
    from robustness.trial import NO_RESULT

    if store.note(STOPPED_NOTE) is not None:
        raise StudyFileError("--retry: the sweep was ended on its evidence, which other results would change")
    with store.writer():
        pass  # Takes in what the last sweep could not save.
    count = store.reopen(NO_RESULT)
    if not quiet:
        print(f"{count} {'trial' if count == 1 else 'trials'} to run again", file=sys.stderr, flush=True)


def _sweep(
    study: Study,
    plan: Plan,
    store: StudyStore,
    arguments: argparse.Namespace,
    only: Sequence[TrialKey],
    interruption: Interruption,
) -> SweepResult:
    from robustness.execution.protocol import StartInterrupted
    from robustness.sweep.progress import Display, Progress
    from robustness.sweep.sweep import SweepResult, sweep, terms_of
    from robustness.sweep.winners import plan_winners

    if not only:
        # A sweep that was killed after the plan's last trial has its winners still to choose.
        plan_winners(study.winners, plan, store)
    executor = make_executor(arguments)
    # Nothing left to do needs no Ray.
    session = executor.session(plan.trials[0], terms_of(study)) if store.pending() else nullcontext()
    with suppress(StartInterrupted), session:
        prepare_judgement(study, plan, store, executor, interruption, arguments.quiet)
        with Display(Progress.of(store), arguments.quiet) as display:
            return sweep(study, plan, store, executor, display, interruption, only)
    return SweepResult(0, len(store.pending()), 0, decided=False)


def prepare_judgement(
    study: Study, plan: Plan, store: StudyStore, executor: Executor, interruption: Interruption, quiet: bool
) -> None:
    """Find out, once, what a trial has to beat, where the study does not say so itself."""
    from robustness.sweep.outcomes import UNTRAINED_NOTE

    if study.outcomes.learned_nothing.below is not None or store.note(UNTRAINED_NOTE) is not None:
        return
    from robustness.sweep.untrained import untrained_note

    guessing = study.outcomes.learned_nothing.no_better_than_guessing is not None
    if not quiet:
        print(
            "scoring",
            "guesses" if guessing else "untrained networks",
            "for a trial to beat",
            file=sys.stderr,
            flush=True,
        )
    note = untrained_note(study, plan, executor, interruption)
    if note is None:
        return
    store.save_note(UNTRAINED_NOTE, note)
    good = study.outcomes.good.at_least
    if note["threshold"] >= good:
        chance = f"guesses alone have a point at {note['permutation']['point']:.3f}: see no_better_than_guessing"
        print(
            f"warning: learned_nothing reaches up to {note['threshold']:.3f}, which is not below good ({good:g})"
            + ("" if guessing else f"; {chance}"),
            file=sys.stderr,
            flush=True,
        )


def _reproduce(study: Study, plan: Plan, keys: Sequence[TrialKey], interruption: Interruption) -> int:
    """Run trials that have ended once more, here, printing what they show; the store is left alone."""
    from robustness.cli import DONE, INCOMPLETE, INTERRUPTED
    from robustness.cli.reproduction import Printer
    from robustness.execution.inline import InlineExecutor
    from robustness.sweep.sweep import terms_of

    printer = Printer(study.outcomes.metric)
    trials = (plan.trial(key) for key in keys)
    InlineExecutor().run(trials, printer, terms_of(study), interruption)
    print("nothing was stored: the trials had ended before", file=sys.stderr)
    if interruption():
        return INTERRUPTED
    return INCOMPLETE if printer.failed else DONE


def _end(store: StudyStore, swept: SweepResult, arguments: argparse.Namespace) -> int:
    from report.analysis import analyse
    from report.sections.verdict import headline
    from robustness.cli import DONE, INCOMPLETE
    from robustness.cli.report import write_page

    if swept.decided:
        print("stopped early: the paired difference is decided", file=sys.stderr)
    if not arguments.quiet:
        print(headline(analyse(store)))
    if not arguments.no_report:
        path = write_page(store)
        if not arguments.quiet:
            print(f"report: {path}")
    complete = swept.not_successful == 0 and (swept.left == 0 or swept.decided or bool(arguments.only))
    if swept.not_successful:
        print(
            f"{swept.not_successful} trials failed, timed out or ran out of memory: "
            f"`robustness status {store.name}` lists them, `--retry` runs them again",
            file=sys.stderr,
        )
    return DONE if complete else INCOMPLETE
