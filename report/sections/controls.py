"""The fair controls: how much of Radial's lead over MFVI is less noise at the start, the scaling, or the radius.

Three steps lead from MFVI to Radial, and each of these arms has taken one more of them:

    mfvi                  w = mu + sigma eps
    mfvi_noise_matched    sigma starts at sigma_0 / sqrt(D)         + the smaller initial noise
    mfvi_scaled           w = mu + (sigma / sqrt(D)) eps            + the scaling by sqrt(D), all through training
    radial                w = mu + sigma (eps / ||eps||) |r|        + the radius that a whole layer shares

Over the same pairs the three differences add up to Radial's difference to MFVI. What they can show depends on how long
the trials train: `control_training` says how far the noise moved.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import combinations, pairwise
from typing import TYPE_CHECKING, Literal, TypeAlias, TypedDict

from report.comparison import compare, fraction, score_comparison, second_minus_first
from report.document import Numbers, Picture, Section
from report.drawing.differences import Row, draw_differences
from report.drawing.style import INK
from report.frames import StudyFrames
from report.judged_study import JudgedStudy
from report.records.comparisons import Change
from report.records.estimates import Fraction, JudgedOutcome, known
from report.records.families import with_holm
from report.sections.control_training import TrainingResults, training_results, training_sentence
from report.sections.outcomes import CONFIGURATIONS
from report.sections.topic import OwnResults
from report.words import (
    DASH,
    ONE_TEST,
    capitalised,
    is_significant,
    listed,
    mean_change,
    metric_words,
    p_words,
    percent,
    points,
    text,
    units,
)
from robustness.errors import plural
from robustness.goal import Goal
from robustness.sweep.outcomes import Summary

if TYPE_CHECKING:
    from report.analysis import Analysis

METHODS = ("mfvi", "mfvi_noise_matched", "mfvi_scaled", "radial")
STEPS = ("the smaller initial noise", "the scaling by sqrt(D)", "the shared radius")
GAIN, LOSS, NEITHER = "a significant gain", "a significant loss", "no significant change"
SHORT = {
    "the smaller initial noise": "smaller\ninitial noise",
    "the scaling by sqrt(D)": "scaling by\nsqrt(D)",
    "the shared radius": "shared\nradius",
}


class Changes(TypedDict):
    """The second arm minus the first, by the study's primary outcome (None without thresholds) and by the metric."""

    primary: Change | None
    score: Change


class ArmsChanges(Changes):
    """The changes between two arms."""

    arms: list[str]


class Step(ArmsChanges):
    """One of the three steps."""

    step: str


class Decomposition(TypedDict):
    """The steps from MFVI to Radial."""

    arms: list[str]
    outcome: JudgedOutcome | None
    epoch: Summary
    pairs: int
    shares: dict[str, Fraction]
    whole: ArmsChanges
    steps: list[Step]
    every_two: list[ArmsChanges]
    training: TrainingResults


class ControlsResults(Decomposition, OwnResults):
    """The steps from MFVI to Radial, in numbers and in words."""


ChangeKey: TypeAlias = Literal["primary", "score"]


def results(study: JudgedStudy) -> ControlsResults | None:
    """The decomposition of a study with an arm of each of the four methods; None for any other.

    `steps` and `whole` have for each of `primary`, the study's primary outcome, and `score`, the metric itself, the
    second arm minus the first, its interval, and the p-value after Holm's correction over all six pairs of arms. In a
    study without thresholds, `primary` and `outcome` are None.
    """
    frames, sample = study.frames, study.sample
    primary = frames.primary if frames.has_thresholds else None
    arms = _arms(frames)
    if arms is None:
        return None
    judged = study.trials[study.trials["arm"].isin(arms)]
    complete = judged.groupby(["configuration", "replicate"])["counted"].transform("sum") == len(arms)
    judged = judged[complete].assign(paired=True)  # though another arm of the study may be missing
    pairs = list(combinations(arms, 2))
    scores = with_holm([score_comparison(judged, *pair, frames.rule, sample, frames.goal) for pair in pairs])
    changes: dict[tuple[str, str], Changes] = {
        pair: {"primary": None, "score": second_minus_first(entry, entry["mean_difference"])}
        for pair, entry in zip(pairs, scores, strict=True)
    }
    if primary is not None:
        outcomes = with_holm([compare(judged, *pair, primary, frames.rule, sample) for pair in pairs])
        for pair, entry in zip(pairs, outcomes, strict=True):
            changes[pair]["primary"] = second_minus_first(entry, entry["difference"])
    steps: list[Step] = [
        {"step": name, "arms": list(pair), **changes[pair]} for name, pair in zip(STEPS, pairwise(arms), strict=True)
    ]
    controls: Decomposition = {
        "arms": list(arms),
        "outcome": primary,
        "epoch": frames.rule,
        "pairs": int((judged["arm"] == arms[0]).sum()),
        "shares": {arm: fraction(judged, arm, primary, frames.rule) for arm in arms} if primary else {},
        "whole": {"arms": [arms[0], arms[-1]], **changes[arms[0], arms[-1]]},
        "steps": steps,
        "every_two": [{"arms": list(pair), **changes[pair]} for pair in pairs],
        "training": training_results(study, judged, arms),
    }
    return {**controls, "sentences": _sentences(controls, frames), "alone": False}


