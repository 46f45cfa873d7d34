"""Three verdicts: whether arms differ, are equivalent within the study's margin, or neither is shown; and contrasts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, TypedDict

from report.comparison import by_configuration, has_outcome, side_by_side
from report.document import Numbers, Section
from report.judged_study import JudgedStudy
from report.judging import OUTCOMES
from report.records.estimates import Ends, JudgedOutcome
from report.words import OUTCOME_WORDS, bracketed, p_number, signed_to, text
from robustness.statistics.contrasts import Contrast, outcome_contrast, score_contrast
from robustness.statistics.equivalence import Verdict, verdict
from robustness.statistics.paired import holm

if TYPE_CHECKING:
    from report.analysis import Analysis


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
    """Holm's, over the entries of the same kind and outcome."""
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
    """Every comparison and contrast; None for a study without a margin and contrasts, and for a watched sweep."""
    document = study.frames.document
    # The tests are for a number of configurations that was settled beforehand.
    if study.sample.watch is not None or (margins_in(document) == (None, None) and not document.get("contrasts")):
        return None
    return verdicts(study)


def verdicts(study: JudgedStudy) -> EquivalenceResults:
    """Every comparison and contrast, for a number of configurations that was settled beforehand."""
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


def _families(
    study: JudgedStudy, sums: Mapping[str, Mapping[str, float]], margins: tuple[float | None, float | None]
) -> list[VerdictEntry]:
    frames, judged = study.frames, study.planned
    entries: list[VerdictEntry] = []
    kinds: list[JudgedOutcome | None] = [*OUTCOMES, None] if frames.has_thresholds else [None]
    for kind in kinds:
        values = judged[f"score_{frames.rule}"] if kind is None else has_outcome(judged, kind, frames.rule)
        family = []
        for name, weights in sums.items():
            pairs = side_by_side(judged, values, list(weights))
            if not len(pairs):
                continue
            owners = pairs.index.get_level_values("configuration")
            if kind is None:
                tested = score_contrast(pairs.to_numpy(), list(weights.values()), owners, margins[1])
            else:
                tested = outcome_contrast(pairs.to_numpy(), list(weights.values()), owners, margins[0])
            family.append((name, dict(weights), len(by_configuration(pairs)), tested))
        entries += _corrected(kind, family)
    return entries


def _corrected(
    kind: JudgedOutcome | None, family: Sequence[tuple[str, dict[str, float], int, Contrast]]
) -> list[VerdictEntry]:
    """The entries of one family; p-values of difference and of equivalence are corrected by Holm, each by itself."""
    different = _holm([tested.p_value for *_, tested in family])
    within = [None if tested.equivalence is None else tested.equivalence.p_value for *_, tested in family]
    equivalent = _holm(within)
    entries: list[VerdictEntry] = []
    for place, (name, weights, configurations, tested) in enumerate(family):
        shown = tested.equivalence
        entries.append(
            {
                "name": name,
                "weights": weights,
                "outcome": kind,
                "configurations": configurations,
                "difference": tested.value,
                "low": tested.interval.low,
                "high": tested.interval.high,
                "interval": tested.interval.method,
                "p_value": tested.p_value,
                "p_adjusted": different[place],
                "margin": None if shown is None else shown.margin,
                "low_90": None if shown is None else shown.interval.low,
                "high_90": None if shown is None else shown.interval.high,
                "p_equivalence": within[place],
                "p_equivalence_adjusted": equivalent[place],
                "p_not_lower": None if shown is None else shown.p_above,
                "p_not_higher": None if shown is None else shown.p_below,
                "verdict": verdict(different[place], equivalent[place]),
            }
        )
    return entries


def _holm(p_values: Sequence[float | None]) -> list[float | None]:
    adjusted = iter(holm([p_value for p_value in p_values if p_value is not None]))
    return [None if p_value is None else next(adjusted) for p_value in p_values]


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
    notes = (
        f"Equivalent: the 90 % interval lies within the study's margin, {' and '.join(margins)}, so both one-sided "
        "tests reject at 5 %, corrected by Holm like the tests of a difference. A difference that is significant and "
        "shown to be smaller than the margin counts as equivalent."
        if margins
        else "The study sets no margin of equivalence (outcomes.equivalent_within).",
        "Undecided is not equivalent: neither a difference nor its absence is shown.",
    )
    numbers = verdict_table(entries)
    yield Section("equivalence", "Different, equivalent or undecided", f"{listed}.", (), numbers, notes)


def verdict_table(entries: Sequence[VerdictEntry]) -> Numbers:
    """A row for each comparison and contrast."""
    columns = ("What", "Of", "Difference [95 %]", "p by Holm", "90 % interval", "p of equivalence", "Verdict")
    rows = tuple(
        (
            text(entry["name"], 80),
            _kind(entry),
            _cell(entry, "low", "high"),
            p_number(entry["p_adjusted"]),
            _cell(entry, "low_90", "high_90"),
            p_number(entry["p_equivalence_adjusted"]),
            verdict_words(entry),
        )
        for entry in entries
    )
    return Numbers(columns, rows)


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
