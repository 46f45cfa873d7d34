"""The runs of a search: each arm's scores, the best so far, the winner, and the space that they lie in.

If the study repeats its search, every search has its own runs, numbered from 1, and its own winner.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from report.frames import StudyFrames
from report.judged_study import JudgedStudy
from report.sections.hyperparameters import values_of
from report.sections.search.entries import (
    OneSearch,
    Run,
    RunCounts,
    SearchedArm,
    SearchedOption,
    SearchResults,
    Winner,
)
from report.words import metric_words, spaced
from robustness.errors import SearchSpaceError
from robustness.goal import Goal
from robustness.metrics import OBJECTIVES, objective_goal
from robustness.space.options import Branches, Choices, Options, Range
from robustness.space.space import merged, read_space
from robustness.trial import PENDING


def results(study: JudgedStudy) -> SearchResults | None:
    """The runs of each searched arm; None for a study without `search`."""
    search = study.frames.document.get("search")
    if not search:
        return None
    objective = _objective(study.frames)
    arms = searched_arms(study.frames)
    return {
        "sentences": _sentences(arms, objective, study.frames.searches, objective_goal_of(study.frames)),
        "cautions": _cautions(arms, objective),
        "alone": True,
        "complete": bool(arms) and all(arm["ended"] >= arm["wanted"] for arm in arms.values()),
        "objective": objective,
        "searches": study.frames.searches,
        "sampler": search.get("sampler"),
        "startup": search.get("startup"),
        "warm_start": search.get("warm_start"),
        "warm_starts": search.get("warm_starts") if search.get("warm_start") else None,
        "arms": arms,
    }


def searched_arms(frames: StudyFrames) -> dict[str, SearchedArm]:
    """The runs of each arm that was searched, its winner and its space; none for a study without `search`."""
    search = frames.document.get("search")
    if not search:
        return {}
    runs = frames.trials.loc[frames.trials["stage"] == "search"]
    scores = best_scores(frames, _objective(frames), objective_goal_of(frames))
    arms = {}
    for arm in frames.arms:
        own = runs.loc[runs["arm"] == arm].sort_values(["search", "run"])
        if not own.empty:
            arms[arm] = _arm(frames, arm, own, scores, int(search["runs"]))
    return arms


def _objective(frames: StudyFrames) -> str:
    return OBJECTIVES.get(str(frames.document["search"].get("objective")), frames.metric)


def objective_goal_of(frames: StudyFrames) -> Goal:
    """Whether the search maximises or minimises its objective."""
    return objective_goal(frames.document["search"].get("objective"), frames.goal)


def best_scores(frames: StudyFrames, measure: str, goal: Goal) -> dict[tuple[int, str, int], float]:
    """For each trial (configuration, arm, replicate) the best value of a measure after pre-training."""
    epochs = frames.epochs
    column = f"measure_{measure}" if f"measure_{measure}" in epochs.columns else measure
    if column not in epochs.columns:
        return {}
    counted = epochs.loc[~epochs["pretraining"].astype(bool) & np.isfinite(epochs[column].astype(float))]
    values = counted.groupby(["configuration", "arm", "replicate"])[column]
    best = (values.min() if goal.minimizes else values.max()).reset_index()
    rows = best.itertuples(index=False, name=None)
    return {(int(number), str(arm), int(replicate)): float(value) for number, arm, replicate, value in rows}


def _arm(
    frames: StudyFrames, arm: str, own: pd.DataFrame, scores: Mapping[tuple[int, str, int], float], wanted: int
) -> SearchedArm:
    """The searches of an arm one by one, and its runs in all of them together."""
    goal = objective_goal_of(frames)
    every = range(max(frames.searches, int(own["search"].max()) + 1))
    found = [_search(frames, arm, own.loc[own["search"] == search], scores, wanted, search) for search in every]
    searches = [each for each, _ in found]
    won = [each["winner"] for each in searches if each["winner"]]
    return {
        **_counts([run for _, runs in found for run in runs], sum(each["wanted"] for each in searches)),
        "winner": max(won, key=lambda winner: goal.oriented(winner["score"]), default=None),
        "space": searched_options(frames, arm),
        "searches": searches,
        "runs": [run for _, runs in found for run in runs],
    }


def _search(
    frames: StudyFrames,
    arm: str,
    own: pd.DataFrame,
    scores: Mapping[tuple[int, str, int], float],
    wanted: int,
    search: int,
) -> tuple[OneSearch, list[Run]]:
    """One search of an arm, from 0, and its runs."""
    goal = objective_goal_of(frames)
    runs: list[Run] = []
    winner: Winner | None = None
    row: Any
    for row in own.itertuples():
        score = scores.get((row.configuration, arm, row.replicate))
        values = values_of(frames, row.configuration, frames.hyperparameters)
        # As in the search itself, the first of equal scores wins, and a run that did not finish cannot.
        if row.status == "finished" and score is not None and (winner is None or goal.better(score, winner["score"])):
            winner = {"search": search + 1, "number": row.run + 1, "score": score, "hyperparameters": values}
        runs.append(
            {
                "search": search + 1,
                "number": row.run + 1,
                "configuration": row.configuration,
                "hyperparameters": values,
                "status": row.status,
                "score": score,
                "seconds": None if pd.isna(row.seconds) else float(row.seconds),
                "best_so_far": None if winner is None else winner["score"],
            }
        )
    return {"search": search + 1, **_counts(runs, max(wanted, len(runs))), "winner": winner}, runs


def _counts(runs: Sequence[Run], wanted: int) -> RunCounts:
    return {
        "wanted": wanted,
        "ended": sum(run["status"] not in PENDING for run in runs),
        "status": dict(sorted(Counter(str(run["status"]) for run in runs).items())),
        "seconds": math.fsum(run["seconds"] or 0.0 for run in runs),
    }


def searched_options(frames: StudyFrames, arm: str) -> dict[str, SearchedOption]:
    """Each option that the search varies: a range (`low`, `high`, `log`), or `choices`, in the space's order."""
    shared = frames.document.get("space")
    entry: Mapping[str, Any] = next((each for each in frames.document["arms"] if each["label"] == arm), {})
    try:
        space = read_space(frames.document["search"].get("spaces", {}).get(arm) or shared or entry["space"], "space")
        if shared and entry.get("space"):
            space = merged(space, read_space(entry["space"], "space"))
    except (SearchSpaceError, KeyError):
        # The store was made elsewhere: its runs can still be shown.
        return {}
    searched: dict[str, SearchedOption] = {}
    _collect(space.options, searched)
    return {name: searched[name] for name in space.display_order if name in searched}


