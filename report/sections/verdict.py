"""The verdict in plain sentences, and the few lines that a sweep ends with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from report.frames import StudyFrames, load_frames
from report.judged_study import JudgedStudy
from report.judging import OUTCOMES
from report.sections.own_results import own_results, stands_alone
from report.words import SIGNIFICANT, p_words, percent, share
from robustness.store import StudyStore

DID = {"learned_nothing": "learned nothing", "good": "was good"}
LEFT_OUT = {
    "out_of_memory": "ran out of memory",
    "timed_out": "timed out",
    "failed": "failed",
    "pruned": "pruned",
    "not_measured": "finished without a measurement",
}


def headline(study: StudyStore | StudyFrames) -> str:
    """What a study shows so far, in a few lines: the verdict, the other outcome, and what was left out."""
    frames = study if isinstance(study, StudyFrames) else load_frames(study)
    judged_study = JudgedStudy.of(frames)
    judged = judged_study.planned
    own = own_results(frames)
    told = [str(sentence) for found in own.values() for sentence in found["sentences"]]
    if stands_alone(own):
        return "\n".join([*told, *_left_out(judged)])
    arms = judged_study.outcome_counts
    lines = [*told, *verdict(frames, arms, judged_study.comparisons)]
    other = next(outcome for outcome in OUTCOMES if outcome != frames.primary)
    known = {arm: found for arm, found in arms.items() if found["paired"]}
    if known:
        shares = _shares({arm: found[other] for arm, found in known.items()}, other, frames.stopped is None)
        scores = ", ".join(f"{arm} {found['best']:.3f}" for arm, found in known.items())
        lines.append(f"{shares}; best {frames.metric}: {scores}.")
    limit = judged_study.judges[frames.rule]
    return "\n".join([*lines, *_left_out(judged), *([] if limit.known else [f"note: {limit.why}"])])


def _left_out(judged: pd.DataFrame) -> list[str]:
    """A line for each reason for which trials do not count."""
    counts = judged.loc[~judged["counted"], "reason"].value_counts()
    return [
        f"left out: {counts[reason]} {'trial' if counts[reason] == 1 else 'trials'} {words}"
        for reason, words in LEFT_OUT.items()
        if reason in counts
    ]


def _shares(found: Mapping[str, Mapping[str, Any]], outcome: str, intervals: bool = True) -> str:
    """`mfvi learned nothing in 9 of 12 (75 %, 95 % interval 47-91 %), radial in 2 of 12 (17 %, 5-45 %)`."""
    parts: list[str] = []
    for arm, entry in found.items():
        first = not parts
        words = f" {DID[outcome]}" if first else ""
        parts.append(f"{arm}{words} in {share(entry, '95 % interval ' if first else '', intervals)}")
    return ", ".join(parts)


def decided(entry: Mapping[str, Any]) -> str | None:
    """The arm for which the comparison speaks, at the 5 % level after Holm's correction; None if it is open."""
    if entry["p_adjusted"] is None or entry["p_adjusted"] >= SIGNIFICANT or not entry["difference"]:
        return None
    more, less = entry["arms"] if entry["difference"] > 0 else reversed(entry["arms"])
    return str(less if entry["outcome"] == "learned_nothing" else more)


def verdict(
    frames: StudyFrames, arms: Mapping[str, Mapping[str, Any]], paired: Sequence[Mapping[str, Any]]
) -> list[str]:
    """One or two plain sentences about the primary outcome at the study's epoch, with numbers."""
    main = [entry for entry in paired if entry["epoch"] == frames.rule and entry["outcome"] == frames.primary]
    if not main:
        found = next(iter(arms.values()))
        if not found["paired"]:
            return ["Nothing has finished yet, so there is nothing to say."]
        return [
            f"{frames.arms[0]} {DID[frames.primary]} in {share(found[frames.primary])}; "
            "there is no other arm to compare it with."
        ]
    told = [entry for entry in main if entry["pairs"]]
    if not told:
        return ["No pair is complete yet, so the arms cannot be compared."]
    if len(main) == 1:
        stopped = frames.stopped if frames.stopped and frames.stopped.get("outcome") == frames.primary else None
        return _two_arms(told[0], arms, frames.primary, stopped)
    sentences = _differences([entry for entry in told if decided(entry)], frames.primary)
    open_pairs = [" and ".join(entry["arms"]) for entry in told if not decided(entry)]
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
    points = _points(entry["difference"], entry["low"], entry["high"])
    if str(entry["interval"]).startswith("none"):
        points = f"{100 * abs(entry['difference']):.0f} points"
    test = f"{entry['test']} test, {p_words(entry['p_adjusted'])}, {_pairs(entry)}"
    if better is None:
        return [shares, f"That is a difference of {points}, which chance could explain: none is shown ({test})."]
    return [shares, f"{better} is the more robust arm by {points} ({test})."]


def _stopped(note: Mapping[str, Any], outcome: str) -> str:
    """What a sweep that ended on evidence may say: tests and intervals of a fixed sample do not hold for it."""
    more, less = note["arms"] if note["difference"] > 0 else reversed(note["arms"])
    better = less if outcome == "learned_nothing" else more
    sequence = f"{100 * (1 - note['level']):g} % confidence sequence"
    return (
        f"{better} is the more robust arm by {_points(note['difference'], note['low'], note['high'], sequence)}: "
        f"the sweep was ended on this evidence after {_pairs(note)}, by a rule that may look after every pair."
    )


def _points(difference: float, low: float, high: float, name: str = "95 % interval") -> str:
    """`42 points (95 % interval 14 to 74)`, seen from the side on which the difference is positive."""
    ends = (low, high) if difference >= 0 else (-high, -low)
    return f"{100 * abs(difference):.0f} points ({name} {100 * ends[0]:.0f} to {100 * ends[1]:.0f})"


def _differences(entries: Sequence[Mapping[str, Any]], outcome: str) -> list[str]:
    """`mfvi learned nothing more often than radial (by 42 points, p = 0.01), deterministic (...)` for each such arm."""
    less_often: dict[str, list[str]] = {}
    for entry in entries:
        first, second = entry["arms"]
        more, less = (first, second) if entry["difference"] > 0 else (second, first)
        points = f"by {100 * abs(entry['difference']):.0f} points"
        less_often.setdefault(more, []).append(f"{less} ({points}, {p_words(entry['p_adjusted'])})")
    return [f"{more} {DID[outcome]} more often than {', '.join(others)}" for more, others in less_often.items()]


def _pairs(entry: Mapping[str, Any]) -> str:
    return f"{entry['pairs']} {'pair' if entry['pairs'] == 1 else 'pairs'}"
