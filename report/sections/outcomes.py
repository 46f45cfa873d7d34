"""The outcome bars (the paper's robustness figure): which fractions of configurations learned nothing, or are good."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING

from report.document import Numbers, Picture, Section
from report.drawing.style import INK, panel
from report.judged_study import JudgedStudy
from report.judging import OUTCOMES
from report.records.estimates import ArmCounts, JudgedOutcome, OutcomeFractions, known
from report.sections.profiles import areas
from report.sections.weighted import drawn_mix
from report.words import DASH, OUTCOME_WORDS, has_interval, percent, replicated, share_cell, short_units, text

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from report.analysis import Analysis

CONFIGURATIONS = {"learned_nothing": "configurations that learned nothing", "good": "good configurations"}


class ArmResults(ArmCounts):
    """An arm's fractions at both epochs, its best and median score, and the area under its profile."""

    profile_area: float | None


def results(study: JudgedStudy) -> dict[str, ArmResults]:
    """The fractions of each arm at both epochs, its best and median score, and the area under its profile."""
    means = {arm: areas(study, arm) for arm in study.outcome_counts}
    return {
        arm: {**entry, "profile_area": float(means[arm].mean()) if len(means[arm]) else None}
        for arm, entry in study.outcome_counts.items()
    }


def sections(analysis: Analysis) -> Iterator[Section]:
    """The bars of both outcomes, for the best and for the last epoch; none without a complete pair."""
    pictures, rows = [], []
    for epoch in analysis.study.epochs_shown:
        arms = analysis.outcomes(epoch)
        if not any(entry[outcome]["of"] for entry in arms.values() for outcome in OUTCOMES):
            continue
        own = " (the study's choice)" if epoch == analysis.epoch else ""
        shares = "; ".join(
            f"{text(arm, 60)} {OUTCOME_WORDS[outcome]} {share_cell(arms[arm][outcome])}"
            for outcome in OUTCOMES
            for arm in arms
        )
        pictures.append(
            Picture(
                f"outcomes-{epoch}",
                f"Judged at the {epoch} epoch{own}",
                f"Bars of the fraction of configurations, with 95 % intervals: {shares}.",
                partial(_draw, analysis, arms, epoch),
            )
        )
        rows += [
            (text(arm, 60), epoch, *(share_cell(entry[outcome]) for outcome in OUTCOMES)) for arm, entry in arms.items()
        ]
    if not pictures:
        return
    notes = ["Whiskers are 95 % intervals.", *_epochs(analysis), *_replicates(analysis), *drawn_mix(analysis)]
    for arm in analysis.arms.names:
        theirs = [analysis.reference(outcome, arm) for outcome in OUTCOMES]
        if any(value is not None for value in theirs):
            cells = (DASH if value is None else f"{percent(value)} %" for value in theirs)
            rows.append((f"{text(arm, 60)}, {analysis.reference_label}", "not said", *cells))
            diamonds = f"Diamonds are the figures of {analysis.reference_label}."
            notes += [diamonds] if diamonds not in notes else []
    pictures.sort(key=lambda picture: not picture.name.endswith(analysis.epoch))
    columns = ("Arm", "Epoch", "Learned nothing", "Good")
    yield Section(
        "outcomes", "Outcomes", _reading(analysis), tuple(pictures), Numbers(columns, tuple(rows)), tuple(notes)
    )


def _draw(analysis: Analysis, entries: Mapping[str, OutcomeFractions], epoch: str) -> Figure:
    arms = list(entries)
    figure, axes = panel()
    width = 0.8 / len(arms)
    small = 9.5 if len(arms) < 4 else 7.5
    for group, outcome in enumerate(OUTCOMES):
        for place, arm in enumerate(arms):
            entry = entries[arm][outcome]
            if entry["fraction"] is None:
                continue
            x = group + (place - (len(arms) - 1) / 2) * width
            height = 100 * entry["fraction"]
            axes.bar(x, height, 0.88 * width, color=analysis.arms.colour(arm), edgecolor=INK, linewidth=0.4)
            top = height
            if has_interval(entry):
                low, high = 100 * known(entry["low"]), 100 * known(entry["high"])
                axes.errorbar(x, height, [[max(0, height - low)], [max(0, high - height)]], color=INK, capsize=3, lw=1)
                top = max(top, high)
            theirs = analysis.reference(outcome, arm)
            if theirs is not None:
                axes.plot(x + 0.3 * width, 100 * theirs, "D", color="white", markeredgecolor=INK, markersize=6)
                if top - 4 < 100 * theirs < top + 16:
                    top = 100 * theirs + 2
            below = short_units(entry) if replicated(entry) else f"{entry['count']}/{entry['of']}"
            label = f"{percent(entry['fraction'])} %" + ("" if len(arms) > 3 else f"\n{below}")
            axes.text(x, top + 1.5, label, ha="center", va="bottom", fontsize=small, linespacing=1.05)
    axes.set_xticks(range(len(OUTCOMES)), [OUTCOME_WORDS[outcome] for outcome in OUTCOMES], fontsize=11)
    axes.set_xlim(-0.55, len(OUTCOMES) - 0.45)
    axes.set_ylim(0, 122)
    axes.set_yticks(range(0, 101, 20))
    axes.grid(visible=False, axis="x")
    axes.set_ylabel(f"% of configurations, {epoch} epoch")
    if analysis.reference_label and any(line.get_marker() == "D" for line in axes.lines):
        axes.set_xlabel(f"\N{WHITE DIAMOND} {text(analysis.reference_label, 60)}", fontsize=9.5)
    handles = [axes.bar(0, 0, color=analysis.arms.colour(arm), label=text(arm, 18)) for arm in arms]
    figure.legend(handles=handles, loc="upper left", ncols=min(3, len(arms)), fontsize=9.5, handlelength=1)
    return figure


def _epochs(analysis: Analysis) -> Iterator[str]:
    """That thresholds differ between the epochs shown, so that fractions may rise or fall from one to the other."""
    judges = analysis.study.judges
    best, last = ((judges[epoch].nothing, judges[epoch].cells) for epoch in ("best", "last"))
    if len(analysis.study.epochs_shown) > 1 and best != last:
        yield (
            "The last epoch has thresholds of its own, so a trial may have learned nothing at the best epoch and not "
            "at the last."
        )


def _replicates(analysis: Analysis) -> Iterator[str]:
    if analysis.study.sample.replicated:
        yield (
            "Fractions are means over configurations of the share of their replicates; 8 x 4 stands for "
            "8 configurations x 4 replicates. Replicates narrow an interval only as far as they differ from each other."
        )


def _reading(analysis: Analysis) -> str:
    arms = analysis.outcomes(analysis.epoch)
    outcome = analysis.primary
    judged = [arm for arm in arms if arms[arm][outcome]["of"]]
    if not judged:
        return "No complete pair has been judged yet."
    if len(judged) == 1:
        share = share_cell(arms[judged[0]][outcome])
        return f"Share of {text(judged[0], 60)}'s configurations that {_did(outcome)}: {share}."
    shares = ", ".join(f"{text(arm, 60)} {share_cell(arms[arm][outcome])}" for arm in judged)
    return f"Configurations that {_did(outcome)}: {shares}."


def _did(outcome: JudgedOutcome) -> str:
    return "were good" if outcome == "good" else OUTCOME_WORDS[outcome]
