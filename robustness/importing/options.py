"""What a user may say about runs to import; the command line and `robustness.from_dataframe` take the same."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from robustness.errors import RobustnessError, unknown_name
from robustness.importing.values import DIGITS

Goal: TypeAlias = Literal["maximize", "minimize"]
GOALS: tuple[Goal, ...] = ("maximize", "minimize")
MISSING = ("diverged", "left-out", "absent-is-diverged")
PRUNED = ("left-out", "last-value")
PROPOSED = ("independently", "adaptively")
JUDGED = ("best", "last")


@dataclass(frozen=True)
class ImportOptions:
    """The meaning of columns and the decisions that an import does not take by itself; None leaves it to the source."""

    arm: str | None = None
    metric: str | None = None
    goal: str | None = None
    hyperparameters: Sequence[str] | None = None
    seed: str | None = None
    epoch: str | None = None
    task: str | None = None
    run: str | None = None
    """The column that tells runs apart in a table with one row for each epoch."""
    ignore: Sequence[str] = ()
    only: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """Columns and the values of the rows to import; all other rows are left out."""
    missing: str | None = None
    """Runs without a number: `diverged`, `left-out`, or `absent-is-diverged`, which also counts absent cells."""
    pruned: str | None = None
    """Runs that were stopped early: `left-out` or `last-value`."""
    proposed: str | None = None
    """Whether configurations were drawn `independently` or proposed `adaptively`, by earlier results."""
    digits: int = DIGITS
    """Significant digits by which two numbers are the same value."""
    judged: str | None = None
    """The epoch that judges a run: `best` or `last`; by default `last` for Optuna, else `best`."""
    good: float | None = None
    learned_nothing: float | None = None
    one_arm: bool = False
    """Whether all runs may be of one arm although a column could tell arms apart."""
    in_python: bool = False
    """Whether messages name keywords instead of options."""

    def __post_init__(self) -> None:
        for name, allowed in (
            ("goal", GOALS),
            ("missing", MISSING),
            ("pruned", PRUNED),
            ("proposed", PROPOSED),
            ("judged", JUDGED),
        ):
            value = getattr(self, name)
            if value is not None and value not in allowed:
                raise RobustnessError(f"{self.named(name)}: {unknown_name('choice', value, allowed)}")
        if not 1 <= self.digits <= 17:
            raise RobustnessError(f"{self.named('digits')}: must be an integer from 1 to 17, found {self.digits}")

    def named(self, name: str, value: str = "") -> str:
        """An option as the user writes it: `--missing diverged`, or `missing='diverged'`."""
        if self.in_python:
            return f"{name}={value!r}" if value else name
        return f"--{name.replace('_', '-')}" + (f" {shlex.quote(value)}" if value else "")
