"""The table of all trials of an optimised study: the runs of each arm's search, then its final models."""

from __future__ import annotations

from typing import Any

import pandas as pd

from report.drawing.style import number, text
from report.material import Material
from report.sections.search_results import best_scores, measure_words


def search_rows(material: Material, most: int) -> tuple[tuple[str, ...], tuple[tuple[str, ...], ...], int]:
    """Columns, at most so many rows, one for each trial, and how many trials there are."""
    frames = material.frames
    scores = best_scores(frames, material.analysis["search"]["objective"])
    tests = _tests(material)
    places = {arm: place for place, arm in enumerate(frames.arms)}
    trials = frames.trials
    trials = trials.assign(
        place=trials["arm"].map(places).fillna(len(places)), later=(trials["stage"] == "final").astype(int)
    ).sort_values(["place", "later", "run", "replicate"])
    rows: list[tuple[str, ...]] = []
    row: Any
    for row in trials.head(most).itertuples():
        drawn = frames.configurations.loc[row.configuration]
        score = scores.get((row.configuration, row.arm, row.replicate))
        test = tests.get((row.arm, row.run + 1, row.replicate)) if row.stage == "final" else None
        rows.append(
            (
                text(row.arm, 40),
                row.stage,
                str(row.run + 1),
                str(row.replicate + 1) if row.stage == "final" else "–",
                *("–" if pd.isna(drawn[name]) else number(drawn[name]) for name in material.hyperparameters),
                "–" if score is None else f"{score:.4f}",
                "–" if test is None else f"{test:.4f}",
                str(row.status).replace("_", " "),
            )
        )
    hyperparameters = (text(name, 40) for name in material.hyperparameters)
    columns = ("arm", "stage", "run", "model", *hyperparameters, "score", "test AUC", "status")
    return columns, tuple(rows), len(trials)


def search_caption(material: Material) -> str:
    """What the score is."""
    words = measure_words(material.analysis["search"]["objective"])
    return (
        f"Each trial: runs of the search, and final models under the run that found them. Score: {words}, best epoch."
    )


def _tests(material: Material) -> dict[tuple[str, int, int], float]:
    """The AUC on the test set of each final model (arm, run from 1, replicate)."""
    arms: dict[str, Any] = (material.analysis.get("finals") or {"arms": {}})["arms"]
    return {
        (arm, each["run"], model["replicate"]): model["auc"][0]
        for arm, each in arms.items()
        for model in each["replicates"]
        if model["auc"][0] is not None
    }
