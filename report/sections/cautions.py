"""Cautions: reasons to doubt the verdict, computed from the analysis."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import numpy as np

from report.comparison import second_minus_first
from report.frames import KEY, TASK_BLOCK
from report.judging import own_scores
from report.records.comparisons import Change
from report.records.estimates import known
from report.sections import own_results
from report.sections.all_runs import disagreement
from report.sections.initial_noise import unequal_noise
from report.sections.learning_rule import within_error_sentence
from report.sections.outcomes import CONFIGURATIONS
from report.sections.score_verdict import better_arm
from report.sections.thresholds import Dependence
from report.sections.verdict import decided
from report.watched import OUT_OF_ORDER
from report.words import has_interval, listed, mean_change, metric_words, percent, points, spaced, text
from robustness.errors import plural
from robustness.metrics import find_metric
from robustness.trial import LARGEST, PENDING

if TYPE_CHECKING:
    import pandas as pd

    from report.analysis import Analysis

FEW_PAIRS = 30
MANY_LEFT_OUT = 0.05
ENOUGH_UNTRAINED = 200
EXTREME = 1000
"""How many interquartile ranges from the median the worst score may lie before it decides the means."""
NARROW = 0.1
"""The least range of thresholds over which a verdict should hold."""
OFTEN = 0.05
"""The least share of thresholds that must favour an arm for a caution."""

MISSING = "trials that are missing"


def cautions(analysis: Analysis) -> list[str]:
    """One sentence for each thing that weakens the verdict, the weightiest first; none if nothing does."""
    if analysis.alone:
        own = [entry["cautions"] for entry in own_results(analysis.results) if "cautions" in entry]
        rest = [caution for each in own for caution in each] if own else _left_out(analysis)
        return [*_contradictory(analysis), *_incomplete(analysis), *rest]
    thresholds = analysis.frames.has_thresholds
    return [
        *_contradictory(analysis),
        *_incomplete(analysis),
        *_few(analysis),
        *unequal_noise(analysis),
        *_adaptive(analysis),
        *disagreement(analysis),
        *_without_score(analysis),
        *_extreme(analysis),
        *(_depends(analysis) if thresholds else ()),
        *_epochs_disagree(analysis),
        *(_threshold(analysis) if thresholds else ()),
        *_left_out(analysis),
        *_diverged(analysis),
        *_rule_by_chance(analysis),
        *_assumed_drawn(analysis),
    ]


def _contradictory(analysis: Analysis) -> Iterator[str]:
    found = analysis.results["contradictions"]
    if found["count"]:
        names = ", ".join(text(name, 60) for name in found["trials"])
        more = ", …" if found["count"] > len(found["trials"]) else ""
        yield (
            f"The store contradicts itself: the result of {plural(found['count'], 'trial')} does not follow from the "
            f"recorded epochs ({names}{more}), so some of them were lost or changed."
        )


def _incomplete(analysis: Analysis) -> Iterator[str]:
    trials = analysis.trials
    still = int(trials["status"].isin(PENDING).sum())
    running = int((trials["status"] == "running").sum())
    if analysis.frames.stopped:
        yield (
            "Differences of a sweep that stopped early tend to be overestimated; its confidence sequences allow for "
            "that."
        )
    elif still:
        yield (
            f"The study is incomplete: {still} of {len(trials)} trials have not ended ({running} of them are running), "
            "and everything here may still change."
        )


def _few(analysis: Analysis) -> Iterator[str]:
    configurations = int(analysis.pairs["configuration"].nunique())
    if len(analysis.arms.names) == 1:
        yield "The study has one arm, so there is nothing to compare it with."
    elif configurations == 0:
        yield "No pair is complete: there is no configuration for which every arm has a result."
    if not analysis.frames.paired and len(analysis.arms.names) > 1:
        imported = analysis.frames.document.get("imported") is not None
        why = "No configuration occurs in two arms" if imported else "Each arm draws from its own space"
        what = "configurations that were tried" if imported else "spaces"
        yield f"{why}, so nothing is paired: a difference may be due to the {what} as much as to the methods."
    unused = [arm for arm, entry in analysis.results["arms"].items() if not entry["counted"]]
    left = len(analysis.arms.names) - len(unused)
    if 0 < configurations < FEW_PAIRS:
        alone = left == 1 or not analysis.frames.paired
        noun = "configuration" if alone else "paired configuration"
        yield (
            f"Only {plural(configurations, noun)}: intervals are wide, and fewer than about {FEW_PAIRS} may miss a "
            "difference that matters."
        )
    if unused and configurations:
        so = "pairs are complete without it" if left > 1 else "there are no pairs"
        yield f"No trial of {', '.join(text(arm, 60) for arm in unused)} can be judged: {so}."


def _adaptive(analysis: Analysis) -> Iterator[str]:
    about = analysis.frames.document.get("imported") or {}
    if not about.get("adaptive"):
        return
    if about.get("adaptive_is_assumed"):
        yield (
            "How the configurations were chosen is not recorded; the page assumes that earlier results proposed them: "
            "fractions describe these searches, not the space. If they were drawn at random or from a grid, import "
            "them again with --proposed independently."
        )
    else:
        yield (
            "The configurations were proposed by earlier results, not drawn from the space: fractions describe these "
            "searches, not the space."
        )


def _assumed_drawn(analysis: Analysis) -> Iterator[str]:
    about = analysis.frames.document.get("imported") or {}
    if about.get("adaptive_is_assumed") and not about.get("adaptive"):
        yield (
            "How the configurations were chosen is not recorded; the page assumes independent draws. If a search chose "
            "them by earlier results, these numbers describe that search, not the space: import them again with "
            "--proposed adaptively, or with --proposed independently to confirm it."
        )


def _threshold(analysis: Analysis) -> Iterator[str]:
    judge = analysis.judge
    if not judge.known:
        yield f"When a trial has learned nothing is not known yet: {judge.why}."
    note = analysis.frames.untrained
    scores = (note or {}).get("scores") or []
    if judge.known and judge.inclusive and 0 < len(scores) < ENOUGH_UNTRAINED:
        yield f"“Learned nothing” rests on {len(scores)} untrained networks; at least {ENOUGH_UNTRAINED} are wanted."
    # Only thresholds of a metric that is maximised depend on the cell.
    highest = judge.nothing if judge.gains else max([judge.nothing, *judge.cells.values()])
    # A threshold that must be passed overlaps if it equals that of "good"; one that must be reached does not.
    overlaps = judge.goal.at_least_as_good if judge.inclusive else judge.goal.better
    if overlaps(highest, analysis.good) and not judge.gains:
        side = "above" if judge.goal.minimizes else "below"
        yield (
            f"The threshold of “learned nothing” ({highest:.3f}) is not {side} that of “good” ({judge.good:g}), "
            "so trials that reach “good” may count as having learned nothing."
        )


def _rule_by_chance(analysis: Analysis) -> Iterator[str]:
    """Trials within the error of the threshold, and untrained networks that pass it more often than the rule says."""
    rule = analysis.results["learning_rule"]
    if rule is None:
        return
    entry = rule["at"][analysis.epoch]
    near = within_error_sentence(entry, analysis.epoch, named=False)
    if near:
        yield near
    level = rule["level"]
    if level is None:
        return
    passed = {arm: share for arm, share in (entry["untrained"] or {}).items() if known(share["low"]) > level}
    if passed:
        shares = ", ".join(
            f"{percent(known(share['fraction']))} % of untrained {text(arm, 60)}" for arm, share in passed.items()
        )
        yield (
            f"“Learned nothing” is not a {100 * level:g} % rule here: {shares} networks would count as having "
            "learned, so some trials that count as having learned may not have."
        )


def _left_out(analysis: Analysis) -> Iterator[str]:
    trials = analysis.trials
    ended = trials.loc[~trials["status"].isin(PENDING)]
    lost = ended.loc[~ended["counted"] & (ended["reason"] != OUT_OF_ORDER).fillna(True)]
    if len(ended) and len(lost) / len(ended) > MANY_LEFT_OUT:
        counts = lost["reason"].value_counts().sort_index()
        reasons = ", ".join(f"{count} {spaced(reason)}" for reason, count in counts.items())
        yield f"{len(lost)} of {len(ended)} ended trials are left out of the fractions, with their pairs: {reasons}."


def _epochs_disagree(analysis: Analysis) -> Iterator[str]:
    paired = [entry for entry in analysis.results["paired"] if entry["outcome"] == analysis.primary]
    disagreements: dict[str, list[str]] = {}
    for first in paired:
        for second in paired if first["epoch"] == analysis.epoch else ():
            if second["arms"] == first["arms"] and decided(second) != decided(first):
                both = (f"at the {each['epoch']} epoch {_says(decided(each))}" for each in (first, second))
                disagreements.setdefault(", ".join(both), []).append(_names(first["arms"]))
    for verdicts, pairs in disagreements.items():
        yield f"The verdict on {'; '.join(pairs)} depends on the epoch: {verdicts}."
    yield from _sizes_disagree(analysis)


def _sizes_disagree(analysis: Analysis) -> Iterator[str]:
    """The largest of the differences whose size at either epoch lies outside the interval at the other."""
    frames = analysis.frames
    fractions = [entry for entry in analysis.results["paired"] if entry["outcome"] == analysis.primary]
    changes = [
        (tuple(e["arms"]), e["epoch"], second_minus_first(e, e["difference"]), decided(e)) for e in fractions
    ] or [
        (tuple(e["arms"]), e["epoch"], second_minus_first(e, e["mean_difference"]), better_arm(e, frames))
        for e in analysis.results["scores"]
    ]
    write = points if fractions else mean_change
    by_arms: dict[tuple[str, ...], dict[str, tuple[Change, str | None]]] = {}
    for arms, epoch, change, better in changes:
        by_arms.setdefault(arms, {})[epoch] = (change, better)
    found = []
    changed = False
    for arms, at in by_arms.items():
        other_epoch = "last" if frames.rule == "best" else "best"
        if frames.rule not in at or other_epoch not in at:
            continue
        (own, better), (other, other_better) = at[frames.rule], at[other_epoch]
        changed = changed or better != other_better
        # Verdicts on fractions that disagree have a sentence of their own.
        if fractions and better != other_better:
            continue
        if better != other_better or (_outside(own, other) and _outside(other, own)):
            size = abs(known(other["difference"]) - known(own["difference"]))
            found.append((size, arms, f"{write(own)} at the {frames.rule} epoch, {write(other)} at the {other_epoch}"))
    if found:
        _, (first, second), words = max(found, key=lambda each: each[0])
        what = CONFIGURATIONS[analysis.primary] if fractions else f"mean {analysis.metric_words}"
        unit = " in standard deviations" if not fractions and len(frames.tasks) > 1 else ""
        which = "the size of the difference does" if len(found) == 1 else f"the size of {len(found)} differences does"
        opening = "A verdict changes with the epoch" if changed else f"No verdict changes with the epoch, but {which}"
        most = "" if len(found) == 1 else ", most of all this one"
        yield (
            f"{opening}{most}: {text(second, 60)} minus {text(first, 60)} in "
            f"{'the share of ' if fractions else 'the '}{what}{unit} is {words}."
        )


def _outside(change: Change, other: Change) -> bool:
    """Whether a difference lies outside the interval of another."""
    if change["difference"] is None or not has_interval(other):
        return False
    return not known(other["low"]) <= change["difference"] <= known(other["high"])


def _names(arms: Iterable[str], word: str = " and ") -> str:
    return word.join(text(arm, 60) for arm in arms)


def _says(winner: str | None) -> str:
    return "the difference is not significant" if winner is None else f"{text(winner, 60)} is less sensitive"


def _range(entry: Dependence) -> str:
    return f"{entry['holds_from']:.2f} to {entry['holds_to']:.2f}"


def _diverged(analysis: Analysis) -> Iterator[str]:
    diverged = [
        f"{entry['good_then_diverged']} of {text(arm, 60)}"
        for arm, entry in analysis.results["arms"].items()
        if entry["good_then_diverged"]
    ]
    if diverged:
        arms = ", ".join(diverged)
        yield f"Some trials were good and then diverged: {arms}; they count as good at the best epoch alone."


def _without_score(analysis: Analysis) -> Iterator[str]:
    """Diverged trials whose score is a stand-in, unless chance has a known score."""
    metric = analysis.frames.metric
    if find_metric(metric).chance is not None:
        return
    paired = analysis.trials[analysis.trials["paired"]]
    none = paired[own_scores(paired, analysis.epoch).isna()]
    if len(none):
        worst = analysis.frames.goal.worst(none[f"score_{analysis.epoch}"].tolist())
        lowest = "highest" if analysis.goal.minimizes else "lowest"
        on = " on its task (shown: the worst)" if analysis.frames.tasks else ""
        of = paired["arm"].value_counts()
        arms = [
            f"{count} of {text(str(arm), 60)}'s {plural(int(of[str(arm)]), 'trial')}"
            for arm, count in none["arm"].value_counts(sort=False).items()
        ]
        yield (
            f"{listed(arms)} {_why_without(analysis, none, metric_words(metric))}. In means, each counts as "
            f"{worst:.4g}, the {lowest} score that any trial had{on} at its best or last epoch: means depend on that "
            "number, wins and medians hardly do."
        )


def _why_without(analysis: Analysis, trials: pd.DataFrame, metric: str) -> str:
    """Why trials have no score at the study's epoch."""
    gone = trials["status"] == "diverged"
    counted = (analysis.frames.document.get("imported") or {}).get("crashes_are_diverged")
    if gone.all() and counted:
        return f"have no {metric}: they failed and were counted as diverged"
    infinite = f" (numbers beyond ±{LARGEST:g} count as infinite)" if _infinite(analysis, trials) else ""
    if gone.all() and (analysis.study.single_epoch or analysis.epoch == "best"):
        return f"diverged before they reported a {'finite ' if infinite else ''}{metric}{infinite}"
    at = "" if analysis.study.single_epoch else f" at the {analysis.epoch} epoch"
    because = (
        "because" if gone.all() else "mostly because" if gone.mean() > 0.5 else "some because" if gone.any() else ""
    )
    return f"have no {metric}{at}" + (f", {because} they diverged{infinite}" if because else infinite)


