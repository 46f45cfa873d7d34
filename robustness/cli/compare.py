"""`robustness compare A B`: compare two stored studies; it only reads."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence

from rich.table import Table
from rich.text import Text

from report.analysis import analyse
from report.sections.outcomes import ArmResults
from report.sections.results import Results
from report.words import share
from robustness.cli import DONE
from robustness.cli.display import print_table
from robustness.guards.printable import printable, printable_json
from robustness.store import open_store

ROWS = ("learned nothing", "good", "best", "area")
"""The headings of each arm's rows."""


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


def _print_arms(results: Sequence[Results]) -> None:
    table = Table(box=None, pad_edge=False)
    for heading in ("arm", "", *(study["study"] for study in results)):
        table.add_column(Text(printable(heading)), overflow="fold")
    for arm in dict.fromkeys(arm for study in results for arm in study["arms"]):
        columns = [_cells(study["arms"].get(arm)) for study in results]
        for place, (heading, *cells) in enumerate(zip(ROWS, *columns, strict=True)):
            table.add_row(Text("" if place else printable(arm)), heading, *map(Text, cells))
    print_table(table)


def _cells(arm: ArmResults | None) -> Iterator[str]:
    """The cells of `ROWS`; all empty for an arm that the study does not have."""
    if arm is None:
        yield from "-" * len(ROWS)
        return
    yield from (share(fraction, name="") for fraction in (arm["learned_nothing"], arm["good"]))
    yield from ("-" if value is None else f"{value:.3f}" for value in (arm["best"], arm["profile_area"]))


def _print_differences(first: Results, second: Results) -> None:
    """Print a note for each setting that makes the two studies hard to compare."""
    for plural, *settings in (
        ("metrics", first["metric"], second["metric"]),
        ("judged epochs", first["epoch"], second["epoch"]),
        ("goals", first["goal"], second["goal"]),
        ("primary outcomes", first["primary"] or "none", second["primary"] or "none"),
    ):
        if settings[0] != settings[1]:
            print(printable(f"note: the studies have different {plural}: {' and '.join(settings)}"))
    thresholds = [_thresholds(study) for study in (first, second)]
    if thresholds[0] != thresholds[1]:
        values = " and ".join("none" if each is None else f"{each[0]:.3f}, {each[1]:.3f}" for each in thresholds)
        print(f"note: the studies have different thresholds (learned nothing, good): {values}")


def _thresholds(study: Results) -> tuple[float, float] | None:
    thresholds = study["thresholds"]
    if thresholds is None:
        return None
    (good,) = thresholds["good"].values()
    return thresholds["learned_nothing"][study["epoch"]]["value"], float(str(good))
