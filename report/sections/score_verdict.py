"""The verdict of a study without thresholds: by the mean difference of scores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from report.comparison import favoured
from report.frames import StudyFrames
from report.records.comparisons import ScoreComparison
from report.records.estimates import ArmCounts, known
from report.words import capitalised, has_interval, in_metric, made_positive, metric_words, p_number, p_words
from robustness.errors import plural

SMALL, LARGE = 0.01, 1e5
"""Scores between them are written with three decimals."""


def verdict_by_scores(
    frames: StudyFrames, arms: Mapping[str, ArmCounts], scores: Sequence[ScoreComparison]
) -> list[str]:
    """The median score of each arm, and which arms have a better mean.

    Scores of several tasks have no common median, and their differences are in standard deviations of a task's scores.
    """
    shown = {arm: entry for arm, entry in arms.items() if entry["median"] is not None}
    if not shown:
        return ["No trial has a result yet."]
    metric = f"{metric_words(frames.metric)} ({frames.goal.word} is better)"
    medians = ", ".join(f"{arm} {_score(known(entry['median']))}" for arm, entry in shown.items())
    first = f"Arms are compared by {metric} on each task." if frames.tasks else f"Median {metric}: {medians}."
    main = [entry for entry in scores if entry["epoch"] == frames.rule and entry["mean_difference"] is not None]
    if not main:
        return [first, "There are no two arms to compare."]
    clauses = []
    for entry in main:
        better = better_arm(entry, frames)
        if better is not None:
            worse = next(arm for arm in entry["arms"] if arm != better)
            clauses.append(f"{better} is better than {worse} {_by(entry, frames)}")
    alone = [_about_p(frames, main)] if len(main) > 1 else []
    after = f"after {frames.correction} over {plural(len(main), 'comparison')}" if len(main) > 1 else ""
    if not clauses:
        tested = [entry for entry in main if entry["p_value"] is not None]
        words = f"No two arms differ significantly in their mean {after}".rstrip()
        if tested:
            least = min(tested, key=lambda entry: known(entry["p_value"]))
            words += (
                f": the smallest p-value is that of {' and '.join(least['arms'])}, which differ {_by(least, frames)}"
            )
        return [first, f"{words}.", *alone]
    return [first, f"{capitalised(after)}, {'; '.join(clauses)}." if after else f"{'; '.join(clauses)}.", *alone]


def _about_p(frames: StudyFrames, main: Sequence[ScoreComparison]) -> str:
    """What test each p-value is of, over what, and that no interval is corrected."""
    sizes = sorted(entry["first_wins"]["of"] for entry in main)
    if frames.paired:
        over = f" over {' to '.join(str(size) for size in dict.fromkeys((sizes[0], sizes[-1])))} configurations"
        test = f"the paired test of means ({main[0]['test']}){over}"
    else:
        test = f"{main[0]['test']}'s test of means"
    return (
        f"The first p-value of each comparison is that of {test}; the second is corrected ({frames.correction} over "
        f"{plural(len(main), 'comparison')}). The 95 % intervals are not corrected."
    )


def better_arm(entry: ScoreComparison, frames: StudyFrames) -> str | None:
    """The arm with the better mean, at the 5 % level after correction; None if it is open."""
    return favoured(
        entry["arms"], entry["mean_difference"], entry["p_adjusted"], more_is_better=not frames.goal.minimizes
    )


def _by(entry: ScoreComparison, frames: StudyFrames) -> str:
    """`by 0.052 on average (95 % interval 0.020 to 0.084; p = 0.002)`."""
    difference = abs(known(entry["mean_difference"]))
    ends = ""
    if has_interval(entry):
        ends_of = known(entry["mean_difference"]), known(entry["low"]), known(entry["high"])
        _, low, high = made_positive(*ends_of)
        ends = f"95 % interval {_score(low)} to {_score(high)}; "
    corrected = f", corrected {p_number(entry['p_adjusted'])}" if len(frames.compared) > 1 else ""
    unit = " standard deviations" if frames.tasks else in_metric(frames.metric)
    return f"by {_score(difference)}{unit} on average ({ends}{p_words(entry['p_value'])}{corrected})"


def _score(value: float) -> str:
    """Three decimals, or three significant digits of a number for which those are too few or too many."""
    return f"{value:.3f}" if value == 0 or SMALL <= abs(value) < LARGE else f"{value:.3g}"
