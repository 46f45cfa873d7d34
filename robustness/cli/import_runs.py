"""`robustness import SOURCE --study NAME`: store runs made elsewhere, so that they can be reported and compared.

A store or an archive of robustness holds whole studies, which are copied.
"""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from robustness.cli import DONE
from robustness.cli.interruption import store_option
from robustness.errors import RobustnessError, plural
from robustness.guards.printable import printable
from robustness.importing.frame import Import, make_import
from robustness.importing.options import ImportOptions
from robustness.importing.own_stores import copy_studies, holds_studies
from robustness.importing.sources import SourceOptions, read_source
from robustness.importing.summary import summary_lines
from robustness.importing.values import DIGITS
from robustness.store import open_store
from robustness.study.arms import check_label
from robustness.trial import IMPORTED

THRESHOLDS = "--learned-nothing X --good Y"
"""The options that set thresholds, as messages name them."""
REPEATED = (
    *("arm", "metric", "goal", "hyperparameters", "seed", "epoch", "task", "run", "only", "ignore", "names", "missing"),
    *("pruned", "proposed", "judged", "good", "learned_nothing", "source_study", "experiment"),
)
"""Options of a command that imports the same runs again."""


def run(arguments: argparse.Namespace) -> int:
    """Read the sources, say what was understood, and store their runs."""
    if arguments.study is not None:
        check_label(arguments.study, "--study")
    sources = SourceOptions(arguments.source_study, arguments.experiment, arguments.names)
    if len(arguments.sources) == 1 and holds_studies(arguments.sources[0]):
        return _copy(arguments, sources)
    if arguments.study is None:
        raise RobustnessError(
            "--study NAME is required, the name under which runs are stored (see robustness import --help)"
        )
    tables = [table for text in arguments.sources for table in read_source(text, sources)]
    found = make_import(arguments.study, tables, _options(arguments))
    for line in summary_lines(found):
        print(printable_line(line))
    if arguments.dry_run:
        return DONE
    with open_store(arguments.store) as store:
        replace(found.study, command=import_command(arguments)).save(store, arguments.replace)
    print(printable(_done(found)))
    if arguments.good is None and len(found.runs.arms) > 1:
        print(f"compared by means; for the fractions of configurations that fail or succeed, add {THRESHOLDS}")
    print(
        printable(f"write the report with: robustness report {shlex.quote(arguments.study)}{store_option(arguments)}")
    )
    return DONE


def import_command(arguments: argparse.Namespace) -> str:
    """The command line of an import, without secrets and without the store."""
    words = ["robustness", "import", *map(_without_secrets, arguments.sources), "--study", arguments.study]
    for name in REPEATED:
        value = getattr(arguments, name)
        for each in value if isinstance(value, list) else [value] if value is not None else []:
            words += [f"--{name.replace('_', '-')}", str(each)]
    if arguments.digits != DIGITS:
        words += ["--digits", str(arguments.digits)]
    return shlex.join(words)


def _without_secrets(source: str) -> str:
    """A source as a suggested command names it: the address of a server may hold a password."""
    kind, _, place = source.partition(":")
    return f"{kind}:URL" if "://" in place and not place.startswith("sqlite:") else source


def next_steps(document: Mapping[str, Any], store: str) -> list[str]:
    """What the report of an imported study suggests where its runs answer less than they could, each in a line."""
    command = (document.get(IMPORTED) or {}).get("command")
    if len(document["arms"]) < 2:
        other = f", such as {command}{store} --replace --arm COLUMN" if command and " --arm " not in command else ""
        return [f"one arm only, so nothing is compared: import the runs again with a column of arms{other}"]
    if document["outcomes"].get("good") is None:
        how = f": {command}{store} --replace {THRESHOLDS}" if command else " import the runs again with thresholds"
        return [f"compared by means; for the fractions of configurations that fail or succeed{how}"]
    return []


def printable_line(line: str) -> str:
    """A line of the summary, with the spaces after its first word kept."""
    return f"{line[:17]}{printable(line[17:])}"


def _options(arguments: argparse.Namespace) -> ImportOptions:
    return ImportOptions(
        arm=arguments.arm,
        metric=arguments.metric,
        goal=arguments.goal,
        hyperparameters=_names(arguments.hyperparameters),
        seed=arguments.seed,
        epoch=arguments.epoch,
        task=arguments.task,
        run=arguments.run,
        ignore=_names(arguments.ignore) or (),
        only=dict(_only(text) for text in arguments.only),
        missing=arguments.missing,
        pruned=arguments.pruned,
        proposed=arguments.proposed,
        digits=arguments.digits,
        judged=arguments.judged,
        good=arguments.good,
        learned_nothing=arguments.learned_nothing,
    )


def _names(text: str | None) -> list[str] | None:
    return None if text is None else [name.strip() for name in text.split(",") if name.strip()]


def _only(text: str) -> tuple[str, list[str]]:
    column, equals, values = text.partition("=")
    if not equals or not column or not values:
        raise RobustnessError(f"--only: must be COLUMN=VALUE,..., found {text!r}")
    return column, [value.strip() for value in values.split(",")]


def _done(found: Import) -> str:
    runs = found.runs
    return (
        f"imported {plural(len(runs.frame), 'run')} of {plural(len(runs.arms), 'arm')} ({', '.join(runs.arms[:12])}) "
        f"in {plural(len(runs.configurations), 'configuration')}"
    )


def _copy(arguments: argparse.Namespace, sources: SourceOptions) -> int:
    """Copy a study of another robustness store or of an archive as it is."""
    if len(sources.studies) > 1:
        raise RobustnessError("--source-study: one study of another store is copied at a time")
    wanted = sources.studies[0] if sources.studies else None
    line = copy_studies(
        arguments.sources[0], wanted, arguments.study, arguments.store, arguments.replace, arguments.dry_run
    )
    print(printable(line))
    return DONE
