"""What the columns of a source mean: by what the user says, then by known prefixes, then by usual names.

Whatever is left is a hyperparameter, unless it changes within a run, is the same in every run, or belongs to the arm.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from robustness.errors import RobustnessError, shown, unknown_name
from robustness.guards.printable import escaped, printable
from robustness.importing import columns as vocabulary
from robustness.importing.candidates import arm_candidates, metric_candidates, proposed
from robustness.importing.columns import BOOKKEEPING, unprefixed
from robustness.importing.options import ImportOptions
from robustness.importing.questions import Question
from robustness.importing.run_blocks import changing_columns, has_row_per_epoch
from robustness.importing.runs import ARM, TASK, SourceTable
from robustness.importing.values import numbers_in
from robustness.study.arms import LONGEST_LABEL

OWN = ("configuration", "replicate", "arm", "status", "epochs", "best", "best_epoch", "last", "last_epoch")
"""Columns of robustness' own table of results (`report.exports`), besides the hyperparameters and outcomes."""
OWN_OUTCOMES = ("outcome_best", "outcome_last")


@dataclass(frozen=True)
class Understood:
    """The columns of a source by their meaning."""

    arm: str | None
    """None: all runs are of one arm, named after the source."""
    metric: str
    metric_column: str | None
    """None: the metric is in the source's table of epochs."""
    goal: str
    hyperparameters: Mapping[str, str]
    """The column of each hyperparameter."""
    task: str | None = None
    seed: str | None = None
    epoch: str | None = None
    """The column of the epoch, in a table with one row for each epoch."""
    last_epoch: str | None = None
    """The column of each run's last epoch, in a table with one row for each run."""
    run: str | None = None
    status: str | None = None
    started: str | None = None
    ended: str | None = None
    seconds: str | None = None
    certain: bool = False
    """Whether the hyperparameters were named by the user or by a prefix, not guessed."""
    ignored: Mapping[str, str] = field(default_factory=dict)
    """Why each other column was ignored."""


def understand(table: SourceTable, options: ImportOptions) -> Understood:
    """The meaning of the columns; raises RobustnessError with one line where it must be stated."""
    columns = _Columns(table, options)
    arm = columns.named("arm") or columns.internal(ARM) or columns.usual(vocabulary.ARM_COLUMNS)
    if arm is None and table.kind in ("csv", "wandb", "frame") and not options.one_arm:
        raise _which_arm(table, options)
    metric, metric_column = _metric(table, options, columns)
    task = columns.named("task") or columns.internal(TASK) or columns.usual(vocabulary.TASK_COLUMNS)
    seed = columns.named("seed") or columns.usual(vocabulary.SEED_COLUMNS)
    status = columns.usual(vocabulary.STATUS_COLUMNS)
    started, ended = columns.usual(vocabulary.STARTED_COLUMNS), columns.usual(vocabulary.ENDED_COLUMNS)
    seconds = columns.usual(vocabulary.SECONDS_COLUMNS)
    epoch = run = None
    if table.epochs is None:
        epoch = columns.named("epoch") or columns.usual(vocabulary.EPOCH_COLUMNS)
        run = columns.named("run") or columns.usual(vocabulary.RUN_COLUMNS)
    last_epoch = None
    keys = [name for name in (arm, task, seed, run) if name]
    if epoch is not None and options.epoch is None and not has_row_per_epoch(table.frame, keys, epoch):
        last_epoch, epoch = epoch, None
    for name in options.ignore:
        columns.ignore(columns.found(name, "ignore"), f"named by {options.named('ignore')}")
    hyperparameters, certain = _hyperparameters(columns, options, keys, arm, epoch)
    for name in (metric, *hyperparameters):
        check_name(name, f"{table.source}: the column")
    return Understood(
        arm=arm,
        metric=metric,
        metric_column=metric_column,
        goal=_goal(table, options, metric),
        hyperparameters=hyperparameters,
        task=task,
        seed=seed,
        epoch=epoch,
        last_epoch=last_epoch,
        run=run,
        status=status,
        started=started,
        ended=ended,
        seconds=seconds,
        certain=certain,
        ignored=columns.ignored,
    )


def check_name(name: str, place: str) -> None:
    """Raise unless a name from a source can be used in a line of text and a table, as one of a study file can."""
    printable = name.isprintable() and escaped(name) == name
    if not name or name != name.strip() or not printable or len(name) > LONGEST_LABEL:
        raise RobustnessError(f"{place} must be 1 to {LONGEST_LABEL} printable characters, found {shown(name)}")


