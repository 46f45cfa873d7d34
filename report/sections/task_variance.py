"""How much of the variance of an arm's scores comes from tasks, from hyperparameters and from seeds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from report.document import Numbers, Section
from report.frames import TASK_BLOCK
from report.words import DASH, percent, score, text
from robustness.errors import plural

if TYPE_CHECKING:
    from report.analysis import Analysis
    from report.sections.tasks import TaskVariance

TOGETHER = "hyperparameters and seed"


def variance_section(analysis: Analysis, variance: Mapping[str, TaskVariance]) -> Section:
    """Shares and standard deviations, each with the name of what it comes from."""
    parts = {arm: _named_parts(part) for arm, part in variance.items()}
    names = tuple(dict.fromkeys(name for own in parts.values() for name in own))
    rows = tuple(
        (text(arm, 60), *(score(own[name] ** 0.5) if name in own else DASH for name in names))
        for arm, own in parts.items()
    )
    columns = ("Arm", *(f"{'Standard deviation by' if not place else 'By'} {name}" for place, name in enumerate(names)))
    shares = "; ".join(f"{text(arm, 60)}: {_percents(own)}" for arm, own in parts.items())
    reading = f"Shares of the variance of scores: {shares}."
    notes = tuple(_seed_notes(analysis, variance))
    return Section("task-variance", "Task, hyperparameters or chance", reading, (), Numbers(columns, rows), notes)


def _named_parts(part: TaskVariance) -> dict[str, float]:
    """The parts by what they come from; without replicates hyperparameters and seed cannot be told apart."""
    if part["seed"] is None:
        return {"task": part["task"], TOGETHER: part["hyperparameters"]}
    return {"task": part["task"], "hyperparameters": part["hyperparameters"], "seed": part["seed"]}


def _percents(parts: Mapping[str, float]) -> str:
    """`task 15 %, hyperparameters and seed 85 %`."""
    whole = sum(parts.values()) or 1.0
    return ", ".join(f"{name} {percent(each / whole)} %" for name, each in parts.items())


def _seed_notes(analysis: Analysis, variance: Mapping[str, TaskVariance]) -> Iterator[str]:
    """Why the seed has no part, and what replicates there are."""
    if all(part["seed"] is not None for part in variance.values()):
        return
    note = "Only one run of each configuration and task counts here, so what the seed contributes cannot be told apart."
    trials = analysis.study.trials
    further = trials[trials["counted"] & (trials["replicate"] % TASK_BLOCK > 0)]
    if len(further):
        own = further.assign(task=further["replicate"] // TASK_BLOCK)
        cells = len(own[["arm", "configuration", "task"]].drop_duplicates())
        note += (
            f" The other {plural(len(further), 'run')} are replicates in {plural(cells, 'combination')} of arm, task "
            "and configuration; they are not used, since they would weigh these configurations more than others."
        )
    yield note