def _collect(options: Options, searched: dict[str, SearchedOption]) -> None:
    for name, option in options.items:
        known = searched.get(name)
        match option:
            case Range(low=low, high=high, log=log):
                if known is None:
                    searched[name] = {"low": low, "high": high, "log": log}
                elif "low" in known:
                    searched[name] = {
                        "low": min(low, known["low"]),
                        "high": max(high, known["high"]),
                        "log": log and known["log"],
                    }
            case Choices(values=values):
                known_values = known["choices"] if known is not None and "choices" in known else []
                searched[name] = {"choices": [*known_values, *(value for value in values if value not in known_values)]}
            case Branches(branches=branches):
                searched[name] = {"choices": [choice for choice, _ in branches]}
                for _, below in branches:
                    _collect(below, searched)


def _sentences(arms: Mapping[str, SearchedArm], measure: str, searches: int, goal: Goal) -> list[str]:
    best = {arm: entry["winner"] for arm, entry in arms.items() if entry["winner"] is not None}
    if not best:
        return ["No run of the search has finished yet."]
    ranked = sorted(best, key=lambda arm: -goal.oriented(best[arm]["score"]))
    if searches > 1:
        scores = {
            arm: [f"{each['winner']['score']:.3f}" for each in arms[arm]["searches"] if each["winner"]]
            for arm in ranked
        }
        listed = "; ".join(f"{arm} {', '.join(scores[arm])}" for arm in ranked)
        return [f"The {goal.extreme} {metric_words(measure)} that each of {searches} searches found: {listed}."]
    winners = ", ".join(
        f"{arm} {best[arm]['score']:.3f} (run {best[arm]['number']} of {arms[arm]['wanted']})" for arm in ranked
    )
    return [f"The {goal.extreme} {metric_words(measure)} that each arm's search found: {winners}."]


def _cautions(arms: Mapping[str, SearchedArm], measure: str) -> list[str]:
    cautions = []
    left = [
        f"{arm} {each['ended']} of {each['wanted']}" for arm, each in arms.items() if each["ended"] < each["wanted"]
    ]
    if left:
        cautions.append(f"The search is incomplete; runs that have ended: {', '.join(left)}.")
    lost = {}
    for arm, each in arms.items():
        bad = {name: count for name, count in each["status"].items() if name not in (*PENDING, "finished")}
        if bad:
            lost[arm] = ", ".join(f"{count} {spaced(name)}" for name, count in bad.items())
    if lost:
        endings = "; ".join(f"{arm}: {words}" for arm, words in lost.items())
        cautions.append(f"Some runs of the search did not finish and cannot win ({endings}).")
    if any(each["winner"] is not None for each in arms.values()):
        cautions.append(
            f"A search's best {metric_words(measure)} is the best of several, at its best epoch, on the data that "
            "selected it, so it is optimistically biased."
        )
    return cautions
