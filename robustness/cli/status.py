"""`robustness status [STUDY]`: the progress of stored studies; reads the store without disturbing a running sweep."""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence

from rich.console import Console, Group
from rich.live import Live

from robustness.cli import DONE
from robustness.cli.display import progress_block
from robustness.guards.printable import printable, printable_json
from robustness.optimize.progress import SearchProgress
from robustness.store import open_store
from robustness.store.study_store import StudyStore
from robustness.sweep.progress import Progress, SweepProgress

WATCH_EVERY = 2.0
"""Seconds between two refreshes of --watch."""


def run(arguments: argparse.Namespace) -> int:
    """Show the progress of one study or of all."""
    with open_store(arguments.store, create=False) as store:
        names = [arguments.study] if arguments.study else store.names()
        studies = [store.study(name) for name in names]
        if arguments.watch:
            _watch(studies)
        elif arguments.json:
            print(printable_json([progress_of(study).as_json() for study in studies], indent=2))
        else:
            for study in studies:
                progress = progress_of(study)
                Console().print(progress_block(progress))
                for line in progress.failed_trials():
                    print(printable(line))
    return DONE


def progress_of(study: StudyStore) -> Progress:
    """The progress of a stored sweep or search."""
    return SearchProgress.of(study) if study.document().get("search") else SweepProgress.of(study)


def _watch(studies: Sequence[StudyStore]) -> None:
    with Live(console=Console(), auto_refresh=False) as live:
        while True:
            progresses = [progress_of(study) for study in studies]
            live.update(Group(*map(progress_block, progresses)), refresh=True)
            if all(progress.done() for progress in progresses):
                return
            time.sleep(WATCH_EVERY)
