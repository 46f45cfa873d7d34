"""The map of what ran out of memory, and of everything else that did not finish."""

from __future__ import annotations

from functools import partial
from itertools import combinations
from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from report.drawing.heat_map import heat_map
from report.drawing.style import OUTCOME_COLOURS, Numbers, Picture, Section, number, text
from report.material import Material

KINDS = ("out_of_memory", "timed_out", "failed", "diverged")
USUAL = ("batch_size", "variational_samples")
MOST_VALUES = 12


def left_out_section(material: Material) -> Section | None:
    """How trials ended by arm and where they ran out of memory; None as long as all went well."""
    counts = pd.crosstab(material.trials["arm"], material.trials["status"])
    found = [kind for kind in KINDS if kind in counts.columns]
    if not found:
        return None
    kind = found[0]
    pictures = []
    axes_names = _two_hyperparameters(material, kind)
    if axes_names is not None:
        for place, arm in enumerate(material.arms.names):
            mine = material.trials["arm"] == arm
            own = material.trials.loc[mine]
            values = (material.values(axes_names[0])[mine], material.values(axes_names[1])[mine])
            if not (own["status"] == kind).any():
                continue
            words = kind.replace("_", " ")
            pictures.append(
                Picture(
                    f"left-out-{place}",
                    f"{text(arm)}: where trials {_ended(kind)}",
                    f"A map of {axes_names[0]} by {axes_names[1]}: in each cell the number of trials of "
                    f"{text(arm, 60)} that ended as {words}, of all trials there.",
                    partial(_draw, (own["status"] == kind).astype(int), values, axes_names),
                )
            )
    rows = tuple(
        (text(arm, 60), *(str(counts.loc[arm].get(status, 0)) for status in counts.columns))
        for arm in material.arms.names
        if arm in counts.index
    )
    total = int(counts[found].to_numpy().sum())
    told = ", ".join(f"{int(counts[each].sum())} {each.replace('_', ' ')}" for each in found)
    reading = f"{total} of {len(material.trials)} trials did not run to their end: {told}."
    columns = ("Arm", *(str(status).replace("_", " ") for status in counts.columns))
    return Section(
        "left-out", "What did not finish", reading, tuple(pictures), Numbers(columns, rows), _matters(material)
    )


def _matters(material: Material) -> tuple[str, ...]:
    """For every two arms, whether another way of counting what was left out would change the verdict."""
    told = []
    for entry in material.analysis["left_out"]["matters"]:
        lost = entry["left_out"]
        arms = " and ".join(text(arm, 60) for arm in entry["arms"])
        if lost["trials"] and entry["observed"]["pairs"]:
            stays = "at least one way of counting" if lost["changes"] else "no way of counting"
            told.append(
                f"{arms}: {stays} the {lost['trials']} trials without a result, as failures, as successes, or for one "
                "arm and against the other, would change the verdict."
            )
    return tuple(told)


def _ended(kind: str) -> str:
    return {"out_of_memory": "ran out of memory", "timed_out": "timed out"}.get(kind, kind)


def _two_hyperparameters(material: Material, kind: str) -> tuple[str, str] | None:
    """Batch size and samples, which decide the memory; otherwise the two under which the endings are least even."""
    varied = [name for name in material.hyperparameters if 2 <= material.values(name).dropna().nunique() <= MOST_VALUES]
    if all(name in varied for name in USUAL) and kind == "out_of_memory":
        return USUAL
    if len(varied) < 2:
        return None
    ended = (material.trials["status"] == kind).astype(float)

    def unevenness(pair: tuple[str, str]) -> float:
        rates = ended.groupby([material.values(name).map(number) for name in pair]).transform("mean")
        return float(rates.var(ddof=0))

    return max(combinations(varied, 2), key=unevenness)


def _draw(ended: pd.Series[int], values: tuple[pd.Series[Any], pd.Series[Any]], names: tuple[str, str]) -> Figure:
    cells = pd.DataFrame({"ended": ended, "down": values[0], "across": values[1]}).groupby(["down", "across"])["ended"]
    count = cells.sum().unstack(fill_value=0)  # noqa: PD010
    of = cells.size().unstack(fill_value=0)  # noqa: PD010
    both = (count.to_numpy(dtype=float), of.to_numpy(dtype=float))
    return heat_map(*both, names, (list(of.index), list(of.columns)), OUTCOME_COLOURS["learned_nothing"])
