"""The table of all configurations, with every arm side by side."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import pandas as pd

from report.drawing.style import OUTCOME_WORDS, number, text
from report.material import Material
from report.sections.search_table import search_caption, search_rows

MOST_ROWS = 1000
"""More would make the file heavy; the CSV has them all."""


@dataclass(frozen=True)
class ConfigurationTable:
    """Rows of text, ready to be shown; a cell that has nothing to show is a dash."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    caption: str
    reading: str


def configuration_table(material: Material) -> ConfigurationTable:
    """One row for each configuration and replicate: its hyperparameters, then each arm's score and outcome.

    A search, in which each arm has configurations of its own, has one row for each trial.
    """
    if "search" in material.analysis:
        heads, lines, count = search_rows(material, MOST_ROWS)
        told = f"{count} trials are planned" if count != 1 else "One trial is planned"
        told += f"; the first {MOST_ROWS} are in this table and all in the CSV." if count > MOST_ROWS else "."
        return ConfigurationTable(heads, lines, search_caption(material), told)
    trials = material.trials
    repeated = bool((trials["replicate"] > 0).any())
    keys = ["configuration", "replicate"]
    index = trials[keys].drop_duplicates().sort_values(keys)
    shown = index.head(MOST_ROWS)
    kept = trials.merge(shown, on=keys)
    found: dict[Any, Any] = {
        (row.configuration, row.replicate, row.arm): row
        for row in kept[[*keys, "arm", "status", "score", "outcome"]].itertuples(index=False)
    }
    names = material.arms.names
    drawn = {each: _drawn(material, each) for each in shown["configuration"].unique().tolist()}
    rows = []
    for configuration, replicate in zip(shown["configuration"].tolist(), shown["replicate"].tolist(), strict=True):
        own = [found.get((configuration, replicate, arm)) for arm in names]
        cells = [str(configuration), *([str(replicate)] if repeated else []), *drawn[configuration]]
        cells += [part for each in own for part in _cell(each)]
        if len(names) == 2:
            first, second = (math.nan if each is None else float(each.score) for each in own)
            cells.append("–" if math.isnan(second - first) else f"{second - first:.4f}".replace("-", "−"))
        rows.append(tuple(cells))
    columns = ["configuration", *(["replicate"] if repeated else [])]
    columns += [text(name, 40) for name in material.hyperparameters]
    columns += [part for arm in names for part in (text(arm, 40), f"{text(arm, 40)} outcome")]
    if len(names) == 2:
        columns.append(f"{text(names[1], 30)} − {text(names[0], 30)}")
    caption = f"Each configuration with every arm; {material.metric_words} at the {material.epoch} epoch."
    return ConfigurationTable(tuple(columns), tuple(rows), caption, _reading(material, len(index), len(shown)))


def _drawn(material: Material, configuration: int) -> list[str]:
    values = material.hyperparameters_of(configuration)
    return [number(values[name]) if name in values else "–" for name in material.hyperparameters]


def _cell(row: Any) -> tuple[str, str]:
    if row is None:
        return "–", "not planned"
    if pd.isna(row.outcome):
        return "–", str(row.status).replace("_", " ")
    ended = " (diverged)" if row.status == "diverged" else ""
    return f"{row.score:.4f}", OUTCOME_WORDS[row.outcome] + ended


def _reading(material: Material, count: int, shown: int) -> str:
    scored = material.trials.dropna(subset=["score"])
    told = f"{count} configurations are planned" if count != 1 else "One configuration is planned"
    if (material.trials["replicate"] > 0).any():
        told = f"{count} rows, one for each configuration and replicate, are planned"
    if shown < count:
        told += f", of which the first {shown} are in this table and all in the CSV"
    if scored.empty:
        return told + "; none has a result yet."
    best = scored.iloc[int(scored["score"].argmax())]
    where = f"{text(best['arm'], 60)} on configuration {best['configuration']}"
    return f"{told}; the highest score is {best['score']:.4f}, {where}."
