"""The arms of a study in a small table: fractions with their intervals, median and best score."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from report.document import Numbers
from report.judging import OUTCOMES
from report.records.estimates import Fraction, known
from report.words import DASH, brief, has_interval, metric_words, percent, plus_minus, score_decimals, short_units, text
from robustness.errors import plural

if TYPE_CHECKING:
    from report.analysis import Analysis
    from report.sections.finals.entries import FinalsResults
    from report.sections.search.entries import SearchResults

MOST_TASKS = 5
"""With more tasks than these, the table has no column for each of them."""
HEADS = {"learned_nothing": "Learned nothing", "good": "Good"}


def arm_table(analysis: Analysis) -> tuple[Numbers, str] | None:
    """The table and its caption; None for a study that stands alone in another way, and without results."""
    finals, search = analysis.results.get("finals"), analysis.results.get("search")
    if finals is not None:
        return _of_final_models(finals)
    if search is not None and search["alone"]:
        return _of_search(search)
    if analysis.alone or not any(entry["paired"] for entry in analysis.results["arms"].values()):
        return None
    columns, rows = _by_fractions(analysis) if analysis.frames.has_thresholds else ((), {})
    more, cells = _scores(analysis)
    arms = list(analysis.results["arms"])
    table = tuple((text(arm, 60), *rows.get(arm, ()), *cells[arm]) for arm in arms)
    return Numbers(("Arm", *columns, *more), table), _caption(analysis)


def _caption(analysis: Analysis) -> str:
    arms = analysis.results["arms"].values()
    counts = {entry["configurations"] for entry in arms}
    noun = "paired configuration" if analysis.frames.paired and len(arms) > 1 else "configuration"
    over = plural(max(counts), noun) if len(counts) == 1 else f"{min(counts)} to {plural(max(counts), noun)}"
    each = "" if len(counts) == 1 else " per arm"
    tasks = f" on {plural(len(analysis.frames.tasks), 'task')}" if analysis.frames.tasks else ""
    epoch = "" if analysis.study.single_epoch else f", judged at the {analysis.epoch} epoch"
    ends = "; 95 % intervals in brackets" if analysis.frames.has_thresholds else ""
    scores = (
        f"median {analysis.metric_words} on each task"
        if analysis.frames.tasks
        else f"median and best: {analysis.metric_words}"
    )
    return f"{over}{each}{tasks}{epoch}{ends}; {scores}"


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


def _scores(analysis: Analysis) -> tuple[Sequence[str], dict[str, tuple[str, ...]]]:
    """Median and best score of each arm; with several tasks, whose scores differ, the median on each."""
    metric, arms = analysis.frames.metric, analysis.results["arms"]
    tasks = analysis.results["tasks"]
    if tasks is None:
        values: dict[str, tuple[float | None, ...]] = {
            arm: (entry["median"], entry["best"]) for arm, entry in arms.items()
        }
        return ("Median", "Best"), _written(metric, values)
    if len(tasks["on"]) > MOST_TASKS:
        return (), dict.fromkeys(arms, ())
    medians = {arm: tuple(task["arms"][arm]["median"] for task in tasks["on"]) for arm in arms}
    return [text(task["task"], 24) for task in tasks["on"]], _written(metric, medians)


def _written(metric: str, values: dict[str, tuple[float | None, ...]]) -> dict[str, tuple[str, ...]]:
    """The scores of each arm, every column to decimals of its own."""
    decimals = [score_decimals(metric, column) for column in zip(*values.values(), strict=True)]
    return {
        arm: tuple(DASH if each is None else brief(each, digits) for each, digits in zip(row, decimals, strict=True))
        for arm, row in values.items()
    }


def _of_final_models(finals: FinalsResults) -> tuple[Numbers, str]:
    rows = []
    for arm, entry in finals["arms"].items():
        first = entry["auc"][0]
        auc = DASH if first["mean"] is None else plus_minus(first["mean"], first["total_error"], 3)
        measures = (entry[name]["mean"] for name in ("accuracy", "nll", "calibration_error"))
        cells = (DASH if mean is None else f"{mean:.3f}" for mean in measures)
        rows.append((text(arm, 60), auc, *cells, str(entry["models"])))
    columns = ("Arm", "Test AUC", "Accuracy", "NLL", "Calibration error", "Models")
    caption = f"{plural(finals['pictures'], 'test picture')} of {plural(finals['patients'], 'patient')}"
    return Numbers(columns, tuple(rows)), f"{caption}; means over models, AUC ± its standard error"


def _of_search(search: SearchResults) -> tuple[Numbers, str]:
    rows = []
    for arm, entry in search["arms"].items():
        best = DASH if entry["winner"] is None else f"{entry['winner']['score']:.3f}"
        rows.append((text(arm, 60), best, f"{entry['ended']} of {entry['wanted']}"))
    words = text(metric_words(search["objective"]), 40)
    return Numbers(("Arm", "Best score", "Runs ended"), tuple(rows)), f"The best {words} that each search found"
