"""Three verdicts: whether arms differ, are equivalent within the study's margin, or neither is shown; and contrasts."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, TypedDict

import numpy as np
import pandas as pd

from report.comparison import by_configuration, has_outcome, side_by_side
from report.document import Numbers, Section
from report.judged_study import JudgedStudy
from report.judging import OUTCOMES
from report.records.estimates import Ends, JudgedOutcome
from report.records.families import closed_p
from report.watched import NOT_FIXED, Watch
from report.words import OUTCOME_WORDS, bracketed, p_number, p_words, signed_to, text
from robustness.statistics.contrasts import Contrast, outcome_contrast, score_contrast
from robustness.statistics.equivalence import LEVEL, Equivalence, Verdict, verdict
from robustness.statistics.paired import holm
from robustness.statistics.proportions import Interval
from robustness.statistics.sequential import anytime_p

if TYPE_CHECKING:
    from report.analysis import Analysis

FIXED_RULE = (
    "the 90 % interval lies within it, so both one-sided tests reject at 5 %, corrected by Holm like the tests of a "
    "difference."
)
SINGLE_RULE = "the 90 % interval lies within it, so both one-sided tests reject at 5 %."
WATCHED_RULE = (
    "bets against both of its edges are won at the 5 % level, corrected by closed testing like the tests of a "
    "difference. That holds however often the evidence was looked at."
)


class VerdictEntry(Ends):
    """A weighted sum of arms with its 95 % interval, its test, and its equivalence to zero within a margin."""

    name: str
    weights: dict[str, float]
    outcome: JudgedOutcome | None
    """None of scores."""
    configurations: int
    difference: float
    p_value: float | None
    p_adjusted: float | None
    """Over the entries of the same kind and outcome: by Holm, in a watched sweep by closed testing."""
    margin: float | None
    low_90: float | None
    high_90: float | None
    p_equivalence: float | None
    p_equivalence_adjusted: float | None
    p_not_lower: float | None
    """That the difference is not below zero by as much as the margin."""
    p_not_higher: float | None
    verdict: Verdict


class EquivalenceResults(TypedDict):
    """Comparisons and contrasts, of each outcome and of scores, at the study's epoch."""

    fraction_margin: float | None
    score_margin: float | None
    comparisons: list[VerdictEntry]
    contrasts: list[VerdictEntry]


def results(study: JudgedStudy) -> EquivalenceResults | None:
    """Every comparison and contrast; None for a study without a margin and contrasts."""
    document = study.frames.document
    if margins_in(document) == (None, None) and not document.get("contrasts"):
        return None
    return verdicts(study)


def verdicts(study: JudgedStudy) -> EquivalenceResults:
    """Every comparison and contrast; of a watched sweep, with evidence that holds however often it was looked at."""
    document = study.frames.document
    margins, contrasts = margins_in(document), document.get("contrasts") or {}
    compared = {f"{first} - {second}": {first: 1.0, second: -1.0} for first, second in study.frames.compared}
    return {
        "fraction_margin": margins[0],
        "score_margin": margins[1],
        "comparisons": _families(study, compared, margins),
        "contrasts": _families(study, contrasts, margins),
    }


def margins_in(document: Mapping[str, object]) -> tuple[float | None, float | None]:
    """The margins of fractions and of scores in a study's document."""
    outcomes = document["outcomes"]
    within = outcomes.get("equivalent_within") if isinstance(outcomes, Mapping) else None
    if isinstance(within, Mapping):
        return within.get("fraction"), within.get("score")
    return within, None


@dataclass(frozen=True)
class _Tested:
    """A comparison or contrast before correction."""

    name: str
    weights: dict[str, float]
    configurations: int
    contrast: Contrast
    different: pd.Series[float] | None = None
    """The e-process of a difference, in a watched sweep."""
    within: pd.Series[float] | None = None
    """The e-process of equivalence, in a watched sweep with a margin."""
    planned: bool = False
    """Whether a watched study names this comparison in advance, so that it stands by itself."""

    @property
    def p_equivalence(self) -> float | None:
        if self.within is not None:
            return anytime_p(self.within)
        return None if self.contrast.equivalence is None else self.contrast.equivalence.p_value


