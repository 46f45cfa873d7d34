"""The fair controls: how much of Radial's lead over MFVI is less noise, how much the scaling, how much the radius.

Three steps lead from MFVI to Radial, and each of these arms has taken one more of them:

    mfvi                  w = mu + sigma eps
    mfvi_noise_matched    sigma starts at sigma_0 / sqrt(D)         + the smaller initial noise
    mfvi_scaled           w = mu + (sigma / sqrt(D)) eps            + the scaling by sqrt(D), all through training
    radial                w = mu + sigma (eps / ||eps||) |r|        + the radius that a whole layer shares

Over the same pairs the three differences add up to Radial's difference to MFVI.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import combinations, pairwise
from typing import Any

from report.comparison import Sample, compare, fraction, score_comparison, with_holm
from report.frames import StudyFrames
from report.judged_study import JudgedStudy
from report.words import SIGNIFICANT, percent, signed

METHODS = ("mfvi", "mfvi_noise_matched", "mfvi_scaled", "radial")
STEPS = ("the smaller initial noise", "the scaling by sqrt(D)", "the shared radius")
OUTCOME_WORDS = {"learned_nothing": "configurations that learned nothing", "good": "good configurations"}


def controls(frames: StudyFrames) -> dict[str, Any] | None:
    """The decomposition of a study with an arm of each of the four methods; None for any other.

    `steps` and `whole` have for each of `primary`, the study's primary outcome, and `score`, the metric itself, the
    second arm minus the first, its interval, and the p-value that Holm's correction over all six pairs of arms gives.
    """
    arms = _arms(frames)
    if arms is None:
        return None
    judged, sample = JudgedStudy.of(frames).trials, Sample.of(frames)
    judged = judged[judged["arm"].isin(arms)]
    complete = judged.groupby(["configuration", "replicate"])["counted"].transform("sum") == len(arms)
    judged = judged[complete].assign(paired=True)  # though another arm of the study may be missing
    pairs = list(combinations(arms, 2))
    outcome = with_holm([compare(judged, *pair, frames.primary, frames.rule, sample) for pair in pairs])
    scores = with_holm([score_comparison(judged, *pair, frames.rule, sample) for pair in pairs])
    found = {
        pair: {"primary": turned(a, "difference"), "score": turned(b, "mean_difference")}
        for pair, a, b in zip(pairs, outcome, scores, strict=True)
    }
    steps = [
        {"step": name, "arms": list(pair), **found[pair]} for name, pair in zip(STEPS, pairwise(arms), strict=True)
    ]
    results = {
        "arms": list(arms),
        "outcome": frames.primary,
        "epoch": frames.rule,
        "pairs": outcome[0]["pairs"],
        "shares": {arm: fraction(judged, arm, frames.primary, frames.rule, sample) for arm in arms},
        "whole": {"arms": [arms[0], arms[-1]], **found[arms[0], arms[-1]]},
        "steps": steps,
        "every_two": [{"arms": list(pair), **found[pair]} for pair in pairs],
    }
    return {**results, "sentences": _sentences(results, frames), "alone": False}


def _arms(frames: StudyFrames) -> tuple[str, ...] | None:
    """The labels of the four methods' arms: the first arm of each, without options of its own."""
    plain = [arm for arm in frames.document["arms"] if not arm.get("options")]
    by_method = {str(arm["method"]): str(arm["label"]) for arm in reversed(plain)}
    return tuple(by_method[method] for method in METHODS) if set(METHODS) <= set(by_method) else None


def turned(entry: Mapping[str, Any], key: str) -> dict[str, Any]:
    """A comparison as the second arm minus the first: what taking the step changes."""
    value, low, high = entry[key], entry["low"], entry["high"]
    return {
        "difference": None if value is None else 0.0 - value,
        "low": None if high is None else 0.0 - high,
        "high": None if low is None else 0.0 - low,
        "interval": entry["interval"],
        "p_value": entry["p_value"],
        "p_adjusted": entry["p_adjusted"],
        "test": entry["test"],
    }


def _sentences(results: Mapping[str, Any], frames: StudyFrames) -> list[str]:
    if not results["pairs"]:
        return ["No configuration has finished with all four arms yet, so the controls cannot be told apart."]
    whole = results["whole"]["primary"]
    what = OUTCOME_WORDS[results["outcome"]]
    first, last = ((arm, percent(results["shares"][arm]["fraction"])) for arm in results["whole"]["arms"])
    ends = f"from {first[1]} % with {first[0]} to {last[1]} % with {last[0]}"
    parts = "; ".join(f"{step['step']} {points(step['primary'])}" for step in results["steps"])
    metric = frames.metric.replace("_", " ").replace("auc", "AUC")
    scores = "; ".join(f"{step['step']} {mean(step['score'])}" for step in results["steps"])
    return [
        f"The share of {what} goes {ends}, {points(whole)}: {parts}.",
        f"The mean {metric} changes by {mean(results['whole']['score'])}: {scores}.",
        _plainly(results["steps"], results["outcome"]),
    ]


def _plainly(steps: Sequence[Mapping[str, Any]], outcome: str) -> str:
    """Which steps are shown to matter, by the outcome or by the score, at the 5 % level after Holm's correction."""
    sign = -1 if outcome == "learned_nothing" else 1
    told: dict[str, list[str]] = {"to help": [], "to harm": [], "to help one and harm the other": [], "neither": []}
    for step in steps:
        gains = [
            factor * entry["difference"]
            for entry, factor in ((step["primary"], sign), (step["score"], 1))
            if entry["p_adjusted"] is not None and entry["p_adjusted"] < SIGNIFICANT
        ]
        if not gains:
            way = "neither"
        elif min(gains) > 0:
            way = "to help"
        else:
            way = "to harm" if max(gains) < 0 else "to help one and harm the other"
        told[way].append(step["step"])
    said = "; ".join(
        f"shown {way}: {', '.join(names) or 'none'}" for way, names in told.items() if names or len(way) < 8
    )
    said = said.replace("shown neither", "not shown to do either")
    return f"By the outcome or by the mean, after Holm's correction over all six pairs of arms, {said}."


def points(entry: Mapping[str, Any]) -> str:
    """`-42 points (95 % interval -60 to -20)`."""
    return _with_interval(entry, lambda value: signed(100 * value), " points")


def mean(entry: Mapping[str, Any]) -> str:
    """`+0.052 (95 % interval +0.020 to +0.084)`."""
    return _with_interval(entry, lambda value: signed(value, 3))


def _with_interval(entry: Mapping[str, Any], form: Callable[[float], str], unit: str = "") -> str:
    if entry["difference"] is None:
        return "–"
    told = f"{form(entry['difference'])}{unit}"
    if str(entry["interval"]).startswith("none"):
        return told
    return f"{told} (95 % interval {form(entry['low'])} to {form(entry['high'])})"
