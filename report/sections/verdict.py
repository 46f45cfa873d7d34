"""The verdict in plain sentences, and the few lines with which a sweep ends."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from report.comparison import favoured
from report.frames import StudyFrames
from report.judging import OUTCOMES
from report.words import has_interval, interval_words, made_positive, p_words, percent, share
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
    other = next(outcome for outcome in OUTCOMES if outcome != frames.primary)
    arms = {arm: entry for arm, entry in analysis.results["arms"].items() if entry["paired"]}
    if arms:
        shares = _shares({arm: entry[other] for arm, entry in arms.items()}, other, frames.stopped is None)
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


def _shares(entries: Mapping[str, Mapping[str, Any]], outcome: str, intervals: bool = True) -> str:
    """`mfvi learned nothing in 9 of 12 (75 %, 95 % interval 47-91 %), radial in 2 of 12 (17 %, 5-45 %)`."""
    parts: list[str] = []
    for arm, entry in entries.items():
        first = not parts
        words = f" {DID[outcome]}" if first else ""
        parts.append(f"{arm}{words} in {share(entry, '95 % interval ' if first else '', intervals)}")
    return ", ".join(parts)


def decided(entry: Mapping[str, Any]) -> str | None:
    """The arm that a comparison favours, at the 5 % level after Holm's correction; None if it is open."""
    more_is_better = entry["outcome"] != "learned_nothing"
    return favoured(entry["arms"], entry["difference"], entry["p_adjusted"], more_is_better=more_is_better)


def verdict(
    frames: StudyFrames, arms: Mapping[str, Mapping[str, Any]], paired: Sequence[Mapping[str, Any]]
) -> list[str]:
    """One or two plain sentences about the primary outcome at the study's epoch, with numbers."""
    main = [entry for entry in paired if entry["epoch"] == frames.rule and entry["outcome"] == frames.primary]
    if not main:
        only = next(iter(arms.values()))
        if not only["paired"]:
            return ["Nothing has finished yet, so there is nothing to say."]
        return [
            f"{frames.arms[0]} {DID[frames.primary]} in {share(only[frames.primary])}; "
            "there is no other arm to compare it with."
        ]
    tested = [entry for entry in main if entry["pairs"]]
    if not tested:
        return ["No pair is complete yet, so the arms cannot be compared."]
    if len(main) == 1:
        stopped = frames.stopped if frames.stopped and frames.stopped.get("outcome") == frames.primary else None
        return _two_arms(tested[0], arms, frames.primary, stopped)
    sentences = _differences([entry for entry in tested if decided(entry)], frames.primary)
    open_pairs = [" and ".join(entry["arms"]) for entry in tested if not decided(entry)]
    fractions = ", ".join(
        f"{arm} {percent(arms[arm][frames.primary]['fraction'])} %" for arm in frames.arms if arms[arm]["paired"]
    )
    pairs = max(int(arms[arm]["paired"]) for arm in frames.arms)
    first = f"Of {pairs} paired configurations, so many {DID[frames.primary].replace('was', 'were')}: {fractions}."
    if not sentences:
        return [first, "No two arms differ at the 5 % level after Holm's correction."]
    rest = f" No difference is shown between {'; '.join(open_pairs)}." if open_pairs else ""
    return [first, f"After Holm's correction {'; '.join(sentences)}.{rest}"]


def _two_arms(
    entry: Mapping[str, Any],
    arms: Mapping[str, Mapping[str, Any]],
    outcome: str,
    stopped: Mapping[str, Any] | None,
) -> list[str]:
    shares = _shares({arm: arms[arm][outcome] for arm in entry["arms"]}, outcome, stopped is None) + "."
    if stopped is not None:
        return [shares, _stopped(stopped, outcome)]
    better = decided(entry)
    points = f"{_points(entry)} ({_ends(entry)})" if has_interval(entry) else _points(entry)
    test = f"{entry['test']} test, {p_words(entry['p_adjusted'])}, {plural(entry['pairs'], 'pair')}"
    if better is None:
        return [shares, f"That is a difference of {points}, which chance could explain: none is shown ({test})."]
    return [shares, f"{better} is the more robust arm by {points} ({test})."]


def _stopped(note: Mapping[str, Any], outcome: str) -> str:
    """The verdict of a sweep that ended on evidence, for which tests and intervals of a fixed sample do not hold."""
    more, less = note["arms"] if note["difference"] > 0 else reversed(note["arms"])
    better = less if outcome == "learned_nothing" else more
    sequence = f"{100 * (1 - note['level']):g} % confidence sequence"
    return (
        f"{better} is the more robust arm by {_points(note)} ({_ends(note, sequence)}): the sweep was ended on this "
        f"evidence after {plural(note['pairs'], 'pair')}, by a rule that may look after every pair."
    )


def _points(entry: Mapping[str, Any]) -> str:
    return f"{percent(abs(entry['difference']))} points"


def _ends(entry: Mapping[str, Any], name: str = "95 % interval") -> str:
    """`95 % interval 14 to 74`, in points, seen from the side on which the difference is positive."""
    _, low, high = made_positive(entry["difference"], entry["low"], entry["high"])
    return interval_words(low, high, percent, name)


def _differences(entries: Sequence[Mapping[str, Any]], outcome: str) -> list[str]:
    """`mfvi learned nothing more often than radial (by 42 points, p = 0.01), deterministic (...)` for each such arm."""
    less_often: dict[str, list[str]] = {}
    for entry in entries:
        first, second = entry["arms"]
        more, less = (first, second) if entry["difference"] > 0 else (second, first)
        less_often.setdefault(more, []).append(f"{less} (by {_points(entry)}, {p_words(entry['p_adjusted'])})")
    return [f"{more} {DID[outcome]} more often than {', '.join(others)}" for more, others in less_often.items()]
