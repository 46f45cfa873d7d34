"""`robustness compare A B`: two studies of a store beside each other; it only reads."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from typing import Any


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("first", metavar="A", help="the name of a study in the store")
    parser.add_argument("second", metavar="B", help="the name of another")
    parser.add_argument("--store", metavar="URL", help="where the results are (default: ROBUSTNESS_STORE)")
    parser.add_argument("--json", action="store_true", help="print all statistics of both as JSON")


def run(arguments: argparse.Namespace) -> int:
    """Print the comparison; 0."""
    from report.analysis import analyse
    from robustness.store import open_store

    with open_store(arguments.store, create=False) as store:
        studies = [store.study(name) for name in (arguments.first, arguments.second)]
        results = [analyse(study).results for study in studies]
    if arguments.json:
        print(json.dumps({"studies": results}, indent=2, ensure_ascii=False))
        return 0
    _print_table(results)
    for found in results:
        print(f"{found['study']}: {' '.join(found['verdict'])}")
    _print_differences(results)
    return 0


def _print_table(results: Sequence[Mapping[str, Any]]) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False)
    for heading in ("arm", "", *(found["study"] for found in results)):
        table.add_column(Text(str(heading)), overflow="fold")
    arms = dict.fromkeys(arm for found in results for arm in found["arms"])
    for arm in arms:
        for key, words in (
            ("learned_nothing", "learned nothing"),
            ("good", "good"),
            ("best", "best"),
            ("profile_area", "area"),
        ):
            cells = [_cell((found["arms"].get(arm) or {}).get(key)) for found in results]
            table.add_row(Text(arm if key == "learned_nothing" else ""), words, *map(Text, cells))
    Console(width=None if sys.stdout.isatty() else 160).print(table)


def _cell(value: Any) -> str:
    from report.words import share

    if value is None:
        return "-"
    return share(value, name="") if isinstance(value, Mapping) else f"{value:.3f}"


def _print_differences(results: Sequence[Mapping[str, Any]]) -> None:
    """What would make the two incomparable, in a line each."""
    first, second = results
    for key, words in (("metric", "metrics"), ("epoch", "epochs of judgement"), ("primary", "primary outcomes")):
        if first[key] != second[key]:
            print(f"note: they have different {words}: {first[key]} and {second[key]}")
    limits = [
        (found["thresholds"]["learned_nothing"][found["epoch"]]["value"], found["thresholds"]["good"]["at_least"])
        for found in results
    ]
    if limits[0] != limits[1]:
        said = " and ".join(f"{nothing:.3f}, {good:.3f}" for nothing, good in limits)
        print(f"note: they have different thresholds (nothing learned, good): {said}")
