"""What the arms of a study are, a line for each, and what the words of its page mean."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import TYPE_CHECKING

from report.first_screen.studied import nothing_limit
from report.sections.left_out import counting
from report.words import number, spaced, text
from robustness.methods import METHODS

if TYPE_CHECKING:
    from report.analysis import Analysis
    from report.frames import Stored


def arm_lines(analysis: Analysis) -> list[tuple[str, str]]:
    """Each arm with what it is."""
    document = analysis.frames.document
    # Arms of our own results, imported again, are our methods.
    foreign = (document.get("imported") or {"kind": "robustness"}).get("kind") != "robustness"
    return [(text(arm["label"], 60), text(_arm(arm, foreign), 400)) for arm in document["arms"]]


def _arm(arm: Stored, foreign: bool) -> str:
    method, label = str(arm.get("method") or arm["label"]), str(arm["label"])
    if foreign:
        return "imported runs of this name; the page knows no more about it"
    known = import_module(f"robustness.methods.{method}").__doc__ if method in METHODS else None
    words = (known or "").strip().partition("\n")[0].rstrip(".")
    parts = [words or (f"method {method}" if method != label else "defined by the code of this study")]
    for key in ("options", "training", "model"):
        own = arm.get(key)
        if isinstance(own, Mapping) and own:
            parts.append(", ".join(f"{spaced(name)} {number(value)}" for name, value in own.items()))
    if arm.get("space"):
        parts.append("with a search space of its own")
    return "; ".join(parts)


def glossary(analysis: Analysis) -> list[tuple[str, str]]:
    """The words of this page, with their meaning in this study."""
    return [(word, text(meaning, 600)) for word, meaning in _glossary(analysis)]


def _glossary(analysis: Analysis) -> Iterator[tuple[str, str]]:
    frames = analysis.frames
    yield "arm", "a method under comparison"
    yield "configuration", "one choice of all hyperparameters"
    yield "trial", "one training run: a configuration with an arm" + (" on a task" if frames.tasks else "")
    if "initial_rho" in frames.configurations.columns:
        yield (
            "initial_rho",
            "sets the initial noise of the weights: sigma = log(1 + exp(rho)); larger means more noise",
        )
    if frames.paired and len(frames.arms) > 1:
        yield "pair", "the trials of one configuration with both arms; a pair counts if both have a result"
        yield "result", "a trial has one if it finished or diverged, even if it diverged before its first score"
    yield (
        f"{analysis.epoch} epoch",
        f"every trial is judged by {analysis.the_metric} at this epoch; {analysis.goal.word} is better",
    )
    if frames.has_thresholds:
        side, level = nothing_limit(analysis)
        yield (
            "learned nothing",
            f"a trial whose {analysis.metric_words} is {side} {level}, or that diverged before it was judged",
        )
        good = "at most" if analysis.goal.minimizes else "at least"
        yield (
            "good",
            f"a trial whose {analysis.metric_words} is {good} {analysis.good:g}, unless it learned nothing",
        )
    counted = " ".join(counting(analysis))
    if counted:
        yield "not run to its end", counted
    if frames.has_thresholds:
        yield "less sensitive", "works in more of the configurations that could be chosen, not better in its best one"
    else:
        yield "better", f"has the better mean {analysis.metric_words} over configurations"
    if analysis.results["plane"] is not None:
        yield "sensitivity", "in “Performance against sensitivity” alone: what tuning for each task by itself gains"
    yield "95 % interval", "the differences that these results do not rule out, at the 5 % level"
    yield (
        "p",
        "how often a difference at least this large would arise by chance if the arms did not differ; below 0.05, "
        "significant",
    )
    if len(frames.compared) > 1:
        yield frames.corrected.replace("By", "by"), "p corrected for the number of comparisons; verdicts use it"
    yield (
        "undecided",
        (
            "neither a difference nor equivalence is shown; arms may differ by any amount within the interval, even "
            "where the estimate is 0 and p is 1"
        ),
    )
    yield "equivalent", "shown to differ by less than a margin that the study set"
    if len(frames.tasks) > 1:
        yield (
            "standard deviation of a task",
            (
                "how far the scores on that task, of each configuration of each arm once, lie apart; in this unit "
                "differences can be averaged over tasks"
            ),
        )
