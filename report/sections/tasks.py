"""Several tasks: every two arms compared on each of them and over all, ranks, and the variance between tasks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, TypedDict

import numpy as np
import pandas as pd

from report.comparison import (
    by_task,
    compare,
    fraction,
    has_outcome,
    mean_score,
    score_comparison,
    second_minus_first,
    side_by_side,
)
from report.document import Picture, Section
from report.drawing.rank_line import draw_ranks
from report.frames import TASK_BLOCK
from report.judged_study import JudgedStudy
from report.records.comparisons import Corrected, PairedComparison, ScoreComparison
from report.records.estimates import Difference, Fraction, JudgedOutcome
from report.records.families import Uncorrected, with_holm
from report.sections.task_families import corrected_on_task, families, over_tasks, with_families
from report.sections.task_variance import variance_section
from report.words import (
    DASH,
    OUTCOME_WORDS,
    TASK_UNIT,
    capitalised,
    mean_change,
    p_number,
    p_words,
    points,
    score,
    share_cell,
    text,
)
from robustness.errors import plural
from robustness.statistics.ranks import FEWEST_TASKS, friedman
from robustness.statistics.tasks import heterogeneity, stratified_test
from robustness.statistics.variance import nested_parts

if TYPE_CHECKING:
    from report.analysis import Analysis


class TaskArm(TypedDict):
    """An arm on one task, over complete pairs at the study's epoch."""

    learned_nothing: Fraction
    good: Fraction
    best: float | None
    median: float | None
    mean: float | None
    """Over configurations."""


class OnTask(TypedDict):
    """One task: its arms, and every comparison of two of them at the study's epoch."""

    task: str
    arms: dict[str, TaskArm]
    paired: list[PairedComparison]
    scores: list[ScoreComparison]


class OverTasks(Difference, Corrected):
    """A comparison of two arms by the primary outcome over all tasks, and whether the tasks agree."""

    arms: list[str]
    outcome: JudgedOutcome
    odds_ratio: float | None
    effective: float
    correlation: float
    q: float | None
    q_freedom: int | None
    q_p_value: float | None
    heterogeneity: float | None


class RankResults(TypedDict):
    """Mean ranks of the arms over tasks, 1 the best, with Friedman's test and Nemenyi's critical difference."""

    means: dict[str, float]
    statistic: float
    p_value: float
    critical_difference: float


class TaskVariance(TypedDict):
    """The variance of an arm's scores between tasks, between configurations within them, and between seeds."""

    task: float
    hyperparameters: float
    seed: float | None


class TaskResults(TypedDict):
    """A study with several tasks."""

    only_these: bool
    on: list[OnTask]
    over: list[OverTasks]
    ranks: RankResults | None
    variance: dict[str, TaskVariance]


def results(study: JudgedStudy) -> TaskResults | None:
    """Each task and all of them; None for a study with a single one."""
    frames = study.frames
    if not frames.tasks:
        return None
    places = study.planned["replicate"] // TASK_BLOCK
    parts = {task: study.planned[places == place] for place, task in enumerate(frames.tasks)}
    on = [_on_task(study, task, part) for task, part in parts.items()]
    return {
        "only_these": len(frames.tasks) < FEWEST_TASKS,
        "on": _with_holm_over_tasks(on),
        "over": _over_tasks(study),
        "ranks": _ranks(study, parts),
        "variance": _variance(study, parts),
    }


def _on_task(study: JudgedStudy, task: str, part: pd.DataFrame) -> OnTask:
    frames, alone = study.frames, replace(study.sample, tasks=1)
    outcomes = part if frames.has_thresholds else part.iloc[:0]
    arms: dict[str, TaskArm] = {}
    for arm in frames.arms:
        paired = part[part["paired"] & (part["arm"] == arm)]
        scores = paired[f"score_{frames.rule}"]
        arms[arm] = {
            "learned_nothing": fraction(outcomes, arm, "learned_nothing", frames.rule),
            "good": fraction(outcomes, arm, "good", frames.rule),
            "best": frames.goal.best(scores.tolist()),
            "median": float(scores.median()) if len(scores) else None,
            "mean": mean_score(paired, scores, arm),
        }
    compared = frames.compared if frames.has_thresholds else []
    return {
        "task": task,
        "arms": arms,
        "paired": [compare(part, *pair, frames.primary, frames.rule, alone).entry for pair in compared],
        "scores": [score_comparison(part, *pair, frames.rule, alone, frames.goal).entry for pair in frames.compared],
    }


