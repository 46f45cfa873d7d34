"""Importance of each hyperparameter for the scores of each arm, with its interval and a test against no effect."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from report.document import Numbers, Picture, Section, drawn_of
from report.drawing.axes import legend_above
from report.drawing.heat_map import count_map
from report.drawing.style import INK, OUTCOME_COLOURS, panel
from report.frames import StudyFrames
from report.judged_study import JudgedStudy
from report.records.estimates import JudgedOutcome
from report.sections.sensitivity.entries import ArmImportance, ImportanceEntry, TwoWay
from report.sections.sensitivity.levels import Levels
from report.words import DASH, OUTCOME_WORDS, at_floor, exact_percent, p_words, percent, text
from robustness.errors import RobustnessError
from robustness.space.space import Space, read_space
from robustness.statistics.importance import Importances, importances

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from report.analysis import Analysis

Codes = NDArray[np.int64]
Importance: TypeAlias = Mapping[str, ImportanceEntry]
"""By hyperparameter."""
MOST_MAPS = 4
MOST_DRAWN = 12
WITHIN = "not distinguishable from no effect"
WATCHED = "its test needs a number of configurations that was settled before the sweep, not a watched one"


def importance_results(
    units: Mapping[str, pd.DataFrame], levels: Mapping[str, Levels], study: JudgedStudy
) -> dict[str, ArmImportance]:
    """For each arm what `docs/report_json.md` describes under `importance`."""
    space, watched = study_space(study.frames), study.sample.watch is not None
    results: dict[str, ArmImportance] = {}
    for arm, frame in units.items():
        own = {name: each for name, each in levels.items() if study.frames.applies(name, arm)}
        found = Importances({}, WATCHED) if watched else importance_of(own, space, frame["score"])
        whole = sum(entry.raw for entry in found.of.values())
        results[arm] = {
            "hyperparameters": {
                name: {
                    "explained": entry.explained,
                    "low": entry.low,
                    "high": entry.high,
                    "chance": entry.chance,
                    "p_value": entry.p_value,
                    "p_adjusted": entry.p_adjusted,
                    "within_null": entry.within_null,
                }
                for name, entry in found.of.items()
            },
            "shares": {name: entry.raw / whole if whole > 0 else 0.0 for name, entry in found.of.items()},
            "quantile": None,
            "why_not": found.why_not,
            "permutations": found.permutations,
        }
    return results


def importance_of(levels: Mapping[str, Levels], space: Space | None, scores: pd.Series[Any]) -> Importances:
    """Importance of each hyperparameter for scores, indexed by configuration; without a space values are exchangeable.

    The blocks within which values are exchangeable are the combinations of levels of what they depend on in the space.
    """
    scores = scores.dropna()
    codes = codes_of(levels, scores.index)
    return importances(codes, blocks_of(codes, space), scores.to_numpy(dtype=float))


def codes_of(levels: Mapping[str, Levels], configurations: pd.Index) -> dict[str, Codes]:
    """The level of each configuration by hyperparameter; -1 is none."""
    return {name: each.of.reindex(configurations).fillna(-1).to_numpy(dtype=np.int64) for name, each in levels.items()}


def blocks_of(codes: Mapping[str, Codes], space: Space | None) -> dict[str, Codes]:
    """The block of each configuration, by those hyperparameters whose values depend on others by design."""
    depends = {name: [] if space is None else sorted(space.depends_on(name) & set(codes)) for name in codes}
    return {name: _combinations([codes[other] for other in fixed]) for name, fixed in depends.items() if fixed}


def _combinations(codes: list[Codes]) -> Codes:
    """A number for each combination of codes: [configurations]."""
    _, place = np.unique(np.stack(codes), axis=1, return_inverse=True)
    return np.asarray(place, dtype=np.int64).ravel()


def study_space(frames: StudyFrames) -> Space | None:
    """The search space of a study; None of imported runs."""
    try:
        return read_space(frames.document["space"], "space")
    except (RobustnessError, KeyError):
        return None  # imported runs come without one


def importance_sections(analysis: Analysis) -> Iterator[Section]:
    """The importance of each hyperparameter, and a map of the two most important ones."""
    results = analysis.results["sensitivity"]["importance"]
    arms = {arm: entry["hyperparameters"] for arm, entry in results.items() if entry["hyperparameters"]}
    pictures = []
    if arms:
        listed = "; ".join(f"{text(arm, 60)}: {_listed(own)}" for arm, own in arms.items())
        pictures.append(
            Picture(
                "importance",
                "Importance, beyond chance",
                "Bars with 95 % intervals: the share of the variance of ranked scores that a hyperparameter explains "
                f"beyond chance; {WITHIN}: hollow. {listed}.",
                partial(_draw, analysis, arms),
            )
        )
    maps = list(_maps(analysis, arms))
    pictures += maps[:MOST_MAPS]
    if not pictures:
        return
    rows = tuple(
        (
            text(name, 60),
            *(_cell(own[name], results[arm]["permutations"]) if name in own else DASH for arm, own in arms.items()),
        )
        for name in analysis.hyperparameters
        if any(name in own for own in arms.values())
    )
    numbers = Numbers(("Hyperparameter", *(text(arm, 40) for arm in arms)), rows) if rows else None
    yield Section(
        "importance",
        "Which hyperparameters matter",
        _reading(arms, results),
        tuple(pictures),
        numbers,
        _notes(analysis, arms, len(maps)),
    )


def _reading(arms: Mapping[str, Importance], results: Mapping[str, ArmImportance]) -> str:
    if not arms:
        reason = next((entry["why_not"] for entry in results.values() if entry["why_not"]), "nothing has been judged")
        return f"The importance of hyperparameters is unknown: {reason}."
    clauses = []
    for arm, own in arms.items():
        beyond = [f"{text(name, 60)} {_percent(e['explained'])}" for name, e in own.items() if not e["within_null"]]
        clauses.append(f"{text(arm, 60)}: {', '.join(beyond) or 'none'}")
    opening = "Hyperparameters that explain significantly more of the variation in scores than chance would"
    return f"{opening}: {'; '.join(clauses)}."


def _notes(analysis: Analysis, arms: Mapping[str, Importance], maps: int) -> tuple[str, ...]:
    if not arms:
        return ()
    hyperparameters = len({name for own in arms.values() for name in own})
    several = max(len(own) for own in arms.values()) > 1
    corrected = ", corrected for the number of hyperparameters of the arm (Bonferroni)" if several else ""
    permutations = next(analysis.results["sensitivity"]["importance"][arm]["permutations"] for arm in arms)
    together = " The shares do not add up to 100 %, because hyperparameters also act together." if several else ""
    return (
        *drawn_of(MOST_DRAWN, hyperparameters, "hyperparameters"),
        *drawn_of(MOST_MAPS, maps, "maps, one for each arm,", "the JSON"),
        "Importance is the share of the variance of the scores' ranks that a hyperparameter explains by itself, "
        f"corrected for chance: without an effect it is zero on average, and may be negative.{together}",
        f"Hollow bars: {WITHIN} at the 5 % level, {permuted(analysis, permutations)}{corrected}. This does not show "
        "that there is no effect. Intervals are by bootstrap over configurations, 95 % each.",
    )


def permuted(analysis: Analysis, permutations: int | None = None) -> str:
    """Which configurations exchange their values in tests: those of a block, where values depend on others."""
    space, varied = study_space(analysis.frames), set(analysis.frames.varied)
    depends = space is not None and any(space.depends_on(name) & varied for name in varied)
    among = " that share the choices on which the hyperparameter depends" if depends else ""
    count = "permutation" if permutations is None else f"{permutations:,} permutations"
    return f"by {count} among configurations{among}"


def _maps(analysis: Analysis, arms: Mapping[str, Importance]) -> Iterator[Picture]:
    """The primary outcome by the two hyperparameters that are most important to all arms together."""
    tables = analysis.results["sensitivity"]["two_way"]

    def weight(table: TwoWay) -> float:
        return sum(own[name]["explained"] for own in arms.values() for name in table["hyperparameters"] if name in own)

    if not tables or not analysis.frames.has_thresholds:
        return
    table = max(tables, key=weight)
    words = OUTCOME_WORDS[analysis.primary]
    down, across = (text(name, 40) for name in table["hyperparameters"])
    for place, arm in enumerate(analysis.arms.names):
        if arm in table["arms"] and np.any(table["arms"][arm]["of"]):
            yield Picture(
                f"two-way-{place}",
                f"{text(arm)}: {words} by {down} and {across}",
                f"A map of {down} by {across} for {text(arm, 60)}: in each cell how many trials, of all there, "
                f"had the outcome “{words}”.",
                partial(_draw_map, table, arm, analysis.primary),
            )


def _draw(analysis: Analysis, arms: Mapping[str, Importance]) -> Figure:
    names = [name for name in analysis.hyperparameters if any(name in own for own in arms.values())]
    names.sort(key=lambda name: -max(own[name]["explained"] for own in arms.values() if name in own))
    names = names[:MOST_DRAWN]
    figure, axes = panel(height=max(2.4, 1.4 + 0.45 * len(names)))
    height = 0.8 / len(arms)
    for place, (arm, own) in enumerate(arms.items()):
        colour = analysis.arms.colour(arm)
        for at, name in enumerate(names):
            if name not in own:
                continue
            entry, y = own[name], at + (place - (len(arms) - 1) / 2) * height
            fill = "none" if entry["within_null"] else colour
            axes.barh(y, 100 * entry["explained"], 0.9 * height, facecolor=fill, edgecolor=colour, linewidth=1)
            axes.plot([100 * entry["low"], 100 * entry["high"]], [y, y], color=INK, linewidth=0.9)
    axes.axvline(0, color=INK, linewidth=1)
    axes.set_yticks(range(len(names)), [text(name, 20) for name in names])
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.set_xlabel("% of the variance explained, beyond chance")
    axes.grid(visible=False, axis="y")
    # Bars without length, for the legend: a colour for each arm, and a hollow one.
    for arm in arms:
        axes.barh(0, 0, color=analysis.arms.colour(arm), label=text(arm, 40))
    if any(entry["within_null"] for own in arms.values() for entry in own.values()):
        axes.barh(0, 0, facecolor="none", edgecolor=INK, linewidth=1, label=f"hollow: {WITHIN}")
    legend_above(figure, 2, handlelength=1)
    return figure


def _draw_map(table: TwoWay, arm: str, outcome: JudgedOutcome) -> Figure:
    own = table["arms"][arm]
    count, of = np.array(own[outcome], dtype=float), np.array(own["of"], dtype=float)
    rows, columns = table["values"]
    down, across = table["hyperparameters"]
    return count_map(count, of, (down, across), (rows, columns), OUTCOME_COLOURS[outcome])


def _percent(share: float) -> str:
    return f"{percent(share)} %"


def _cell(entry: ImportanceEntry, permutations: int | None) -> str:
    p = p_words(entry["p_adjusted"], at_most=at_floor(entry["p_value"], permutations))
    if entry["within_null"]:
        return f"{exact_percent(entry['explained'])}: {WITHIN} ({p})"
    ends = f"{exact_percent(entry['low'])} to {exact_percent(entry['high'])}"
    return f"{exact_percent(entry['explained'])} [{ends}] ({p})"


def _listed(own: Importance) -> str:
    return ", ".join(f"{text(name, 60)} {_percent(entry['explained'])}" for name, entry in own.items())
