"""The verdict in plain sentences, and the few lines with which a sweep ends."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from report.comparison import favoured
from report.frames import StudyFrames
from report.judging import OUTCOMES
from report.records.comparisons import PairedComparison, ScoreComparison
from report.records.estimates import ArmCounts, Fraction, JudgedOutcome, known
from report.sections.score_verdict import verdict_by_scores
from report.words import (
    capitalised,
    enough_decimals,
    has_interval,
    made_positive,
    p_number,
    p_words,
    percent,
    replicated,
    share,
    units,
)
from robustness.errors import plural

if TYPE_CHECKING:
    from report.analysis import Analysis

DID = {"learned_nothing": "learned nothing", "good": "was good"}
LEFT_OUT = {
    "out_of_memory": "ran out of memory",
    "timed_out": "timed out",
    "failed": "failed",
    "pruned": "pruned",
    "not_measured": "finished without a measurement",
}


def headline(analysis: Analysis) -> str:
    """The results of a study so far, in a few lines: the verdict, the other outcome, and the trials left out."""
    sentences: list[str] = list(analysis.results["verdict"])
    if analysis.alone:
        return "\n".join([*sentences, *_left_out(analysis)])
    frames = analysis.frames
    if not frames.has_thresholds:
        return "\n".join([*sentences, *_left_out(analysis)])
    other = next(outcome for outcome in OUTCOMES if outcome != frames.primary)
    arms = {arm: entry for arm, entry in analysis.results["arms"].items() if entry["paired"]}
    if arms:
        shares = _shares({arm: entry[other] for arm, entry in arms.items()}, other, max(1, len(frames.tasks)))
        scores = ", ".join(f"{arm} {entry['best']:.3f}" for arm, entry in arms.items() if entry["best"] is not None)
        sentences.append(f"{shares}; best {frames.metric}: {scores}.")
    note = [] if analysis.judge.known else [f"note: {analysis.judge.why}"]
    return "\n".join([*sentences, *_left_out(analysis), *note])


def _left_out(analysis: Analysis) -> list[str]:
    """A line for each reason for which trials do not count."""
    planned = analysis.study.planned
    counts = planned.loc[~planned["counted"], "reason"].value_counts()
    return [
        f"left out: {plural(counts[reason], 'trial')} {words}" for reason, words in LEFT_OUT.items() if reason in counts
    ]


def _shares(entries: Mapping[str, Fraction], outcome: JudgedOutcome, tasks: int = 1) -> str:
    """`mfvi learned nothing in 9 of 12 (75 %, 95 % interval 47-91 %), radial in 2 of 12 (17 %, 5-45 %)`."""
    parts: list[str] = []
    for arm, entry in entries.items():
        first = not parts
        words = f" {DID[outcome]}" if first else ""
        parts.append(f"{arm}{words} in {share(entry, '95 % interval ' if first else '', over=first, tasks=tasks)}")
    return ", ".join(parts)


def decided(entry: PairedComparison) -> str | None:
    """The arm that a comparison favours, at the 5 % level after correction; None if it is open."""
    more_is_better = entry["outcome"] != "learned_nothing"
    return favoured(entry["arms"], entry["difference"], entry["p_adjusted"], more_is_better=more_is_better)


def verdict(
    frames: StudyFrames,
    arms: Mapping[str, ArmCounts],
    paired: Sequence[PairedComparison],
    scores: Sequence[ScoreComparison] = (),
) -> list[str]:
    """One or two plain sentences about the primary outcome at the study's epoch, with numbers.

    A study without thresholds speaks by its scores.
    """
    if not frames.has_thresholds:
        return verdict_by_scores(frames, arms, scores)
    tasks = max(1, len(frames.tasks))
    main = [entry for entry in paired if entry["epoch"] == frames.rule and entry["outcome"] == frames.primary]
    if not main:
        only = next(iter(arms.values()))
        if not only["paired"]:
            return ["No trial has a result yet."]
        return [
            f"{frames.arms[0]} {DID[frames.primary]} in {share(only[frames.primary])}; "
            "there is no other arm to compare it with."
        ]
    tested = [entry for entry in main if entry["p_value"] is not None]
    if not tested:
        missing = "No pair is complete yet" if frames.paired else "Not every arm has a result yet"
        return [f"{missing}, so the arms cannot be compared."]
    if len(main) == 1:
        return _two_arms(tested[0], arms, frames.primary, tasks)
    sentences = _differences([entry for entry in tested if decided(entry)], frames.primary)
    open_pairs = [" and ".join(entry["arms"]) for entry in tested if not decided(entry)]
    shares = {arm: arms[arm][frames.primary] for arm in frames.arms if arms[arm]["paired"]}
    fractions = ", ".join(f"{arm} {percent(known(entry['fraction']))} %" for arm, entry in shares.items())
    largest = max(shares.values(), key=lambda entry: entry["of"])
    noun = "paired configuration" if frames.paired else "unpaired configuration"
    over = units(largest, largest["of"], noun, tasks)
    first = f"Share of {over} that {DID[frames.primary].replace('was', 'were')}: {fractions}."
    after = f"after {frames.correction} over {len(tested)} comparisons"
    if not sentences:
        least = min(tested, key=lambda entry: known(entry["p_value"]))
        names = " and ".join(least["arms"])
        smallest = f"the smallest p-value is that of {names}, {_both_p(least)}"
        return [first, f"No two arms differ significantly {after}: {smallest}.", _about_p(frames, tested)]
    rest = f" No significant difference: {'; '.join(open_pairs)}." if open_pairs else ""
    return [first, f"{capitalised(after)}, {'; '.join(sentences)}.{rest}", _about_p(frames, tested)]


def _both_p(entry: PairedComparison) -> str:
    """`p = 0.004, corrected 0.012`."""
    return f"{p_words(entry['p_value'])}, corrected {p_number(entry['p_adjusted'])}"


def _about_p(frames: StudyFrames, tested: Sequence[PairedComparison]) -> str:
    """What test each p-value is of, over what, and that no interval is corrected."""
    pairs = sorted({entry["pairs"] for entry in tested})
    over = (
        f", over {' to '.join(str(count) for count in dict.fromkeys((pairs[0], pairs[-1])))} pairs" if pairs[0] else ""
    )
    return (
        f"The first p-value of each comparison is that of the {tested[0]['test']} test{over}; the second is corrected "
        f"({frames.correction} over {len(tested)} comparisons). The 95 % intervals are not corrected."
    )


def _two_arms(entry: PairedComparison, arms: Mapping[str, ArmCounts], outcome: JudgedOutcome, tasks: int) -> list[str]:
    shares = _shares({arm: arms[arm][outcome] for arm in entry["arms"]}, outcome, tasks) + "."
    better = decided(entry)
    if entry["pairs"]:
        over = units(entry, entry["pairs"], tasks=tasks) if replicated(entry) else plural(entry["pairs"], "pair")
    else:
        over = " and ".join(str(arms[arm]["configurations"]) for arm in entry["arms"]) + " configurations, not paired"
    test = f"{entry['test']} test, {p_words(entry['p_adjusted'])}, {over}"
    points = f"{_points(entry)} ({_ends(entry)}; {test})" if has_interval(entry) else f"{_points(entry)} ({test})"
    first, second = entry["arms"]
    if better is None:
        return [shares, f"No significant difference between {second} and {first}: {points}."]
    worse = first if better == second else second
    return [shares, f"{better} is less sensitive to its hyperparameters than {worse}, by {points}."]


def _points(entry: PairedComparison) -> str:
    return f"{percent(abs(known(entry['difference'])), _decimals(entry))} points"


def _decimals(entry: PairedComparison) -> int:
    if not has_interval(entry):
        return 0
    return enough_decimals(known(entry["difference"]), (known(entry["low"]), known(entry["high"])), percent, 0)


def _ends(entry: PairedComparison) -> str:
    """`95 % interval 14 to 74`, in points, seen from the side on which the difference is positive."""
    _, low, high = made_positive(known(entry["difference"]), known(entry["low"]), known(entry["high"]))
    return f"95 % interval {percent(low, _decimals(entry))} to {percent(high, _decimals(entry))}"


def _differences(entries: Sequence[PairedComparison], outcome: JudgedOutcome) -> list[str]:
    """`mfvi learned nothing more often than radial (by 42 points, p = 0.01, corrected 0.03), ...` for each such arm."""
    less_often: dict[str, list[str]] = {}
    for entry in entries:
        first, second = entry["arms"]
        more, less = (first, second) if known(entry["difference"]) > 0 else (second, first)
        less_often.setdefault(more, []).append(f"{less} (by {_points(entry)}, {_both_p(entry)})")
    return [f"{more} {DID[outcome]} more often than {', '.join(others)}" for more, others in less_often.items()]
