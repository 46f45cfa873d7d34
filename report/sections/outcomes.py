"""The outcome bars (the paper's robustness figure): what fraction of configurations learned nothing, and was good."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import partial
from typing import Any

from matplotlib.figure import Figure

from report.drawing.style import INK, Numbers, Picture, Section, panel, text
from report.material import Material

OUTCOMES = (("learned_nothing", "learned nothing"), ("good", "good"))


def share(entry: Mapping[str, Any]) -> str:
    """A fraction with its count and, where there is one, its interval."""
    if not entry["of"]:
        return "–"
    told = f"{percent(entry['fraction'])} ({entry['count']} of {entry['of']})"
    if not has_interval(entry):
        return told
    return f"{told} [{percent(entry['low'])} to {percent(entry['high'])}]"


def percent(value: float) -> str:
    """A fraction in per cent, halves rounded up as the page's script does it."""
    return f"{math.floor(1000 * value + 0.5) / 10:.1f}\u00a0%"


def has_interval(entry: Mapping[str, Any]) -> bool:
    """Whether chance has a part in the fraction: not where the whole space was run."""
    return bool(entry["of"]) and not str(entry["interval"]).startswith("none")


def outcomes_section(material: Material) -> Section | None:
    """The bars of both outcomes, for the best and for the last epoch; None without a complete pair."""
    pictures, rows = [], []
    for epoch in ("best", "last"):
        entries = material.outcomes(epoch)
        if not any(entry["of"] for arm in entries.values() for entry in arm.values()):
            continue
        judged = " (the study's choice)" if epoch == material.epoch else ""
        told = "; ".join(
            f"{text(arm, 60)} {words} {share(entries[arm][outcome])}" for outcome, words in OUTCOMES for arm in entries
        )
        pictures.append(
            Picture(
                f"outcomes-{epoch}",
                f"Judged at the {epoch} epoch{judged}",
                f"Bars of the fraction of configurations, with 95 % intervals: {told}.",
                partial(_draw, material, entries, epoch),
            )
        )
        rows += [
            (text(arm, 60), epoch, *(share(entry[outcome]) for outcome, _ in OUTCOMES))
            for arm, entry in entries.items()
        ]
    if not pictures:
        return None
    notes = ["Whiskers are 95 % intervals."]
    for arm in material.arms.names:
        theirs = [material.reference(outcome, arm) for outcome, _ in OUTCOMES]
        if any(value is not None for value in theirs):
            shown = ("–" if value is None else f"{100 * value:.0f} %" for value in theirs)
            rows.append((f"{text(arm, 60)}, {material.reference_label}", "not said", *shown))
            diamonds = f"Diamonds are the figures of {material.reference_label}."
            notes += [diamonds] if diamonds not in notes else []
    pictures.sort(key=lambda picture: not picture.name.endswith(material.epoch))
    columns = ("Arm", "Epoch", "Learned nothing", "Good")
    return Section(
        "outcomes", "Outcomes", _reading(material), tuple(pictures), Numbers(columns, tuple(rows)), tuple(notes)
    )


def _draw(material: Material, entries: Mapping[str, Any], epoch: str) -> Figure:
    arms = list(entries)
    figure, axes = panel()
    width = 0.8 / len(arms)
    small = 9.5 if len(arms) < 4 else 7.5
    for group, (outcome, _) in enumerate(OUTCOMES):
        for place, arm in enumerate(arms):
            entry = entries[arm][outcome]
            if not entry["of"]:
                continue
            x = group + (place - (len(arms) - 1) / 2) * width
            height = 100 * entry["fraction"]
            axes.bar(x, height, 0.88 * width, color=material.arms.colour(arm), edgecolor=INK, linewidth=0.4)
            top = height
            if has_interval(entry):
                low, high = 100 * entry["low"], 100 * entry["high"]
                axes.errorbar(x, height, [[max(0, height - low)], [max(0, high - height)]], color=INK, capsize=3, lw=1)
                top = max(top, high)
            theirs = material.reference(outcome, arm)
            if theirs is not None:
                axes.plot(x + 0.3 * width, 100 * theirs, "D", color="white", markeredgecolor=INK, markersize=6)
                if top - 4 < 100 * theirs < top + 16:
                    top = 100 * theirs + 2
            told = f"{height:.0f} %" if len(arms) > 3 else f"{height:.0f} %\n{entry['count']}/{entry['of']}"
            axes.text(x, top + 1.5, told, ha="center", va="bottom", fontsize=small, linespacing=1.05)
    axes.set_xticks(range(len(OUTCOMES)), [words for _, words in OUTCOMES], fontsize=11)
    axes.set_xlim(-0.55, len(OUTCOMES) - 0.45)
    axes.set_ylim(0, 122)
    axes.set_yticks(range(0, 101, 20))
    axes.grid(visible=False, axis="x")
    axes.set_ylabel(f"% of configurations, {epoch} epoch")
    if material.reference_label and any(line.get_marker() == "D" for line in axes.lines):
        axes.set_xlabel(f"\N{WHITE DIAMOND} {text(material.reference_label, 60)}", fontsize=9.5)
    handles = [axes.bar(0, 0, color=material.arms.colour(arm), label=text(arm, 18)) for arm in arms]
    figure.legend(handles=handles, loc="upper left", ncols=min(3, len(arms)), fontsize=9.5, handlelength=1)
    return figure


def _reading(material: Material) -> str:
    entries = material.outcomes(material.epoch)
    outcome = material.primary
    words = dict(OUTCOMES)[outcome]
    known = [arm for arm in entries if entries[arm][outcome]["of"]]
    if not known:
        return "No complete pair has been judged yet."
    best = max(known, key=lambda arm: entries[arm][outcome]["fraction"])
    told = ", ".join(f"{text(arm, 60)} {share(entries[arm][outcome])}" for arm in known)
    if len(known) == 1:
        return f"Of its configurations, {text(best, 60)} {words} in {share(entries[best][outcome])}."
    return f"Configurations that {'were good' if outcome == 'good' else words}: {told}."