def _families(
    study: JudgedStudy, sums: Mapping[str, Mapping[str, float]], margins: tuple[float | None, float | None]
) -> list[VerdictEntry]:
    frames, judged, watch = study.frames, study.planned, study.sample.watch
    entries: list[VerdictEntry] = []
    kinds: list[JudgedOutcome | None] = [*OUTCOMES, None] if frames.has_thresholds else [None]
    for kind in kinds:
        values = judged[f"score_{frames.rule}"] if kind is None else has_outcome(judged, kind, frames.rule)
        margin = margins[1] if kind is None else margins[0]
        family = []
        for name, weights in sums.items():
            pairs = side_by_side(judged, values, list(weights))
            if not len(pairs):
                continue
            if watch is not None:
                planned = (frozenset(weights), kind, frames.rule) == watch.planned
                family.append(_watched(watch, name, dict(weights), pairs, kind, margin, planned))
                continue
            owners = pairs.index.get_level_values("configuration")
            contrast = score_contrast if kind is None else outcome_contrast
            tested = contrast(pairs.to_numpy(), list(weights.values()), owners, margin)
            family.append(_Tested(name, dict(weights), len(by_configuration(pairs)), tested))
        entries += _corrected(kind, family)
    return entries


def _watched(
    watch: Watch,
    name: str,
    weights: dict[str, float],
    pairs: pd.DataFrame,
    kind: JudgedOutcome | None,
    margin: float | None,
    planned: bool,
) -> _Tested:
    """The weighted sum of pairs [pairs, arms] by its evidence after each configuration."""
    means = by_configuration(pairs)
    sums = pd.Series(means.to_numpy(dtype=float) @ np.array(list(weights.values())), index=means.index)
    scale = sum(weight for weight in weights.values() if weight > 0)
    limits = (-1.0, 1.0) if kind is not None else watch.score_limits
    reach = None if limits is None else (scale * limits[0], scale * limits[1])
    entry, evidence = watch.tested(sums, reach)
    within, equivalence = None, None
    if margin is not None and reach is not None:
        within = watch.equivalence(sums, reach[1], margin)
        sides = [anytime_p(watch.one_sided(sums, reach[1], margin, side)) for side in ("above", "below")]
        equivalence = Equivalence(margin, Interval.none(NOT_FIXED), *sides)
    interval = Interval(
        math.nan if entry["low"] is None else entry["low"],
        math.nan if entry["high"] is None else entry["high"],
        entry["interval"],
    )
    contrast = Contrast(float(sums.mean()), interval, entry["p_value"], float(len(sums)), equivalence)
    return _Tested(name, weights, len(sums), contrast, evidence.path, within, planned)


def _corrected(kind: JudgedOutcome | None, family: Sequence[_Tested]) -> list[VerdictEntry]:
    """The entries of one family; p-values of difference and of equivalence are corrected, each by itself."""
    different = _adjusted([each.contrast.p_value for each in family], [each.different for each in family], family)
    equivalent = _adjusted([each.p_equivalence for each in family], [each.within for each in family], family)
    entries: list[VerdictEntry] = []
    for place, each in enumerate(family):
        tested, shown = each.contrast, each.contrast.equivalence
        entries.append(
            {
                "name": each.name,
                "weights": each.weights,
                "outcome": kind,
                "configurations": each.configurations,
                "difference": tested.value,
                "low": tested.interval.low,
                "high": tested.interval.high,
                "interval": tested.interval.method,
                "p_value": tested.p_value,
                "p_adjusted": different[place],
                "margin": None if shown is None else shown.margin,
                "low_90": None if shown is None else shown.interval.low,
                "high_90": None if shown is None else shown.interval.high,
                "p_equivalence": each.p_equivalence,
                "p_equivalence_adjusted": equivalent[place],
                "p_not_lower": None if shown is None else shown.p_above,
                "p_not_higher": None if shown is None else shown.p_below,
                "verdict": verdict(different[place], equivalent[place]),
            }
        )
    return entries


def _adjusted(
    p_values: Sequence[float | None], paths: Sequence[pd.Series[float] | None], family: Sequence[_Tested]
) -> list[float | None]:
    """Holm's correction or, of the e-processes of a watched sweep, closed testing; a planned comparison has none."""
    alone = [each.planned or p_value is None for each, p_value in zip(family, p_values, strict=True)]
    if any(path is not None for path in paths):
        together = [path for path, own in zip(paths, alone, strict=True) if path is not None and not own]
        adjusted = iter(closed_p(together))
    else:
        adjusted = iter(holm([p for p, own in zip(p_values, alone, strict=True) if p is not None and not own]))
    return [p_value if own else next(adjusted) for p_value, own in zip(p_values, alone, strict=True)]


