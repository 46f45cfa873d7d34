"""`robustness status [STUDY]`: how far the studies of a store are; reads the store, and never disturbs a sweep."""

from __future__ import annotations

import argparse
import json
import time
from typing import TYPE_CHECKING

from robustness.cli.arguments import add_store_argument

if TYPE_CHECKING:
    from robustness.optimize.progress import SearchProgress
    from robustness.store.study_store import StudyStore
    from robustness.sweep.progress import Progress

WATCH_EVERY = 2.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("study", metavar="STUDY", nargs="?", help="the name of a study in the store (default: all)")
    add_store_argument(parser)
    parser.add_argument("--watch", action="store_true", help="keep showing it until the study is done or Ctrl-C")
    parser.add_argument("--json", action="store_true", help="print it as JSON")


def run(arguments: argparse.Namespace) -> int:
    """Show the progress of one study or of all; 0."""
    from robustness.store import open_store

    with open_store(arguments.store, create=False) as store:
        names = [arguments.study] if arguments.study else store.names()
        studies = [store.study(name) for name in names]
        if arguments.watch:
            _watch(studies)
        elif arguments.json:
            print(json.dumps([progress_of(study).as_json() for study in studies], indent=2))
        else:
            for study in studies:
                _print(study)
    return 0


def progress_of(study: StudyStore) -> Progress | SearchProgress:
    """The progress of a study: pairs of a sweep, or runs and final models of a search."""
    if study.document().get("search"):
        from robustness.optimize.progress import SearchProgress

        return SearchProgress.of(study)
    from robustness.sweep.progress import Progress

    return Progress.of(study)


def _print(study: StudyStore) -> None:
    from rich.console import Console

    progress = progress_of(study)
    Console().print(progress.table())
    for line in progress.complaints():
        print(line)


def _watch(studies: list[StudyStore]) -> None:
    from rich.console import Console, Group
    from rich.live import Live

    with Live(console=Console(), auto_refresh=False) as live:
        while True:
            progresses = [progress_of(study) for study in studies]
            live.update(Group(*(progress.table() for progress in progresses)), refresh=True)
            if all(progress.done() for progress in progresses):
                return
            time.sleep(WATCH_EVERY)
