"""The verdict in plain sentences, and the few lines that a sweep ends with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from report.comparison import Sample, comparisons, outcome_counts
from report.frames import StudyFrames, load_frames
from report.judging import judge, thresholds
from robustness.store import StudyStore

SIGNIFICANT = 0.05

DID = {"learned_nothing": "learned nothing", "good": "was good"}


def headline(study: StudyStore | StudyFrames) -> str:
    """What a study shows so far in a few lines: the fractions of each arm, then what the pairs say."""
    frames = study if isinstance(study, StudyFrames) else load_frames(study)
    limits = thresholds(frames)
    judged = judge(frames, limits)
    sample = Sample.of(frames)
    arms = outcome_counts(judged, limits, frames, sample)
    paired = comparisons(judged, frames, sample)
    lines = [f"{arm}: {arm_line(found)}" for arm, found in arms.items()]
    lines += verdict(frames, arms, paired)
    unknown = limits.learned_nothing[frames.rule]
    return "\n".join([*lines, *([] if unknown.known else [f"note: {unknown.why}"])])


def arm_line(found: Mapping[str, Any]) -> str:
    """`learned nothing 8 of 12 (67 %, 95 % interval 39 to 86 %), good 2 of 12 (...), best 0.912`."""
    if not found["paired"]:
        return f"no complete pair among {found['trials']} planned trials"
    parts = [
        f"{words} {share(found[outcome])}"
        for outcome, words in (("learned_nothing", "learned nothing"), ("good", "good"))
    ]
    return f"{', '.join(parts)}, best {found['best']:.3f}"


def share(found: Mapping[str, Any]) -> str:
    """`8 of 12 (67 %, 95 % interval 39 to 86 %)`."""
    if not found["of"]:
        return "0 of 0"
    text = f"{found['count']} of {found['of']} ({percent(found['fraction'])} %"
    if str(found["interval"]).startswith("none"):
        return f"{text})"
    return f"{text}, 95 % interval {percent(found['low'])} to {percent(found['high'])} %)"


def percent(value: float) -> str:
    """A share in per cent without digits behind the point, as sentences use it."""
    return f"{100 * value:.0f}"


def p_words(value: float) -> str:
    """`p = 0.031`, or in powers of ten below a thousandth."""
    if value >= 0.001:
        return f"p = {value:.2g}" if value < 0.995 else "p = 1"
    mantissa, exponent = f"{value:.1e}".split("e")
    return f"p = {mantissa}e{int(exponent)}"


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
        return _two_arms(told[0], arms, frames.primary)
    sentences = [_short(entry, frames.primary) for entry in told if decided(entry)]
    open_pairs = [" and ".join(entry["arms"]) for entry in told if not decided(entry)]
    fractions = ", ".join(
        f"{arm} {percent(arms[arm][frames.primary]['fraction'])} %" for arm in frames.arms if arms[arm]["paired"]
    )
    pairs = max(int(entry["pairs"]) for entry in told)
    first = f"Of {pairs} paired configurations, so many {DID[frames.primary].replace('was', 'were')}: {fractions}."
    if not sentences:
        return [first, "No two arms differ at the 5 % level after Holm's correction."]
    rest = f" No difference is shown between {'; '.join(open_pairs)}." if open_pairs else ""
    return [first, f"After Holm's correction {'; '.join(sentences)}.{rest}"]


def _two_arms(entry: Mapping[str, Any], arms: Mapping[str, Mapping[str, Any]], outcome: str) -> list[str]:
    first, second = entry["arms"]
    shares = f"{first} {DID[outcome]} in {share(arms[first][outcome])}, {second} in {share(arms[second][outcome])}."
    better = decided(entry)
    points = f"{100 * abs(entry['difference']):.0f} points"
    if not str(entry["interval"]).startswith("none"):
        ends = (
            sorted((entry["low"], entry["high"]))
            if entry["difference"] >= 0
            else sorted((-entry["high"], -entry["low"]))
        )
        points += f" (95 % interval {100 * ends[0]:.0f} to {100 * ends[1]:.0f})"
    test = f"{entry['test']} test, {p_words(entry['p_adjusted'])}"
    if better is None:
        return [
            shares,
            f"That is a difference of {points}, which chance could explain: "
            f"no difference is shown ({test}, {_pairs(entry)}).",
        ]
    return [shares, f"{better} is the more robust arm by {points} ({test}, {_pairs(entry)})."]


def _short(entry: Mapping[str, Any], outcome: str) -> str:
    first, second = entry["arms"]
    more, less = (first, second) if entry["difference"] > 0 else (second, first)
    points = f"by {100 * abs(entry['difference']):.0f} points"
    return f"{more} {DID[outcome]} more often than {less} ({points}, {p_words(entry['p_adjusted'])})"


def _pairs(entry: Mapping[str, Any]) -> str:
    return f"{entry['pairs']} {'pair' if entry['pairs'] == 1 else 'pairs'}"
