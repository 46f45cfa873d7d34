"""`robustness compare A B`: compare two stored studies; it only reads."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from typing import Any

from rich.table import Table
from rich.text import Text

from report.analysis import analyse
from report.words import share
from robustness.cli import DONE
from robustness.cli.display import print_table
from robustness.guards.printable import printable, printable_json
from robustness.store import open_store

ROWS = {"learned_nothing": "learned nothing", "good": "good", "best": "best", "profile_area": "area"}
"""The rows of each arm and their headings."""
SETTINGS = {"metric": "metrics", "epoch": "judged epochs", "primary": "primary outcomes"}
"""Settings that must be the same for studies to be comparable, in the plural."""


def run(arguments: argparse.Namespace) -> int:
    """Print the comparison."""
    with open_store(arguments.store, create=False) as store:
        studies = [store.study(name) for name in (arguments.first, arguments.second)]
        results = [analyse(study).results for study in studies]
    if arguments.json:
        print(printable_json({"studies": results}, indent=2))
        return DONE
    _print_arms(results)
    for study in results:
        print(printable(f"{study['study']}: {' '.join(study['verdict'])}"))
    _print_differences(*results)
    return DONE


def _print_arms(results: Sequence[Mapping[str, Any]]) -> None:
    table = Table(box=None, pad_edge=False)
    for heading in ("arm", "", *(study["study"] for study in results)):
        table.add_column(Text(printable(heading)), overflow="fold")
    for arm in dict.fromkeys(arm for study in results for arm in study["arms"]):
        for place, (key, heading) in enumerate(ROWS.items()):
            cells = [_cell((study["arms"].get(arm) or {}).get(key)) for study in results]
            table.add_row(Text("" if place else printable(arm)), heading, *map(Text, cells))
    print_table(table)


def _cell(value: Any) -> str:
    if value is None:
        return "-"
    return share(value, name="") if isinstance(value, Mapping) else f"{value:.3f}"


def _print_differences(first: Mapping[str, Any], second: Mapping[str, Any]) -> None:
    """Print a note for each setting that makes the two studies hard to compare."""
    for key, plural in SETTINGS.items():
        if first[key] != second[key]:
            print(printable(f"note: the studies have different {plural}: {first[key]} and {second[key]}"))
    thresholds = [_thresholds(study) for study in (first, second)]
    if thresholds[0] != thresholds[1]:
        values = " and ".join(f"{nothing:.3f}, {good:.3f}" for nothing, good in thresholds)
        print(f"note: the studies have different thresholds (learned nothing, good): {values}")


def _thresholds(study: Mapping[str, Any]) -> tuple[float, float]:
    thresholds = study["thresholds"]
    return thresholds["learned_nothing"][study["epoch"]]["value"], thresholds["good"]["at_least"]