def _arms(frames: StudyFrames) -> tuple[str, ...] | None:
    """The labels of the four methods' arms: the first arm of each that sets no options."""
    plain = [arm for arm in frames.document["arms"] if not arm.get("options")]
    by_method = {str(arm["method"]): str(arm["label"]) for arm in reversed(plain)}
    return tuple(by_method[method] for method in METHODS) if set(METHODS) <= set(by_method) else None


def _sentences(controls: Decomposition, frames: StudyFrames) -> list[str]:
    if not controls["pairs"]:
        return ["No configuration has finished with all four arms yet, so the controls cannot be told apart."]
    metric = metric_words(frames.metric)
    trained = training_sentence(controls["training"])
    return [
        *_share_sentence(controls),
        f"The mean {metric} changes by {mean_change(controls['whole']['score'])} from "
        f"{' to '.join(text(arm, 60) for arm in controls['whole']['arms'])}. Step by step: "
        f"{_chain(controls, 'score')}.",
        _plainly(controls, frames.goal, f"{frames.correction} over {_family(controls, frames)}"),
        *([trained] if trained else []),
    ]


def _share_sentence(controls: Decomposition) -> Iterator[str]:
    """How the share of the outcome changes; nothing without thresholds."""
    outcome, whole = controls["outcome"], controls["whole"]["primary"]
    if outcome is None or whole is None:
        return
    first, last = ((arm, percent(known(controls["shares"][arm]["fraction"]))) for arm in controls["whole"]["arms"])
    ends = f"from {first[1]} % with {first[0]} to {last[1]} % with {last[0]}"
    yield (
        f"The share of {CONFIGURATIONS[outcome]} changes {ends}, by {points(whole)}. Step by step: "
        f"{_chain(controls, 'primary')}."
    )


def _chain(controls: Decomposition, key: ChangeKey) -> str:
    """`the smaller initial noise (mfvi to mfvi_noise_matched) by +0.115 (...), ... and the shared radius by ...`."""
    return listed(
        [
            f"{step['step']} ({text(step['arms'][0], 60)} to {text(step['arms'][1], 60)}) by {_written(step, key)}"
            for step in controls["steps"]
        ]
    )


def _written(changes: Changes, key: ChangeKey) -> str:
    """A change with its interval: of a share in points, of a mean in units of the metric."""
    return points(_known_change(changes, key)) if key == "primary" else mean_change(changes["score"])


def _known_change(changes: Changes, key: ChangeKey) -> Change:
    """The change of a share, which is asked for only where the study has thresholds, or of a mean."""
    change = changes[key]
    if change is None:
        raise ValueError("a study without thresholds has no outcomes")
    return change


def _family(controls: Decomposition, frames: StudyFrames) -> str:
    """The comparisons over which p-values of the steps are corrected."""
    if set(frames.arms) == set(controls["arms"]):
        return "all six pairs of arms"
    return f"the six pairs of {_listed_arms(controls)}"


def _listed_arms(controls: Decomposition) -> str:
    return listed([text(arm, 60) for arm in controls["arms"]])


def _plainly(controls: Decomposition, goal: Goal, correction: str) -> str:
    """Which steps are significant, by the outcome or by the score, at the 5 % level after correction."""
    signs = (-1 if controls["outcome"] == "learned_nothing" else 1, goal.oriented(1))
    ways: dict[str, list[str]] = {GAIN: [], LOSS: [], "a gain in one and a loss in the other": [], NEITHER: []}
    for step in controls["steps"]:
        gains = [
            factor * known(entry["difference"])
            for entry, factor in zip((step["primary"], step["score"]), signs, strict=True)
            if entry is not None and is_significant(entry["p_adjusted"])
        ]
        if not gains:
            way = NEITHER
        elif min(gains) > 0:
            way = GAIN
        else:
            way = LOSS if max(gains) < 0 else "a gain in one and a loss in the other"
        ways[way].append(step["step"])
    clauses = [f"{way} from {listed(names)}" for way, names in ways.items() if names]
    absent = [word for way, word in ((GAIN, "better"), (LOSS, "worse")) if not ways[way]]
    if absent:
        clauses.append(f"no step is significantly {' or '.join(absent)}")
    by = "share or mean" if controls["outcome"] else "mean"
    return f"Changes in {by}, after {correction}: {'; '.join(clauses)}."