def _with_holm_over_tasks(on: list[OnTask]) -> list[OnTask]:
    """The tasks with p-values corrected over all of their comparisons together."""
    paired = iter(with_holm([Uncorrected(entry) for task in on for entry in task["paired"]]))
    scores = iter(with_holm([Uncorrected(entry) for task in on for entry in task["scores"]]))
    return [
        {**task, "paired": [next(paired) for _ in task["paired"]], "scores": [next(scores) for _ in task["scores"]]}
        for task in on
    ]


def _over_tasks(study: JudgedStudy) -> list[OverTasks]:
    frames = study.frames
    main = [
        entry for entry in study.comparisons if entry["epoch"] == frames.rule and entry["outcome"] == frames.primary
    ]
    over: list[OverTasks] = []
    for entry in main if frames.paired else ():
        values = has_outcome(study.planned, frames.primary, frames.rule)
        tasks = by_task(side_by_side(study.planned, values, entry["arms"]))
        tested, spread = stratified_test(tasks), heterogeneity(tasks)
        if tested is None:
            continue
        over.append(
            {
                "arms": entry["arms"],
                "outcome": entry["outcome"],
                "difference": entry["difference"],
                "low": entry["low"],
                "high": entry["high"],
                "interval": entry["interval"],
                "p_value": entry["p_value"],
                "p_adjusted": entry["p_adjusted"],
                "test": entry["test"],
                "odds_ratio": tested.odds_ratio,
                "effective": tested.effective,
                "correlation": tested.correlation,
                "q": None if spread is None else spread.q,
                "q_freedom": None if spread is None else spread.freedom,
                "q_p_value": None if spread is None else spread.p_value,
                "heterogeneity": None if spread is None else spread.share,
            }
        )
    return over


def _ranks(study: JudgedStudy, parts: Mapping[str, pd.DataFrame]) -> RankResults | None:
    """Ranks of the arms by their mean score on each task that all of them have; None for fewer than five."""
    frames, name = study.frames, f"score_{study.frames.rule}"
    rows = []
    for part in parts.values():
        counted = part[part["paired"]]
        means = counted.groupby(["arm", "configuration"])[name].mean().groupby("arm").mean().reindex(frames.arms)
        if means.notna().all():
            rows.append(frames.goal.oriented(means.to_numpy(dtype=float)))
    found = friedman(np.array(rows)) if len(rows) >= FEWEST_TASKS else None
    if found is None:
        return None
    return {
        "means": dict(zip(frames.arms, found.means.tolist(), strict=True)),
        "statistic": found.statistic,
        "p_value": found.p_value,
        "critical_difference": found.critical_difference,
    }


def _variance(study: JudgedStudy, parts: Mapping[str, pd.DataFrame]) -> dict[str, TaskVariance]:
    name, shares = f"score_{study.frames.rule}", {}
    for arm in study.frames.arms:
        own = [part[part["paired"] & (part["arm"] == arm)] for part in parts.values()]
        found = nested_parts(
            [[group.to_numpy(dtype=float) for _, group in each.groupby("configuration")[name]] for each in own]
        )
        if found is not None:
            part: TaskVariance = {"task": found.task, "hyperparameters": found.hyperparameters, "seed": found.seed}
            shares[arm] = part
    return shares


def sentences(results: TaskResults, study: JudgedStudy) -> list[str]:
    """What the verdict adds: how the tasks agree, and what it is about."""
    said = []
    for entry in results["over"]:
        if entry["q_p_value"] is not None and entry["q_p_value"] < 0.05:
            arms = " and ".join(entry["arms"])
            said.append(
                f"The tasks disagree about {arms} (Cochran's Q = {entry['q']:.1f}, {p_words(entry['q_p_value'])}): "
                "see each of them."
            )
    count = len(study.frames.tasks)
    if results["only_these"]:
        these = "this task" if count == 1 else f"these {count} tasks"
        said.append(f"The verdict is about {these} only: {', '.join(study.frames.tasks)}.")
    elif results["ranks"] is not None:
        ranks = results["ranks"]
        listed = ", ".join(
            f"{arm} {rank:.2f}" for arm, rank in sorted(ranks["means"].items(), key=lambda each: each[1])
        )
        said.append(f"Mean ranks over {count} tasks: {listed} (Friedman's test, {p_words(ranks['p_value'])}).")
    return said


def sections(analysis: Analysis) -> Iterator[Section]:
    """A row for each task and comparison, and one over tasks; the ranks from five tasks on; the variance."""
    tasks = analysis.results.get("tasks")
    if tasks is None:
        return
    if analysis.frames.has_thresholds:
        yield _by_outcome(analysis, tasks)
    yield _by_score(analysis, tasks)
    if tasks["variance"]:
        yield variance_section(analysis, tasks["variance"])


