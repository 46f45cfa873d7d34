"""The arms of a study in a small table: fractions with their intervals, and scores."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from report.document import Numbers
from report.first_screen.endings import endings
from report.judging import OUTCOMES, own_scores
from report.records.comparisons import ScoreComparison
from report.records.estimates import Fraction, known
from report.sections.score_verdict import better_arm
from report.words import DASH, brief, has_interval, metric_words, percent, plus_minus, score_decimals, short_units, text
from robustness.errors import plural
from robustness.metrics import find_metric

if TYPE_CHECKING:
    from report.analysis import Analysis
    from report.sections.finals.entries import FinalsResults
    from report.sections.search.entries import SearchResults

MOST_TASKS = 5
"""With more tasks than these, the table has no column for each of them."""
HEADS = {"learned_nothing": "Learned nothing", "good": "Good"}


@dataclass(frozen=True)
class ArmTable:
    """The table, its caption, and which of its cells, by row and column, hold the best score of their column."""

    numbers: Numbers
    caption: str
    best: frozenset[tuple[int, int]] = frozenset()


def arm_table(analysis: Analysis) -> ArmTable | None:
    """The table of the arms; None for a study that stands alone in another way, and without results."""
    finals, search = analysis.results.get("finals"), analysis.results.get("search")
    if finals is not None:
        return _of_final_models(finals)
    if search is not None and search["alone"]:
        return _of_search(search)
    if analysis.alone or not any(entry["paired"] for entry in analysis.results["arms"].values()):
        return None
    columns, rows = _by_fractions(analysis) if analysis.frames.has_thresholds else ((), {})
    scores = _scores(analysis)
    arms = list(analysis.results["arms"])
    cells = _written(analysis.frames.metric, scores, len(arms))
    table = tuple((text(arm, 60), *rows.get(arm, ()), *cells[place]) for place, arm in enumerate(arms))
    # The verdict is about the scores themselves only without thresholds.
    compared = {} if analysis.frames.has_thresholds else _means(analysis)
    best = {
        (row, 1 + len(columns) + place)
        for place, (name, column) in enumerate(scores.items())
        for row in _best(analysis, compared.get(name, []), column)
    }
    numbers = Numbers(("Arm", *columns, *(text(name, 24) for name in scores)), table)
    return ArmTable(numbers, _caption(analysis, bool(best)), frozenset(best))


def _means(analysis: Analysis) -> dict[str, list[ScoreComparison]]:
    """The columns of means that the verdict compares, each with the comparisons of its arms."""
    tasks = analysis.results["tasks"]
    if tasks is not None:
        return {task["task"]: task["scores"] for task in tasks["on"]} if len(tasks["on"]) <= MOST_TASKS else {}
    return {"Mean": [entry for entry in analysis.results["scores"] if entry["epoch"] == analysis.epoch]}


def _best(analysis: Analysis, compared: Sequence[ScoreComparison], column: Sequence[float | None]) -> set[int]:
    """The arms whose mean is the best of a column or does not differ significantly from it; none if all are such."""
    arms, means = list(analysis.results["arms"]), [value for value in column if value is not None]
    best = arms[column.index(analysis.goal.best(means))] if means else None
    losers = [entry for entry in compared if better_arm(entry, analysis.frames) == best]
    worse = {arms.index(arm) for entry in losers for arm in entry["arms"] if arm != best} if best else set()
    return {row for row, value in enumerate(column) if value is not None} - worse if worse else set()


def _caption(analysis: Analysis, bold: bool) -> str:
    arms = analysis.results["arms"].values()
    counts = {entry["configurations"] for entry in arms}
    noun = "paired configuration" if analysis.frames.paired and len(arms) > 1 else "configuration"
    over = plural(max(counts), noun) if len(counts) == 1 else f"{min(counts)} to {plural(max(counts), noun)}"
    each = "" if len(counts) == 1 else " per arm"
    tasks = f" on {plural(len(analysis.frames.tasks), 'task')}" if analysis.frames.tasks else ""
    epoch = "" if analysis.study.single_epoch else f" at the {analysis.epoch} epoch"
    ends = "; 95 % intervals in brackets" if analysis.frames.has_thresholds else ""
    return " ".join([endings(analysis), f"Table: {over}{each}{tasks}{epoch}{ends}.", *_what_scores(analysis, bold)])


def _what_scores(analysis: Analysis, bold: bool) -> Iterator[str]:
    """What the columns of scores are, which the line above the verdict says unless there are several tasks; that they
    are what the verdict compares, where it does."""
    frames = analysis.frames
    if frames.has_thresholds:
        if frames.tasks:
            yield f"Columns of tasks: median {analysis.metric_words}."
        return
    what = f"mean {analysis.metric_words} on each task" if frames.tasks else "means"
    yield f"The verdict compares {what}{_stand_in(analysis)}."
    if bold:
        yield "Bold: the best mean, and any that does not differ significantly from it."


def _stand_in(analysis: Analysis) -> str:
    """What stands in for missing scores in means; nothing where none is missing."""
    if not own_scores(analysis.pairs, analysis.epoch).isna().any():
        return ""
    chance = find_metric(analysis.frames.metric).chance
    if chance is not None:
        return f", in which a trial without a score has that of chance, {chance:g}"
    return f", in which a trial without a score has the worst of any{' on its task' if analysis.frames.tasks else ''}"


def _by_fractions(analysis: Analysis) -> tuple[Sequence[str], dict[str, tuple[str, ...]]]:
    arms = analysis.results["arms"]
    rows = {arm: tuple(_share(entry[outcome]) for outcome in OUTCOMES) for arm, entry in arms.items()}
    return [HEADS[outcome] for outcome in OUTCOMES], rows


def _share(entry: Fraction) -> str:
    """`46 % [36 to 57]`; the count without an interval."""
    if not entry["of"]:
        return DASH
    fraction = f"{percent(known(entry['fraction']))}\u00a0%"
    if not has_interval(entry):
        return f"{fraction} ({short_units(entry)})"
    return f"{fraction} [{percent(known(entry['low']))} to {percent(known(entry['high']))}]"


def _scores(analysis: Analysis) -> dict[str, list[float | None]]:
    """The columns of scores, a value for each arm: mean, median and best, or, since tasks differ, one for each task."""
    arms, tasks = analysis.results["arms"].values(), analysis.results["tasks"]
    by_scores = not analysis.frames.has_thresholds
    if tasks is None:
        middle = {"Median": [entry["median"] for entry in arms], "Best": [entry["best"] for entry in arms]}
        return {"Mean": [entry["mean"] for entry in arms], **middle} if by_scores else middle
    if len(tasks["on"]) > MOST_TASKS:
        return {}
    return {
        task["task"]: [entry["mean"] if by_scores else entry["median"] for entry in task["arms"].values()]
        for task in tasks["on"]
    }


def _written(metric: str, columns: Mapping[str, list[float | None]], arms: int) -> list[list[str]]:
    """The scores of each arm, every column to decimals of its own."""
    decimals = {name: score_decimals(metric, column) for name, column in columns.items()}
    return [
        [DASH if (value := column[arm]) is None else brief(value, decimals[name]) for name, column in columns.items()]
        for arm in range(arms)
    ]


def _of_final_models(finals: FinalsResults) -> ArmTable:
    rows = []
    for arm, entry in finals["arms"].items():
        first = entry["auc"][0]
        auc = DASH if first["mean"] is None else plus_minus(first["mean"], first["total_error"], 3)
        measures = (entry[name]["mean"] for name in ("accuracy", "nll", "calibration_error"))
        cells = (DASH if mean is None else f"{mean:.3f}" for mean in measures)
        rows.append((text(arm, 60), auc, *cells, str(entry["models"])))
    columns = ("Arm", "Test AUC", "Accuracy", "NLL", "Calibration error", "Models")
    caption = f"{plural(finals['pictures'], 'test picture')} of {plural(finals['patients'], 'patient')}"
    return ArmTable(Numbers(columns, tuple(rows)), f"{caption}; means over models, AUC ± its standard error")


def _of_search(search: SearchResults) -> ArmTable:
    rows = []
    for arm, entry in search["arms"].items():
        best = DASH if entry["winner"] is None else f"{entry['winner']['score']:.3f}"
        rows.append((text(arm, 60), best, f"{entry['ended']} of {entry['wanted']}"))
    words = text(metric_words(search["objective"]), 40)
    columns = ("Arm", "Best score", "Runs ended")
    return ArmTable(Numbers(columns, tuple(rows)), f"The best {words} that each search found")
