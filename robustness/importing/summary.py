"""What an import understood, in lines: arms, hyperparameters, metric, seeds, epochs, pairs, and what was ignored."""

from __future__ import annotations

from collections.abc import Iterator

from robustness.errors import plural
from robustness.importing.frame import Import
from robustness.importing.pairing import Pairs
from robustness.importing.proposing import proposal_note

MOST_NAMES = 12
"""How many names a line lists."""


def summary_lines(found: Import) -> list[str]:
    """The lines, each a name and its content."""
    return [f"{name:<16} {content}" for name, content in _contents(found)]


def pairing_sentence(found: Import) -> str:
    """How many configurations occur in all arms."""
    runs, pairs = found.runs, Pairs.of(found.runs)
    of_tasks = " and task" if len(runs.tasks) > 1 else ""
    if len(runs.arms) < 2:
        return "a single arm, so nothing is compared"
    if not pairs.all_arms and not pairs.some_arms:
        return f"none: no configuration{of_tasks} occurs in two arms, so arms are compared unpaired"
    text = f"{pairs.all_arms:,} of {plural(pairs.total, 'configuration')}{of_tasks} occur in all arms"
    if pairs.some_arms:
        text += f", {pairs.some_arms:,} in some"
    if pairs.one_arm:
        text += f", {pairs.one_arm:,} in one alone, which only count unpaired"
    return text


def _contents(found: Import) -> Iterator[tuple[str, str]]:
    runs, understood = found.runs, found.understood
    counts = runs.frame["arm"].value_counts(sort=False)
    yield "source", f"{runs.source}: {plural(len(runs.frame), 'run')}"
    yield "arms", _listed([f"{arm} ({counts[arm]:,})" for arm in runs.arms]) + _from(understood.arm)
    if runs.tasks != [""]:
        yield "tasks", _listed(runs.tasks) + _from(understood.task)
    names = [f"{name} ({plural(len(set(codes[codes >= 0].tolist())), 'value')})" for name, codes in runs.levels.items()]
    yield "hyperparameters", _listed(names) or "none"
    yield "configurations", f"{len(runs.configurations):,}"
    has_curves = len(runs.epochs) > 0 and runs.epochs["epoch"].nunique() > 1
    judged = f", judged at the {found.study.judged} epoch" if has_curves else ""
    yield "metric", f"{runs.metric}, {runs.goal}d{judged}"
    replicates = 1 + int(runs.frame["replicate"].max())
    if runs.seeds:
        yield "seeds", f"{len(runs.seeds):,}" + _from(understood.seed)
    elif replicates > 1:
        yield "seeds", f"no column; up to {replicates:,} runs of a configuration, numbered in their order"
    if has_curves:
        yield "epochs", f"{runs.epochs['epoch'].min():,} to {runs.epochs['epoch'].max():,}" + _from(understood.epoch)
    yield "pairs", pairing_sentence(found)
    for remark in runs.remarks:
        yield "decided", remark
    note = proposal_note(runs, found.study.options)
    if note is not None:
        yield "note", note
    reasons: dict[str, list[str]] = {}
    for name, why in understood.ignored.items():
        reasons.setdefault(why, []).append(name)
    for why, ignored in reasons.items():
        yield "ignored", f"{_listed(ignored)} ({why})"


def _listed(names: list[str]) -> str:
    more = f", and {len(names) - MOST_NAMES:,} more" if len(names) > MOST_NAMES else ""
    return ", ".join(names[:MOST_NAMES]) + more


def _from(column: str | None) -> str:
    return "" if column is None or column.startswith("(") else f", by column {column}"
