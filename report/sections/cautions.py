"""What a reader should know before trusting the verdict, computed from the analysis."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from report.drawing.style import text
from report.material import Material
from report.sections.own_results import own_cautions, stands_alone
from report.sections.verdict import decided
from robustness.trial import PENDING

FEW_PAIRS = 30
MANY_LEFT_OUT = 0.05
ENOUGH_UNTRAINED = 200
NARROW = 0.1
"""Thresholds over which a verdict should hold at least."""


def cautions(material: Material) -> list[str]:
    """One sentence for each thing that weakens the verdict; none if nothing does."""
    if stands_alone(material.analysis):
        own = own_cautions(material.analysis)
        return [*_incomplete(material), *(_left_out(material) if own is None else own)]
    return [
        *_incomplete(material),
        *_few(material),
        *_threshold(material),
        *_left_out(material),
        *_epochs_disagree(material),
        *_diverged(material),
        *_depends(material),
    ]


def _incomplete(material: Material) -> Iterator[str]:
    trials = material.trials
    still = int(trials["status"].isin(PENDING).sum())
    running = int((trials["status"] == "running").sum())
    if still:
        yield (
            f"The study is incomplete: {still} of {len(trials)} trials have not ended ({running} of them are running), "
            "and everything here may still change."
        )


def _few(material: Material) -> Iterator[str]:
    configurations = int(material.pairs["configuration"].nunique())
    if len(material.arms.names) == 1:
        yield "The study has one arm, so there is nothing to compare it with."
    elif configurations == 0:
        yield "No pair is complete: there is no configuration for which every arm has a result."
    if 0 < configurations < FEW_PAIRS:
        what = "configuration" if len(material.arms.names) == 1 else "complete pair"
        yield (
            f"Only {configurations} {what}{'s' if configurations != 1 else ''}: intervals are wide, and a difference "
            f"that matters may not show below about {FEW_PAIRS}."
        )
    unused = [arm for arm, found in material.analysis["arms"].items() if not found["counted"]]
    if unused and configurations:
        yield f"No trial of {', '.join(text(arm, 60) for arm in unused)} can be judged: pairs are complete without it."


def _threshold(material: Material) -> Iterator[str]:
    judge = material.judges[material.epoch]
    if not judge.known:
        yield f"When a trial has learned nothing is not known yet: {judge.why}."
    note = material.frames.untrained
    scores = (note or {}).get("scores") or []
    if judge.known and judge.inclusive and 0 < len(scores) < ENOUGH_UNTRAINED:
        yield f"“Learned nothing” rests on {len(scores)} untrained networks; at least {ENOUGH_UNTRAINED} are wanted."
    if judge.nothing >= material.good:
        yield (
            f"The threshold of “learned nothing” ({judge.nothing:.3f}) is not below that of “good” ({judge.good:g}), "
            "so trials that reach “good” may count as having learned nothing."
        )


def _left_out(material: Material) -> Iterator[str]:
    trials = material.trials
    ended = trials.loc[~trials["status"].isin(PENDING)]
    lost = ended.loc[~ended["counted"]]
    if len(ended) and len(lost) / len(ended) > MANY_LEFT_OUT:
        counts = lost["reason"].value_counts().sort_index()
        told = ", ".join(f"{count} {str(reason).replace('_', ' ')}" for reason, count in counts.items())
        yield f"{len(lost)} of {len(ended)} ended trials are left out of the fractions, with their pairs: {told}."


def _epochs_disagree(material: Material) -> Iterator[str]:
    paired = [entry for entry in material.analysis["paired"] if entry["outcome"] == material.primary]
    told: dict[str, list[str]] = {}
    for first in paired:
        for second in paired if first["epoch"] == material.epoch else ():
            if second["arms"] == first["arms"] and decided(second) != decided(first):
                said = ", ".join(f"at the {each['epoch']} epoch {_says(decided(each))}" for each in (first, second))
                told.setdefault(said, []).append(_names(first["arms"]))
    for said, pairs in told.items():
        yield f"The verdict on {'; '.join(pairs)} depends on the epoch: {said}."


def _names(arms: Iterable[str], word: str = " and ") -> str:
    return word.join(text(arm, 60) for arm in arms)


def _says(winner: str | None) -> str:
    return "no difference is shown" if winner is None else f"{text(winner, 60)} is the more robust arm"


def _diverged(material: Material) -> Iterator[str]:
    told = [
        f"{found['good_then_diverged']} of {text(arm, 60)}"
        for arm, found in material.analysis["arms"].items()
        if found["good_then_diverged"]
    ]
    if told:
        yield f"Some trials were good and then diverged: {', '.join(told)}; they count as good at the best epoch alone."


def _depends(material: Material) -> Iterator[str]:
    """The verdict at other thresholds, and under other ways of counting what was left out."""
    hidden = []
    for entry in material.analysis["thresholds"]["dependence"]:
        others = [arm for arm in entry["favoured"] if arm != entry["favours"]]
        if entry["favours"] and others:
            yield (
                f"The verdict on {_names(entry['arms'])} turns round with the threshold: {text(entry['favours'], 60)} "
                f"is favoured from {entry['holds_from']:.2f} to {entry['holds_to']:.2f}, {text(others[0], 60)} at some "
                "others."
            )
        elif others:
            hidden.append((entry, others))
        elif entry["favours"] and entry["holds_to"] - entry["holds_from"] < NARROW:
            yield (
                f"The verdict on {_names(entry['arms'])} holds only for thresholds from {entry['holds_from']:.2f} to "
                f"{entry['holds_to']:.2f}."
            )
    if hidden:
        pairs = "; ".join(_names(entry["arms"]) for entry, _ in hidden)
        favoured = dict.fromkeys(arm for _, others in hidden for arm in others)
        yield (
            f"The verdict on {pairs} depends on the threshold: at the study's own ({hidden[0][0]['threshold']:.3f}) no "
            f"difference is shown, at others {_names(favoured, ' or ')} is favoured."
        )
    for key, what in (("left_out", "trials that ended without a result"), ("missing", "trials that are missing")):
        entries = [entry for entry in material.analysis["left_out"]["matters"] if entry[key]["changes"]]
        if entries:
            most = max(entry[key]["trials"] for entry in entries)
            count = f"the {most}" if len(entries) == 1 else f"up to {most}"
            pairs = "; ".join(_names(entry["arms"]) for entry in entries)
            yield f"Counting {count} {what} in another way could change the verdict on {pairs}."
