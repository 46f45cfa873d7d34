"""Training dynamics: the paper's panels of training AUC, the terms of the loss and the gradient's noise."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from report.drawing.style import Numbers, Picture, Section, label_ends, number, panel, text
from report.material import Material

KEYS = ["configuration", "replicate"]
MEASURES = (
    ("train_auc", "training AUC"),
    ("nll", "NLL term of the loss"),
    ("kl", "KL term of the loss"),
    ("cross_entropy", "cross-entropy to the prior"),
    ("gradient_sd", "standard deviation of the NLL's gradient"),
)


def dynamics_section(material: Material) -> Section | None:
    """Each measure by epoch as a band over all pairs, with one chosen pair as lines; None if none was measured."""
    epochs = material.epochs
    kept = material.pairs
    together = epochs if kept.empty else epochs.merge(kept[KEYS].drop_duplicates(), on=KEYS)
    together = together.loc[~together["pretraining"]]
    if {"cross_entropy", "entropy"} <= set(together.columns):
        together = together.assign(kl=together["cross_entropy"] - together["entropy"])
    turned = (material.analysis.get("turns") or {}).get("arms") or {}
    chosen = choose_pair(material)
    pictures, rows = [], []
    for measure, words in _available(together):
        bands = _bands(together, measure)
        lines = _lines(together, measure, chosen)
        marks = {arm: found[measure]["epoch"] for arm, found in turned.items() if measure in found}
        marks = {arm: epoch for arm, epoch in marks.items() if epoch is not None}
        pictures.append(
            Picture(
                f"dynamics-{measure.replace('_', '-')}",
                words[0].upper() + words[1:],
                f"{words} by epoch for each arm: the median and the middle 80 % of all pairs as a band"
                + (f", configuration {chosen[0]} as a line." if chosen else ".")
                + "".join(f" {text(arm, 40)} turns after epoch {epoch:g}." for arm, epoch in marks.items()),
                partial(_draw, material, bands, lines, words, marks),
            )
        )
        for arm in material.arms.names:
            if arm in bands:
                middle = bands[arm][0.5]
                rows.append((text(arm, 60), words, number(float(middle.iloc[0])), number(float(middle.iloc[-1]))))
    if not pictures:
        return None
    of = "all trials" if kept.empty else "the trials of complete pairs"
    notes = [f"Bands hold the middle 80 % of {of}, dotted lines are their medians."]
    if chosen:
        values = ", ".join(f"{name} {number(value)}" for name, value in material.hyperparameters_of(chosen[0]).items())
        told = f" ({values})" if values else ""
        notes.append(f"Solid lines are configuration {chosen[0]}, the pair whose arms end furthest apart{told}.")
    if turned:
        notes.append(
            "Dashed vertical lines in an arm's colour mark the last epoch before a measure leaves its best level for "
            "good: by at least five standard errors from its best running mean, and with a trend after it."
        )
    return Section(
        "dynamics",
        "Training dynamics",
        " ".join((material.analysis.get("turns") or {}).get("sentences") or [_reading(together, material)]),
        tuple(pictures),
        Numbers(("Arm", "Measure", "Median at its first epoch", "Median at its last"), tuple(rows)),
        tuple(notes),
    )


def choose_pair(material: Material) -> tuple[int, int] | None:
    """The configuration and replicate of the complete pair whose arms differ most in their score."""
    if material.pairs.empty or len(material.arms.names) < 2:
        return None
    pairs = material.pairs
    # A trial that diverged at once has no line to show.
    lasting = pairs.loc[pairs.groupby(KEYS)["epochs"].transform("min") > 1]
    scores = (pairs if lasting.empty else lasting).pivot_table(
        index=KEYS, columns="arm", values="score", aggfunc="first"
    )
    apart = (scores.max(axis=1) - scores.min(axis=1)).fillna(-1.0)
    configuration, replicate = apart.index[int(np.argmax(apart.to_numpy()))]
    return int(configuration), int(replicate)


def _available(epochs: pd.DataFrame) -> list[tuple[str, str]]:
    found = [(name, words) for name, words in MEASURES if name in epochs.columns and np.isfinite(epochs[name]).any()]
    if "train_auc" in dict(found) or "train_accuracy" not in epochs.columns:
        return found
    accuracy = [("train_accuracy", "training accuracy")] if np.isfinite(epochs["train_accuracy"]).any() else []
    return [*accuracy, *found]


def _bands(epochs: pd.DataFrame, measure: str) -> dict[str, pd.DataFrame]:
    """For each arm a frame by epoch with the 10, 50 and 90 % points."""
    finite = epochs.loc[np.isfinite(epochs[measure])]
    points = finite.groupby(["arm", "epoch"])[measure].quantile([0.1, 0.5, 0.9]).unstack()  # noqa: PD010
    return {str(arm): points.loc[arm] for arm in points.index.get_level_values("arm").unique()}


def _lines(epochs: pd.DataFrame, measure: str, chosen: tuple[int, int] | None) -> dict[str, np.ndarray]:
    if chosen is None:
        return {}
    own = epochs.loc[(epochs["configuration"] == chosen[0]) & (epochs["replicate"] == chosen[1])]
    own = own.loc[np.isfinite(own[measure])]
    return {str(arm): group[["epoch", measure]].to_numpy() for arm, group in own.groupby("arm")}


def _draw(
    material: Material,
    bands: dict[str, pd.DataFrame],
    lines: dict[str, np.ndarray],
    words: str,
    marks: Mapping[str, float],
) -> Figure:
    figure, axes = panel()
    ends = {}
    lowest = min(float(frame[0.1].min()) for frame in bands.values())
    highest = max(float(frame[0.9].max()) for frame in bands.values())
    for arm in material.arms.names:
        if arm not in bands:
            continue
        frame, colour = bands[arm], material.arms.colour(arm)
        x = frame.index.to_numpy(dtype=float)
        axes.fill_between(x, frame[0.1], frame[0.9], color=colour, alpha=0.18, linewidth=0)
        mark = "o" if len(x) == 1 else None
        axes.plot(x, frame[0.5], color=colour, linewidth=1.2, linestyle=(0, (1.5, 1.5)), marker=mark, markersize=4)
        ends[arm] = (float(x[-1]), float(frame[0.5].iloc[-1]))
        if arm in lines and len(lines[arm]) > 1:
            axes.plot(*lines[arm].T, color=colour, linewidth=1.8, linestyle=material.arms.dash(arm))
            ends[arm] = (float(lines[arm][-1, 0]), float(lines[arm][-1, 1]))
    if lowest > 0 and highest > 30 * lowest:
        axes.set_yscale("log")
        axes.yaxis.set_major_formatter(lambda value, _: number(value))
        axes.yaxis.set_minor_formatter(lambda *_: "")
    for arm, epoch in marks.items():
        axes.axvline(epoch, color=material.arms.colour(arm), linewidth=1.3, linestyle=(0, (6, 3)))
        axes.annotate(
            f"{epoch:g}",
            (epoch, 1.0),
            xycoords=("data", "axes fraction"),
            xytext=(0, 2),
            textcoords="offset points",
            ha="center",
            fontsize=9,
        )
    axes.margins(x=0.02)
    axes.set_xlabel("epoch")
    axes.set_ylabel(words if len(words) < 30 else "gradient's standard deviation")
    label_ends(axes, ends, material.arms)
    return figure


def _reading(epochs: pd.DataFrame, material: Material) -> str:
    for measure, words, say in (
        ("gradient_sd", "standard deviation of the NLL's gradient", "Over all epochs the median {words} is {told}."),
        ("train_auc", "training AUC", "At the last epoch the median {words} is {told}."),
        ("nll", "NLL term", "At the last epoch the median {words} is {told}."),
    ):
        if measure not in epochs.columns:
            continue
        finite = epochs.loc[np.isfinite(epochs[measure])]
        if measure != "gradient_sd" and len(finite):
            finite = finite.loc[finite["epoch"] == finite.groupby("arm")["epoch"].transform("max")]
        medians = finite.groupby("arm")[measure].median()
        told = ", ".join(f"{number(float(medians[a]))} for {text(a, 40)}" for a in material.arms.names if a in medians)
        if told:
            return say.format(words=words, told=told)
    return "No measure of training has been recorded."
