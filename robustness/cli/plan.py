"""`robustness plan STUDY`: show what a sweep or search would run; needs neither a store nor data."""

from __future__ import annotations

import argparse

from rich.table import Table
from rich.text import Text

from robustness.cli import DONE
from robustness.cli.display import print_table, value_text
from robustness.errors import StudyFileError, plural
from robustness.guards.printable import printable, printable_json
from robustness.optimize.plan import plan_search
from robustness.study.loading import load_study
from robustness.study.study import Study
from robustness.sweep.plan import Plan, make_plan
from robustness.sweep.power import AGREEING, DISCORDANCE, equivalence_line, sample_size_line
from robustness.sweep.watched_power import watched_lines

ROWS = 100
"""Longer tables are cut; --json prints all rows."""


def run(arguments: argparse.Namespace) -> int:
    """Print the plan."""
    overrides = list(arguments.set)
    if arguments.configurations is not None:
        overrides.append(f"sampling.configurations={arguments.configurations}")
    study = load_study(arguments.study, overrides, check_data=False)
    if study.search is not None and arguments.register:
        raise StudyFileError("--register: is only for sweeps, whose configurations are known beforehand")
    if study.search is not None:
        _print_search(study, arguments.json)
        return DONE
    plan = make_plan(study)
    if arguments.register:
        return _register(arguments, study, plan)
    if arguments.json:
        print(printable_json(plan.as_json(), indent=2))
        return DONE
    _print_counts(study, plan)
    for name, line in _sample_size(arguments, study, len(plan.configurations)).items():
        print(f"{name}: {line}")
    _print_configurations(plan)
    return DONE


def _sample_size(arguments: argparse.Namespace, study: Study, pairs: int) -> dict[str, str]:
    """What the pairs can show: a difference and, in a study with a margin, equivalence."""
    if len(study.arms) < 2 or study.outcomes.primary is None:
        return {}
    discordance = DISCORDANCE if arguments.discordance is None else arguments.discordance
    agreeing = AGREEING if arguments.discordance is None else arguments.discordance
    margin, comparisons = study.outcomes.fraction_margin, len(study.compared)
    if study.stop is not None:
        return watched_lines(pairs, study.stop, comparisons, arguments.difference, discordance, margin, agreeing)
    lines = {
        "sample size": sample_size_line(pairs, study.outcomes.primary, arguments.difference, discordance, comparisons)
    }
    if margin is not None:
        lines["equivalence"] = equivalence_line(pairs, margin, agreeing)
    return lines


def _register(arguments: argparse.Namespace, study: Study, plan: Plan) -> int:
    """Register the plan and print its hash."""
    from robustness.sweep.registering import register_plan  # SQLAlchemy: a plan that is only shown does without it

    entry = register_plan(arguments.store, study, plan)
    if arguments.json:
        print(printable_json({key: value for key, value in entry.items() if key != "document"}, indent=2))
    else:
        trials = plural(len(plan.trials), "trial")
        print(printable(f"registered {study.name} with {trials} at {entry['time']}"))
        print(f"hash: {entry['hash']}")
    return DONE


def _print_search(study: Study, as_json: bool) -> None:
    """Print what `robustness optimize` would run."""
    plan = plan_search(study)
    if as_json:
        print(printable_json(plan, indent=2))
        return
    _print_name(study)
    for arm in plan["arms"]:
        repeats = f" in {plan['searches']} searches" if plan["searches"] > 1 else ""
        runs = f"made of models of {arm['made_of']}" if arm["made_of"] else plural(arm["runs"], "run") + repeats
        finals = f", {plural(arm['final_models'], 'final model')}" if arm["final_models"] else ""
        options = "; ".join(f"{name} {values}" for name, values in arm["space"].items())
        print(printable(f"{arm['arm']}: {runs}{finals}" + (f": {options}" if options else "")))
    print(
        f"trials: {plan['trials']:,}, proposed by {plan['sampler']} for the best {plan['objective']} of any epoch, "
        f"seed {study.seed}"
    )


def _print_counts(study: Study, plan: Plan) -> None:
    sampling = study.sampling
    space = "continuous" if plan.space is None else f"{plan.space:,} configurations"
    if not study.paired:
        space = "none that the arms share: they are compared without pairs"
    own = [arm.label for arm in study.arms if arm.space is not None]
    if own and study.paired:
        space += f"; in addition, spaces of {', '.join(own)} alone"
    if study.space.conditions:
        conditions = " and ".join(condition.text for condition in study.space.conditions)
        space += f", {'some' if plan.allowed is None else f'{plan.allowed:,}'} with {conditions}"
    arms = ", ".join(arm.label for arm in study.arms)
    replicates = f" x {sampling.replicates} replicates" if sampling.replicates > 1 else ""
    if sampling.vary:
        others = sampling.replicates - 1
        replicates = f" x {sampling.trials} (the first, and {others} with another {', '.join(sampling.vary)} each)"
    replicates += f" x {len(plan.tasks)} tasks" if plan.tasks else ""
    _print_name(study)
    print(printable(f"space: {space}"))
    print(f"sample: {len(plan.configurations):,} configurations, {sampling.strategy} sampling, seed {sampling.seed}")
    for name in study.space.stratify:
        levels = [configuration[name] for configuration in plan.configurations]
        counts = ", ".join(f"{printable(level)} {levels.count(level)}" for level in study.space.options.levels(name))
        print(f"strata: {name}: {counts}")
    print(
        f"trials: {len(plan.drawn):,} = {len(plan.configurations):,} configurations x {len(study.arms)} arms"
        f"{replicates} ({arms})"
    )
    if study.default is not None:
        values = ", ".join(f"{name} {value_text(value)}" for name, value in study.default.items())
        print(printable(f"default: {len(plan.trials) - len(plan.drawn):,} more trials: {values}"))
    if plan.tasks:
        print(printable(f"tasks: {', '.join(plan.tasks)}"))
    if plan.winners:
        by = f" for each {study.winners.by}" if study.winners is not None and study.winners.by else ""
        print(f"winners: {plan.winners:,} more trials: further replicates of the best configuration of each arm{by}")


def _print_name(study: Study) -> None:
    print(printable(f"study: {study.name}" + (f": {study.description}" if study.description else "")))


def _print_configurations(plan: Plan) -> None:
    configurations = [
        {**shared, **{f"{arm} {name}": value for arm, values in own.items() for name, value in values.items()}}
        for shared, own in ((c, plan.own_draws(number)) for number, c in enumerate(plan.configurations))
    ]
    names = list(dict.fromkeys(name for configuration in configurations for name in configuration))
    values = {name: {c[name] for c in configurations if name in c} for name in names}
    constant = [name for name in names if len(values[name]) == 1 and len(configurations) > 1]
    if constant:
        print("held constant:", ", ".join(f"{name} {value_text(*values[name])}" for name in constant))
    columns = [name for name in names if name not in constant]
    table = Table(box=None, pad_edge=False)
    table.add_column("", justify="right", style="dim")
    for name in columns:
        # With spaces, a long name can be wrapped between its words.
        table.add_column(Text(name.replace("_", " ")), justify="right", overflow="fold")
    for number, configuration in enumerate(configurations[:ROWS]):
        cells = (Text(value_text(configuration[name]) if name in configuration else "") for name in columns)
        table.add_row(str(number), *cells)
    print_table(table)
    if len(plan.configurations) > ROWS:
        print(f"... and {len(plan.configurations) - ROWS:,} more: --json prints all")
