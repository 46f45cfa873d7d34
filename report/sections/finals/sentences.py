"""What final models show, in sentences: the verdict, and what weakens it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from report.frames import StudyFrames
from report.words import SIGNIFICANT, p_words


def favoured(entry: Mapping[str, Any]) -> str | None:
    """The arm with the higher AUC, at the 5 % level by its adjusted p-value; None if it is open."""
    if entry["p_adjusted"] is None or entry["p_adjusted"] >= SIGNIFICANT or not entry["difference"]:
        return None
    return str(entry["arms"][0 if entry["difference"] > 0 else 1])


def final_sentences(found: Mapping[str, Any]) -> list[str]:
    """The verdict on final models: the main comparison first, then every arm's AUC."""
    arms = found["arms"]
    known = {arm: each for arm, each in arms.items() if each["auc"][0]["mean"] is not None}
    where = f"On {found['pictures']} test pictures of {found['patients']} patient{'s' * (found['patients'] != 1)}"
    if not known:
        return [f"{where} no AUC can be told: it takes pictures of every class."]
    ranked = sorted(known, key=lambda arm: -known[arm]["auc"][0]["mean"])
    told = [f"{where}, the final models reach these AUCs: {', '.join(_auc(arm, known[arm]) for arm in ranked)}."]
    main = _main_pair(found["comparisons"], found["planned"] or ranked[:2])
    if main is not None:
        told.insert(0, _compared(main, arms, corrected=not found["planned"] and len(found["comparisons"]) > 1))
    others = [entry for entry in found["comparisons"] if entry is not main]
    shown = [f"{favoured(entry)} above {_other(entry)}" for entry in others if favoured(entry)]
    if shown:
        told.append(f"After Holm's correction the AUC of these is shown to be higher: {', '.join(shown)}.")
    elif others:
        told.append("No other two arms differ at the 5 % level after Holm's correction.")
    return told


def _main_pair(entries: Sequence[Mapping[str, Any]], arms: Sequence[str]) -> Mapping[str, Any] | None:
    """The comparison that the verdict opens with: the planned one, or else that of the two highest arms."""
    return next((entry for entry in entries if set(entry["arms"]) == set(arms)), None)


def _compared(entry: Mapping[str, Any], arms: Mapping[str, Mapping[str, Any]], corrected: bool) -> str:
    higher, lower = entry["arms"] if (entry["difference"] or 0) >= 0 else reversed(entry["arms"])
    told = f"{_auc(higher, arms[higher], ' reaches a test AUC of')}, {_auc(lower, arms[lower])}: a difference of "
    told += f"{abs(entry['difference']):.3f}"
    if entry["low"] is None:
        return f"{told}, of which too little is known for an interval."
    ends = (entry["low"], entry["high"]) if entry["difference"] >= 0 else (-entry["high"], -entry["low"])
    told += f" (95 % interval {ends[0]:.3f} to {ends[1]:.3f}, {p_words(entry['p_adjusted'])}"
    told += " after Holm's correction)" if corrected else ")"
    return f"{told}." if favoured(entry) else f"{told}, which chance could explain: none is shown."


def _auc(arm: str, found: Mapping[str, Any], words: str = "") -> str:
    first = found["auc"][0]
    error = "" if first["error"] is None else f" ± {first['error']:.3f}"
    return f"{arm}{words} {first['mean']:.3f}{error}"


def _other(entry: Mapping[str, Any]) -> str:
    return str(next(arm for arm in entry["arms"] if arm != favoured(entry)))


def final_cautions(frames: StudyFrames, found: Mapping[str, Any], strange: Sequence[str]) -> list[str]:
    """One sentence for each thing that weakens the results; `strange` are models that predicted other pictures."""
    told = []
    wanted = frames.document.get("finals") or {}
    missing = [arm for arm in wanted.get("arms") or frames.arms if arm not in found["arms"]]
    if missing:
        told.append(f"No final model of {', '.join(missing)} has been tested yet.")
    fewer = [
        f"{arm} {each['models']}"
        for arm, each in found["arms"].items()
        if each["made_of"] is None and each["models"] < int(wanted.get("replicates") or 1)
    ]
    if fewer:
        told.append(f"Fewer models than the {wanted['replicates']} that are asked for: {', '.join(fewer)}.")
    if strange:
        told.append(f"Left out, since they predicted other pictures than the rest: {', '.join(strange)}.")
    single = [arm for arm, each in found["arms"].items() if each["models"] == 1]
    if single:
        told.append(
            f"One model each of {', '.join(single)}: how much another training would change their figures is not "
            "known, and intervals leave it out."
        )
    told += [
        f"That {favoured(entry)} has a higher AUC than {_other(entry)} holds as the one comparison that was planned; "
        f"as one of all {len(found['comparisons'])} pairs it is not shown (by Holm {p_words(entry['p_among_all'])})."
        for entry in found["comparisons"]
        if favoured(entry) and entry["p_among_all"] >= SIGNIFICANT
    ]
    told.append("Each arm was tuned once: errors and intervals leave out that another search may choose otherwise.")
    if found["reference"]:
        task, model = frames.document.get("task") or {}, frames.document.get("model") or {}
        told.append(
            f"The figures of {found['reference']} stand beside ours for orientation: its data, networks and training "
            f"are its own, those here are task {task.get('name')} and model {model.get('name')}."
        )
    return told