def _infinite(analysis: Analysis, trials: pd.DataFrame) -> bool:
    """Whether any of the trials reported an infinite metric."""
    metric = analysis.frames.metric_column
    epochs = analysis.frames.trained(metric)
    reported = epochs.loc[np.isinf(epochs[metric]), KEY] if metric in epochs else epochs.loc[[], KEY]
    return not reported.merge(trials[KEY], on=KEY).empty


def _extreme(analysis: Analysis) -> Iterator[str]:
    """Scores so far from the others that they alone decide the means."""
    paired = analysis.trials[analysis.trials["paired"]]
    # Scores of different tasks are compared within their task.
    for _, own in paired.groupby(paired["replicate"] // TASK_BLOCK):
        scores = own[f"score_{analysis.epoch}"]
        low, middle, high = scores.quantile([0.25, 0.5, 0.75])
        worst = analysis.frames.goal.worst(scores.tolist())
        if high > low and abs(worst - middle) > EXTREME * (high - low):
            yield (
                f"Extreme scores decide the means (the worst is {worst:.4g}, the median {middle:.4g}): read medians, "
                "wins and Wilcoxon's test, or set thresholds."
            )
            return


def _depends(analysis: Analysis) -> Iterator[str]:
    """The verdict at other thresholds, and under other ways of counting the trials that were left out."""
    hidden, narrow, reversed_at = [], [], []
    thresholds = analysis.results["thresholds"]
    for entry in thresholds["dependence"] if thresholds else ():
        # Of hundreds of thresholds a few favour an arm by chance.
        often = [each["arm"] for each in entry["favouring"] if each["count"] >= OFTEN * entry["checked"]]
        others = [arm for arm in often if arm != entry["favours"]]
        if entry["favours"] and others:
            reversed_at.append(
                f"{_names(entry['arms'])} ({text(entry['favours'], 60)} is favoured from {_range(entry)}, "
                f"{text(others[0], 60)} at some others)"
            )
        elif others:
            hidden.append((entry, others))
        elif entry["favours"] and entry["holds_to"] - entry["holds_from"] < NARROW:
            narrow.append((_names(entry["arms"]), _range(entry)))
    if reversed_at:
        yield f"At other thresholds the verdict reverses on {'; '.join(reversed_at)}."
    if len(narrow) == 1:
        yield f"The verdict on {narrow[0][0]}, by its own test at each threshold, holds only from {narrow[0][1]}."
    elif narrow:
        pairs = "; ".join(f"{names}, {limits}" for names, limits in narrow)
        yield f"These verdicts hold only for a narrow range of thresholds: {pairs}."
    if hidden:
        pairs = "; ".join(_names(entry["arms"]) for entry, _ in hidden)
        favoured = dict.fromkeys(arm for _, others in hidden for arm in others)
        yield (
            f"The verdict on {pairs} depends on the threshold: at the study's own ({hidden[0][0]['threshold']:.3f}) no "
            f"difference is shown, at others {_names(favoured, ' or ')} is favoured."
        )
    matters = analysis.results["left_out"]["matters"]
    for counted, what in (
        ([entry["left_out"] for entry in matters], "trials that ended without a result"),
        ([entry["missing"] for entry in matters], MISSING),
    ):
        changed = [(entry["arms"], own) for entry, own in zip(matters, counted, strict=True) if own["changes"]]
        if changed:
            most = max(own["trials"] for _, own in changed)
            if what == MISSING and all(entry["missing"] == entry["left_out"] for entry in matters):
                continue  # Nothing is open, so the trials that are missing are those without a result.
            count = f"the {most}" if len(changed) == 1 else f"up to {most}"
            pairs = "; ".join(_names(arms) for arms, _ in changed)
            yield f"Counting {count} {what} in another way could change the verdict on {pairs}."