class _Columns:
    """The columns of a table while they are told apart: each has one meaning."""

    def __init__(self, table: SourceTable, options: ImportOptions) -> None:
        self.table, self.options = table, options
        self.names = [str(name) for name in table.frame.columns]
        self.taken: set[str] = set()
        self.ignored: dict[str, str] = {}

    def named(self, option: str) -> str | None:
        """The column that the user names for a meaning."""
        wanted = getattr(self.options, option)
        return None if wanted is None else self.take(self.found(wanted, option))

    def found(self, wanted: str, option: str) -> str:
        """A column by its name with or without its prefix; raises RobustnessError if there is none."""
        if wanted in self.names:
            return wanted
        matching = [name for name in self.names if unprefixed(name)[0] == wanted]
        if len(matching) == 1:
            return matching[0]
        known = [unprefixed(name)[0] for name in self.names if name not in (ARM, TASK)]
        reason = f"{' and '.join(map(repr, matching))} both fit" if matching else unknown_name("column", wanted, known)
        raise RobustnessError(f"{self.table.source}: {self.options.named(option)}: {reason}")

    def internal(self, name: str) -> str | None:
        return self.take(name) if name in self.names else None

    def usual(self, usual: Iterable[str]) -> str | None:
        """The first column with a usual name, in any case and with any prefix of a hyperparameter."""
        free = [name for name in self.names if name not in self.taken]
        for wanted in usual:
            for name in free:
                plain, role = unprefixed(name)
                if name.lower() == wanted or (plain.lower() == wanted and role == "hyperparameter"):
                    return self.take(name)
        return None

    def take(self, name: str) -> str:
        self.taken.add(name)
        return name

    def ignore(self, name: str, why: str) -> None:
        self.taken.add(name)
        self.ignored[name] = why

    def free(self) -> list[str]:
        return [name for name in self.names if name not in self.taken]


def _which_arm(table: SourceTable, options: ImportOptions) -> Question:
    usual = " or ".join(map(repr, vocabulary.ARM_COLUMNS))
    whole = "" if options.in_python else ", or write ARM=SOURCE if all runs are of one arm"
    found = arm_candidates(table)
    such_as = f", such as {proposed(options, 'arm', found)}" if found else ""
    return Question(
        table.source,
        f"no column {usual}; name the column with {options.named('arm', 'COLUMN')}{such_as}{whole}"
        f"{_columns_listed(table)}",
        {"arm": next(iter(found))} if found else {"one_arm": True},
    )


def _columns_listed(table: SourceTable) -> str:
    """` (it has: lr, optimizer, ...)`: the columns that may be meant."""
    names = [str(name) for name in table.frame.columns if name not in (ARM, TASK)]
    names = [name for name in names if name.lower() not in BOOKKEEPING] or names
    return f" (it has: {', '.join(map(printable, names[:12]))}{', ...' if len(names) > 12 else ''})"


def _metric(table: SourceTable, options: ImportOptions, columns: _Columns) -> tuple[str, str | None]:
    """The name of the metric and its column in the frame of runs, None if it is in the table of epochs."""
    if table.epochs is not None:
        measures = list(table.epochs)
        if options.metric is not None:
            if options.metric not in measures:
                problem = unknown_name("measure", options.metric, measures)
                if table.kind == "optuna" and "value" in measures:
                    problem += "; the objective of Optuna has no other name than 'value'"
                raise RobustnessError(f"{table.source}: {options.named('metric')}: {problem}")
            return options.metric, None
        usual = [name for name in (*vocabulary.METRIC_COLUMNS, "values_0") if name in measures] or measures
        if len(usual) == 1 or usual[:1] == ["value"]:
            return usual[0], None
        raise _which_metric(table, options, measures, measures)
    column = columns.named("metric") or columns.usual(vocabulary.METRIC_COLUMNS)
    if column is None:
        measures = [name for name in columns.free() if unprefixed(name)[1] == "measure"]
        if len(measures) != 1:
            raise _which_metric(table, options, measures, measures or _numeric(table, columns.free()))
        column = columns.take(measures[0])
    name, role = unprefixed(column)
    return (name if role == "measure" else column), column


def _which_metric(
    table: SourceTable, options: ImportOptions, measures: Sequence[str], possible: Sequence[str]
) -> RobustnessError:
    """The question which column is the metric; where none is possible, an error."""
    likely = metric_candidates(possible)
    such_as = f", such as {proposed(options, 'metric', [unprefixed(name)[0] for name in likely])}" if likely else ""
    if measures:
        some = ", ".join(measures[:10]) + (", ..." if len(measures) > 10 else "")
        named = options.named("metric", "NAME")
        text = f"which measure is the metric? name it with {named}{such_as} (it has: {some})"
    else:
        usual = " or ".join(map(repr, vocabulary.METRIC_COLUMNS))
        named = options.named("metric", "COLUMN")
        text = f"no column {usual}; name the column with {named}{such_as}{_columns_listed(table)}"
    if not possible:
        return RobustnessError(f"{table.source}: {text}")
    return Question(table.source, text, {"metric": (likely or possible)[0]})


def _numeric(table: SourceTable, names: Iterable[str]) -> list[str]:
    """The columns of numbers, the last first: most tables end with results."""
    free = [name for name in names if name.lower() not in BOOKKEEPING and unprefixed(name)[1] is None]
    return [name for name in reversed(free) if np.isfinite(numbers_in(table.frame[name])).any()]


