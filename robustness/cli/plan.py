"""`robustness plan STUDY`: what a sweep would run; reads the study, touches no store and needs no data."""

from __future__ import annotations

import argparse
import json
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from robustness.study.study import Study
    from robustness.sweep.plan import Plan

ROWS = 100
"""Longer tables are cut: nobody reads them, and --json has all."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("study", metavar="STUDY", help="a study file, or the name of a bundled study")
    parser.add_argument("--json", action="store_true", help="print the counts and all configurations as JSON")
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="override a field: training.epochs=5 (repeatable)",
    )
    parser.add_argument("--configurations", metavar="N", help="short for --set sampling.configurations=N")
    parser.add_argument(
        "--difference", type=_share, default=0.2, metavar="D", help="the paired difference to find (default: 0.2)"
    )
    parser.add_argument(
        "--discordance", type=_share, default=None, metavar="P", help="the share of pairs in which arms disagree (0.5)"
    )


def run(arguments: argparse.Namespace) -> int:
    """Print the plan; 0."""
    from robustness.study.loading import load_study
    from robustness.sweep.plan import make_plan

    overrides = list(arguments.set)
    if arguments.configurations is not None:
        overrides.append(f"sampling.configurations={arguments.configurations}")
    study = load_study(arguments.study, overrides, check_data=False)
    if study.search is not None:
        return _plan_search(study, arguments.json)
    plan = make_plan(study)
    if arguments.json:
        print(json.dumps(plan.as_json(), indent=2, ensure_ascii=False))
        return 0
    _print_counts(study, plan)
    if len(study.arms) > 1:
        from robustness.sweep.power import DISCORDANCE, sample_size_line

        discordance = DISCORDANCE if arguments.discordance is None else arguments.discordance
        line = sample_size_line(len(plan.configurations), study.outcomes.primary, arguments.difference, discordance)
        print(f"sample size: {line}")
    _print_table(plan)
    return 0


def _plan_search(study: Study, as_json: bool) -> int:
    """Print what `robustness optimize` would run."""
    from robustness.optimize.plan import plan_search

    found = plan_search(study)
    if as_json:
        print(json.dumps(found, indent=2, ensure_ascii=False))
        return 0
    print(f"study: {study.name}" + (f": {study.description}" if study.description else ""))
    for arm in found["arms"]:
        searched = f"made of models of {arm['made_of']}" if arm["made_of"] else f"{arm['runs']} runs"
        finals = f", {arm['final_models']} final models" if arm["final_models"] else ""
        options = "; ".join(f"{name} {words}" for name, words in arm["space"].items())
        print(f"{arm['arm']}: {searched}{finals}" + (f": {options}" if options else ""))
    by = f"{found['sampler']}, best {found['objective']} of any epoch, seed {study.seed}"
    print(f"trials: {found['trials']:,} by {by}")
    return 0


def _share(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value <= 1:
        raise argparse.ArgumentTypeError(f"must be a number above 0 and at most 1, found {text!r}")
    return value


def _print_counts(study: Study, plan: Plan) -> None:
    sampling = study.sampling
    space = "continuous" if plan.space is None else f"{plan.space:,} configurations"
    if study.space.conditions:
        condition = " and ".join(condition.text for condition in study.space.conditions)
        left = "part of it" if plan.allowed is None else f"{plan.allowed:,}"
        space += f", {left} under {condition}"
    replicates = f" x {sampling.replicates} replicates" if sampling.replicates > 1 else ""
    arms = ", ".join(arm.label for arm in study.arms)
    print(f"study: {study.name}" + (f": {study.description}" if study.description else ""))
    print(f"space: {space}")
    print(f"drawn: {len(plan.configurations):,} by {sampling.strategy} sampling, seed {sampling.seed}")
    for name in study.space.stratify:
        levels = [configuration[name] for configuration in plan.configurations]
        shares = ", ".join(f"{level} {levels.count(level)}" for level in study.space.options.levels(name))
        print(f"strata: {name}: {shares}")
    print(
        f"trials: {len(plan.trials):,} = {len(plan.configurations):,} configurations x {len(study.arms)} arms", end=""
    )
    print(f"{replicates} ({arms})")
    if plan.winners:
        each = f" for each {study.winners.by}" if study.winners is not None and study.winners.by else ""
        print(f"winners: {plan.winners:,} trials follow: the best of each arm{each} on further replicates")


def _print_table(plan: Plan) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    names = list(dict.fromkeys(name for configuration in plan.configurations for name in configuration))
    values = {name: {c[name] for c in plan.configurations if name in c} for name in names}
    constant = [name for name in names if len(values[name]) == 1 and len(plan.configurations) > 1]
    if constant:
        print("always, where it is used:", ", ".join(f"{name} {_cell(*values[name])}" for name in constant))
    columns = [name for name in names if name not in constant]
    table = Table(box=None, pad_edge=False)
    table.add_column("", justify="right", style="dim")
    for name in columns:
        # With spaces a long name can be broken between its words.
        table.add_column(Text(name.replace("_", " ")), justify="right", overflow="fold")
    for number, configuration in enumerate(plan.configurations[:ROWS]):
        cells = (Text(_cell(configuration[name]) if name in configuration else "") for name in columns)
        table.add_row(str(number), *cells)
    console = Console(width=None if sys.stdout.isatty() else 160)
    console.print(table)
    if len(plan.configurations) > ROWS:
        console.print(f"... and {len(plan.configurations) - ROWS:,} more: --json prints all")


def _cell(value: object) -> str:
    if isinstance(value, bool) or value is None:
        return {True: "true", False: "false", None: "null"}[value]
    return f"{value:.4g}" if isinstance(value, float) else str(value)
