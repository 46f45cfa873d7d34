"""`robustness sweep STUDY`: run the trials of a study that have not ended; rerun the same command to resume."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from contextlib import nullcontext, suppress
from typing import TYPE_CHECKING

from robustness.cli import DONE, INCOMPLETE, INTERRUPTED
from robustness.cli.display import Display, Printer
from robustness.cli.interruption import Interruption, interruptible
from robustness.cli.running import check_start, make_executor, run_study
from robustness.errors import StudyFileError, plural
from robustness.execution.inline import InlineExecutor
from robustness.execution.protocol import Executor, StartInterrupted
from robustness.guards.printable import printable
from robustness.store import open_store
from robustness.store.study_store import StudyStore
from robustness.study.loading import load_study
from robustness.study.study import Study
from robustness.sweep.outcomes import UNTRAINED_NOTE
from robustness.sweep.plan import Plan, make_plan
from robustness.sweep.progress import SweepProgress
from robustness.sweep.stopping import STOPPED_NOTE
from robustness.sweep.sweep import read_keys, sweep, terms_of
from robustness.sweep.untrained import covers, untrained_note
from robustness.sweep.winners import plan_winners
from robustness.trial import NO_RESULT, TrialKey

if TYPE_CHECKING:
    from report.analysis import Analysis

STOPPED = {
    "decided": "the evidence is decisive",
    "futility": "for futility, since the remaining configurations are unlikely to decide it",
}
"""Why a sweep ended before its last trial."""


def run(arguments: argparse.Namespace) -> int:
    """Sweep a study; the exit code says whether it is complete."""
    study = load_study(arguments.study, arguments.set)
    if study.search is not None:
        raise StudyFileError(f"{arguments.study}: has a `search` section; run it with `robustness optimize`")
    check_start(arguments, study)
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
            return run_study(
                arguments,
                registered,
                interruption,
                lambda: _sweep(study, plan, registered, arguments, only, interruption),
                None if arguments.quiet else _print_headline,
            )


def _reopen(store: StudyStore, quiet: bool) -> None:
    """Reset trials that ended without a result to planned."""
    if store.note(STOPPED_NOTE):
        raise StudyFileError(
            "--retry: this sweep was stopped early on its evidence, which further results would change; "
            "run it without --retry"
        )
    with store.writer():
        pass  # Saves results that the last sweep could not write.
    count = store.reopen(NO_RESULT)
    if not quiet:
        print(f"{plural(count, 'trial')} to rerun", file=sys.stderr, flush=True)


def _sweep(
    study: Study,
    plan: Plan,
    store: StudyStore,
    arguments: argparse.Namespace,
    only: Sequence[TrialKey],
    interruption: Interruption,
) -> bool:
    """Run pending trials; returns whether all that were asked for have ended."""
    if not only:
        # A sweep that was killed after the last trial of its plan has yet to choose its winners.
        plan_winners(study.winners, plan, store)
    executor = make_executor(arguments)
    # Ray is not started if there is nothing left to run.
    session = executor.session(plan.trials[0], terms_of(study)) if store.pending() else nullcontext()
    with suppress(StartInterrupted), session:
        if not only:
            # It concerns the whole study, and takes longer than a trial or two.
            _set_baseline(study, plan, store, executor, interruption, arguments.quiet)
        with Display(SweepProgress.of(store), arguments.quiet) as display:
            result = sweep(study, plan, store, executor, display, interruption, only)
        if result.stopped is not None:
            print(f"stopped early: {STOPPED[result.stopped]}", file=sys.stderr)
        return result.left == 0 or result.stopped is not None or bool(only)
    return False


def _set_baseline(
    study: Study, plan: Plan, store: StudyStore, executor: Executor, interruption: Interruption, quiet: bool
) -> None:
    """Measure the baseline of `learned_nothing`, once, unless the study file sets a threshold."""
    nothing, thresholded = study.outcomes.learned_nothing, study.outcomes.good
    known = store.note(UNTRAINED_NOTE)
    if nothing is None or thresholded is None or nothing.level is None or (known is not None and covers(known, plan)):
        return
    guessing = nothing.no_better_than_guessing is not None
    if not quiet:
        print("scoring untrained networks and guesses as the baseline of learned_nothing", file=sys.stderr, flush=True)
    note = untrained_note(study, plan, executor, interruption)
    if note is None:
        return
    store.save_note(UNTRAINED_NOTE, note)
    good = thresholded.limit
    highest = max([note["threshold"], *(cell["value"] for cell in note.get("by_cell", {}).values())])
    if nothing.no_better_than_start is None and highest >= good:
        hint = f"; with no_better_than_guessing it would be {note['permutation']['point']:.3f}"
        print(
            f"warning: the threshold of learned_nothing, {highest:.3f}, is not below that of good, {good:g}"
            + ("" if guessing else hint),
            file=sys.stderr,
            flush=True,
        )


def _reproduce(study: Study, plan: Plan, keys: Sequence[TrialKey], interruption: Interruption) -> int:
    """Rerun trials that have ended, in this process, and print their epochs without storing them."""
    printer = Printer(study.outcomes.metric)
    trials = (plan.trial(key) for key in keys)
    InlineExecutor().run(trials, printer, terms_of(study), interruption)
    print("nothing was stored: these trials had already ended", file=sys.stderr)
    if interruption():
        return INTERRUPTED
    return INCOMPLETE if printer.failed else DONE


def _print_headline(analysis: Analysis) -> None:
    from report.sections.verdict import headline  # pandas: not needed while trials run

    for line in headline(analysis).splitlines():
        print(printable(line))