def _goal(table: SourceTable, options: ImportOptions, metric: str) -> str:
    if options.goal is not None:
        return options.goal
    if metric in table.goals:
        return table.goals[metric]
    words = metric.lower().replace("-", "_")
    if any(loss in words for loss in vocabulary.LOSSES):
        raise RobustnessError(
            f"{table.source}: is {shown(metric)} better when it is lower? say {options.named('goal', 'minimize')} or "
            f"{options.named('goal', 'maximize')}"
        )
    return "maximize"


def _hyperparameters(
    columns: _Columns, options: ImportOptions, keys: Sequence[str], arm: str | None, epoch: str | None
) -> tuple[dict[str, str], bool]:
    """The column of each hyperparameter by its name, and whether nothing had to be guessed."""
    frame = columns.table.frame
    if options.hyperparameters is not None:
        chosen = [columns.take(columns.found(name, "hyperparameters")) for name in options.hyperparameters]
        for name in columns.free():
            columns.ignore(name, f"not named by {options.named('hyperparameters')}")
        return {unprefixed(name)[0]: name for name in chosen}, True
    prefixed = [name for name in columns.free() if unprefixed(name)[1] == "hyperparameter"]
    for name in columns.free():
        role = unprefixed(name)[1]
        if name in prefixed:
            continue
        if role == "ignored" or name.lower() in BOOKKEEPING:
            columns.ignore(name, "bookkeeping")
        elif role == "measure":
            columns.ignore(name, "another measure")
        elif prefixed:
            columns.ignore(name, f"without the prefix of {prefixed[0]!r}")
    candidates = columns.free()
    if epoch is not None and not prefixed:
        for name in changing_columns(frame, keys, epoch, candidates):
            columns.ignore(name, "changes within a run")
        candidates = columns.free()
    if columns.table.kind == "wandb" and not prefixed:
        _ask_about_measures(columns, options)
    arms = None if arm is None else pd.factorize(frame[arm])[0]
    for name in candidates:
        codes, distinct = pd.factorize(frame[name].map(_comparable) if frame[name].dtype == object else frame[name])
        filled = [cell for cell in distinct.tolist() if str(cell).strip()]
        if not filled:
            columns.ignore(name, "empty")
        elif not prefixed and len(distinct) == 1 and (codes >= 0).all() and not _is_number(filled[0]):
            columns.ignore(name, "the same in every run")
        elif arms is not None and _belongs_to_arm(codes, arms):
            columns.ignore(name, "the same in every run of an arm")
    return {unprefixed(name)[0]: name for name in columns.free()}, bool(prefixed)


def _ask_about_measures(columns: _Columns, options: ImportOptions) -> None:
    """Raise if an export of W&B, which marks neither, has measures among what would be hyperparameters."""
    measures = set(sorted_last(name for name in columns.names if name.lower() not in BOOKKEEPING))
    suspects = [name for name in columns.free() if name in measures]
    if suspects:
        frame = columns.table.frame
        kept = [name for name in columns.free() if name not in measures and not _names_runs(frame[name])]
        some = ", ".join(suspects[:10]) + (", ..." if len(suspects) > 10 else "")
        raise Question(
            columns.table.source,
            f"which columns are hyperparameters? Going by their order, {some} "
            f"{'is a measure' if len(suspects) == 1 else 'are measures'}: say "
            f"{options.named('hyperparameters', ','.join(kept))}, or list others",
            {"hyperparameters": kept},
        )


def _names_runs(column: pd.Series[Any]) -> bool:
    """Whether a column has another text in every run, such as a folder for its output."""
    return column.is_unique and not any(_is_number(cell) for cell in column.tolist())


def sorted_last(names: Iterable[str]) -> list[str]:
    """The second of two sorted lists that follow each other; empty if the names are anything else.

    The export of W&B's runs has the sorted names of the configuration, then those of the summary.
    """
    listed = list(names)
    steps = [place for place in range(1, len(listed)) if listed[place] < listed[place - 1]]
    return listed[steps[0] :] if len(steps) == 1 else []


def _is_number(cell: object) -> bool:
    try:
        return float(str(cell)) is not None
    except ValueError:
        return False


def _comparable(cell: object) -> object:
    return cell if cell is None or isinstance(cell, str | int | float) else str(cell)


def _belongs_to_arm(codes: NDArray[np.int64], arms: NDArray[np.int64]) -> bool:
    """Whether a column differs between arms alone: each of them, of at least two runs, has a single value or none."""
    _, sizes = np.unique(arms, return_counts=True)
    cells = len(np.unique(np.stack([arms, codes]), axis=1)[0])
    return len(sizes) > 1 and bool(sizes.min() >= 2) and cells == len(sizes) and len(np.unique(codes)) > 1
