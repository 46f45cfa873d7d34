"""`robustness optimize STUDY`: search the configurations of each arm, then train the final models of the best."""

from __future__ import annotations

import argparse
import os
from collections.abc import Mapping, Sequence
from contextlib import nullcontext, suppress

from robustness.api.progress_lines import tell
from robustness.cli.interruption import Interruption, interruptible
from robustness.cli.running import check_live_page, load_named_study, machines_of, print_warning, run_study
from robustness.cli.search_display import FinalLines, SearchLines, print_results
from robustness.errors import StudyFileError
from robustness.execution.protocol import StartInterrupted
from robustness.optimize.final_models import is_done, train_finals
from robustness.optimize.search import NOTHING, search, typical_trial
from robustness.optimize.warm_starts import warm_starts
from robustness.space.options import Scalar
from robustness.store import open_store
from robustness.store.study_store import StudyStore
from robustness.study.study import Study
from robustness.sweep.settling import settled
from robustness.sweep.sweep import terms_of


def run(arguments: argparse.Namespace) -> int:
    """Search and train final models; the exit code says whether all of it is done."""
    study = load_named_study(arguments)
    if study.search is None:
        raise StudyFileError(f"{arguments.study}: has no `search` section; run it with `robustness sweep`, or add one")
    check_live_page(arguments)
    machines_of(arguments).check(study)
    with interruptible() as interruption, open_store(arguments.store) as store:
        study = settled(study, store, here=not arguments.ray_address)
        registered = store.register(study, NOTHING)
        with registered.lock():
            starts = warm_starts(study, registered, store)
            return run_study(
                arguments,
                registered,
                interruption,
                lambda: _optimize(study, registered, starts, arguments, interruption),
                lambda analysis: print_results(study, registered, analysis.results),
                # A search may well meet configurations that need too much memory, and avoids them from then on.
                failures=("failed", "timed_out"),
            )


def _optimize(
    study: Study,
    store: StudyStore,
    starts: Mapping[str, Sequence[Mapping[str, Scalar]]],
    arguments: argparse.Namespace,
    interruption: Interruption,
) -> bool:
    """Run each search and its final models; returns True, since only an interruption leaves any of them out."""
    # Proposals should build on all earlier runs, so they are made only when a worker is free.
    workers = _slots(study) if arguments.ray_address is None else None
    executor = machines_of(arguments).executor(print_warning, workers)
    finals = study.finals is not None and not arguments.search_only
    # One Ray serves all searches and final models; it is not started if there is nothing left to run.
    done = is_done(study, store, finals)
    if executor.starting and not done and not arguments.quiet:
        tell(executor.starting)
    session = nullcontext() if done else executor.session(typical_trial(study), terms_of(study))
    with suppress(StartInterrupted), session:
        # The final models of a search precede the next search, so that an interrupted study has results to report.
        for number in range(study.searches):
            search(study, store, executor, SearchLines(study, number, arguments.quiet), interruption, starts, number)
            if finals and not interruption():
                train_finals(study, store, executor, FinalLines(study, arguments.quiet), interruption, number)
            if interruption():
                break
    return True


def _slots(study: Study) -> int:
    """How many trials of the study this machine can run at once."""
    count = int((os.cpu_count() or 1) // study.resources.cpu)
    gpu = study.resources.gpu
    if isinstance(gpu, float) and gpu > 0:
        import torch  # only to count GPUs

        count = min(count, int(torch.cuda.device_count() // gpu))
    return max(count, 1)
