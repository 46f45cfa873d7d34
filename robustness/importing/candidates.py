"""Columns that an import proposes where it asks: for the arm, categories with few values; for the metric, measures."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

import numpy as np
import pandas as pd

from robustness.errors import shown
from robustness.importing.columns import BOOKKEEPING, LOSSES, SEED_COLUMNS, TASK_COLUMNS, unprefixed
from robustness.importing.options import ImportOptions
from robustness.importing.questions import Question
from robustness.importing.runs import ARM, TASK, SourceTable
from robustness.importing.values import numbers_in

FEWEST, MOST = 2, 8
"""How many values a column has whose values may be arms."""
MOST_SHOWN = 4
"""Candidates that a question lists."""
_SUCCESSES = ("accuracy", "acc", "auc", "auroc", "f1", "score", "reward", "return", "r2", "objective")
_HELD_OUT = ("val", "valid", "validation", "eval", "test", "dev")


def arm_candidates(table: SourceTable) -> dict[str, list[str]]:
    """Return the columns of text whose few values recur over the runs, each with its values."""
    found: dict[str, list[str]] = {}
    for column in map(str, table.frame.columns):
        name, role = unprefixed(column)
        known = name.lower() in {*BOOKKEEPING, *TASK_COLUMNS, *SEED_COLUMNS}
        if column in (ARM, TASK) or known or role in ("measure", "ignored"):
            continue
        cells = table.frame[column]
        if pd.api.types.is_numeric_dtype(cells) or cells.isna().any():
            continue
        text = cells.astype(str).str.strip()
        values = text.unique().tolist()
        recur = 2 * len(values) <= len(text)
        if (
            FEWEST <= len(values) <= MOST
            and recur
            and "" not in values
            and np.isnan(numbers_in(pd.Series(values))).all()
        ):
            found[name] = sorted(values)
    return found


def metric_candidates(names: Iterable[str]) -> list[str]:
    """Return the names that sound like a metric, those of held-out data and of successes first."""

    def rank(name: str) -> tuple[bool, bool] | None:
        words = re.split(r"[^a-z0-9]+", unprefixed(name)[0].lower())
        success = any(word in _SUCCESSES for word in words)
        if not success and not any(loss in "_".join(words) for loss in LOSSES):
            return None
        return not any(word in _HELD_OUT for word in words), not success

    ranked = {name: rank(name) for name in names}
    known = {name: place for name, place in ranked.items() if place is not None}
    return sorted(known, key=lambda name: known[name])


def proposed(options: ImportOptions, option: str, names: Iterable[str]) -> str:
    """Return `--arm optimizer or --arm model`, the options that name the first few candidates."""
    return " or ".join(options.named(option, name) for name in list(names)[:MOST_SHOWN])


def check_arms(arms: Sequence[str], table: SourceTable, options: ImportOptions) -> None:
    """Raise Question if all runs are of one arm that nobody named, though a column could tell arms apart."""
    if len(arms) > 1 or options.arm is not None or options.one_arm or table.arm_is_named:
        return
    found = arm_candidates(table)
    if not found:
        return
    first, values = next(iter(found.items()))
    whole = "" if options.in_python else f", or write {arms[0]}=SOURCE if a single arm is meant"
    raise Question(
        table.source,
        f"one arm only, {shown(arms[0])}: to compare the values of {shown(first)} ({', '.join(values)}), add "
        f"{proposed(options, 'arm', found)}{whole}",
        {"arm": first},
    )