def sections(analysis: Analysis) -> Iterator[Section]:
    """The table of verdicts; none without margins and contrasts."""
    found = analysis.results["equivalence"]
    if found is None:
        return
    entries = [*found["comparisons"], *found["contrasts"]]
    own = [entry for entry in entries if entry["outcome"] == (analysis.primary if has_outcomes(entries) else None)]
    listed = "; ".join(f"{text(entry['name'], 80)} {verdict_words(entry)}" for entry in own)
    margins = [
        words
        for words in (
            None if found["fraction_margin"] is None else f"{100 * found['fraction_margin']:g} points",
            None if found["score_margin"] is None else f"{found['score_margin']:g} in the mean score",
        )
        if words
    ]
    watched = analysis.study.sample.watch is not None
    rule = WATCHED_RULE if watched else SINGLE_RULE if _is_single(entries) else FIXED_RULE
    notes = (
        f"Equivalent within the study's margin, {' and '.join(margins)}: {rule} A difference that is significant and "
        "shown to be smaller than the margin counts as equivalent."
        if margins
        else "The study sets no margin of equivalence (outcomes.equivalent_within).",
        "Undecided is not equivalent: neither a difference nor its absence is shown.",
        *(() if watched else chain(_only_alone(found["comparisons"]), _only_alone(found["contrasts"]))),
    )
    numbers = verdict_table(entries, watched)
    yield Section("equivalence", "Different, equivalent or undecided", f"{listed}.", (), numbers, notes)


def _is_single(entries: Sequence[VerdictEntry]) -> bool:
    """Whether each outcome has one entry, so that nothing is corrected."""
    return len({entry["outcome"] for entry in entries}) == len(entries)


def _only_alone(entries: Sequence[VerdictEntry]) -> Iterator[str]:
    """Why an entry is undecided although its 90 % interval lies within the margin."""
    for entry in entries:
        alone, together = entry["p_equivalence"], entry["p_equivalence_adjusted"]
        if alone is None or together is None or not alone < LEVEL <= together or entry["verdict"] != "undecided":
            continue
        family = sum(each["outcome"] == entry["outcome"] and each["p_equivalence"] is not None for each in entries)
        yield (
            f"{text(entry['name'], 80)} ({_kind(entry)}): its 90 % interval lies within the margin, which would show "
            f"equivalence if this were the only comparison ({p_words(alone)}); corrected by Holm for {family} of "
            f"them it does not ({p_words(together)})."
        )


def verdict_table(entries: Sequence[VerdictEntry], watched: bool = False) -> Numbers:
    """A row for each comparison and contrast; a watched sweep has no 90 % interval."""
    corrected = "p" if _is_single(entries) else "p corrected" if watched else "p by Holm"
    columns = ["What", "Of", "Difference [95 %]", corrected, "90 % interval", "p of equivalence", "Verdict"]
    rows = [
        [
            text(entry["name"], 80),
            _kind(entry),
            _cell(entry, "low", "high"),
            p_number(entry["p_adjusted"]),
            _cell(entry, "low_90", "high_90"),
            p_number(entry["p_equivalence_adjusted"]),
            verdict_words(entry),
        ]
        for entry in entries
    ]
    place = columns.index("90 % interval")
    for row in (columns, *rows) if watched else ():
        del row[place]
    return Numbers(tuple(columns), tuple(tuple(row) for row in rows))


def has_outcomes(entries: Sequence[VerdictEntry]) -> bool:
    return any(entry["outcome"] is not None for entry in entries)


def verdict_words(entry: VerdictEntry) -> str:
    """`equivalent`, or `equivalent (different, but by less than the margin)`."""
    significant = entry["p_adjusted"] is not None and entry["p_adjusted"] < 0.05
    if entry["verdict"] == "equivalent" and significant:
        return "equivalent (different, but by less than the margin)"
    return entry["verdict"]


def _kind(entry: VerdictEntry) -> str:
    return "score" if entry["outcome"] is None else OUTCOME_WORDS[entry["outcome"]]


def _cell(entry: VerdictEntry, low: str, high: str) -> str:
    ends: Mapping[str, object] = entry
    one, two = ends[low], ends[high]
    scale, write = (1.0, signed_to(4)) if entry["outcome"] is None else (100.0, signed_to(1))
    bounds = [None if not isinstance(end, float) else scale * end for end in (one, two)]
    unit = "" if entry["outcome"] is None else " points"
    return bracketed(scale * entry["difference"], bounds[0], bounds[1], write) + unit