def sections(analysis: Analysis) -> Iterator[Section]:
    """The change by each step from MFVI to Radial; none for studies without the four arms or without a result."""
    controls = analysis.results.get("controls")
    if not controls or not controls["pairs"]:
        return
    share = f"Share of {CONFIGURATIONS[controls['outcome']]}" if controls["outcome"] else None
    mean = f"Mean {analysis.metric_words}"
    corrected = analysis.frames.corrected_over(len(controls["every_two"]))
    keys: tuple[ChangeKey, ...] = ("primary", "score") if share else ("score",)
    rows = [
        (
            f"{text(entry['arms'][1], 60)} minus {text(entry['arms'][0], 60)}",
            _step(controls, entry["arms"]),
            *(cell for key in keys for cell in _cells(entry, key)),
        )
        for entry in controls["every_two"]
    ]
    columns = ("Arms", "Step", *(cell for name in (share, mean) if name for cell in (name, "p", corrected)))
    separately = ", for the share and for the mean separately" if share else ""
    notes = (
        f"Over the {_over(controls)} in which all four arms count, so that the steps add up to the whole.",
        ONE_TEST,
        f"{capitalised(analysis.frames.correction)} is over {_family(controls, analysis.frames)}{separately}; filled "
        f"points are significant after it.{_other_family(controls, analysis.frames)}",
    )
    yield Section(
        "controls",
        "The fair controls",
        _reading(controls),
        tuple(_pictures(analysis, controls, share)),
        Numbers(columns, tuple(rows)),
        notes,
    )


def _pictures(analysis: Analysis, controls: Decomposition, share: str | None) -> Iterator[Picture]:
    first, last = (text(arm, 60) for arm in (controls["arms"][0], controls["arms"][-1]))
    if share is not None:
        yield Picture(
            "controls-outcome",
            share,
            f"The change in the {share[0].lower()}{share[1:]} by each step from {first} to {last}: "
            f"{_changes(controls, 'primary')}.",
            partial(draw_differences, _rows(analysis, controls, "primary"), "change in percentage points", 100.0),
        )
    yield Picture(
        "controls-score",
        f"Mean {analysis.metric_words}",
        f"The change in the mean {analysis.metric_words} by each step: {_changes(controls, 'score')}.",
        partial(
            draw_differences,
            _rows(analysis, controls, "score"),
            f"change in mean {analysis.metric_words}",
            decimals=3,
        ),
    )


def _cells(changes: Changes, key: ChangeKey) -> tuple[str, str, str]:
    change = _known_change(changes, key)
    return _written(changes, key), p_words(change["p_value"]), p_words(change["p_adjusted"])


def _over(controls: Decomposition) -> str:
    """The pairs that the steps are over."""
    if controls["outcome"] is None:
        return plural(controls["pairs"], "pair")
    share = controls["shares"][controls["arms"][0]]
    return units(share, share["of"])


def _reading(controls: Decomposition) -> str:
    """What the steps are; what they change opens the page."""
    steps = "; ".join(f"→ {text(step['arms'][1], 60)}, {step['step']}" for step in controls["steps"])
    first, *_, last = (text(arm, 60) for arm in controls["arms"])
    return f"Three steps lead from {first} to {last}: {first} {steps}."


def _other_family(controls: Decomposition, frames: StudyFrames) -> str:
    """That the verdict's p-values are corrected over other comparisons; nothing if over the same."""
    pairs = {frozenset(pair) for pair in frames.compared}
    if pairs == {frozenset(pair) for pair in combinations(controls["arms"], 2)}:
        return ""
    return f" The verdict's correction is over {plural(len(pairs), 'comparison')}, so its p-values differ from these."


def _rows(analysis: Analysis, controls: Decomposition, key: ChangeKey) -> list[Row]:
    rows = [
        Row(
            SHORT[step["step"]],
            _known_change(step, key),
            analysis.arms.colour(step["arms"][1]),
            analysis.arms.marker(step["arms"][1]),
        )
        for step in controls["steps"]
    ]
    return [*rows, Row("all three", _known_change(controls["whole"], key), INK, "s")]


def _changes(controls: Decomposition, key: ChangeKey) -> str:
    return "; ".join(f"{step['step']} {_written(step, key)}" for step in controls["steps"])


def _step(controls: Decomposition, arms: list[str]) -> str:
    if controls["whole"]["arms"] == arms:
        return "all three"
    return next((step["step"] for step in controls["steps"] if step["arms"] == arms), DASH)
