"""`robustness report STUDY`: the results of a study in the store, as a file or on standard output."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from robustness.commands.running import add_store_argument


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("study", metavar="STUDY", help="the name of a study in the store")
    add_store_argument(parser)
    parser.add_argument("--format", choices=("csv", "json", "parquet"), default="csv", help="default: csv")
    parser.add_argument("--output", type=Path, metavar="FILE", help="write to this file (default: standard output)")


def run(arguments: argparse.Namespace) -> int:
    """Write the table of results; 0."""
    from report.frames import results_frame
    from report.results import FORMATS, write_results
    from robustness.store import open_store

    with open_store(arguments.store, create=False) as store:
        results = results_frame(store.study(arguments.study))
    if arguments.output is not None:
        write_results(results, arguments.format, arguments.output)
    else:
        sys.stdout.buffer.write(FORMATS[arguments.format](results))
        sys.stdout.buffer.flush()
    return 0