def _by_outcome(analysis: Analysis, tasks: TaskResults) -> Section:
    rows = []
    for entry in analysis.results["paired"]:
        if entry["epoch"] != analysis.epoch or entry["outcome"] != analysis.primary:
            continue
        names = _difference(entry["arms"])
        for task in tasks["on"]:
            own = next(each for each in task["paired"] if each["arms"] == entry["arms"])
            shares = (share_cell(task["arms"][arm][analysis.primary]) for arm in reversed(entry["arms"]))
            alone = corrected_on_task(task["paired"], entry["arms"])
            rows.append((names, text(task["task"], 60), *shares, *_tested(own, own["difference"]), *alone))
        shares = (share_cell(analysis.results["arms"][arm][analysis.primary]) for arm in reversed(entry["arms"]))
        rows.append((names, "over tasks", *shares, *over_tasks(_tested(entry, entry["difference"]))))
    outcome = OUTCOME_WORDS[analysis.primary]
    named = (f"First named {outcome}", f"Second named {outcome}")
    columns = ("Arms", "Task", *named, "Difference of shares", "p")
    spread = "; ".join(
        f"{' and '.join(text(arm, 60) for arm in entry['arms'])} Q = {entry['q']:.1f} ({p_words(entry['q_p_value'])})"
        for entry in tasks["over"]
        if entry["q"] is not None
    )
    notes = (
        "Over tasks, differences have the Mantel-Haenszel test of discordant pairs and the interval that belongs to "
        "it; a configuration that is alike on all tasks counts once.",
        f"Whether the tasks agree, by Cochran's Q: {spread}."
        if spread
        else "Whether the tasks agree is not known yet.",
    )
    return Section(
        "tasks",
        "Task by task",
        _reading(analysis),
        (),
        with_families(analysis, columns, rows),
        (*notes, *families(analysis)),
    )


def _by_score(analysis: Analysis, tasks: TaskResults) -> Section:
    rows = []
    for entry in analysis.results["scores"]:
        if entry["epoch"] != analysis.epoch:
            continue
        names = _difference(entry["arms"])
        for task in tasks["on"]:
            own = next(each for each in task["scores"] if each["arms"] == entry["arms"])
            means = (score(task["arms"][arm]["mean"]) for arm in reversed(entry["arms"]))
            alone = corrected_on_task(task["scores"], entry["arms"])
            rows.append((names, text(task["task"], 60), *means, *_changed(own), *alone))
        rows.append((names, "over tasks, in standard deviations", DASH, DASH, *over_tasks(_changed(entry))))
    columns = ("Arms", "Task", "Mean of the first named", "Mean of the second", "Difference of means", "p")
    pictures = []
    ranks = tasks["ranks"]
    if ranks is not None:
        listed = ", ".join(f"{text(arm, 60)} {rank:.2f}" for arm, rank in ranks["means"].items())
        pictures.append(
            Picture(
                "ranks",
                "Mean ranks over tasks",
                f"Mean ranks of the arms, 1 the best: {listed}. Grey bars join arms that are closer than the "
                f"critical difference of {ranks['critical_difference']:.2f}.",
                partial(draw_ranks, ranks["means"], ranks["critical_difference"], analysis.arms),
            )
        )
    notes = (
        f"{capitalised(analysis.metric_words)}: {analysis.goal.word} is better. Over tasks, each score "
        f"is in {TASK_UNIT}, for which each configuration of each arm counts once; and a configuration counts by its "
        "mean over tasks.",
        "Arms whose mean ranks differ by more than the critical difference are told apart (Nemenyi's test at 5 %); "
        "grey bars join those that are not."
        if ranks is not None
        else f"Ranks over tasks need at least {FEWEST_TASKS} of them.",
    )
    reading = _reading(analysis)
    numbers = with_families(analysis, columns, rows)
    return Section(
        "task-scores",
        "Scores by task",
        reading,
        tuple(pictures),
        numbers,
        (*notes, *families(analysis)),
    )


def _reading(analysis: Analysis) -> str:
    """What the section has; what the tasks say together is in the verdict."""
    count = len(analysis.frames.tasks)
    return f"{plural(count, 'task')}, each by itself{' and all of them together' if count > 1 else ''}."


def _difference(arms: Sequence[str]) -> str:
    """`radial minus mfvi`, for the second arm less the first."""
    return " minus ".join(text(arm, 60) for arm in reversed(arms))


def _tested(entry: PairedComparison, difference: float | None) -> tuple[str, str, str]:
    change = second_minus_first(entry, difference)
    return points(change), p_number(entry["p_value"]), p_number(entry["p_adjusted"])


def _changed(entry: ScoreComparison) -> tuple[str, str, str]:
    change = second_minus_first(entry, entry["mean_difference"])
    return mean_change(change), p_number(entry["p_value"]), p_number(entry["p_adjusted"])
