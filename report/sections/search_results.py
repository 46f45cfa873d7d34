"""What a search of configurations did: each arm's runs, the best so far, the winner, and the space they lie in."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from report.frames import StudyFrames
from robustness.errors import SearchSpaceError
from robustness.metrics import OBJECTIVES
from robustness.space.options import Branches, Choices, Options, Range
from robustness.space.space import read_space
from robustness.trial import PENDING


def search_results(frames: StudyFrames) -> dict[str, Any] | None:
    """The runs of each searched arm; None for a study without `search`."""
    search = frames.document.get("search")
    if not search:
        return None
    measure = OBJECTIVES.get(str(search.get("objective")), frames.metric)
    runs = frames.trials.loc[frames.trials["stage"] == "search"]
    scores = best_scores(frames, measure)
    arms = {}
    for arm in frames.arms:
        own = runs.loc[runs["arm"] == arm].sort_values("run")
        if not own.empty:
            arms[arm] = _arm(frames, arm, own, scores, int(search["runs"]))
    left = {arm: found["wanted"] - found["ended"] for arm, found in arms.items() if found["ended"] < found["wanted"]}
    found = {
        "alone": True,
        "complete": bool(arms) and not left,
        "objective": measure,
        "sampler": search.get("sampler"),
        "startup": search.get("startup"),
        "warm_start": search.get("warm_start"),
        "warm_starts": search.get("warm_starts") if search.get("warm_start") else None,
        "arms": arms,
    }
    return {"sentences": _sentences(arms, measure), "cautions": _cautions(arms, measure), **found}


def best_scores(frames: StudyFrames, measure: str) -> dict[tuple[int, str, int], float]:
    """For each trial (configuration, arm, replicate) the highest value of a measure after pre-training."""
    epochs = frames.epochs
    column = f"measure_{measure}" if f"measure_{measure}" in epochs.columns else measure
    if column not in epochs.columns:
        return {}
    counted = epochs.loc[~epochs["pretraining"].astype(bool) & np.isfinite(epochs[column].astype(float))]
    best = counted.groupby(["configuration", "arm", "replicate"])[column].max().reset_index()
    rows = best.itertuples(index=False, name=None)
    return {(int(number), str(arm), int(replicate)): float(value) for number, arm, replicate, value in rows}


def _arm(
    frames: StudyFrames, arm: str, own: pd.DataFrame, scores: Mapping[tuple[int, str, int], float], wanted: int
) -> dict[str, Any]:
    runs: list[dict[str, Any]] = []
    best: dict[str, Any] | None = None
    row: Any
    for row in own.itertuples():
        score = scores.get((row.configuration, arm, row.replicate))
        run = {
            "number": row.run + 1,
            "configuration": row.configuration,
            "hyperparameters": hyperparameters_of(frames, row.configuration),
            "status": row.status,
            "score": score,
            "seconds": None if pd.isna(row.seconds) else float(row.seconds),
        }
        # As the search itself: of equal scores the first wins, and what did not finish does not.
        if row.status == "finished" and score is not None and (best is None or score > best["score"]):
            best = run
        runs.append({**run, "best_so_far": None if best is None else best["score"]})
    ended = [run for run in runs if run["status"] not in PENDING]
    return {
        "wanted": max(wanted, len(runs)),
        "ended": len(ended),
        "status": {str(name): int(count) for name, count in own["status"].value_counts().sort_index().items()},
        "seconds": math.fsum(run["seconds"] or 0.0 for run in runs),
        "winner": None if best is None else {key: best[key] for key in ("number", "score", "hyperparameters")},
        "space": searched_options(frames, arm),
        "runs": runs,
    }


def hyperparameters_of(frames: StudyFrames, configuration: int) -> dict[str, Any]:
    """Everything that a configuration has."""
    row = frames.configurations.loc[configuration]
    found: dict[str, Any] = {}
    for column in frames.hyperparameters:
        value = row[column]
        if not pd.isna(value):
            found[column] = value.item() if isinstance(value, np.generic) else value
    return found


def searched_options(frames: StudyFrames, arm: str) -> dict[str, dict[str, Any]]:
    """Each option that the search varies: a range (`low`, `high`, `log`), or `choices`, in the space's order."""
    data = frames.document["search"].get("spaces", {}).get(arm, frames.document.get("space"))
    try:
        space = read_space(data, "space")
    except SearchSpaceError:
        # A store that was made elsewhere: the runs can still be shown.
        return {}
    found: dict[str, dict[str, Any]] = {}
    _collect(space.options, found)
    return {name: found[name] for name in space.display_order if name in found}


def _collect(options: Options, found: dict[str, dict[str, Any]]) -> None:
    for name, option in options.items:
        match option:
            case Range(low=low, high=high, log=log):
                known = found.get(name, {"low": low, "high": high, "log": log})
                if "low" in known:
                    found[name] = {
                        "low": min(low, known["low"]),
                        "high": max(high, known["high"]),
                        "log": log and known["log"],
                    }
            case Choices(values=values):
                known_values = found.get(name, {}).get("choices", [])
                found[name] = {"choices": [*known_values, *(value for value in values if value not in known_values)]}
            case Branches(branches=branches):
                found[name] = {"choices": [choice for choice, _ in branches]}
                for _, below in branches:
                    _collect(below, found)


def measure_words(measure: str) -> str:
    """`validation AUC` for `validation_auc`."""
    return measure.replace("_", " ").replace("auc", "AUC")


def _sentences(arms: Mapping[str, Mapping[str, Any]], measure: str) -> list[str]:
    best = {arm: found["winner"] for arm, found in arms.items() if found["winner"] is not None}
    if not best:
        return ["No run of the search has finished yet, so there is nothing to say."]
    ranked = sorted(best, key=lambda arm: -best[arm]["score"])
    told = ", ".join(
        f"{arm} {best[arm]['score']:.3f} (run {best[arm]['number']} of {arms[arm]['wanted']})" for arm in ranked
    )
    return [f"The highest {measure_words(measure)} that each arm's search found: {told}."]


def _cautions(arms: Mapping[str, Mapping[str, Any]], measure: str) -> list[str]:
    found = []
    left = [
        f"{arm} {each['ended']} of {each['wanted']}" for arm, each in arms.items() if each["ended"] < each["wanted"]
    ]
    if left:
        found.append(f"The search is incomplete; runs that have ended: {', '.join(left)}.")
    lost = {}
    for arm, each in arms.items():
        bad = {name: count for name, count in each["status"].items() if name not in (*PENDING, "finished")}
        if bad:
            lost[arm] = ", ".join(f"{count} {name.replace('_', ' ')}" for name, count in bad.items())
    if lost:
        told = "; ".join(f"{arm}: {words}" for arm, words in lost.items())
        found.append(f"Some runs of the search did not finish and cannot win ({told}).")
    if any(each["winner"] is not None for each in arms.values()):
        found.append(
            f"A search's best {measure_words(measure)} is the highest of several, at its best epoch, on the data that "
            "chose it: it flatters."
        )
    return found
