"""The verdict on final models in sentences, and the cautions about it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from report.comparison import favoured
from report.frames import StudyFrames
from report.sections.finals.entries import FinalArm, FinalComparison, FinalFigures
from report.words import DASH, interval_words, is_significant, made_positive, p_words, plus_minus
from robustness.errors import plural


def higher_arm(entry: FinalComparison) -> str | None:
    """The arm with the higher AUC, at the 5 % level by its adjusted p-value; None if it is open."""
    return favoured(entry["arms"], entry["difference"], entry["p_adjusted"], more_is_better=True)


def final_sentences(finals: FinalFigures) -> list[str]:
    """The verdict on final models: the main comparison first, then every arm's AUC."""
    arms = finals["arms"]
    known = {arm: mean for arm, each in arms.items() if (mean := each["auc"][0]["mean"]) is not None}
    where = f"On {finals['pictures']} test pictures of {plural(finals['patients'], 'patient')}"
    if not known:
        return [f"{where} no AUC can be computed, which takes pictures of every class."]
    ranked = sorted(known, key=lambda arm: -known[arm])
    aucs = f"{where}, the final models reach these AUCs: {', '.join(_auc(arm, arms[arm]) for arm in ranked)}"
    main = _main_pair(finals["comparisons"], finals["planned"] or ranked[:2])
    sentences = [f"{aucs}{_scope(finals, ranked) if main is None else ''}."]
    if main is not None:
        sentences.insert(0, _compared(main, finals, corrected=not finals["planned"] and len(finals["comparisons"]) > 1))
    others = [entry for entry in finals["comparisons"] if entry is not main]
    higher = [f"{higher_arm(entry)} above {_other(entry)}" for entry in others if higher_arm(entry)]
    if higher:
        sentences.append(f"After Holm's correction the AUC of these is shown to be higher: {', '.join(higher)}.")
    elif others:
        sentences.append("No other two arms differ at the 5 % level after Holm's correction.")
    return sentences


def _main_pair(entries: Sequence[FinalComparison], arms: Sequence[str]) -> FinalComparison | None:
    """The comparison that the verdict opens with: the planned one, or else that of the two highest arms."""
    return next((entry for entry in entries if set(entry["arms"]) == set(arms)), None)


def _compared(entry: FinalComparison, finals: FinalFigures, corrected: bool) -> str:
    arms = finals["arms"]
    # Only arms with an AUC are compared, so that their difference is known.
    apart = entry["difference"] or 0.0
    higher, lower = entry["arms"] if apart >= 0 else reversed(entry["arms"])
    aucs = f"{_auc(higher, arms[higher], ' reaches a test AUC of')}, {_auc(lower, arms[lower])}"
    difference = f"a difference of {abs(apart):.3f}{_repeated(arms, (higher, lower))}"
    scope = _scope(finals, (higher, lower))
    if entry["low"] is None or entry["high"] is None:
        return f"{aucs}: {difference}, with too few models or patients for an interval{scope}."
    _, low, high = made_positive(apart, entry["low"], entry["high"])
    holm = " after Holm's correction" if corrected else ""
    test = f"({interval_words(low, high, '{:.3f}'.format)}, {p_words(entry['p_adjusted'])}{holm})"
    chance = "" if higher_arm(entry) else ", not statistically significant"
    return f"{aucs}: {difference} {test}{chance}{scope}."


def _repeated(arms: Mapping[str, FinalArm], compared: Sequence[str]) -> str:
    """` over 3 searches of each arm`, if both were searched several times."""
    counts = [arms[arm]["searches"] for arm in compared]
    if min(counts) == 1:
        return ""
    if len(set(counts)) == 1:
        return f" over {counts[0]} searches of each arm"
    of_each = " and ".join(f"{count} of {arm}" for count, arm in zip(counts, compared, strict=True))
    return f" over repeated searches, {of_each}"


def _scope(finals: FinalFigures, compared: Sequence[str]) -> str:
    """What the result is about if an arm has final models of one search only: those models."""
    once = [arm for arm in compared if finals["arms"][arm]["searches"] == 1]
    if not once:
        return ""
    which = "each arm" if len(once) == len(compared) > 1 else " and ".join(once)
    reason = f"{which} was searched once"
    if finals["searches"] > 1:
        reason = f"only one search of {which} has tested final models"
    return f"; this is about these models only, because {reason}"


def _auc(arm: str, entry: FinalArm, words: str = "") -> str:
    first = entry["auc"][0]
    mean = DASH if first["mean"] is None else plus_minus(first["mean"], first["total_error"], 3)
    return f"{arm}{words} {mean}"


def _other(entry: FinalComparison) -> str:
    return str(next(arm for arm in entry["arms"] if arm != higher_arm(entry)))


def final_cautions(frames: StudyFrames, finals: FinalFigures, foreign: Sequence[str]) -> list[str]:
    """One sentence for each thing that weakens the results; `foreign` models predicted other pictures."""
    cautions = []
    plan = frames.document.get("finals") or {}
    missing = [arm for arm in plan.get("arms") or frames.arms if arm not in finals["arms"]]
    if missing:
        cautions.append(f"No final model of {', '.join(missing)} has been tested yet.")
    fewer = [f"{arm} {each['searches']}" for arm, each in finals["arms"].items() if each["searches"] < frames.searches]
    if fewer:
        cautions.append(
            f"Searches with tested final models, of the {frames.searches} that are planned: {', '.join(fewer)}."
        )
    wanted = int(plan.get("replicates") or 1)
    fewer = [
        f"{arm} {each['models']}"
        for arm, each in finals["arms"].items()
        if each["made_of"] is None and each["models"] < wanted * each["searches"]
    ]
    if fewer:
        each_search = " for each search" if frames.searches > 1 else ""
        cautions.append(f"Fewer models than the {wanted} that are asked for{each_search}: {', '.join(fewer)}.")
    if foreign:
        cautions.append(f"Left out, since they predicted other pictures than the rest: {', '.join(foreign)}.")
    single = [arm for arm, each in finals["arms"].items() if each["models"] == 1]
    if single:
        cautions.append(
            f"One model each of {', '.join(single)}: how much another training would change their figures is not "
            "known, and intervals leave it out."
        )
    cautions += [
        f"That {higher_arm(entry)} has a higher AUC than {_other(entry)} holds as the one comparison that was planned; "
        f"as one of all {len(finals['comparisons'])} pairs it is not shown (by Holm {p_words(entry['p_among_all'])})."
        for entry in finals["comparisons"]
        if higher_arm(entry) and not is_significant(entry["p_among_all"])
    ]
    if finals["reference"]:
        task, model = frames.document.get("task") or {}, frames.document.get("model") or {}
        cautions.append(
            f"The figures of {finals['reference']} stand beside ours for orientation: its data, networks and training "
            f"are its own, those here are task {task.get('name')} and model {model.get('name')}."
        )
    return cautions
