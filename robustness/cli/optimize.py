"""`robustness optimize STUDY`: search each arm's configurations, then train the final models of the best."""

from __future__ import annotations

import argparse
import os
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
    from collections.abc import Mapping, Sequence

    from robustness.cli.arguments import Interruption
    from robustness.space.options import Scalar
    from robustness.store.study_store import StudyStore
    from robustness.study.study import Study


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_study_arguments(parser)
    add_running_arguments(parser)
    parser.add_argument("--search-only", action="store_true", help="train no final models")
    parser.add_argument("--no-report", action="store_true", help="write no report at the end")


def run(arguments: argparse.Namespace) -> int:
    """Search and train final models; the exit code says whether all of it is done."""
    from robustness.cli import BAD_INPUT, DONE, INCOMPLETE, INTERRUPTED
    from robustness.cli.optimize_display import print_results
    from robustness.cli.report import write_page
    from robustness.errors import StoreError, StudyFileError
    from robustness.optimize.search import NOTHING
    from robustness.optimize.warm_starts import warm_starts
    from robustness.store import open_store
    from robustness.study.loading import load_study

    study = load_study(arguments.study, arguments.set)
    if study.search is None:
        raise StudyFileError(f"{arguments.study}: has no `search`, which says how to optimise; `sweep` runs it")
    with interruptible() as interruption, open_store(arguments.store) as store:
        registered = store.register(study, NOTHING)
        with registered.lock():
            starts = warm_starts(study, registered, store)
            try:
                _optimize(study, registered, starts, arguments, interruption)
            except StoreError as error:
                # The store was fine when the search began, so this is no bad input: it was cut short.
                print(f"robustness: {' '.join(str(error).split())}", file=sys.stderr)
                print(f"cut short; to go on: {command_line('optimize', arguments)}", file=sys.stderr)
                return BAD_INPUT if arguments.debug else INCOMPLETE
        if interruption():
            print(f"interrupted; to go on: {command_line('optimize', arguments)}", file=sys.stderr)
            return INTERRUPTED
        print_results(study, registered)
        if not arguments.no_report:
            path = write_page(registered)
            if not arguments.quiet:
                print(f"report: {path}")
        bad = [str(key) for key, status in registered.states().items() if status in ("failed", "timed_out")]
        if bad:
            print(f"{len(bad)} trials failed or timed out: {', '.join(bad[:5])}", file=sys.stderr)
        return INCOMPLETE if bad else DONE


def _optimize(
    study: Study,
    store: StudyStore,
    starts: Mapping[str, Sequence[Mapping[str, Scalar]]],
    arguments: argparse.Namespace,
    interruption: Interruption,
) -> None:
    from robustness.cli.optimize_display import FinalLines, SearchLines
    from robustness.execution.protocol import StartInterrupted
    from robustness.optimize.final_models import is_done, train_finals
    from robustness.optimize.search import search, typical_trial
    from robustness.sweep.sweep import terms_of

    if arguments.workers is None and arguments.ray_address is None:
        # Each proposal should know the runs before it, so none is made before a worker is free for it.
        arguments.workers = slots(study)
    executor = make_executor(arguments)
    finals = study.finals is not None and not arguments.search_only
    # One Ray for both stages, and none where nothing is left to do.
    session = (
        nullcontext() if is_done(study, store, finals) else executor.session(typical_trial(study), terms_of(study))
    )
    with suppress(StartInterrupted), session:
        search(study, store, executor, SearchLines(study, arguments.quiet), interruption, starts)
        if finals and not interruption():
            train_finals(study, store, executor, FinalLines(arguments.quiet), interruption)


def slots(study: Study) -> int:
    """How many trials of the study this machine runs at once."""
    count = int((os.cpu_count() or 1) // study.resources.cpu)
    gpu = study.resources.gpu
    if isinstance(gpu, float) and gpu > 0:
        import torch

        count = min(count, int(torch.cuda.device_count() // gpu))
    return max(count, 1)
